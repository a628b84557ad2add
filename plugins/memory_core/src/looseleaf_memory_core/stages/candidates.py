"""What rankers share: the union of the lists, min-max, and the one order that everything ends in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from looseleaf import Hit
from looseleaf.pipeline import clamped, total_order

# The keyword side counts in full once it explains a quarter of the query; see docs/quality.md.
_GATE = 4.0
_COVERED = 1.0  # a list that does not say how much of the query it explains is taken to explain it
_DAY = 0.75
_JUST_BELOW_HALF = 0.4999  # the best of the others must not meet the worst exact hit


def union(lists: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    """Return each hit once, with the signals of all lists it is on; where there are none, with the best of its scores.

    The order of lists and hits carries no meaning: where two lists contradict each other, the first by name is believed.
    """
    found: dict[str, Hit] = {}
    for source in sorted(lists):
        for hit in lists[source]:
            known = found.setdefault(hit.id, hit)
            if known is not hit and not (hit.signals and known.signals is hit.signals):
                found[hit.id] = known._replace(score=max(known.score, hit.score), signals={**hit.signals, **known.signals})
    return list(found.values())


def with_signals(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits that have signals to fuse, and those of other slots, which are taken at their own scores."""
    measured = [hit for hit in hits if "bm25" in hit.signals or "cosine" in hit.signals]
    if len(measured) == len(hits):
        return measured, []
    return measured, [hit for hit in hits if not ("bm25" in hit.signals or "cosine" in hit.signals)]


def minmax(values: Sequence[float]) -> list[float]:
    """Return the values moved into [0, 1]; equal ones are all 1, and where all are 0 there is nothing."""
    if not any(values):
        return []
    low, high = min(values), max(values)
    span = high - low
    return [(value - low) / span for value in values] if span else [1.0] * len(values)


def explained(hits: Sequence[Hit]) -> float:
    """Return how far keyword search is to be believed, in [0, 1]: `min(1, 4 * coverage of the best hit)`."""
    return min(1.0, _GATE * max((hit.signals.get("coverage", _COVERED) for hit in hits), default=0.0))


def first_things_first(hits: Sequence[Hit], scores: Sequence[float]) -> list[float]:
    """Return `scores` in [0, 1] so that what was asked for by name comes first.

    Where any hit is of a day that was asked for, the day counts 3 and the score 4 (measured, see docs/quality.md). Where any has
    an exact phrase or identifier, that is half of the score, and the rest a little less than the other half.
    """
    if any("dated" in hit.signals for hit in hits):
        dated = [hit.signals.get("dated", 0.0) for hit in hits]
        scores = [(clamped(score) + _DAY * share) / (1 + _DAY) for score, share in zip(scores, dated, strict=True)]
    exact = [hit.signals.get("exact", 0.0) for hit in hits]
    if not any(exact):
        return list(scores)
    return [_JUST_BELOW_HALF * clamped(score) + 0.5 * share for score, share in zip(scores, exact, strict=True)]


def in_order(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Return `hits` with `scores`, moved into [0, 1], best first."""
    return sorted((hit.scored(clamped(score)) for hit, score in zip(hits, scores, strict=True)), key=total_order)
