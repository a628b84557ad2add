"""An example of a third party's package. Hooks only: what they make is loaded when its name is selected."""

from __future__ import annotations

from pathlib import Path

from looseleaf import AgentSettings, Embedder, MemorySlot, Postprocessor, hookimpl


@hookimpl
def looseleaf_embedder(name: str, settings: AgentSettings) -> Embedder | None:
    """Make the embedder `acme`."""
    if name != "acme":
        return None
    from ._embedder import Acme, Options

    return Acme(Options.of(settings))


@hookimpl
def looseleaf_memory(name: str, workspace: Path) -> MemorySlot | None:
    """Make the memory slot `acme-scrapbook`."""
    if name != "acme-scrapbook":
        return None
    from ._scrapbook import Scrapbook

    return Scrapbook(workspace)


@hookimpl
def looseleaf_postprocessor(name: str) -> Postprocessor | None:
    """Make the reranker `acme-rerank`."""
    if name != "acme-rerank":
        return None
    from ._reranker import Reranker

    return Reranker()
