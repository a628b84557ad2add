"""Show a hit: a window of its text around the best match, with the lines of that window, a citation, and a budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .results import FoundHit
from .types import Hit

SNIPPET_CHARS = 700
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_PARTS = re.compile(r"[\W_]+")


@lru_cache(maxsize=64)
def _needles(terms: tuple[str, ...]) -> tuple[tuple[str, bool, bool, tuple[str, ...]], ...]:
    """Return what is looked for, for each term.

    The letters, whether words have spaces around them, whether endings may differ, and the parts where the whole is nowhere.
    """
    needles = []
    for term in terms:
        needle = term.lower()
        spaced = not _UNSPACED.search(needle)
        if spaced and needle.isalpha() and needle.isascii() and len(needle) > 4:
            needle = needle[: max(4, len(needle) - 2)]
        parts = () if needle.isalnum() or not spaced else tuple(part for part in _PARTS.split(term) if part and part != term)
        if needle:
            needles.append((needle, spaced, len(needle) >= 4, parts))
    return tuple(needles)


def _spots(text: str, terms: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Return where `terms` stand in `text`, as (begin, end, term) in order.

    Words are marked whole, also with another ending (`allergy` marks `allergic`); scripts without spaces as they stand.
    """
    folded = text.lower()
    if len(folded) != len(text):  # İ and its like change their length
        folded = text
    spots: list[tuple[int, int, str]] = []
    for needle, spaced, inflected, parts in _needles(terms):
        at = folded.find(needle)
        if at < 0 and parts:
            spots += _spots(text, parts)
        while at >= 0:
            inner = end = at + len(needle)
            if spaced:
                while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                    end += 1
            other = text[inner + 4 : end] if inflected else text[inner:end]  # a longer ending makes it another word
            if not spaced or not (other.strip("s") or (at and text[at - 1].isalnum() and needle[0].isalnum())):
                spots.append((at, end, needle))
            at = folded.find(needle, end)
    spots.sort()
    merged: list[tuple[int, int, str]] = []
    for spot in spots:  # pairs of characters overlap
        if merged and spot[0] < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], spot[1]), merged[-1][2] + spot[2])
        else:
            merged.append(spot)
    return merged


def present(hit: Hit, terms: tuple[str, ...] = (), *, chars: int = SNIPPET_CHARS) -> FoundHit:
    """Return `hit` with a snippet of at most `chars` characters, whole lines where they fit, and where `terms` stand in it."""
    text = hit.text.rstrip()
    spots = _spots(text, terms)
    begin, end = _window(text, spots, chars)
    snippet = text[begin:end]
    start = hit.start + text.count("\n", 0, begin)
    last = start + snippet.count("\n")
    if hit.source == "sessions":  # its lines are those of the transcript, not of the text
        start, last = hit.start, hit.end
    marks = tuple((first - begin, stop - begin) for first, stop, _ in spots if begin <= first and stop <= end)
    return FoundHit(hit, snippet, start, last, marks, cite(hit.path, start, last))


def cite(path: str, start: int, end: int) -> str:
    """Return `path#L5`, or `path#L5-L9` for several lines."""
    return f"{path}#L{start}" if start == end else f"{path}#L{start}-L{end}"


def _window(text: str, spots: Sequence[tuple[int, int, str]], chars: int) -> tuple[int, int]:
    first = len(text) - len(text.lstrip("\r\n"))
    if len(text) - first <= chars:
        return first, len(text)
    begin, end = _densest(spots, chars) if spots else (first, first)
    spare = chars - (end - begin)
    begin = max(first, begin - spare // 3)
    end = min(len(text), begin + chars)
    begin = max(first, end - chars)
    # Whole lines read better: drop a part of a line at either side where the matches leave room for that.
    low = spots[0][0] if spots else first
    inner = [spot for spot in spots if begin <= spot[0] and spot[1] <= end]
    if inner:
        low = inner[0][0]
    after = text.find("\n", begin, low) + 1 if begin > first and text[begin - 1] != "\n" else begin
    begin = after or begin
    high = max((spot[1] for spot in inner), default=begin + 1)
    if end < len(text) and text[end] != "\n":
        before = text.rfind("\n", high, end)
        end = before if before > begin else end
    return begin, end


def _densest(spots: Sequence[tuple[int, int, str]], chars: int) -> tuple[int, int]:
    """Return the stretch of at most `chars` characters with the most different words, the first of equals."""
    best, best_worth = (spots[0][0], min(spots[0][1], spots[0][0] + chars)), 0
    for index, (begin, _, _) in enumerate(spots):
        words: set[str] = set()
        end = begin
        for _, stop, word in spots[index:]:
            if stop - begin > chars:
                break
            words.add(word)
            end = stop
        if len(words) > best_worth:
            best, best_worth = (begin, end), len(words)
        if index > 100:
            break
    return best


def within_budget(texts: Sequence[tuple[str, str]], budget: int) -> list[str]:
    """Return bodies with their footers, as many as fit into `budget` characters; the last one's body is cut, never a footer."""
    out: list[str] = []
    for body, footer in texts:
        tail = f"\n\n{footer}" if footer else ""
        room = budget - len(tail)
        if room <= 0 or (len(body) > room and room < 40):
            break
        whole = body if len(body) <= room else body[: room - 1].rstrip() + "…"
        out.append(whole + tail)
        budget -= len(whole) + len(tail)
    return out
