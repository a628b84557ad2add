"""Which embedder config means, and which one steps in for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ._plugins import Plugins
from .errors import NotConfigured, PluginError
from .protocols import Embedder
from .settings import AgentSettings
from .types import Fallback, Note

#: The order of `provider: auto`; the first that is installed and configured is taken. ollama never by itself.
AUTO = ("local", "openai", "gemini", "voyage", "mistral", "bundled")
_KEY = "agents.defaults.memorySearch"


class Embedders(NamedTuple):
    """What embeds.

    Attributes:
        embedder: Who is asked first, or None for words only.
        provider: Its name in config.
        fallback: Who steps in while it fails, or None.
        stands_in: Whom `embedder` itself stands in for, because that one could not be made.
        notes: What went wrong.
    """

    embedder: Embedder | None = None
    provider: str = ""
    fallback: Embedder | None = None
    stands_in: Fallback | None = None
    notes: tuple[Note, ...] = ()


def configured_embedders(plugins: Plugins, settings: AgentSettings, environ: Mapping[str, str]) -> Embedders:
    """Return what `provider` and `fallback` of config mean. What cannot be made is a note: words are found without it."""
    provider, standby = settings.search.provider, settings.search.fallback
    if provider == "none":
        return Embedders()
    embedder, name, reason = _first(plugins, environ) if provider == "auto" else _named(plugins, provider, environ)
    if standby in ("none", name, provider):
        standby = ""
    if embedder is None:
        if not standby:
            code = "no-provider" if provider == "auto" else "provider-failed"
            return Embedders(notes=(Note(code, f"searching by words only: {reason}"),) if reason else ())
        second, _, why = _named(plugins, standby, environ)
        if second is None:
            return Embedders(notes=(Note("provider-failed", f"searching by words only: {reason} And the fallback: {why}"),))
        note = Note("fallback", f"{standby} stands in for {provider}: {reason}")
        return Embedders(second, standby, stands_in=Fallback(provider, reason), notes=(note,))
    if not standby:
        return Embedders(embedder, name)
    second, _, why = _named(plugins, standby, environ)
    notes = () if second else (Note("fallback-failed", f"nobody steps in when {name} fails: {why}"),)
    return Embedders(embedder, name, second, notes=notes)


def _named(plugins: Plugins, name: str, environ: Mapping[str, str]) -> tuple[Embedder | None, str, str]:
    """Return the embedder `name`, its name, and what went wrong, with what to do."""
    try:
        return plugins.embedder(name, environ), name, ""
    except PluginError as error:
        remedy = "" if isinstance(error, NotConfigured) else f" Set {_KEY}.provider to auto or none to be rid of it."
        return None, name, f"{error}{remedy}"


def _first(plugins: Plugins, environ: Mapping[str, str]) -> tuple[Embedder | None, str, str]:
    """Return the first of `AUTO` that is installed and configured, its name, and why those before it are not."""
    reasons: list[str] = []
    for name in AUTO:
        if not plugins.catalog.claims("embedder", name) or plugins.blocked("embedder", name):
            continue
        try:
            embedder = plugins.embedder(name, environ)
            return embedder, getattr(embedder, "provider", name), ""
        except NotConfigured as error:
            reasons.append(str(error))
    return None, "", "; ".join(reasons)
