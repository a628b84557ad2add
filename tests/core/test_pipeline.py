"""The pipeline: one total order, guard rails, the gate and the trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, nan
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Hit, Query, StageError
from looseleaf.pipeline import Pipeline, by_evidence, clamp, evidence, shared, total_order

SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.5, 0.75, 1.0])
HITS = st.lists(
    st.builds(
        Hit,
        id=st.integers(0, 12).map(str),
        path=st.sampled_from(["a.md", "b.md", "memory/2026-02-10.md"]),
        start=st.integers(1, 3),
        end=st.just(3),
        text=st.just(""),
        score=SCORES,
    ),
    unique_by=lambda hit: hit.id,
    max_size=8,
)
ANY = Query("q", limit=5, min_score=0.0)


def flat(lists, query):
    return [hit for hits in lists.values() for hit in hits]


@given(HITS, st.randoms())
def test_the_order_is_total(hits: list[Hit], random) -> None:
    """The same hits come out in the same order, however they went in."""
    shuffled = hits[:]
    random.shuffle(shuffled)
    pipeline = Pipeline(flat)
    first = [hit.id for hit in pipeline.run({"a": hits}, ANY).hits]
    assert first == [hit.id for hit in pipeline.run({"a": shuffled}, ANY).hits]
    assert first == [hit.id for hit in sorted(hits, key=total_order)][:5]


@given(HITS)
def test_scores_never_rise_down_the_list(hits: list[Hit]) -> None:
    """What is shown falls or stays, and lies in [0, 1]."""
    scores = [hit.score for hit in clamp(Pipeline(by_evidence).run({"a": hits}, ANY).hits)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (lambda hits, query: 1 / 0, "ZeroDivisionError"),
        (lambda hits, query: [*hits, Hit("new", "x.md", 1, 1, "")], "not given: 'new'"),
        (lambda hits, query: [hits[0], hits[0]], "twice"),
        (lambda hits, query: [hits[0].scored(nan)], "score nan"),
        (lambda hits, query: [hits[0].scored(inf)], "score inf"),
        (lambda hits, query: tuple(hits), "tuple, not a list"),
        (lambda hits, query: None, "NoneType, not a list"),
        (lambda hits, query: ["no hit"], "not given: 'no hit'"),
        (lambda hits, query: [hits[0]._replace(text="better")], "changed the path, lines or text"),
        (lambda hits, query: [hits[0]._replace(path="b.md")], "changed the path, lines or text"),
    ],
)
def test_a_stage_that_breaks_its_contract_is_skipped(stage, says: str) -> None:
    """PL-12: hits are never invented, doubled or given a score that is no number; strict mode raises."""
    hits = [Hit("1", "a.md", 1, 1, "", 0.9), Hit("2", "a.md", 2, 2, "", 0.8)]
    result = Pipeline(flat, (("odd", stage),)).run({"a": hits}, ANY)
    assert [hit.id for hit in result.hits] == ["1", "2"]
    assert says in result.notes[0].text
    with pytest.raises((StageError, ZeroDivisionError)):
        Pipeline(flat, (("odd", stage),), strict=True).run({"a": hits}, ANY)


@pytest.fixture
def gate() -> Iterator[Event]:
    """An event that stages may wait for; set when the test is over, so that no thread outlives it."""
    event = Event()
    yield event
    event.set()


def test_a_stage_that_hangs_is_left_behind(gate: Event) -> None:
    """PL-12: past its deadline a stage is skipped; while it still hangs it is not called again, and afterwards it is."""
    calls = []

    def hang(hits, query):
        calls.append(query.stage_timeout_s)
        gate.wait()
        return hits[::-1]

    hits = [Hit("1", "a.md", 1, 1, "one", 0.9), Hit("2", "a.md", 2, 2, "two", 0.8)]
    pipeline = Pipeline(flat, (("hang", hang),))
    query = replace(ANY, stage_timeout_s=0.01)
    for says in ("took longer than 0.01 s", "still busy"):
        result = pipeline.run({"a": hits}, query)
        assert [hit.id for hit in result.hits] == ["1", "2"]
        assert says in result.notes[0].text
    assert calls == [0.01]
    with pytest.raises(StageError, match="took longer"):
        Pipeline(flat, (("hang", hang),), strict=True).run({"a": hits}, query)


def test_a_ranker_and_a_stage_may_have_one_name() -> None:
    """Names are unique within a kind only: each is watched for itself."""
    hits = [Hit("1", "a.md", 1, 1, "one", 0.9), Hit("2", "a.md", 2, 2, "two", 0.8)]
    pipeline = Pipeline(flat, (("same", lambda hits, query: hits[:1]),), name="same", strict=True)
    assert [hit.id for hit in pipeline.run({"a": hits}, ANY).hits] == ["1"]


def test_a_broken_ranker_leaves_evidence() -> None:
    """Search goes on without the ranker, best evidence first."""
    hits = [Hit("1", "a.md", 1, 1, "", 9.0, {"matched": 0.4}), Hit("2", "a.md", 2, 2, "", 1.0, {"matched": 0.9})]
    result = Pipeline(lambda lists, query: 1 / 0, name="odd").run({"a": hits}, ANY)
    assert [hit.id for hit in result.hits] == ["2", "1"]
    assert result.notes[0].code == "stage-skipped"


def test_an_exact_hit_is_never_gated() -> None:
    """RK-01, RK-02: an exact phrase or identifier stays whatever its score."""
    hit = Hit("1", "a.md", 1, 1, "TICKER-XQ", 0.0, {"exact": 1.0, "matched": 0.1, "similarity": 0.0})
    assert Pipeline(flat).run({"a": [hit]}, Query("TICKER-XQ")).hits == [hit]


def test_nothing_near_gives_nothing() -> None:
    """UX-06: a query that matches nothing returns nothing."""
    hit = Hit("1", "a.md", 1, 1, "", 1.0, {"matched": 0.0, "similarity": 0.3, "exact": 0.0})
    assert Pipeline(flat).run({"a": [hit]}, Query("ZXQ_NO_MATCH")).hits == []


def test_the_gate_cuts_the_tail_only() -> None:
    """A hit ranked above one that stays is never dropped."""
    sure = {"matched": 1.0}
    hits = [
        Hit("1", "a", 1, 1, "", 0.9, {"matched": 0.1}),
        Hit("2", "a", 1, 1, "", 0.8, sure),
        Hit("3", "a", 1, 1, "", 0.7, {"matched": 0.1}),
    ]
    assert [hit.id for hit in Pipeline(flat).run({"a": hits}, Query("q")).hits] == ["1", "2"]


def test_evidence_of_a_slot_without_signals_is_its_score() -> None:
    """A third party's slot is gated on its own scores."""
    assert evidence(Hit("1", "a", 1, 1, "", 0.4)) == 0.4


