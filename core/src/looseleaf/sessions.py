"""`sessions.json`, the table of a host's sessions: read one row, change fields of it, leave all else as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import LooseleafError
from .files import in_turns, write_whole
from .settings import AgentSettings


def store_path(settings: AgentSettings) -> Path:
    """Return the table of an agent: looseleaf's own, or OpenClaw's where only that is there."""
    own, theirs = (folder / "sessions.json" for folder in settings.session_folders())
    return theirs if theirs.exists() and not own.exists() else own


def read_entry(path: Path, session_key: str) -> dict[str, Any]:
    """Return the row of a session; an empty one if there is none.

    Raises:
        LooseleafError: the table cannot be read.
    """
    row = _read(path).get(session_key)
    return row if isinstance(row, dict) else {}


def update_entry(path: Path, session_key: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Set fields of a session's row, and return it. The file is replaced as a whole, by one process at a time.

    Raises:
        LooseleafError: the table cannot be read or written; then it is as it was.
    """
    try:
        with in_turns(path.with_name(f"{path.name}.lock"), str(path)):
            table = _read(path)
            row = table.get(session_key)
            row = {**(row if isinstance(row, dict) else {}), **changes}
            text = json.dumps({**table, session_key: row}, indent=2, ensure_ascii=False)
            write_whole(path, text.encode("utf-8", "backslashreplace"), durable=True)  # half a pair is written as JSON writes it
            return row
    except OSError as error:
        raise LooseleafError(f"{path} cannot be written: {error.strerror}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise LooseleafError(f"{path} cannot be read, and is left as it is: {error}") from None
    if not isinstance(table, dict):
        raise LooseleafError(f"{path} holds no table of sessions, and is left as it is")
    return table
