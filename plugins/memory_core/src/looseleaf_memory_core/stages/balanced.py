"""The usual ranker: words and meaning, each min-maxed over the candidates, words gated by how much of the query they explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from looseleaf import Hit, Query

from .candidates import exact_first, in_order, minmax, union, with_signals
from .weights import Weights

# The keyword side counts in full once it explains a quarter of the query; see docs/quality.md.
_GATE = 4.0
_COVERED = 1.0  # a list that does not say how much of the query it explains is taken to explain it


class Balanced(Weights):
    """Min-max both sides over the candidates and add them; an exact phrase or identifier comes before everything else.

    `score = text * gate * minmax(bm25) + vector * minmax(cosine)` with `gate = min(1, 4 * coverage of the best hit)`, the
    share of the query that keyword search explained: chance hits do not spoil a question in another language than the notes.
    Where any candidate is exact, scores are halved and those with `exact` get that share of the other half.
    """

    usual = (0.4, 0.6)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        hits, others = with_signals(union(lists))
        signals = [hit.signals for hit in hits]
        words = minmax([given.get("bm25", 0.0) for given in signals])
        meaning = minmax([given["cosine"] for given in signals if "cosine" in given])
        gate = min(1.0, _GATE * max((given.get("coverage", _COVERED) for given in signals), default=0.0))
        text, vector = (self.text, self.vector) if words and meaning else (1.0, 0.0) if words else (0.0, 1.0)
        scores = []
        for given in signals:
            worded = gate * words(given.get("bm25", 0.0)) if words else 0.0
            cosine = given.get("cosine")  # without a vector yet, a chunk is taken at its words
            scores.append(text * worded + vector * (worded if cosine is None or not meaning else meaning(cosine)))
        every = [*hits, *others]
        return in_order(every, exact_first(every, [*scores, *(hit.score for hit in others)]))
