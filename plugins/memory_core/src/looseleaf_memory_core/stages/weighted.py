"""The seeds' weighted sums: repaired, and as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from looseleaf import Hit, Query
from looseleaf.pipeline import total_order

from .candidates import first_things_first, in_order, union, with_signals
from .weights import Weights


class Weighted(Weights):
    """The seeds' sum, repaired: `text * bm25 / best bm25 + vector * calibrated cosine`, by default 0.3 and 0.7.

    An exact phrase or identifier comes first, as in `balanced`. Without any vector words alone count.
    """

    usual = (0.7, 0.3)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        hits, others = with_signals(union(lists))
        signals = [hit.signals for hit in hits]
        best = max((given.get("bm25", 0.0) for given in signals), default=0.0) or 1.0
        meant = any("cosine" in given or "similarity" in given for given in signals)
        text, vector = (self.text, self.vector) if meant else (1.0, 0.0)
        scores = [text * given.get("bm25", 0.0) / best + vector * _meaning(given) for given in signals]
        every = [*hits, *others]
        return in_order(every, first_things_first(every, [*scores, *(hit.score for hit in others)]))


class WeightedSeed(Weights):
    """The seeds' formula to the letter: `vector * cosine + text / (1 + bm25Rank)`, by default 0.7 and 0.3.

    `bm25Rank` is the place in the keyword list, the best 0, which is what makes the formula mean something: FTS5's own rank is
    never positive, and `1 / (1 + max(0, rank))` of it is 1 for every hit ("OpenClaw Memory", Hybrid Search).
    """

    usual = (0.7, 0.3)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        hits, others = with_signals(union(lists))
        worded = sorted((hit for hit in hits if hit.signals.get("bm25", 0.0) > 0), key=_by_words)
        place = {hit.id: number for number, hit in enumerate(worded)}
        scores = [
            self.vector * max(0.0, hit.signals.get("cosine", 0.0)) + (self.text / (1 + place[hit.id]) if hit.id in place else 0.0)
            for hit in hits
        ]
        return in_order([*hits, *others], [*scores, *(hit.score for hit in others)])


def _meaning(signals: Mapping[str, float]) -> float:
    """Return the calibrated cosine; of an embedder without levels the cosine itself."""
    similarity = signals.get("similarity")
    return max(0.0, signals.get("cosine", 0.0)) if similarity is None else similarity


def _by_words(hit: Hit) -> tuple[float, str, int, str]:
    return total_order(hit.scored(hit.signals["bm25"]))
