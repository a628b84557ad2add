"""Fuse keyword and vector candidates into one order. Pure: the same lists give the same hits, whatever their order.

Both rankers read the signals that memory-core gives each candidate, on whichever list it came: `bm25`, `coverage`, `exact`,
`cosine` and `similarity`. A list of another slot that lacks them is taken at its scores, min-maxed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

from looseleaf import Hit, Query
from looseleaf.pipeline import total_order

R = TypeVar("R", bound="_Weighted")

# The keyword side counts in full once it explains a quarter of the query; see docs/quality.md.
_GATE = 4.0
_COVERED = 1.0  # a list that does not say how much of the query it explains is taken to explain it


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
        hits, others = _union(lists)
        signals = [hit.signals for hit in hits]
        words = _minmax([given.get("bm25", 0.0) for given in signals])
        meaning = _minmax([given["cosine"] for given in signals if "cosine" in given])
        gate = min(1.0, _GATE * max((given.get("coverage", _COVERED) for given in signals), default=0.0))
        text, vector = (self.text, self.vector) if words and meaning else (1.0, 0.0) if words else (0.0, 1.0)
        scores = []
        for given in signals:
            worded = gate * words(given.get("bm25", 0.0)) if words else 0.0
            cosine = given.get("cosine")  # without a vector yet, a chunk is taken at its words
            scores.append(text * worded + vector * (worded if cosine is None or not meaning else meaning(cosine)))
        return _ordered(hits, scores, others)


class Weighted(_Weighted):
    """The seeds' weighted sum, repaired: `text * bm25 / best bm25 + vector * calibrated cosine`, by default 0.3 and 0.7."""

    usual = (0.7, 0.3)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        hits, others = _union(lists)
        signals = [hit.signals for hit in hits]
        best = max((given.get("bm25", 0.0) for given in signals), default=0.0) or 1.0
        meant = any("similarity" in given for given in signals)
        text, vector = (self.text, self.vector) if meant else (1.0, 0.0)
        scores = [text * given.get("bm25", 0.0) / best + vector * given.get("similarity", 0.0) for given in signals]
        return _ordered(hits, scores, others)


def _union(lists: Mapping[str, Sequence[Hit]]) -> tuple[list[Hit], list[Hit]]:
    """Return each hit once, with the signals of all lists it is on: those with signals to fuse, and the others.

    Others come from other slots and are taken at the best of their own scores. The order of lists and hits carries no meaning.
    """
    union: dict[str, Hit] = {}
    for source in sorted(lists):
        for hit in lists[source]:
            known = union.setdefault(hit.id, hit)
            if known is not hit:
                union[hit.id] = known._replace(score=max(known.score, hit.score), signals={**hit.signals, **known.signals})
    hits = [hit for hit in union.values() if "bm25" in hit.signals or "cosine" in hit.signals]
    return hits, [hit for hit in union.values() if not ("bm25" in hit.signals or "cosine" in hit.signals)]


def _minmax(values: Sequence[float]) -> Callable[[float], float] | None:
    """Return what moves the values into [0, 1]; equal ones are all 1, and where all are 0 there is nothing."""
    if not any(values):
        return None
    low, high = min(values), max(values)
    return (lambda value: (value - low) / (high - low)) if high > low else (lambda _: 1.0)


def _ordered(hits: Sequence[Hit], scores: Sequence[float], others: Sequence[Hit]) -> list[Hit]:
    every = [*hits, *others]
    scored = [*scores, *(hit.score for hit in others)]
    exact = [hit.signals.get("exact", 0.0) for hit in every]
    if any(exact):
        scored = [0.5 * _clamped(score) + 0.5 * share for score, share in zip(scored, exact, strict=True)]
    return sorted((hit.scored(_clamped(score)) for hit, score in zip(every, scored, strict=True)), key=total_order)


def _clamped(score: float) -> float:
    return 0.0 if score < 0 else 1.0 if score > 1 else score  # several times quicker than min and max
