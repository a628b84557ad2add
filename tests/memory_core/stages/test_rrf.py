"""Reciprocal rank fusion, with computed numbers."""

from __future__ import annotations

import pytest

from looseleaf import Hit, Query
from looseleaf_memory_core.stages.rrf import ReciprocalRank


def hit(name: str, score: float) -> Hit:
    return Hit(name, f"{name}.md", 1, 1, name, score)


def test_places_are_summed_and_divided_by_the_most() -> None:
    """k = 60: first and second of two lists is (1/61 + 1/62) / (2/61)."""
    lists = {"keyword": [hit("a", 9.0), hit("b", 7.0)], "vector": [hit("b", 0.3), hit("a", 0.2), hit("c", 0.1)]}
    scores = {found.id: found.score for found in ReciprocalRank()(lists, Query("q"))}
    both = (1 / 61 + 1 / 62) / (2 / 61)
    assert scores == pytest.approx({"a": both, "b": both, "c": (1 / 63) / (2 / 61)})


def test_a_small_k_makes_the_first_place_count() -> None:
    """k = 0: first on one list is as good as second on both."""
    lists = {"keyword": [hit("a", 9.0), hit("b", 7.0)], "vector": [hit("c", 0.3), hit("b", 0.2)]}
    scores = {found.id: found.score for found in ReciprocalRank(0)(lists, Query("q"))}
    assert scores == pytest.approx({"a": 0.5, "b": 0.5, "c": 0.5})
