"""What an agent is given at the start of a session: today's and yesterday's notes, and curated memory in the owner's own session."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import BinaryIO

from .errors import ReadRefused
from .reading import locate, open_below
from .session import access, is_main
from .settings import AgentSettings
from .workspace import Layout, daily_note

_BYTES_A_CHAR = 4
_END = re.compile(r"</(?=\s*(?:recalled-)?memory)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ContextPart:
    """One file of a session's context.

    Attributes:
        path: As `memory_get` takes it.
        text: What is given of it.
        start: First line of `text`.
        cut: Whether there is more of the file.
    """

    path: str
    text: str
    start: int = 1
    cut: bool = False


def session_context(settings: AgentSettings, session_key: str | None = None, *, chars: int | None = None) -> list[ContextPart]:
    """Return the files that a session starts with, those that are not there left out.

    Of each at most `chars` characters, `agents.defaults.bootstrapMaxChars` if that is None.

    Curated memory (its beginning) is given to the owner's own session only: groups, channels, direct chats of others and keys of
    unknown kind are shared. Of a day's notes it is the end, which is the newest. Days are days of the user's time zone. A chat that
    `memory.qmd.scope` denies is given nothing.
    """
    if access(settings, session_key).refusal:
        return []
    chars = settings.bootstrap_max_chars if chars is None else chars
    layout = Layout.of(settings)
    today = settings.now().date()
    curated = layout.curated()
    paths = [layout.shown(curated.path)] if curated and is_main(session_key) else []
    days = [daily_note(day) for day in (today - timedelta(days=1), today)]
    parts = [_part(layout, path, chars, tail=False) for path in paths]
    parts += [_part(layout, path, chars, tail=True) for path in days if is_main(session_key) or not layout.is_curated(path)]
    return [part for part in parts if part is not None and part.text.strip()]


def as_text(parts: list[ContextPart]) -> str:
    """Return the parts as one text for a prompt: each delimited as data, with its path, and a marker where it is cut."""
    blocks = []
    for part in parts:
        text = _END.sub(r"<\\/", part.text)  # a note cannot end its own quotation
        path = part.path.replace('"', "&quot;")
        more = f"\n[cut here: read {part.path} with memory_get]" if part.cut and part.start == 1 else ""
        before = f"[lines 1 to {part.start - 1} are left out: read them with memory_get]\n" if part.start > 1 else ""
        blocks.append(f'<memory path="{path}">\n{before}{text}{more}\n</memory>')
    return "\n\n".join(blocks)


def _part(layout: Layout, path: str, chars: int, *, tail: bool) -> ContextPart | None:
    try:
        root, relative = locate(layout, path)
        with open_below(root, relative, path) as file:
            return _tail(file, path, chars) if tail else _head(file, path, chars)
    except (ReadRefused, OSError):
        return None


def _head(file: BinaryIO, path: str, chars: int) -> ContextPart:
    text = file.read(_BYTES_A_CHAR * chars + 1).decode("utf-8", "replace").removeprefix("\ufeff")
    if len(text) <= chars:
        return ContextPart(path, text.rstrip("\n"))
    return ContextPart(path, text[: max(text.rfind("\n", 0, chars), 0) or chars], cut=True)


def _tail(file: BinaryIO, path: str, chars: int) -> ContextPart:
    """Return the end of a file from the beginning of a line; the lines before are counted, not kept."""
    lines: list[str] = []
    size = first = 0
    for number, raw in enumerate(iter(lambda: file.readline(_BYTES_A_CHAR * chars + 1), b""), 1):
        lines.append(raw.decode("utf-8", "replace"))
        size += len(lines[-1])
        while size > chars and len(lines) > 1:
            size -= len(lines.pop(0))
        first = number - len(lines) + 1
    text = "".join(lines).rstrip("\n")
    return ContextPart(path, text[-chars:], first or 1, first > 1 or len(text) > chars)
