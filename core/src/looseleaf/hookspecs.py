"""The four hooks, and the markers. Each is called while a notebook opens and never during a search.

An implementation takes any subset of a hook's arguments and returns None when `name` is not its own. A factory may raise
`NotConfigured` or `PluginError`; whatever else it raises is wrapped with its distribution and version.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from .protocols import Clock, Embedder, MemorySlot, Postprocessor, Ranker

PROJECT = "looseleaf"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def looseleaf_memory(
    name: str,
    settings: Any,
    workspace: Path,
    state_dir: Path,
    embedder: Embedder | None,
    fallback: Embedder | None,
    clock: Clock,
) -> MemorySlot | None:
    """Make the memory slot `name`.

    Args:
        name: What `plugins.slots.memory` says.
        settings: `AgentSettings` of the agent; `settings.plugin(name)` is the plugin's own part.
        workspace: Absolute path of the notes.
        state_dir: Where looseleaf keeps what can be rebuilt.
        embedder: The configured embedder, or None for words only.
        fallback: The one that steps in while it fails, with vectors of its own, or None. A slot may leave it alone.
        clock: Tells the time in the user's zone.
    """


@hookspec(firstresult=True)
def looseleaf_embedder(name: str, settings: Any, environ: Mapping[str, str]) -> Embedder | None:
    """Make the embedder `name`. Called for each configured provider; under `auto`, in order until one is configured.

    Args:
        name: The provider.
        settings: `AgentSettings`; the provider's options are in `settings.search`.
        environ: The environment, where keys are looked up.

    Raises:
        NotConfigured: a key, model or package is missing; `auto` goes on to the next provider.
    """


@hookspec(firstresult=True)
def looseleaf_ranker(name: str, settings: Any) -> Ranker | None:
    """Make the ranker `name`, a pure function from lists of hits to one.

    Args:
        name: What `query.ranker` says.
        settings: `AgentSettings`.
    """


@hookspec(firstresult=True)
def looseleaf_postprocessor(name: str, settings: Any, clock: Clock) -> Postprocessor | None:
    """Make the post-processor `name`, a pure function from ranked hits to ranked hits.

    Args:
        name: One of `query.stages`.
        settings: `AgentSettings`.
        clock: Tells the time in the user's zone.
    """
