"""Type-checked, never run: how users and plugin authors call us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_type

from looseleaf import (
    AgentSettings,
    Embedder,
    Hit,
    MemorySlot,
    Notebook,
    Page,
    Postprocessor,
    Query,
    Ranker,
    SearchResult,
    hookimpl,
    load_settings,
    open_notebook,
)


async def use() -> None:
    """Search, read and close."""
    settings = load_settings().for_agent("main", workspace=Path())
    assert_type(settings, AgentSettings)
    async with open_notebook(settings) as notebook:
        assert_type(notebook, Notebook)
        assert_type(await notebook.search("gateway", limit=3), SearchResult)
        assert_type(await notebook.read("MEMORY.md"), Page)


def rank(lists: Mapping[str, Sequence[Hit]], query: Query) -> list[Hit]:
    """Rank by nothing."""
    return [hit for hits in lists.values() for hit in hits]


def keep(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Keep everything."""
    return list(hits)


ranker: Ranker = rank
stage: Postprocessor = keep


@hookimpl
def looseleaf_embedder(name: str) -> Embedder | None:
    """Take any subset of the arguments."""
    return None


@hookimpl
def looseleaf_memory(name: str, settings: AgentSettings, embedder: Embedder | None) -> MemorySlot | None:
    """Take another subset."""
    return None
