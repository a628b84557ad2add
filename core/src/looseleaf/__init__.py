"""looseleaf: plain Markdown memory for agents, with memory slots, embedders and rankers as plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._run import in_thread
    from .errors import (
        ConfigError,
        LooseleafError,
        NotConfigured,
        PluginError,
        ProviderError,
        ReadRefused,
        StageError,
        StoreError,
        TextTooLong,
    )
    from .hookspecs import hookimpl
    from .notebook import Notebook
    from .opening import open_notebook
    from .protocols import (
        Blocking,
        Calibrated,
        Clock,
        Diagnosing,
        Embedder,
        Following,
        Forgetting,
        Loading,
        MemorySlot,
        Named,
        Outlined,
        Paid,
        Perceiving,
        Postprocessor,
        Probing,
        Prompt,
        Quick,
        Ranker,
        Replaceable,
        Scripted,
    )
    from .reading import read_page
    from .reports import Check, FileStatus, Forgotten, Probe, Progress, Status, SyncReport
    from .results import FoundHit, SearchResult, Step, Trace
    from .settings import AgentSettings, Settings, load_settings
    from .types import Fallback, Hit, Limits, Media, Note, Page, Query, Retrieval, Vectors
    from .workspace import Layout

_HOMES = {
    "_run": "in_thread",
    "errors": "ConfigError LooseleafError NotConfigured PluginError ProviderError ReadRefused StageError StoreError TextTooLong",
    "hookspecs": "hookimpl",
    "notebook": "Notebook",
    "opening": "open_notebook",
    "protocols": "Blocking Calibrated Clock Diagnosing Embedder Following Forgetting Loading MemorySlot Named Outlined Paid Perceiving Postprocessor Probing Prompt Quick Ranker Replaceable Scripted",
    "settings": "AgentSettings Settings load_settings",
    "reading": "read_page",
    "results": "FoundHit SearchResult Step Trace",
    "reports": "Check FileStatus Forgotten Probe Progress Status SyncReport",
    "types": "Fallback Hit Limits Media Note Page Query Retrieval Vectors",
    "workspace": "Layout",
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AgentSettings",
    "Blocking",
    "Calibrated",
    "Check",
    "Clock",
    "ConfigError",
    "Diagnosing",
    "Embedder",
    "Fallback",
    "FileStatus",
    "Following",
    "Forgetting",
    "Forgotten",
    "FoundHit",
    "Hit",
    "Layout",
    "Limits",
    "Loading",
    "LooseleafError",
    "Media",
    "MemorySlot",
    "Named",
    "NotConfigured",
    "Note",
    "Notebook",
    "Outlined",
    "Page",
    "Paid",
    "Perceiving",
    "PluginError",
    "Postprocessor",
    "Probe",
    "Probing",
    "Progress",
    "Prompt",
    "ProviderError",
    "Query",
    "Quick",
    "Ranker",
    "ReadRefused",
    "Replaceable",
    "Retrieval",
    "Scripted",
    "SearchResult",
    "Settings",
    "StageError",
    "Status",
    "Step",
    "StoreError",
    "SyncReport",
    "TextTooLong",
    "Trace",
    "Vectors",
    "__version__",
    "hookimpl",
    "in_thread",
    "load_settings",
    "open_notebook",
    "read_page",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name's module when it is first used, so that a plugin that needs one marker loads one module."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
