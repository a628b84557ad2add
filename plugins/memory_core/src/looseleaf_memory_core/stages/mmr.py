"""Maximal marginal relevance: the next hit is a good one that says something new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import ClassVar

from looseleaf import Hit, Query
from looseleaf.pipeline import total_order

from ..text import words


@dataclass(frozen=True, slots=True)
class MaximalMarginalRelevance:
    """Take `query.limit` times the hit with the largest `weight * relevance - (1 - weight) * similarity to the nearest one taken`.

    Relevance is score / best score; similarity is Jaccard over the words of the whole chunk, pairs of characters where words
    are not spaced. The others follow as they were. Scores stay as they are, so the result is not sorted by score (Carbonell and
    Goldstein, 1998; "OpenClaw Memory", MMR).

    Attributes:
        weight: The seeds' lambda, in [0, 1]: 1 is relevance only, 0 variety only.
    """

    weight: float = 0.7

    prompt: ClassVar[bool] = True

    def __call__(self, hits: Sequence[Hit], query: Query) -> list[Hit]:
        """Return all `hits`, rearranged."""
        ranked = sorted(hits, key=total_order)
        if self.weight >= 1 or len(ranked) < 3:  # the best is always first
            return ranked
        taken = self._choose(ranked, query.limit)
        chosen = set(taken)
        return [*(ranked[place] for place in taken), *(hit for place, hit in enumerate(ranked) if place not in chosen)]

    def _choose(self, ranked: Sequence[Hit], limit: int) -> list[int]:
        """Return the places of the `limit` that are taken, in turn.

        A hit's worth only falls while others are taken, so one whose old worth is too little now need not be compared again:
        of 200 hits some 30 are ever looked at (Minoux' lazy greedy, 1978).
        """
        best = ranked[0].score or 1.0
        relevance = [self.weight * hit.score / best for hit in ranked]
        queue = [(-worth, place) for place, worth in enumerate(relevance)]
        heapify(queue)
        compared = [0] * len(ranked)  # with how many of those taken
        nearest = [0.0] * len(ranked)
        bags: dict[int, frozenset[str]] = {}
        taken: list[int] = []
        while queue and len(taken) < limit:
            _, place = heappop(queue)
            if compared[place] == len(taken):
                taken.append(place)
                continue
            hit = ranked[place]
            for other in taken[compared[place] :]:
                for number in (place, other):
                    if number not in bags:
                        bags[number] = words(ranked[number].text)
                same = hit.text == ranked[other].text
                nearest[place] = max(nearest[place], similarity(bags[place], bags[other], same=same))
            compared[place] = len(taken)
            heappush(queue, (-(relevance[place] - (1 - self.weight) * nearest[place]), place))
        return taken


def similarity(first: frozenset[str], second: frozenset[str], *, same: bool) -> float:
    """Return the Jaccard similarity of two sets of words, in [0, 1]; two without a word are alike only if they are the `same`."""
    if not first and not second:
        return float(same)
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)
