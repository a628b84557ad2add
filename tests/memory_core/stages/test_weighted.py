"""The seeds' weighted sums."""

from __future__ import annotations

import pytest

from looseleaf import Hit, Query
from looseleaf_memory_core.stages.weighted import Weighted, WeightedSeed


def hit(name: str, **signals: float) -> Hit:
    return Hit(name, f"{name}.md", 1, 1, name, signals=signals)


def test_the_seeds_formula_to_the_letter() -> None:
    """0.7 x cosine + 0.3 / (1 + place among the keyword hits)."""
    hits = [hit("a", bm25=9.0, cosine=0.5), hit("b", bm25=7.0, cosine=0.9), hit("c", cosine=0.8)]
    scores = {found.id: found.score for found in WeightedSeed.of()({"all": hits}, Query("q"))}
    assert scores == pytest.approx({"a": 0.65, "b": 0.63 + 0.15, "c": 0.56})


def test_an_embedder_without_levels_is_taken_at_its_cosine() -> None:
    """Meaning counts also where nobody has calibrated it."""
    ranked = Weighted.of()({"all": [hit("a", cosine=0.2), hit("b", cosine=0.6)]}, Query("q"))
    assert [found.id for found in ranked] == ["b", "a"]
    assert ranked[0].score == pytest.approx(0.42)
