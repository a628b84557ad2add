"""From lists of hits to one order: rank, gate, post-process, cut. Pure but for the clock that the query carries.

A stage that raises, invents or doubles hits, gives a score that is no number, or takes too long is skipped with a note; strict
mode raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ._guard import OverdueError, Watch, fault
from .errors import StageError
from .protocols import Postprocessor, Ranker
from .results import Step, Trace
from .types import Hit, Note, Query


@dataclass(slots=True)
class Ranking:
    """A pipeline's work in progress: the hits so far, what went wrong, and every candidate's way if it was asked for."""

    hits: list[Hit]
    notes: list[Note] = field(default_factory=list)
    candidates: Mapping[str, Hit] = field(default_factory=dict)
    steps: dict[str, list[Step]] = field(default_factory=dict)

    def record(self, stage: str, kept: Sequence[Hit], reason: str, given: Iterable[str]) -> None:
        """Note the scores that `stage` gave to the hits that it was `given`, or why they are gone."""
        if not self.steps:
            return
        places = {hit.id: (place, hit.score) for place, hit in enumerate(kept, 1)}
        for key in given:
            place, score = places.get(key, (0, None))
            self.steps[key].append(Step(stage, score, "" if place else reason, place))

    def keep(self, check: str, kept: list[Hit], reason: str) -> None:
        """Go on with the hits that passed a check of the host's own, and note why the others did not."""
        if self.steps:
            passed = {hit.id for hit in kept}
            for hit in self.hits:
                if hit.id not in passed:
                    self.steps[hit.id].append(Step(check, None, reason))
        self.hits = kept

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
    a question of eight words of which two are in the answer is a good hit. A note of the day that was asked for is half a
    witness more. A slot without these signals is taken at its score. What a slot gives out of range counts as the nearest
    that is in it, and what is no number as nothing.
    """
    signals = hit.signals
    if signals.get("exact"):
        return 1.0
    matched, similarity, dated = signals.get("matched"), signals.get("similarity"), signals.get("dated", 0.0)
    if similarity is not None:
        doubt = (1 - _share(matched or 0.0)) * (1 - _share(similarity))
    elif matched is None:
        return _share(hit.score)
    else:
        doubt = 1 - float(_share(matched) ** 0.5)
    return 1 - doubt * (1 - 0.5 * _share(dated)) if dated else 1 - doubt


def _share(value: float) -> float:
    """Return `value` in [0, 1], and 0 for NaN."""
    return clamped(value) if value == value else 0.0


@dataclass(frozen=True)
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
    _watches: dict[int, Watch] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def prompt(self) -> bool:
        """Whether all stages promise to be `Prompt`, so that running them holds nobody up."""
        return all(getattr(stage, "prompt", False) for stage in (self.ranker, *(stage for _, stage in self.stages)))

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
        ranked = self._guarded(self.name, self.ranker, lists, query, candidates, ranking.notes)
        hits = by_evidence(lists, query) if ranked is None else sorted(ranked, key=total_order)
        ranking.record(self.name if ranked is not None else "evidence", hits, "the ranker left it out", candidates)
        ranking.hits = hits
        kept = len(hits)
        while kept and evidence(hits[kept - 1]) < query.min_score:
            kept -= 1
        ranking.keep("minScore", hits[:kept], f"evidence is below {query.min_score:g}")
        ranking.keep(
            "quota", shared(ranking.hits, query.limit), "other kinds of files have half of the places while notes are left"
        )
        return ranking

    def finish(self, ranking: Ranking, query: Query) -> None:
        """Drop hits whose text another has, run the post-processors, and keep the first `query.limit` hits."""
        ranking.keep("duplicate", distinct(ranking.hits), "a better hit has the same text")
        for name, stage in self.stages:
            before = ranking.hits
            given = {hit.id: hit for hit in before}
            staged = self._guarded(name, stage, before, query, given, ranking.notes)
            if staged is not None:
                ranking.hits = staged
                ranking.record(name, staged, f"{name} left it out", given)
        ranking.keep("budget", ranking.hits[: query.limit], f"it comes after the first {query.limit} hits")

    def _guarded(
        self, name: str, stage: Callable[..., list[Hit]], hits: object, query: Query, given: Mapping[str, Hit], notes: list[Note]
    ) -> list[Hit] | None:
        """Return what `stage` made of `hits`, or None if it has to be skipped."""
        try:
            if getattr(stage, "prompt", False):
                staged = stage(hits, query)
            else:
                staged = self._watches.setdefault(id(stage), Watch(stage)).call(query.stage_timeout_s, hits, query)
            wrong = fault(staged, given)
        except OverdueError as error:
            wrong = str(error)
        except Exception as error:
            if self.strict:
                raise
            wrong = f"it raised {type(error).__name__}: {error}"
        if not wrong:
            return staged
        if self.strict:
            raise StageError(f"the stage {name!r} broke its contract: {wrong}")
        notes.append(Note("stage-skipped", f"the stage {name!r} was skipped: {wrong}"))
        return None


def shared(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return `hits` with so few that are of no note that the notes have half of `limit` places, if there are as many."""
    others = sum(hit.source != "memory" for hit in hits)
    room = max(limit // 2, limit - (len(hits) - others))
    if others <= room:
        return list(hits)
    kept: list[Hit] = []
    for hit in hits:
        if hit.source == "memory" or room > 0:
            kept.append(hit)
            room -= hit.source != "memory"
    return kept


def distinct(hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` without those whose text one before them has; hits whose text is not known yet stay."""
    seen: set[str] = set()
    kept: list[Hit] = []
    for hit in hits:
        if not hit.text or hit.text not in seen:
            kept.append(hit)
            seen.add(hit.text)
    return kept


def by_evidence(lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
    """Rank by evidence alone: what is left when the configured ranker cannot be used."""
    union = {hit.id: hit for hits in lists.values() for hit in hits}
    return sorted((hit.scored(clamped(evidence(hit))) for hit in union.values()), key=total_order)


by_evidence.prompt = True  # type: ignore[attr-defined]  # a function may promise it, too


def falling(hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` in their order with no score above the one before it: for stages that have an order of their own."""
    lowest = float("inf")
    fallen: list[Hit] = []
    for hit in hits:
        lowest = min(lowest, hit.score)
        fallen.append(hit if hit.score == lowest else hit.scored(lowest))
    return fallen


def clamp(hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` with scores moved into [0, 1]."""
    return [hit if 0 <= hit.score <= 1 else hit.scored(clamped(hit.score)) for hit in hits]


def clamped(score: float) -> float:
    """Return `score` in [0, 1]; several times quicker than min and max."""
    return 0.0 if score < 0 else 1.0 if score > 1 else score
