"""Reciprocal rank fusion: only the places in the lists count, so lists whose scores cannot be compared can be fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import ClassVar

from looseleaf import Hit, Query
from looseleaf.pipeline import total_order

from .candidates import in_order, union


@dataclass(frozen=True, slots=True)
class ReciprocalRank:
    """`sum over lists of 1 / (k + place)`, places from 1, divided by the most that the lists could give, so that 1 is first in all.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods" (2009).

    Attributes:
        k: At least 0; how little the first places count more than the next. 60 is the paper's.
    """

    k: float = 60.0

    prompt: ClassVar[bool] = True

    def __call__(self, lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
        """Return the union of the lists, best first."""
        shares: dict[str, list[float]] = {}
        for hits in lists.values():
            best = {hit.id: hit for hit in sorted(hits, key=total_order, reverse=True)}  # a doubled hit counts once, at its best
            for place, hit in enumerate(sorted(best.values(), key=total_order), 1):
                shares.setdefault(hit.id, []).append(1 / (self.k + place))
        most = sum(1 for hits in lists.values() if hits) / (self.k + 1)
        every = union(lists)
        return in_order(every, [fsum(shares[hit.id]) / most for hit in every])
