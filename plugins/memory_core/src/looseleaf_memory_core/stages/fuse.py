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
_COVERED = 1.0  # a list that does not say how much of the query it explains is taken to explain it
_FUSED = frozenset({"bm25", "cosine"})


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
        union, scores = _union(lists)
        signals = {key: hit.signals for key, hit in union.items() if key not in scores}
        words = _minmax({key: given.get("bm25", 0.0) for key, given in signals.items()})
        meaning = _minmax({key: given["cosine"] for key, given in signals.items() if "cosine" in given})
        gate = min(1.0, _GATE * max((given.get("coverage", _COVERED) for given in signals.values()), default=0.0))
        text, vector = (self.text, self.vector) if words and meaning else (1.0, 0.0) if words else (0.0, 1.0)
        for key in signals:
            worded = gate * words.get(key, 0.0)
            scores[key] = text * worded + vector * meaning.get(key, worded)  # without a vector yet, a chunk is taken at its words
        return _ordered(union, scores)


class Weighted(_Weighted):
    """The seeds' weighted sum, repaired: `text * bm25 / best bm25 + vector * calibrated cosine`, by default 0.3 and 0.7."""

    usual = (0.7, 0.3)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        union, scores = _union(lists)
        signals = {key: hit.signals for key, hit in union.items() if key not in scores}
        best = max((given.get("bm25", 0.0) for given in signals.values()), default=0.0) or 1.0
        meant = any("similarity" in given for given in signals.values())
        for key, given in signals.items():
            worded = given.get("bm25", 0.0) / best
            scores[key] = self.text * worded + self.vector * given.get("similarity", 0.0) if meant else worded
        return _ordered(union, scores)


def _union(lists: Mapping[str, Sequence[Hit]]) -> tuple[dict[str, Hit], dict[str, float]]:
    """Return each hit once, with the signals of all lists it is on, and the scores of hits that have no signals to fuse.

    Those come from other slots and are taken at the best of their own scores. The order of lists and hits carries no meaning.
    """
    union: dict[str, Hit] = {}
    scores: dict[str, float] = {}
    for source in sorted(lists):
        for hit in lists[source]:
            known = union.setdefault(hit.id, hit)
            if known is not hit and known.signals != hit.signals:
                union[hit.id] = replace(known, signals={**hit.signals, **known.signals})
            if not _FUSED.isdisjoint(union[hit.id].signals):
                scores.pop(hit.id, None)
            else:
                scores[hit.id] = max(scores.get(hit.id, 0.0), min(1.0, hit.score))
    return union, scores


def _minmax(values: Mapping[str, float]) -> dict[str, float]:
    """Return the values moved into [0, 1]; equal ones are all 1, and where all are 0 there is nothing."""
    if not any(values.values()):
        return {}
    low, high = min(values.values()), max(values.values())
    return {key: (value - low) / (high - low) if high > low else 1.0 for key, value in values.items()}


def _ordered(union: Mapping[str, Hit], scores: Mapping[str, float]) -> list[Hit]:
    exact = {key: share for key, hit in union.items() if (share := hit.signals.get("exact"))}
    if exact:
        scores = {key: 0.5 * score + 0.5 * exact.get(key, 0.0) for key, score in scores.items()}
    ranked = [hit.scored(_clamped(scores[key])) for key, hit in union.items()]
    return sorted(ranked, key=lambda hit: (-hit.score, hit.path, hit.start, hit.id))


def _clamped(score: float) -> float:
    return 0.0 if score < 0 else 1.0 if score > 1 else score  # several times quicker than min and max
