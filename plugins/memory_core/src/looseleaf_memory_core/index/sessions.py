"""Session transcripts as a source of the index: which files count, when they have grown enough, and their chunks.

A chunk is whole turns; its lines are those of the transcript, and its place the bytes of these lines, from which its text is made again
when it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from looseleaf import AgentSettings, Page
from looseleaf.reading import DEFAULT_LINES
from looseleaf.transcripts import Transcripts, Turn, turn_of, turns
from looseleaf.workspace import Found, Skipped

from ..packing import cut, tokens_of
from ..text import segment
from .ledger import Known
from .prepare import Prepared, read_whole
from .source import digest

_BLOCK = 1 << 16


class Sessions(Transcripts):
    """The transcripts that are indexed.

    Attributes:
        enabled: Whether config wants them.
        folders: Where they are.
    """

    def __init__(self, settings: AgentSettings) -> None:
        search = settings.search
        super().__init__(settings, archives=search.sync.sessions.archives)
        self.enabled = search.with_sessions()
        self._limits = search.sync.sessions

    def walk(self) -> Iterator[Found | Skipped]:
        """Yield every transcript once, by name; none if config does not want them."""
        return super().walk() if self.enabled else iter(())

    def path_of(self, shown: str) -> Path | None:
        """Return the transcript that is shown as `shown`, or None."""
        return next((Path(item.absolute) for item in self.walk() if isinstance(item, Found) and item.path == shown), None)

    def has_grown(self, found: Found, known: Known) -> bool:
        """Tell whether a transcript has so much more, or less, that it is worth reading: bytes or lines, as config says."""
        if found.size < known.size:
            return True
        more = found.size - known.size
        return more >= self._limits.delta_bytes or _lines_after(found.absolute, known.size, more) >= self._limits.delta_messages


def prepare_session(found: Found, tokens: int) -> Prepared:
    """Return a transcript as chunks of whole turns of at most `tokens` estimated tokens; a longer turn is cut."""
    data = read_whole(found)
    if isinstance(data, Prepared):
        return data
    begins = [0, *(match.end() for match in re.finditer(b"\n", data))]
    chunks, words = [], []
    for part, cut_at in _parts(turns(data), tokens):
        text = "\n".join(turn.text for turn in part)
        first, last = part[0].line, part[-1].line
        begin, end = begins[first - 1], begins[last] if last < len(begins) else len(data)
        chunks.append((first, last, begin, end - begin, digest(text.encode("utf-8", "surrogatepass")), cut_at))
        words.append((segment(text), ""))
    return Prepared(found, digest(data), len(data), chunks=tuple(chunks), words=tuple(words))


def session_text(data: bytes, cut_at: str) -> str:
    """Return the text of a chunk from the bytes of its lines; `cut_at` says which part of a turn that was cut."""
    text = "\n".join(turn.text for turn in turns(data))
    if not cut_at:
        return text
    begin, _, size = cut_at.partition("+")
    return text[int(begin) : int(begin) + int(size)]


def _parts(every: Iterator[Turn], tokens: int) -> Iterator[tuple[list[Turn], str]]:
    """Yield turns that fit into a chunk together, and pieces of those that do not fit alone, with where they stand in it."""
    part: list[Turn] = []
    used = 0
    for turn in every:
        cost = tokens_of(turn.text)
        if part and used + cost > tokens:
            yield part, ""
            part, used = [], 0
        if cost > tokens:
            begin = 0
            for piece in cut(turn.text, tokens):
                yield [Turn(piece, turn.line)], f"{begin}+{len(piece)}"
                begin += len(piece)
            continue
        part.append(turn)
        used += cost
    if part:
        yield part, ""


def _lines_after(path: str, begin: int, size: int) -> int:
    """Return how many lines were added after byte `begin`."""
    count = 0
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(begin)
            while size > 0 and (block := file.read(min(_BLOCK, size))):
                count += block.count(b"\n")
                size -= len(block)
    except OSError:
        return 0
    return count


def read_turns(settings: AgentSettings, shown: str, start: int, lines: int | None) -> Page:
    """Return the turns in `lines` lines of a transcript from line `start`, at most as many characters as `memory_get` gives.

    A transcript is streamed; lines that hold no turn give none.
    """
    path = Sessions(settings).path_of(shown)
    if path is None:
        return Page(shown, status="not_found")
    start = max(1, start)
    last = start + (DEFAULT_LINES if lines is None else max(1, lines)) - 1
    room = settings.context_limits.memory_get_max_chars
    texts: list[str] = []
    number = 0
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            if number > last or room <= 0:
                return Page(shown, "\n".join(texts), start, number - start, truncated=True, next_start=number)
            if number >= start and (text := turn_of(raw)):
                texts.append(text[:room])
                room -= len(text) + 1
    if number < start:
        return Page(shown, start=start, status="past_end" if number else "empty")
    return Page(shown, "\n".join(texts), start, number - start + 1)