UNIT = st.floats(0, 1)


@given(UNIT, UNIT, UNIT)
def test_evidence_grows_with_either_witness(matched: float, similarity: float, more: float) -> None:
    """More of either is never less evidence, both is at least the better one, and nothing gives nothing."""

    def of(**signals: float) -> float:
        return evidence(Hit("1", "a", 1, 1, "", 0.9, signals))

    both = of(matched=matched, similarity=similarity)
    assert max(matched, similarity) - 1e-12 <= both <= 1
    assert of(matched=max(matched, more), similarity=similarity) >= both
    assert of(matched=matched, similarity=max(similarity, more)) >= both
    assert of(matched=matched) == pytest.approx(matched**0.5)
    assert of(matched=0.0) == of(similarity=0.0) == 0


@given(st.dictionaries(st.sampled_from(["matched", "similarity", "dated", "exact"]), st.floats()), st.floats())
def test_evidence_is_a_share_whatever_a_slot_gives(signals: dict[str, float], score: float) -> None:
    """Negative, huge or no number at all: a slot that breaks its contract cannot break the search."""
    assert 0 <= evidence(Hit("1", "a", 1, 1, "", score, signals)) <= 1


def test_the_trace_says_what_every_stage_did() -> None:
    """Each candidate has a step for each stage it met, with its score or why it was dropped."""
    hits = [Hit(str(place), "a.md", place, place, "", 1 - place / 10) for place in range(1, 5)]
    stage = ("drop", lambda hits, query: hits[1:])
    result = Pipeline(flat, (stage,), name="flat").run({"a": hits}, Query("q", limit=2, min_score=0.65), explain=True)
    ways = {trace.hit.id: [(step.stage, step.reason) for step in trace.steps] for trace in result.traces()}
    assert ways["1"] == [("flat", ""), ("drop", "drop left it out")]
    assert ways["2"] == [("flat", ""), ("drop", "")]
    assert ways["4"] == [("flat", ""), ("minScore", "evidence is below 0.65")]
    assert {trace.hit.id: trace.dropped for trace in result.traces()} == {"1": "drop", "2": "", "3": "", "4": "minScore"}


def test_equal_texts_are_shown_once() -> None:
    """Of two hits with the same text the better one stays, and the trace says why the other went."""
    hits = [Hit("1", "a.md", 1, 1, "same", 0.9), Hit("2", "copy.md", 1, 1, "same", 0.8), Hit("3", "a.md", 2, 2, "", 0.7)]
    result = Pipeline(flat).run({"a": [*hits, hits[2]._replace(id="4", start=3)]}, ANY, explain=True)
    assert [hit.id for hit in result.hits] == ["1", "3", "4"]
    assert {trace.hit.id: trace.dropped for trace in result.traces()}["2"] == "duplicate"


def test_scored_changes_only_the_score() -> None:
    """`Hit.scored` is `replace`, only quicker."""
    hit = Hit("1", "a.md", 1, 2, "t", 0.1, {"bm25": 1.0}, "sessions", "A > B", None)
    assert hit.scored(0.7) == hit._replace(score=0.7)


@given(st.lists(st.sampled_from(["memory", "sessions"]), max_size=20), st.integers(1, 8))
def test_notes_have_half_of_the_places(sources: list[str], limit: int) -> None:
    """SE-04: other kinds of files take what notes leave, in the order of all; no note is ever left out for them."""
    hits = [Hit(str(number), "a.md", 1, 1, "", source=source) for number, source in enumerate(sources)]
    kept = shared(hits, limit)
    assert [hit for hit in hits if hit in kept] == kept
    notes, others = (sources.count(source) for source in ("memory", "sessions"))
    assert [hit.source for hit in kept].count("memory") == notes
    assert len(kept) - notes == min(others, max(limit // 2, limit - notes))
