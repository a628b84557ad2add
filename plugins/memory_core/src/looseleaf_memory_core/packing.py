"""Pack texts into requests, by number, estimated tokens and bytes, and cut a text that is too long for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from looseleaf import Limits

from .chunk import estimate_cost

T = TypeVar("T")


def tokens_of(text: str) -> int:
    """Return an estimate of the tokens of `text`, rather too many than too few."""
    return 1 + estimate_cost(text) // 4


def packed(items: Iterable[T], limits: Callable[[], Limits], text_of: Callable[[T], str]) -> Iterator[list[T]]:
    """Yield `items` in order, in parts that `limits` allow when they are made; one that is too large is a part of its own."""
    part: list[T] = []
    tokens = size = 0
    for item in items:
        most = limits()
        text = text_of(item)
        cost = tokens_of(text)
        length = len(text.encode("utf-8", "replace")) if most.request_bytes else 0
        full = len(part) >= most.texts or tokens + cost > most.request_tokens or size + length > most.request_bytes > 0
        alone = cost > most.tokens  # it has to be cut
        if part and (full or alone):
            yield part
            part, tokens, size = [], 0, 0
        if alone:
            yield [item]
            continue
        part.append(item)
        tokens += cost
        size += length
    if part:
        yield part


def cut(text: str, tokens: int) -> list[str]:
    """Return `text` in pieces of at most `tokens` estimated tokens, halved at blanks where there are some."""
    if len(text) < 2 or tokens_of(text) <= tokens:
        return [text]
    middle = len(text) // 2
    blank = text.find(" ", middle, middle + middle // 2) + 1 or middle
    return cut(text[:blank], tokens) + cut(text[blank:], tokens)
