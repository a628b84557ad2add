"""From lists of hits to one order: rank, post-process, gate, cut. Pure but for the clock that the query carries.

A stage that raises, invents or doubles hits, or gives a score that is no number is skipped with a note; strict mode raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite

from .errors import StageError
from .protocols import Postprocessor, Ranker
from .types import Hit, Note, Query, Step, Trace


@dataclass(slots=True)
class Ranking:
    """A pipeline's work in progress: the hits so far, what went wrong, and every candidate's way if it was asked for."""

    hits: list[Hit]
    notes: list[Note] = field(default_factory=list)
    candidates: Mapping[str, Hit] = field(default_factory=dict)
    steps: dict[str, list[Step]] = field(default_factory=dict)

    def record(self, stage: str, kept: Sequence[Hit], reason: str, given: Iterable[str]) -> None:
        """Note what `stage` made of the hits that it was `given`."""
        if not self.steps:
            return
        scores = {hit.id: hit.score for hit in kept}
        for key in given:
            score = scores.get(key)
            self.steps[key].append(Step(stage, score, "" if score is not None else reason))

    def traces(self) -> tuple[Trace, ...]:
        """Return every candidate's way."""
        return tuple(Trace(self.candidates[key], tuple(taken)) for key, taken in self.steps.items())


def total_order(hit: Hit) -> tuple[float, str, int, str]:
    """Return the key that sorts hits best first: by score, ties by path, start line and id."""
    return (-hit.score, hit.path, hit.start, hit.id)


def evidence(hit: Hit) -> float:
    """Return how sure it is that the hit has to do with the query, in [0, 1].

    Keyword evidence (the share of the query's idf weight that the chunk holds) and calibrated cosine taken together as two
    witnesses, `1 - (1 - matched)(1 - similarity)`: at least the better of both, and two weak ones support each other. It is 1
    for an exact phrase or identifier. Words that have no second witness (no embedder, or no vector yet) count `sqrt(matched)`:
    a question of eight words of which two are in the answer is a good hit. A slot without these signals is taken at its score.
    """
    signals = hit.signals
    if signals.get("exact"):
        return 1.0
    matched, similarity = signals.get("matched"), signals.get("similarity")
    if similarity is not None:
        return 1 - (1 - (matched or 0.0)) * (1 - similarity)
    return hit.score if matched is None else float(matched**0.5)


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

    def run(self, lists: Mapping[str, Sequence[Hit]], query: Query, *, explain: bool = False) -> Ranking:
        """Return at most `query.limit` hits, best first; for hits that come with their text.

        Raises:
            StageError: in strict mode, when a stage breaks its contract.
        """
        ranking = self.rank(lists, query, explain=explain)
        self.finish(ranking, query)
        return ranking

    def rank(self, lists: Mapping[str, Sequence[Hit]], query: Query, *, explain: bool = False) -> Ranking:
        """Fuse the lists and cut the result after its last hit with evidence of at least `min_score`.

        So a query that matches nothing returns nothing, and no hit vanishes from above one that stays.
        """
        candidates = {hit.id: hit for hits in lists.values() for hit in hits}
        ranking = Ranking([], candidates=candidates, steps={key: [] for key in candidates} if explain else {})
        ranked = self._guarded(self.name, lambda: self.ranker(lists, query), candidates, ranking.notes)
        hits = by_evidence(lists, query) if ranked is None else sorted(ranked, key=total_order)
        ranking.record(self.name, hits, "the ranker left it out", candidates)
        kept = len(hits)
        while kept and evidence(hits[kept - 1]) < query.min_score:
            kept -= 1
        ranking.hits = hits[:kept]
        ranking.record("minScore", ranking.hits, f"evidence is below {query.min_score:g}", [hit.id for hit in hits])
        return ranking

    def finish(self, ranking: Ranking, query: Query) -> None:
        """Run the post-processors over `ranking` and keep the first `query.limit` hits."""
        for name, stage in self.stages:
            before = ranking.hits
            given = {hit.id: hit for hit in before}
            staged = self._guarded(name, partial(stage, before, query), given, ranking.notes)
            ranking.hits = before if staged is None else staged
            ranking.record(name, ranking.hits, f"{name} left it out", given)
        every = ranking.hits
        ranking.hits = every[: query.limit]
        ranking.record("limit", ranking.hits, f"it comes after the first {query.limit} hits", [hit.id for hit in every])

    def _guarded(self, name: str, run: Callable[[], list[Hit]], given: Mapping[str, Hit], notes: list[Note]) -> list[Hit] | None:
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
    return sorted((hit.scored(min(1.0, max(0.0, evidence(hit)))) for hit in union.values()), key=total_order)


def clamp(hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` with scores moved into [0, 1]."""
    return [hit if 0 <= hit.score <= 1 else hit.scored(min(1.0, max(0.0, hit.score))) for hit in hits]


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
