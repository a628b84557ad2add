"""Import the selected plugins, ask their hooks for objects, and check what came back. The only caller of pluggy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pluggy

from . import hookspecs
from ._catalog import KINDS, Catalog, Entry
from .errors import PluginError
from .protocols import Clock, Embedder, MemorySlot, Postprocessor, Ranker
from .settings import AgentSettings

_EXPECTED: dict[str, tuple[str, ...]] = {
    "memory": ("retrieve", "read", "sync", "status", "aclose"),
    "embedder": ("fingerprint", "limits", "embed", "aclose"),
}
#: Our own distributions: an allow list does not have to name them.
_BUNDLED = {"looseleaf-memory-core", "looseleaf-memory-qmd"}


@dataclass(frozen=True, slots=True)
class PluginState:
    """One installed plugin, and why it is used or not: `selected`, `available`, `off` or `conflict`."""

    entry: Entry
    state: str
    reason: str


class Plugins:
    """The plugins of one notebook. Nothing is imported before its name is selected."""

    def __init__(self, catalog: Catalog, settings: AgentSettings) -> None:
        self.catalog = catalog
        self.settings = settings
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._loaded: dict[str, object] = {}
        self._extensions: list[object] | None = None

    def memory(self, name: str, embedder: Embedder | None, fallback: Embedder | None = None) -> MemorySlot:
        """Return the memory slot `name`."""
        settings = self.settings
        made: MemorySlot = self._make(
            "memory",
            name,
            settings=settings,
            workspace=settings.workspace,
            state_dir=settings.state_dir,
            embedder=embedder,
            fallback=fallback,
            clock=settings.now,
        )
        return made

    def embedder(self, name: str, environ: Mapping[str, str] | None = None) -> Embedder:
        """Return the embedder `name`."""
        environ = os.environ if environ is None else environ
        made: Embedder = self._make("embedder", name, settings=self.settings, environ=environ)
        return made

    def ranker(self, name: str) -> Ranker:
        """Return the ranker `name`."""
        made: Ranker = self._make("ranker", name, settings=self.settings)
        return made

    def postprocessor(self, name: str) -> Postprocessor:
        """Return the post-processor `name`."""
        clock: Clock = self.settings.now
        made: Postprocessor = self._make("postprocessor", name, settings=self.settings, clock=clock)
        return made

    def blocked(self, kind: str, name: str) -> str:
        """Return why config forbids `name`, or an empty string. Deny and `enabled: false` beat every selection."""
        plugins = self.settings.plugins
        claims = self.catalog.claims(kind, name)
        owners = {name, *(entry.distribution for entry in claims)}
        if not plugins.enabled:
            return "plugins disabled"
        if owners & set(plugins.deny):
            return "blocked by denylist"
        if any((entry := plugins.entries.get(owner)) and entry.enabled is False for owner in owners):
            return "disabled in config"
        if kind == "memory" or not plugins.allow or owners & set(plugins.allow) or owners & _BUNDLED:
            return ""
        return "not in allowlist"

    def states(self, selected: Mapping[str, set[str]]) -> list[PluginState]:
        """Return every installed plugin and why it is used or not; `selected` gives the names in use by kind."""
        states: list[PluginState] = []
        for kind in KINDS:
            for name in self.catalog.names(kind):
                claims = self.catalog.claims(kind, name)
                state, reason = self._state(kind, name, selected.get(kind, set()))
                if len(claims) > 1:
                    others = " and ".join(entry.origin for entry in claims)
                    state, reason = "conflict", f"{name!r} is claimed by {others}"
                states += [PluginState(entry, state, reason) for entry in claims]
        return states

    def _state(self, kind: str, name: str, chosen: set[str]) -> tuple[str, str]:
        if reason := self.blocked(kind, name):
            return "off", reason
        if name in chosen:
            return "selected", "selected"
        if kind != "memory":
            return "available", ""
        if not chosen:
            return "off", "memory slot disabled"
        (slot,) = chosen
        allow = self.settings.plugins.allow
        if (
            allow
            and name not in allow
            and not {entry.distribution for entry in self.catalog.claims(kind, name)} & {*allow, *_BUNDLED}
        ):
            return "off", "not in allowlist"
        return "off", f'memory slot set to "{slot}"'

    def _make(self, kind: str, name: str, **arguments: object) -> Any:
        entry = self._entry(kind, name)
        plugin = self._load(entry)
        others = [known for key, known in self._loaded.items() if known is not plugin and known not in self._wrappers()]
        hook = self._manager.subset_hook_caller(f"looseleaf_{kind}", others)
        try:
            made = hook(name=name, **arguments)
        except PluginError as error:
            error.kind, error.name, error.origin = error.kind or kind, error.name or name, error.origin or entry.origin
            raise
        except Exception as error:
            text = f"{_title(kind)} {name!r} of {entry.origin} failed: {type(error).__name__}: {error}"
            raise PluginError(text, kind=kind, name=name, origin=entry.origin) from error
        if made is None:
            text = f"{entry.origin} is registered for the {_title(kind)} {name!r} but its hook looseleaf_{kind} gave nothing"
            raise PluginError(text, kind=kind, name=name, origin=entry.origin)
        missing = [item for item in _EXPECTED.get(kind, ()) if not hasattr(made, item)]
        if missing or (kind in ("ranker", "postprocessor") and not callable(made)):
            lack = f"lacks {', '.join(missing)}" if missing else "cannot be called"
            text = f"{_title(kind)} {name!r} of {entry.origin} gave a {type(made).__name__}, which {lack}"
            raise PluginError(text, kind=kind, name=name, origin=entry.origin)
        return made

    def _entry(self, kind: str, name: str) -> Entry:
        claims = self.catalog.claims(kind, name)
        if not claims:
            from difflib import get_close_matches

            names = self.catalog.names(kind)
            near = get_close_matches(name, names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            listed = ", ".join(names) if names else "none"
            text = (
                f"no {_title(kind)} called {name!r} is installed.{hint} Installed: {listed} (entry-point group looseleaf.{kind})."
            )
            raise PluginError(text, kind=kind, name=name)
        if len(claims) > 1:
            both = " and ".join(entry.origin for entry in claims)
            text = f"{_title(kind)} {name!r} is claimed by {both}; uninstall one of them"
            raise PluginError(text, kind=kind, name=name, origin=both)
        if reason := self.blocked(kind, name):
            raise PluginError(f"{_title(kind)} {name!r} is {reason}", kind=kind, name=name, origin=claims[0].origin)
        return claims[0]

    def _wrappers(self) -> list[object]:
        """Return the extensions, loaded once: the first listed is the outermost, which pluggy calls last registered."""
        if self._extensions is None:
            self._extensions = []
            for name in reversed(self.settings.plugins.extensions):
                self._extensions.append(self._load(self._entry("extension", name)))
        return self._extensions

    def _load(self, entry: Entry) -> object:
        if entry.value in self._loaded:
            return self._loaded[entry.value]
        if entry.kind != "extension":
            self._wrappers()
        try:
            plugin = imported(entry)
        except Exception as error:
            text = f"{entry.origin} cannot be imported: {type(error).__name__}: {error}"
            raise PluginError(text, kind=entry.kind, name=entry.name, origin=entry.origin) from error
        try:
            if not self._manager.is_registered(plugin):
                self._manager.register(plugin)
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            if self._manager.is_registered(plugin):
                self._manager.unregister(plugin)  # nothing half-registered stays behind
            fault = " ".join(str(error).split())
            text = f"{entry.origin} does not fit the hooks: {fault}"
            raise PluginError(text, kind=entry.kind, name=entry.name, origin=entry.origin) from error
        self._loaded[entry.value] = plugin
        return plugin


def imported(entry: Entry) -> object:
    """Return the module, or the attribute of it, that an entry point names.

    Raises:
        Exception: whatever importing it raises.
    """
    module, _, attribute = entry.value.partition(":")
    plugin: object = import_module(module.strip())
    for part in attribute.split(".") if attribute else ():
        plugin = getattr(plugin, part.strip())
    return plugin


def _title(kind: str) -> str:
    return {"memory": "memory slot", "postprocessor": "post-processor"}.get(kind, kind)
