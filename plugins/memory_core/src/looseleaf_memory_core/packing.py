"""Pack texts into requests, by number and by estimated tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from looseleaf import Limits

from .chunk import estimate_cost

T = TypeVar("T")


def packed(items: Iterable[T], limits: Limits, text_of: Callable[[T], str]) -> Iterator[list[T]]:
    """Yield `items` in order, in parts that `limits` allow; one that is too large alone is a part of its own."""
    part: list[T] = []
    used = 0
    for item in items:
        cost = 1 + estimate_cost(text_of(item)) // 4
        if part and (len(part) >= limits.texts or used + cost > limits.request_tokens):
            yield part
            part, used = [], 0
        part.append(item)
        used += cost
    if part:
        yield part
