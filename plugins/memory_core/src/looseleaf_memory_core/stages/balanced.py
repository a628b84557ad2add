"""The usual ranker: words and meaning, each min-maxed over the candidates, words gated by how much of the query they explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from looseleaf import Hit, Query

from .candidates import explained, first_things_first, in_order, minmax, union, with_signals
from .weights import Weights

_ALL = 0.25  # of the words' side, for holding all of the query's; measured, see docs/quality.md


class Balanced(Weights):
    """Min-max both sides over the candidates and add them; an exact phrase or identifier comes before everything else.

    `score = text * gate * words + vector * minmax(cosine)`; words are `0.75 * minmax(bm25) + 0.25 * matched ** 2`, so that a
    chunk with all of the query's words is better than one with some of them often. `gate = min(1, 4 * coverage of the best
    hit)`, the share of the query that keyword search explained: chance hits do not spoil a question in another language than
    the notes. A day that was asked for, and an exact phrase or identifier, come first (`first_things_first`).
    """

    usual = (1 / 3, 2 / 3)
    __slots__ = ()

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        hits, others = with_signals(union(lists))
        signals = [hit.signals for hit in hits]
        words = minmax([given.get("bm25", 0.0) for given in signals])
        meaning = iter(minmax([given["cosine"] for given in signals if "cosine" in given]))
        gate = explained(hits)
        meant = any("cosine" in given and given["cosine"] for given in signals)
        text, vector = (self.text, self.vector) if words and meant else (1.0, 0.0) if words else (0.0, 1.0)
        scores = []
        for place, given in enumerate(signals):
            worded = gate * _worded(words[place], given.get("matched")) if words else 0.0
            # Without a vector yet, a chunk is taken at its words.
            near = next(meaning, worded) if "cosine" in given else worded
            score = text * worded + vector * near
            scores.append(max(score, near) if "media" in given else score)  # an image has no words to be found by
        every = [*hits, *others]
        return in_order(every, first_things_first(every, [*scores, *(hit.score for hit in others)]))


def _worded(often: float, matched: float | None) -> float:
    return often if matched is None else (1 - _ALL) * often + _ALL * matched * matched
