"""Everything we ship keeps the laws that we hand to others."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from looseleaf import load_settings
from looseleaf.testing import (
    HashEmbedder,
    Law,
    embedder_laws,
    memory_laws,
    plugin_laws,
    postprocessor_laws,
    ranker_laws,
)
from looseleaf_memory_core.embedders.bundled import UseEmbedder
from looseleaf_memory_core.slot import CoreSlot
from looseleaf_memory_core.stages.balanced import Balanced
from looseleaf_memory_core.stages.decay import TemporalDecay
from looseleaf_memory_core.stages.mmr import MaximalMarginalRelevance
from looseleaf_memory_core.stages.rrf import ReciprocalRank
from looseleaf_memory_core.stages.weighted import Weighted, WeightedSeed
from looseleaf_memory_core.stages.weights import Weights


def weighted_laws(kind: type[Weights], *claims: str) -> tuple[Law, ...]:
    return ranker_laws(*claims, weighted=lambda weights: kind.of(weights["vector"], weights["keyword"]))


@pytest.mark.parametrize("law", weighted_laws(Balanced, "unit", "unanimous", "monotone", "exact-first"))
def test_balanced(law: Law) -> None:
    """The usual ranker."""
    law(Balanced.of)


@pytest.mark.parametrize("law", weighted_laws(Weighted, "unit", "unanimous", "monotone", "exact-first"))
def test_weighted(law: Law) -> None:
    """The seeds' sum, repaired."""
    law(Weighted.of)


@pytest.mark.parametrize("law", weighted_laws(WeightedSeed, "unit", "unanimous", "monotone"))
def test_weighted_seed(law: Law) -> None:
    """The seeds' sum as it stands."""
    law(WeightedSeed.of)


@pytest.mark.parametrize("law", ranker_laws("unit", "unanimous", "monotone", "rank-based"))
def test_rrf(law: Law) -> None:
    """Reciprocal rank fusion."""
    law(ReciprocalRank)


@pytest.mark.parametrize(
    "law", postprocessor_laws("sorts", "keeps-all", "independent", half_life=30, neutral=lambda: TemporalDecay(inf))
)
def test_temporal_decay(law: Law) -> None:
    """A half-life of 30 days."""
    law(TemporalDecay)


@pytest.mark.parametrize(
    "law",
    postprocessor_laws("keeps-all", "greedy", "diverse", "independent", neutral=lambda: MaximalMarginalRelevance(1.0)),
)
def test_mmr(law: Law) -> None:
    """Lambda 0.7."""
    law(MaximalMarginalRelevance)


@pytest.mark.parametrize("law", embedder_laws("unit", "split"))
def test_the_bundled_embedder(law: Law) -> None:
    """Its rows do not depend on the batch."""
    law(UseEmbedder, max_examples=10)  # each is some milliseconds of a real model


@pytest.mark.parametrize("law", embedder_laws("unit", "split", others=[lambda: HashEmbedder(32)]))
def test_the_fake_embedder(law: Law) -> None:
    """What tests lean on keeps the laws, too."""
    law(HashEmbedder)


@pytest.mark.parametrize("law", memory_laws())
@pytest.mark.parametrize("embedder", [None, HashEmbedder], ids=["words", "hybrid"])
def test_memory_core(law: Law, embedder: Callable[[], HashEmbedder] | None) -> None:
    """By words alone and with vectors."""

    def make(workspace: Path, state: Path) -> CoreSlot:
        settings = load_settings(environ={"LOOSELEAF_STATE_DIR": str(state)}, home=state)
        return CoreSlot(settings.for_agent(workspace=workspace), embedder() if embedder else None)

    law(make)


@pytest.mark.parametrize("law", plugin_laws())
@pytest.mark.parametrize("name", ["looseleaf-memory-core", "looseleaf-memory-qmd"])
def test_the_bundled_plugins(law: Law, name: str) -> None:
    """As installed."""
    law(lambda: name)
