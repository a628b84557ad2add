"""Write to memory on an agent's behalf: lines at the end of today's note or of the curated memory, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from .errors import LooseleafError
from .files import in_turns
from .session import access, is_main
from .settings import AgentSettings
from .workspace import CURATED, Layout, daily_note

#: `day` is today's note in the user's time zone, `lasting` the curated memory.
Kind: TypeAlias = Literal["day", "lasting"]
MOST_CHARS = 16_000
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Appended(NamedTuple):
    """Where it was written: path, first and last line."""

    path: str
    start: int
    end: int


def append(settings: AgentSettings, text: str, kind: Kind | str = "day", *, session_key: str | None = None) -> Appended:
    """Append `text` to a memory file, which is made if it is missing; what it holds is never changed.

    Two processes that append at once both get their lines, whole: they take turns by a lock, and write with O_APPEND.

    Raises:
        LooseleafError: there is nothing to write, it is too long, or the file cannot be written here.
    """
    lines = text.replace("\r\n", "\n").strip("\n")
    if not lines.strip():
        raise LooseleafError("there is nothing to remember: the text is empty")
    if len(lines) > MOST_CHARS:
        raise LooseleafError(f"the text has {len(lines):,} characters, and a memory takes {MOST_CHARS:,}: keep what matters")
    if "\x00" in lines:
        raise LooseleafError("the text holds NUL, which no note can hold")
    if kind not in ("day", "lasting"):
        raise LooseleafError(f"there is no kind {kind!r}: it is day or lasting")
    if refusal := access(settings, session_key).refusal:
        raise LooseleafError(refusal)
    layout = Layout.of(settings)
    if kind == "lasting":
        curated = layout.curated()
        path = Path(curated.path) if curated else settings.workspace / CURATED[0]
    else:
        path = settings.workspace / daily_note(settings.now())
    folder, shown = path.parent, layout.shown(str(path))
    if not is_main(session_key) and layout.is_curated(shown):
        raise LooseleafError("curated memory is written in the owner's own session only")
    try:
        if kind == "day":
            folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise LooseleafError(f"{layout.shown(str(folder))} is a symbolic link: nothing was written")
        return _append(settings, path, shown, lines)
    except OSError as error:
        raise LooseleafError(f"{shown} cannot be written: {error.strerror}") from None


def _append(settings: AgentSettings, path: Path, shown: str, lines: str) -> Appended:
    with in_turns(settings.state_dir / f"append-{settings.agent}.lock", shown):
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NOFOLLOW, 0o600)
        try:
            return _written(handle, shown, lines)
        finally:
            os.close(handle)


def _written(handle: int, shown: str, lines: str) -> Appended:
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode):
        raise LooseleafError(f"{shown} is not a regular file: nothing was written")
    before, last = 0, b"\n"
    while block := os.read(handle, 1 << 16):
        before += block.count(b"\n")
        last = block[-1:]
    start = before + 1 + (last != b"\n")
    data = ("" if last == b"\n" else "\n") + lines + "\n"
    rest = memoryview(data.encode("utf-8", "replace"))
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.fsync(handle)
    return Appended(shown, start, start + lines.count("\n"))
