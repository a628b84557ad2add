"""The seeds' own examples, with computed numbers."""

from __future__ import annotations

import pytest

from looseleaf import Hit, Query
from looseleaf.pipeline import Pipeline
from looseleaf_memory_core.stages.balanced import Balanced
from looseleaf_memory_core.stages.weighted import Weighted

NOTES = {
    "memory/2026-02-10.md": "Configured Omada router, set VLAN 10 for IoT devices",
    "memory/2026-02-08.md": "Configured Omada router, moved IoT to VLAN 10",
    "memory/2026-02-05.md": "Set up AdGuard DNS on 192.168.10.2",
    "memory/network.md": "Router: Omada ER605, AdGuard: 192.168.10.2, VLAN 10: IoT",
}


@pytest.mark.parametrize(
    ("similarity", "bm25", "score"),
    [(0.5, 8.0, 0.65), (0.5, 0.0, 0.35), (0.0, 8.0, 0.30)],
)
def test_the_seeds_merge(similarity: float, bm25: float, score: float) -> None:
    """behaviour.md §14: 0.7 x vector + 0.3 x keyword gives 0.65, 0.35 and 0.30."""
    best = Hit("best", "z.md", 1, 1, "", signals={"bm25": 8.0, "similarity": 1.0})
    hit = Hit("1", "a.md", 1, 1, "", signals={"bm25": bm25, "similarity": similarity})
    ranked = {found.id: found.score for found in Weighted.of(0.7, 0.3)({"x": [best, hit]}, Query("q"))}
    assert ranked["1"] == pytest.approx(score)


def test_a_keyword_hit_alone_is_returned() -> None:
    """RK-01: 0.3 x 1.0 = 0.30 is below 0.35, and yet the only note with the word is an answer."""
    hit = Hit(
        "1",
        "a.md",
        1,
        1,
        "TICKER-XQ",
        signals={"bm25": 3.0, "coverage": 1.0, "matched": 1.0, "exact": 0.0, "similarity": 0.0, "cosine": 0.0},
    )
    for ranker in (Balanced.of(0.7, 0.3), Weighted.of(0.7, 0.3)):
        assert Pipeline(ranker).run({"keyword": [hit]}, Query("TICKER-XQ")).hits


def test_the_router_notes_are_told_apart(opened, write) -> None:
    """The four notes of the seeds: a question about the router finds the three that have one, best first by its words."""
    from conftest import found

    for path, text in NOTES.items():
        write(path, text)
    notebook = opened()
    assert set(found(notebook, "omada router vlan")) == {"memory/2026-02-10.md", "memory/2026-02-08.md", "memory/network.md"}
    assert set(found(notebook, "192.168.10.2")) == {"memory/2026-02-05.md", "memory/network.md"}


def test_candidates_are_counted_as_the_seeds_do(opened, write, monkeypatch) -> None:
    """behaviour.md §14: 6 x 4 = 24 and 60 x 4 is capped at 200."""
    from looseleaf._run import run

    write("MEMORY.md", "alpha")
    notebook = opened()
    seen = []
    real = type(notebook.slot).retrieve

    async def retrieve(slot, query: Query):
        seen.append(query.candidates)
        return await real(slot, query)

    monkeypatch.setattr(type(notebook.slot), "retrieve", retrieve)
    for limit in (6, 60, 1):
        run(notebook.search("alpha", limit=limit), inline=True)
    assert seen == [24, 200, 4]
