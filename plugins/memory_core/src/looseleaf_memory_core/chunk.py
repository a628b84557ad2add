"""Cut Markdown into chunks: exact substrings of the file, within a token budget, at the places a reader would cut."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final
from unicodedata import category, combining

#: Raised whenever the same file gives other chunks: part of the index fingerprint.
VERSION = 1

# Four Latin letters make about one token; any other letter, full-width form or emoji counts as one token of its own.
_WIDE = re.compile(r"[^\x00-\u024f\u2010-\u2027]")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_SENTENCE = re.compile(r"[.!?:;][\"')\]]*\s+|[。！？；।…]\s*")
_SPACE = re.compile(r"\s+")
_MARKS = "#`~ \t\r"  # a line that starts otherwise is neither heading, fence nor blank
_VIRAMA = 9  # the combining class of the sign that joins two consonants
_JOINED = "\u200d\ufe0e\ufe0f"

_HEADING_BREAK, _BLANK_BREAK, _LINE_BREAK, _FENCED_BREAK = 3, 2, 1, 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one file.

    Attributes:
        start: First line held, 1-based.
        end: Last line held, inclusive. A line ends at LF or CRLF, nowhere else.
        begin: Offset of the text in the file, in characters.
        text: Exact substring of the file.
        heading: The headings above the first line, outermost first, joined with ` > `.
    """

    start: int
    end: int
    begin: int
    text: str
    heading: str


# A line, or a part of a line longer than the budget: where it begins, its cost, its line, how good it is to cut before it, and
# the headings above it. A plain tuple, for there are as many as lines in all notes.
_Piece = tuple[int, int, int, int, str]
_BEGIN: Final = 0
_COST: Final = 1
_LINE: Final = 2
_GRADE: Final = 3
_HEADING_PATH: Final = 4


def estimate_cost(text: str) -> int:
    """Return an upper bound of the size of `text` in quarters of a token."""
    return len(text) if text.isascii() else len(text) + 3 * len(_WIDE.findall(text))


def chunk(text: str, *, tokens: int = 400, overlap: int = 80) -> list[Chunk]:
    """Cut `text` into chunks of at most `tokens` estimated tokens, the overlap included.

    A cut falls before a heading if one stands in the last third of the budget, else before a blank line, a line, a
    sentence or a word, and never inside a grapheme. After a cut that is not at a heading, up to `overlap` tokens of the
    chunk before are repeated. Every character of `text` is in some chunk; an empty text has none.
    """
    budget, carry = 4 * tokens, 4 * min(overlap, tokens - 1)
    pieces = _pieces(text, budget)
    count = len(pieces)
    if not count:
        return []
    begins = [piece[_BEGIN] for piece in pieces]
    begins.append(len(text))
    chunks: list[Chunk] = []
    first = 0
    begin = 0  # may lie inside the piece before `first`, when only its tail is repeated
    used = 0  # cost of what is repeated
    while True:
        stop = first
        while stop < count and used + pieces[stop][_COST] <= budget:
            used += pieces[stop][_COST]
            stop += 1
        if stop < count:
            stop = _best_cut(pieces, first, stop, budget)
        end = begins[stop]
        opening = pieces[bisect_right(begins, begin, hi=count) - 1]
        body = text[begin:end]
        last = pieces[stop - 1][_LINE]
        chunks.append(Chunk(opening[_LINE], last, begin, body, opening[_HEADING_PATH]))
        if stop == count:
            return chunks
        first = stop
        begin, used = end, 0
        if carry and pieces[stop][_GRADE] != _HEADING_BREAK:
            begin, used = _repeat(text, pieces, chunks[-1].begin, stop, min(carry, budget - pieces[stop][_COST]))


def _pieces(text: str, budget: int) -> list[_Piece]:
    pieces: list[_Piece] = []
    begin = 0
    fenced = heading = ""
    trail: list[tuple[int, str]] = []
    usual = _LINE_BREAK
    lines = text.split("\n")
    final = len(lines)
    add = pieces.append
    for number, line in enumerate(lines, 1):
        size = len(line) + (number != final)
        grade = usual
        usual = _FENCED_BREAK if fenced else _LINE_BREAK
        if line[:1] in _MARKS:  # also true of an empty line
            if not size:
                break
            mark = line[:3]
            if mark in ("```", "~~~"):
                fenced = "" if fenced == mark else fenced or mark
                usual = _FENCED_BREAK if fenced else _LINE_BREAK
            elif not fenced and (not line or line.isspace()):
                usual = _BLANK_BREAK
            elif not fenced and (match := _HEADING.match(line.rstrip("\r"))):
                grade = _HEADING_BREAK
                level = len(match[1])
                trail = [(depth, title) for depth, title in trail if depth < level]
                trail.append((level, match[2]))
                heading = " > ".join(title for _, title in trail if title)
        cost = size if line.isascii() else estimate_cost(line) + 1
        if cost <= budget:
            add((begin, cost, number, grade, heading))
        else:
            pieces += _split_line(text, begin, begin + size, budget, number, grade, heading)
        begin += size
    return pieces


