"""Temporal decay: what a dated note says counts less the older it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from looseleaf import Hit, Query
from looseleaf.pipeline import total_order


@dataclass(frozen=True, slots=True)
class TemporalDecay:
    """`score * 2 ** (-age / half life)`, and sort. Ages are whole days in the user's time zone; a day to come is today.

    Hits without a day (`MEMORY.md`, undated and evergreen notes) do not age. Comes after the `minScore` gate, so an old note
    ranks lower and never vanishes ("OpenClaw Memory", Temporal Decay).

    Attributes:
        half_life_days: Days after which a score is halved, above 0; infinite changes nothing.
    """

    half_life_days: float = 30.0

    prompt: ClassVar[bool] = True

    def __call__(self, hits: Sequence[Hit], query: Query) -> list[Hit]:
        """Return `hits` with their scores of today, best first."""
        today = query.now.date()
        return sorted((hit.scored(hit.score * self.factor(hit.day, today)) if hit.day else hit for hit in hits), key=total_order)

    def factor(self, day: date | None, today: date) -> float:
        """Return what is left of the score of a note of `day`, in [0, 1]."""
        if day is None or day >= today:
            return 1.0
        factor: float = 2.0 ** (-(today - day).days / self.half_life_days)
        return factor
