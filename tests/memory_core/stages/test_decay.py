"""Temporal decay: the seeds' figures, whole days in the user's zone, and old exact hits that stay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from looseleaf import Hit, Query
from looseleaf._run import run
from looseleaf.pipeline import Pipeline
from looseleaf_memory_core.stages.balanced import Balanced
from looseleaf_memory_core.stages.decay import TemporalDecay

TODAY = date(2026, 2, 10)
NOON = datetime(2026, 2, 10, 12, tzinfo=ZoneInfo("Europe/Amsterdam"))


def aged(score: float, days: int, half_life: float = 30) -> float:
    hit = Hit("1", "memory/x.md", 1, 1, "x", score, day=TODAY - timedelta(days=days))
    (after,) = TemporalDecay(half_life)([hit], Query("q", now=NOON))
    return after.score


@pytest.mark.parametrize(
    ("days", "factor"), [(0, 1.0), (1, 0.9772), (7, 0.8507), (30, 0.5), (90, 0.125), (148, 0.0327), (180, 0.0156)]
)
def test_the_seeds_figures(days: int, factor: float) -> None:
    """behaviour.md §14, half-life 30."""
    assert aged(1.0, days) == pytest.approx(factor, abs=5e-5)


def test_the_seeds_example_of_rod_s_schedule() -> None:
    """The note of 148 days ago falls behind today's and last week's, although its similarity is the best."""
    scores = {"september": aged(0.91, 148), "today": aged(0.82, 0), "last week": aged(0.80, 7)}
    assert sorted(scores, key=lambda name: -scores[name]) == ["today", "last week", "september"]
    assert scores == pytest.approx({"september": 0.03, "today": 0.82, "last week": 0.68}, abs=0.005)


def test_a_day_to_come_is_today() -> None:
    """RK-05: a date in the future never multiplies a score."""
    assert aged(0.5, -365) == 0.5


def test_the_day_is_the_user_s() -> None:
    """Half past midnight in Amsterdam is the new day, whatever day it is in UTC."""
    late = datetime(2026, 2, 11, 0, 30, tzinfo=ZoneInfo("Europe/Amsterdam"))
    hit = Hit("1", "memory/2026-02-10.md", 1, 1, "x", 1.0, day=TODAY)
    (after,) = TemporalDecay()([hit], Query("q", now=late))
    assert after.score == pytest.approx(0.9772, abs=5e-5)


def test_an_old_exact_hit_ranks_lower_and_never_vanishes() -> None:
    """RK-02: minScore looks at the evidence, before decay."""
    signals = {"bm25": 5.0, "coverage": 1.0, "matched": 1.0, "exact": 1.0}
    old = Hit("old", "memory/2025-09-15.md", 1, 1, "TICKER-XQ", 5.0, signals, day=date(2025, 9, 15))
    new = Hit("new", "memory/2026-02-09.md", 1, 1, "ticker", 1.0, {**signals, "bm25": 4.0, "exact": 0.0}, day=date(2026, 2, 9))
    far = new._replace(id="far", text="tick", score=0.1, signals={**new.signals, "bm25": 0.1})
    pipeline = Pipeline(Balanced.of(), (("temporal-decay", TemporalDecay()),))
    result = pipeline.run({"k": [old, new, far]}, Query("TICKER-XQ", now=NOON))
    assert [hit.id for hit in result.hits] == ["new", "far", "old"]


def test_the_flag_turns_it_on(opened: Callable, write: Callable) -> None:
    """`hybrid.temporalDecay.enabled` is all it takes; evergreen notes and MEMORY.md do not age."""
    write("memory/2020-01-01.md", "the gateway is old")
    write("MEMORY.md", "the gateway, curated")
    notebook = opened({"query": {"hybrid": {"temporalDecay": {"enabled": True}}}})
    run(notebook.sync(), inline=True)
    scores = {found.hit.path: found.hit.score for found in run(notebook.search("gateway"), inline=True).hits}
    assert scores["memory/2020-01-01.md"] < 1e-6
    assert scores["MEMORY.md"] > 0.5
