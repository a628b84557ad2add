"""memory-core: plain Markdown in SQLite, found by words (FTS5) and by meaning (vectors).

Only the hooks stand here, so that importing it costs nothing; each loads what it makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf import hookimpl

if TYPE_CHECKING:
    from looseleaf import AgentSettings, Embedder, MemorySlot, Ranker

__version__ = "0.1.0"


@hookimpl
def looseleaf_memory(name: str, settings: AgentSettings, embedder: Embedder | None) -> MemorySlot | None:
    """Make the `memory-core` slot."""
    if name != "memory-core":
        return None
    from .slot import CoreSlot

    return CoreSlot(settings, embedder)


@hookimpl
def looseleaf_embedder(name: str, settings: Any) -> Embedder | None:
    """Make the embedders whose weights ship in a package."""
    if name == "bundled":
        from .embedders.bundled import UseEmbedder

        return UseEmbedder()
    if name == "bundled-e5":
        from .embedders.bundled import E5Embedder

        return E5Embedder()
    return None


@hookimpl
def looseleaf_ranker(name: str, settings: AgentSettings) -> Ranker | None:
    """Make the rankers `balanced` and `weighted`."""
    if name not in ("balanced", "weighted"):
        return None
    from .stages.fuse import Balanced, Weighted

    hybrid = settings.search.query.hybrid
    return (Balanced if name == "balanced" else Weighted).from_weights(hybrid.vector_weight, hybrid.text_weight)