def _best_cut(pieces: list[_Piece], first: int, stop: int, budget: int) -> int:
    """Return the index to cut before, among those that leave the chunk at least two thirds full."""
    best, best_grade = stop, pieces[stop][_GRADE]
    filled = 0
    least = first + 1
    for index in range(first, stop):
        filled += pieces[index][_COST]
        if 3 * filled >= 2 * budget:
            least = index + 1
            break
    for index in range(stop - 1, least - 1, -1):
        grade = pieces[index][_GRADE]
        if grade > best_grade:
            best, best_grade = index, grade
            if grade == _HEADING_BREAK:
                break
    return best


def _repeat(text: str, pieces: list[_Piece], floor: int, stop: int, room: int) -> tuple[int, int]:
    """Return where the text repeated before piece `stop` begins, after `floor`, and its cost: at most `room`."""
    begin, used = pieces[stop][_BEGIN], 0
    index = stop - 1
    while index >= 0 and pieces[index][_BEGIN] > floor and used + pieces[index][_COST] <= room:
        used += pieces[index][_COST]
        begin = pieces[index][_BEGIN]
        index -= 1
    if used == 0 and room > 0:  # the line before is longer than the overlap: repeat its tail
        lowest = max(pieces[stop - 1][_BEGIN], floor + 1, begin - room)
        tail = text[lowest:begin]
        while estimate_cost(tail) > room:
            lowest += (len(tail) + 3) // 4
            tail = text[lowest:begin]
        match = _SENTENCE.search(tail) or _SPACE.search(tail)
        start = lowest + match.end() if match and match.end() < len(tail) else _grapheme_start(text, lowest, begin)
        if start < begin:
            return start, estimate_cost(text[start:begin])
    return begin, used


def _split_line(text: str, begin: int, end: int, budget: int, line: int, grade: int, heading: str) -> list[_Piece]:
    """Cut a line longer than the budget into pieces of at most half of it, at sentence ends or spaces."""
    pieces: list[_Piece] = []
    limit = max(1, budget // 2)
    while begin < end:
        stop = min(end, begin + limit)
        while stop - begin > 1 and estimate_cost(text[begin:stop]) > limit:
            stop = begin + max(1, (stop - begin) * limit // estimate_cost(text[begin:stop]))
        if stop < end:
            stop = _good_place(text, begin, stop)
        pieces.append((begin, estimate_cost(text[begin:stop]), line, grade, heading))
        grade = _LINE_BREAK
        begin = stop
    return pieces


def _good_place(text: str, begin: int, stop: int) -> int:
    half = begin + (stop - begin) // 2
    for pattern in (_SENTENCE, _SPACE):
        places = [match.end() for match in pattern.finditer(text, half, stop) if match.end() < stop]
        if places:
            return places[-1]
    place = stop
    while place > begin + 1 and not _is_boundary(text, place):
        place -= 1
    return place if _is_boundary(text, place) else stop


def _grapheme_start(text: str, place: int, end: int) -> int:
    while place < end and not _is_boundary(text, place):
        place += 1
    return place


def _is_boundary(text: str, place: int) -> bool:
    """Tell whether a cut before `place` leaves graphemes whole: marks, joiners, skin tones, flags, jamo, CRLF."""
    char, before = text[place], text[place - 1]
    if char in _JOINED or before == "\u200d" or category(char)[0] == "M" or (before == "\r" and char == "\n"):
        return False
    if combining(before) == _VIRAMA and category(char)[0] == "L":  # a conjunct of an Indic script
        return False
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\u1160" <= char <= "\u11ff":
        return False
    if "\U0001f1e6" <= char <= "\U0001f1ff":  # flags are pairs: an odd number of indicators before means inside one
        run = place
        while run > 0 and "\U0001f1e6" <= text[run - 1] <= "\U0001f1ff":
            run -= 1
        return (place - run) % 2 == 0
    return True
