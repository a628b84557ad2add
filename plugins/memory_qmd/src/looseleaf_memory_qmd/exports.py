"""Session transcripts as Markdown files, one a session, which QMD can index. Only files that we wrote are ever replaced or deleted."""

from __future__ import annotations

import json
import os
from pathlib import Path

from looseleaf import AgentSettings, Note
from looseleaf.files import make_folder, write_whole
from looseleaf.transcripts import Transcripts, turns
from looseleaf.workspace import Found

_OURS = ".looseleaf-exports.json"  # hidden, so that nobody indexes it
_DAY_S = 86_400


class Exports:
    """The exported transcripts of one agent.

    Attributes:
        folder: Where they are.
    """

    def __init__(self, settings: AgentSettings, home: Path) -> None:
        options = settings.memory.qmd.sessions
        chosen = options.export_dir
        self.folder = Path(os.path.realpath(settings.workspace / os.path.expanduser(chosen))) if chosen else home / "sessions"
        self._keep_s = options.retention_days * _DAY_S if options.retention_days else None
        self._settings = settings

    def write(self) -> list[Note]:
        """Write what has changed, and delete what is too old or gone.

        Raises:
            OSError: the folder cannot be written.
        """
        make_folder(self.folder)
        ours = self._ours()
        kept: dict[str, list[int]] = {}
        notes: list[Note] = []
        for found in Transcripts(self._settings).walk():
            if not isinstance(found, Found) or self._is_old(found):
                continue
            session = found.path.rpartition("/")[2].removesuffix(".jsonl")
            name, state = f"{session}.md", [found.size, found.mtime_ns]
            target = self.folder / name
            if name not in ours and target.exists():
                notes.append(Note("export-kept", f"{target} is not of looseleaf, so the session {session} is not exported"))
                continue
            if ours.get(name) != state or not target.exists():
                write_whole(target, _markdown(session, Path(found.absolute).read_bytes()).encode("utf-8", "replace"))
            kept[name] = state
        for name in ours.keys() - kept.keys():
            (self.folder / name).unlink(missing_ok=True)
        if kept != ours:
            write_whole(self.folder / _OURS, json.dumps(kept).encode())
        return notes

    def _ours(self) -> dict[str, list[int]]:
        try:
            known = json.loads((self.folder / _OURS).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        # A name with a separator would be a way out of the folder.
        return {name: state for name, state in known.items() if os.path.basename(name) == name} if isinstance(known, dict) else {}

    def _is_old(self, found: Found) -> bool:
        age_s = self._settings.now().timestamp() - found.mtime_ns / 1e9
        return self._keep_s is not None and age_s > self._keep_s


def _markdown(session: str, data: bytes) -> str:
    said = "\n".join(turn.text for turn in turns(data)) or "(empty)"
    return f"# Session {session}\n\n{said}\n"
