"""From lists of hits to one order: rank, post-process, gate, cut. Pure but for the clock that the query carries.

A stage that raises, invents or doubles hits, or gives a score that is no number is skipped with a note; strict mode raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple

from .errors import StageError
from .protocols import Postprocessor, Ranker
from .types import Hit, Note, Query, Step, Trace


class Ranked(NamedTuple):
    """What a pipeline gives: the hits that are shown, what went wrong, and every candidate's way if it was asked for."""

    hits: list[Hit]
    notes: list[Note]
    traces: tuple[Trace, ...]


def total_order(hit: Hit) -> tuple[float, str, int, str]:
    """Return the key that sorts hits best first: by score, ties by path, start line and id."""
    return (-hit.score, hit.path, hit.start, hit.id)


def evidence(hit: Hit) -> float:
    """Return how sure it is that the hit has to do with the query, in [0, 1].

    The better of keyword evidence (share of the query's idf weight that the chunk holds) and calibrated cosine; 1 for an
    exact phrase or identifier. A slot without these signals is taken at its score.
    """
    signals = hit.signals
    if signals.get("exact"):
        return 1.0
    if "matched" in signals or "similarity" in signals:
        return max(signals.get("matched", 0.0), signals.get("similarity", 0.0))
    return hit.score


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A ranker and its stages, in the order of config.

    Attributes:
        ranker: Fuses the lists.
        stages: Post-processors by name.
        name: The ranker's name.
        strict: Whether a broken stage raises.
    """

    ranker: Ranker
    stages: tuple[tuple[str, Postprocessor], ...] = ()
    name: str = "ranker"
    strict: bool = False

    def run(self, lists: Mapping[str, Sequence[Hit]], query: Query, *, explain: bool = False) -> Ranked:
        """Return at most `query.limit` hits, best first.

        The ranker's list is cut after its last hit with evidence of at least `min_score`: a query that matches nothing
        returns nothing, and no hit vanishes from above one that stays.

        Raises:
            StageError: in strict mode, when a stage breaks its contract.
        """
        notes: list[Note] = []
        candidates = {hit.id: hit for hits in lists.values() for hit in hits}
        steps: dict[str, list[Step]] = {key: [] for key in candidates} if explain else {}
        hits = self._guarded(self.name, lambda: self.ranker(lists, query), candidates, notes)
        if hits is None:
            hits = by_evidence(lists, query)
        hits.sort(key=total_order)
        _record(steps, self.name, hits, "the ranker left it out")
        kept = 1 + max((place for place, hit in enumerate(hits) if evidence(hit) >= query.min_score), default=-1)
        _record(steps, "minScore", hits[:kept], f"evidence is below {query.min_score:g}", dropped=hits[kept:])
        hits = hits[:kept]
        for name, stage in self.stages:
            before = hits
            staged = self._guarded(name, lambda stage=stage, hits=hits: stage(hits, query), {hit.id: hit for hit in hits}, notes)  # type: ignore[misc]  # early binding
            hits = before if staged is None else staged
            _record(steps, name, hits, f"{name} left it out", dropped=before)
        shown = hits[: query.limit]
        _record(steps, "limit", shown, f"more than {query.limit} hits", dropped=hits[query.limit :])
        return Ranked(shown, notes, tuple(Trace(candidates[key], tuple(taken)) for key, taken in steps.items()))

    def _guarded(
        self, name: str, run: Callable[[], list[Hit]], given: Mapping[str, Hit], notes: list[Note]
    ) -> list[Hit] | None:
        try:
            hits = run()
            fault = _fault(hits, given)
        except Exception as error:
            if self.strict:
                raise
            fault = f"it raised {type(error).__name__}: {error}"
            hits = []
        if not fault:
            return hits
        if self.strict:
            raise StageError(f"the stage {name!r} broke its contract: {fault}")
        notes.append(Note("stage-skipped", f"the stage {name!r} was skipped: {fault}"))
        return None


def by_evidence(lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
    """Rank by evidence alone: what is left when the configured ranker cannot be used."""
    union = {hit.id: hit for hits in lists.values() for hit in hits}
    return sorted((replace(hit, score=min(1.0, max(0.0, evidence(hit)))) for hit in union.values()), key=total_order)


def clamp(hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` with scores moved into [0, 1]."""
    return [hit if 0 <= hit.score <= 1 else replace(hit, score=min(1.0, max(0.0, hit.score))) for hit in hits]


def _fault(hits: object, given: Mapping[str, Hit]) -> str:
    if not isinstance(hits, list):
        return f"it returned {type(hits).__name__}, not a list of hits"
    seen: set[str] = set()
    for hit in hits:
        if not isinstance(hit, Hit) or hit.id not in given:
            return f"it returned a hit that it was not given: {getattr(hit, 'id', hit)!r}"
        if hit.id in seen:
            return f"it returned the hit {hit.id!r} twice"
        if not isfinite(hit.score):
            return f"it gave the hit {hit.id!r} the score {hit.score}"
        seen.add(hit.id)
    return ""


def _record(steps: dict[str, list[Step]], stage: str, kept: Sequence[Hit], reason: str, dropped: Sequence[Hit] | None = None) -> None:
    if not steps:
        return
    present = {hit.id for hit in kept}
    for hit in kept:
        steps[hit.id].append(Step(stage, hit.score))
    gone = steps if dropped is None else {hit.id for hit in dropped}
    for key in gone:
        if key not in present:
            steps[key].append(Step(stage, None, reason))
