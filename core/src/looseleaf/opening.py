"""Open a workspace's memory: the only moment in which plugins are loaded and hooks are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from ._catalog import Catalog, cached_scan
from ._embedders import configured_embedders
from ._plugins import Plugins
from .errors import PluginError
from .fallback import FallbackSlot
from .notebook import OFF, Notebook
from .pipeline import Pipeline, by_evidence
from .settings import AgentSettings
from .settings.surface import QuerySettings
from .types import Note


def open_notebook(
    settings: AgentSettings, *, catalog: Catalog | None = None, environ: Mapping[str, str] | None = None, strict: bool | None = None
) -> Notebook:
    """Open the memory that `settings` describe: the only moment in which plugins are loaded and hooks are called.

    Args:
        settings: Of one agent.
        catalog: What is installed; None looks.
        environ: Where providers look up keys; None is the process's own environment.
        strict: Whether a broken stage raises; None follows `plugins.strict`.

    Raises:
        PluginError: the selected memory slot is missing, claimed twice or broken.
    """
    environ = os.environ if environ is None else environ
    installed = catalog or cached_scan(settings.state_dir / "cache" / "plugins.json")
    plugins = Plugins(installed, settings)
    name = settings.slot
    if not settings.search.enabled:
        off = Note("memory-off", "memory search is off: agents.defaults.memorySearch.enabled is false")
        return Notebook(settings, None, None, plugins, notes=(off,))
    if name is None:
        return Notebook(settings, None, None, plugins, notes=(OFF,))
    if reason := plugins.blocked("memory", name):
        off = Note("memory-off", f"memory is off: the slot's plugin {name!r} is {reason}")
        return Notebook(settings, None, None, plugins, notes=(off,))
    chosen = configured_embedders(plugins, settings, environ)
    slot = plugins.memory(name, chosen.embedder, chosen.fallback)
    notes = list(chosen.notes)
    substitute = getattr(slot, "substitute", "")
    if substitute and _is_there(plugins, substitute):
        make = partial(plugins.memory, substitute, chosen.embedder, chosen.fallback)
        parts = [slot, *(one for one in (chosen.embedder, chosen.fallback) if one is not None)]
        blocking = all(getattr(one, "blocking", False) for one in parts)
        slot = FallbackSlot(name, slot, substitute, make, notes=notes, index=settings.database, blocking=blocking)
        notes = []
    pipeline = _pipeline(plugins, settings, notes, strict=settings.plugins.strict if strict is None else strict)
    return Notebook(settings, slot, pipeline, plugins, chosen.provider, tuple(notes), chosen.stands_in)


def stage_names(settings: AgentSettings) -> tuple[str, ...]:
    """Return the post-processors in their order: `query.stages`, else those whose flag is set."""
    query = settings.search.query
    if query.stages is not None:
        return query.stages
    flags = (("temporal-decay", query.hybrid.temporal_decay.enabled), ("mmr", query.hybrid.mmr.enabled))
    return tuple(name for name, enabled in flags if enabled)


def _is_there(plugins: Plugins, slot: str) -> bool:
    """Tell whether a memory slot is installed and config does not forbid it."""
    return bool(plugins.catalog.claims("memory", slot)) and not plugins.blocked("memory", slot)


def _pipeline(plugins: Plugins, settings: AgentSettings, notes: list[Note], *, strict: bool) -> Pipeline:
    stages = []
    for stage in stage_names(settings):
        try:
            stages.append((stage, plugins.postprocessor(stage)))
        except PluginError as error:
            if strict:
                raise
            notes.append(Note("stage-missing", f"searching without the stage {stage!r}: {error}"))
    name = settings.search.query.ranker
    try:
        return Pipeline(plugins.ranker(name), tuple(stages), name, strict)
    except PluginError as error:
        if name == QuerySettings().ranker and not plugins.catalog.claims("ranker", name):
            return Pipeline(by_evidence, tuple(stages), "evidence", strict)  # the usual ranker comes with memory-core
        if strict:
            raise
        notes.append(Note("ranker-missing", f"hits are ranked by their evidence alone: {error}"))
        return Pipeline(by_evidence, tuple(stages), "evidence", strict)
