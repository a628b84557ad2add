"""Best line: of two hits that hold the same words, the one that holds them in one line comes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, log
from typing import ClassVar

from looseleaf import Hit, Query
from looseleaf.pipeline import falling, total_order

from ..store.query import parse_query
from ..text import words
from .candidates import explained


@dataclass(frozen=True, slots=True)
class BestLine:
    """Order by `score + weight * gate * share`, where `share` is the most of the question's weight that one line of the hit holds.

    A word weighs its idf among the hits, and the gate is that of `balanced`. Scores are only lowered, to the one above.

    Attributes:
        weight: At least 0; what a line with the whole question adds to a score. Measured, see docs/quality.md.
    """

    weight: float = 0.2

    prompt: ClassVar[bool] = True

    def __call__(self, hits: Sequence[Hit], query: Query) -> list[Hit]:
        """Return all `hits`, rearranged."""
        ranked = sorted(hits, key=total_order)
        wanted = frozenset(token for term in parse_query(query.text).terms for token in term)
        held = {hit.id: _held(hit.text, wanted) for hit in ranked}
        counted = Counter(word for lines in held.values() for word in frozenset().union(*lines))
        weights = {word: log(1 + (len(ranked) - counted[word] + 0.5) / (counted[word] + 0.5)) for word in wanted}
        whole = fsum(weights.values()) or 1.0
        bonus = self.weight * explained(ranked)
        worth = {
            hit.id: hit.score + bonus * max((fsum(weights[word] for word in line) for line in held[hit.id]), default=0.0) / whole
            for hit in ranked
        }
        return falling(sorted(ranked, key=lambda hit: (-worth[hit.id], *total_order(hit))))


def _held(text: str, wanted: frozenset[str]) -> list[frozenset[str]]:
    """Return which of the `wanted` words each line holds; lines that surely hold none are left out."""
    lines = text.splitlines()
    if text.isascii():
        lines = [line for line in lines if any(map(line.lower().__contains__, wanted))]
    return [words(line) & wanted for line in lines]
