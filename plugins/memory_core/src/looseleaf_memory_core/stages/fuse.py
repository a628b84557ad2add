"""Fuse keyword and vector candidates into one order. Pure: the same lists give the same hits, whatever their order.

Both rankers read the signals that memory-core gives each candidate, on whichever list it came: `bm25`, `coverage`, `exact`,
`cosine` and `similarity`. A list of another slot that lacks them is taken at its scores, min-maxed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeVar

from looseleaf import Hit, Query

R = TypeVar("R", bound="_Weighted")

# The keyword side counts in full once it explains a quarter of the query; see docs/quality.md.
_GATE = 4.0


@dataclass(frozen=True, slots=True)
class _Weighted:
    """The share of each side in the fused score; they sum to 1."""

    vector: float
    text: float

    usual: ClassVar[tuple[float, float]] = (0.5, 0.5)

    @classmethod
    def from_weights(cls, vector: float | None, text: float | None) -> Self:
        """Return a ranker with the weights of config, each in [0, 1], divided by their sum; unset or 0 / 0 is its own default.

        A single weight that is set gives the other side the rest.
        """
        if vector is None and text is None:
            vector, text = cls.usual
        elif vector is None:
            vector = 1 - (text or 0.0)
        elif text is None:
            text = 1 - vector
        total = vector + (text or 0.0)
        if not total:
            vector, text = cls.usual
            total = 1.0
        return cls(vector / total, (text or 0.0) / total)


class Balanced(_Weighted):
    """Min-max both sides over the candidates and add them; an exact phrase or identifier comes before everything else.

    `score = text * gate * minmax(bm25) + vector * minmax(cosine)` with `gate = min(1, 4 * coverage of the best hit)`, the
    share of the query that keyword search explained: chance hits do not spoil a question in another language than the notes.
    Where any candidate is exact, scores are halved and those with `exact` get that share of the other half.
    """

    usual = (0.4, 0.6)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        union = _union(lists)
        words = _minmax({key: _signal(hit, "bm25", "keyword", lists) or 0.0 for key, hit in union.items()})
        meaning = _minmax({key: _signal(hit, "cosine", "vector", lists) for key, hit in union.items()})
        covered = [hit.signals["coverage"] for hit in union.values() if "coverage" in hit.signals]
        gate = min(1.0, _GATE * max(covered)) if covered else 1.0
        text, vector = self._sides(bool(words), bool(meaning))
        # A chunk that has no vector yet is taken at its words.
        scores = {key: text * gate * words.get(key, 0.0) + vector * meaning.get(key, gate * words.get(key, 0.0)) for key in union}
        return _ordered(union, scores)

    def _sides(self, words: bool, meaning: bool) -> tuple[float, float]:
        if words and meaning:
            return self.text, self.vector
        return (1.0, 0.0) if words else (0.0, 1.0)


class Weighted(_Weighted):
    """The seeds' weighted sum, repaired: `text * bm25 / best bm25 + vector * calibrated cosine`, by default 0.3 and 0.7."""

    usual = (0.7, 0.3)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        union = _union(lists)
        words = {key: value for key, hit in union.items() if (value := _signal(hit, "bm25", "keyword", lists)) is not None}
        best = max(words.values(), default=0.0) or 1.0
        meaning = {key: _signal(hit, "similarity", "vector", lists) or 0.0 for key, hit in union.items()}
        if not any(meaning.values()):
            return _ordered(union, {key: words.get(key, 0.0) / best for key in union})
        scores = {key: self.text * words.get(key, 0.0) / best + self.vector * meaning[key] for key in union}
        return _ordered(union, scores)


def _union(lists: Mapping[str, Sequence[Hit]]) -> dict[str, Hit]:
    """Return each hit once; where lists hold different signals of it, all of them. The order of lists carries no meaning."""
    union: dict[str, Hit] = {}
    for source in sorted(lists):
        for hit in lists[source]:
            known = union.setdefault(hit.id, hit)
            if known is not hit and known.signals != hit.signals:
                union[hit.id] = replace(known, signals={**hit.signals, **known.signals})
    return union


def _signal(hit: Hit, name: str, source: str, lists: Mapping[str, Sequence[Hit]]) -> float | None:
    value = hit.signals.get(name)
    if value is None and source in lists and not hit.signals:
        return next((float(other.score) for other in lists[source] if other.id == hit.id), None)
    return value


def _minmax(values: Mapping[str, float | None]) -> dict[str, float]:
    """Return the values that are there, moved into [0, 1]; equal ones are all 1, and all of nothing is nothing."""
    present = {key: value for key, value in values.items() if value is not None}
    if not any(present.values()):
        return {}
    low, high = min(present.values()), max(present.values())
    return {key: (value - low) / (high - low) if high > low else 1.0 for key, value in present.items()}


def _ordered(union: Mapping[str, Hit], scores: Mapping[str, float]) -> list[Hit]:
    exact = {key: hit.signals.get("exact", 0.0) for key, hit in union.items()}
    lifted = any(exact.values())
    ranked = []
    for key, hit in union.items():
        score = 0.5 * scores[key] + 0.5 * exact[key] if lifted else scores[key]
        ranked.append(hit.scored(min(1.0, max(0.0, score))))
    return sorted(ranked, key=lambda hit: (-hit.score, hit.path, hit.start, hit.id))
