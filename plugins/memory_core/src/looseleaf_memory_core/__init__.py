"""memory-core: plain Markdown in SQLite, found by words (FTS5) and by meaning (vectors).

Only the hooks stand here, so that importing it costs nothing; each loads what it makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf import AgentSettings, Embedder, MemorySlot, Postprocessor, Ranker

__version__ = "0.1.0"


@hookimpl
def looseleaf_memory(name: str, settings: AgentSettings, embedder: Embedder | None, fallback: Embedder | None) -> MemorySlot | None:
    """Make the `memory-core` slot."""
    if name != "memory-core":
        return None
    from .slot import CoreSlot

    return CoreSlot(settings, embedder, fallback)


@hookimpl
def looseleaf_embedder(name: str, settings: AgentSettings, environ: Mapping[str, str]) -> Embedder | None:
    """Make the embedders: those whose weights ship in a package, and those behind HTTP."""
    if name == "bundled":
        from .embedders.bundled import UseEmbedder

        return UseEmbedder()
    if name == "bundled-e5":
        from .embedders.bundled import E5Embedder

        return E5Embedder()
    if name == "local":
        from .embedders.local import LocalEmbedder

        return LocalEmbedder(settings, environ)
    if name in ("openai", "gemini", "voyage", "mistral", "ollama"):
        from .embedders.keys import require_keys

        if name != "ollama":  # `auto` asks for each of them: without a key, httpx is not loaded
            require_keys(name, settings, environ, requested=settings.search.provider == name)
        from .embedders.providers import remote_embedder

        return remote_embedder(name, settings, environ)
    return None


@hookimpl
def looseleaf_ranker(name: str, settings: AgentSettings) -> Ranker | None:
    """Make the rankers."""
    query = settings.search.query
    weights = query.hybrid.vector_weight, query.hybrid.text_weight
    if name == "balanced":
        from .stages.balanced import Balanced

        return Balanced.of(*weights)
    if name in ("weighted", "weighted-seed"):
        from .stages.weighted import Weighted, WeightedSeed

        return (Weighted if name == "weighted" else WeightedSeed).of(*weights)
    if name == "rrf":
        from .stages.rrf import ReciprocalRank

        return ReciprocalRank(query.rrf.k)
    return None


@hookimpl
def looseleaf_postprocessor(name: str, settings: AgentSettings) -> Postprocessor | None:
    """Make the post-processors."""
    hybrid = settings.search.query.hybrid
    if name == "best-line":
        from .stages.best_line import BestLine

        return BestLine()
    if name == "temporal-decay":
        from .stages.decay import TemporalDecay

        return TemporalDecay(hybrid.temporal_decay.half_life_days)
    if name == "mmr":
        from .stages.mmr import MaximalMarginalRelevance

        return MaximalMarginalRelevance(hybrid.mmr.lambda_)
    return None
