"""Check an installed distribution as its author would want to before anybody else does."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from . import hookspecs
from ._catalog import KINDS, Catalog, Entry, folded
from ._plugins import Plugins, imported
from .errors import ConfigError, NotConfigured, PluginError
from .settings import AgentSettings, load_settings

HEAVY = (
    "apsw",
    "httpx",
    "llama_cpp",
    "numpy",
    "onnxruntime",
    "pydantic",
    "requests",
    "rich",
    "sqlite_vec",
    "torch",
    "transformers",
)
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SLOW_MS = 100
_FOREIGN = "somebody-elses"
_UNKNOWN = "noSuchOption"


class Finding(NamedTuple):
    """What a check found about one plugin: `state` is `ok`, `broken` or `note`."""

    check: str
    plugin: str
    state: str
    text: str


class Subject(NamedTuple):
    """What is checked: the entries of one distribution, among all that is installed."""

    entries: list[Entry]
    catalog: Catalog
    settings: AgentSettings

    def hook(self, entry: Entry) -> Callable[..., Any] | None:
        """Return the implementation of the hook that `entry` is registered for; None if its plugin has none.

        Raises:
            Exception: whatever importing the plugin raises.
        """
        for name, item in inspect.getmembers(imported(entry), callable):
            marks = getattr(item, f"{hookspecs.PROJECT}_impl", None)
            if marks and (marks.get("specname") or name) == f"looseleaf_{entry.kind}":
                found: Callable[..., Any] = item
                return found
        return None

    def arguments(self, entry: Entry, name: str, settings: AgentSettings) -> dict[str, Any]:
        """Return everything that the hook of `entry` can be given, as on a machine where nothing is set."""
        given: dict[str, dict[str, Any]] = {
            "memory": {
                "workspace": settings.workspace,
                "state_dir": settings.state_dir,
                "embedder": None,
                "fallback": None,
                "clock": settings.now,
            },
            "embedder": {"environ": {}},
            "ranker": {},
            "postprocessor": {"clock": settings.now},
        }
        return {"name": name, "settings": settings, **given[entry.kind]}


def subject(distribution: str, catalog: Catalog) -> Subject:
    """Return the plugins of `distribution`, with settings as of a machine where nothing is set.

    Raises:
        PluginError: it is not installed, or offers nothing.
    """
    every = [entry for kind in KINDS for entry in catalog.entries(kind)]
    entries = [entry for entry in every if folded(entry.distribution) == folded(distribution)]
    if not entries:
        names = ", ".join(sorted({entry.distribution for entry in every})) or "none"
        text = f"no installed distribution called {distribution!r} offers a plugin. Those that do: {names}."
        raise PluginError(f"{text} After a change of entry points a package has to be installed again.")
    return Subject(entries, catalog, _settings({}))


def _settings(plugin: Mapping[str, Any]) -> AgentSettings:
    import json
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        home = Path(folder)
        if plugin:
            (home / "checked.json5").write_text(json.dumps({"plugins": {"entries": plugin}}), "utf-8")
            settings = load_settings(home / "checked.json5", environ={"LOOSELEAF_STATE_DIR": str(home)}, home=home)
        else:
            settings = load_settings(environ={"LOOSELEAF_STATE_DIR": str(home)}, home=home)
        return settings.for_agent(workspace=home)


def names(about: Subject) -> Iterator[Finding]:
    """Names are small letters, digits and single hyphens, and nobody else's."""
    for entry in about.entries:
        claims = {claim.origin for claim in about.catalog.claims(entry.kind, entry.name)} - {entry.origin}
        if not _NAME.fullmatch(entry.name) or entry.name == "none":
            yield Finding("name", entry.name, "broken", "a name is small letters, digits and single hyphens, and not `none`")
        elif claims:
            yield Finding("name", entry.name, "broken", f"the {entry.kind} {entry.name!r} is also claimed by {', '.join(claims)}")
        else:
            yield Finding("name", entry.name, "ok", f"looseleaf.{entry.kind} = {entry.value}")


def imports(about: Subject) -> Iterator[Finding]:
    """Importing the entry point's module is quick and loads nothing heavy: that happens when a name is selected."""
    code = (
        "import sys, time; begun = time.perf_counter(); import {0}; "
        "print(round(1000 * (time.perf_counter() - begun)), *sorted({1!r} & set(sys.modules)))"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for module in dict.fromkeys(entry.value.partition(":")[0].strip() for entry in about.entries):
        command = [sys.executable, "-c", code.format(module, set(HEAVY))]
        done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8", env=environ)  # noqa: S603 - our own Python
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
            yield Finding("import", module, "broken", f"cannot be imported: {last}")
            continue
        took, *heavy = done.stdout.split()
        if heavy:
            yield Finding("import", module, "broken", f"importing it loads {', '.join(heavy)}: import them where a name is made")
        elif int(took) > _SLOW_MS:
            yield Finding("import", module, "note", f"importing it takes {took} ms, more than {_SLOW_MS}")
        else:
            yield Finding("import", module, "ok", f"{took} ms")


def hooks(about: Subject) -> Iterator[Finding]:
    """The hook of each kind is there, with arguments that the host knows."""
    for entry in about.entries:
        if entry.kind == "extension":
            continue
        try:
            hook = about.hook(entry)
        except Exception as error:  # noqa: BLE001 - whatever an import raises is the finding
            yield Finding("hook", entry.name, "broken", f"cannot be imported: {type(error).__name__}: {error}")
            continue
        if hook is None:
            text = f"{entry.value} has no function looseleaf_{entry.kind} marked with @hookimpl"
            yield Finding("hook", entry.name, "broken", text)
            continue
        known = set(inspect.signature(getattr(hookspecs, f"looseleaf_{entry.kind}")).parameters)
        odd = [argument for argument in inspect.signature(hook).parameters if argument not in known]
        if odd:
            text = f"looseleaf_{entry.kind} takes {', '.join(odd)}, but can be given {', '.join(sorted(known))}"
            yield Finding("hook", entry.name, "broken", text)
        else:
            yield Finding("hook", entry.name, "ok", f"looseleaf_{entry.kind}({', '.join(inspect.signature(hook).parameters)})")


def foreign(about: Subject) -> Iterator[Finding]:
    """A name that is not its own gets None."""
    for entry, hook in _usable(about):
        try:
            made = _call(hook, about.arguments(entry, _FOREIGN, about.settings))
        except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
            text = f"asked for another's name it raised {type(error).__name__}: {error}; it must return None"
            yield Finding("foreign", entry.name, "broken", text)
            continue
        fine = made is None
        text = "another's name gets None" if fine else f"asked for another's name it made a {type(made).__name__}"
        yield Finding("foreign", entry.name, "ok" if fine else "broken", text)


def makes(about: Subject) -> Iterator[Finding]:
    """Its own name gives what the hook promises, or NotConfigured where something it needs is missing."""
    plugins = Plugins(about.catalog, about.settings)
    for entry, _ in _usable(about):
        try:
            if entry.kind == "memory":
                made: object = plugins.memory(entry.name, None)
            elif entry.kind == "embedder":
                made = plugins.embedder(entry.name, {})
            else:
                made = plugins.ranker(entry.name) if entry.kind == "ranker" else plugins.postprocessor(entry.name)
        except NotConfigured as error:
            yield Finding("makes", entry.name, "ok", f"not configured here: {error}")
        except PluginError as error:
            text = f"{error}; where a key or a package is missing, raise NotConfigured"
            yield Finding("makes", entry.name, "broken", text)
        else:
            yield Finding("makes", entry.name, "ok", f"a {type(made).__name__}")


def options(about: Subject) -> Iterator[Finding]:
    """An option that it does not know is refused with its dotted path."""
    for entry, hook in _usable(about):
        settings = _settings({entry.name: {"config": {_UNKNOWN: True}}})
        try:
            _call(hook, about.arguments(entry, entry.name, settings))
        except NotConfigured as error:
            yield Finding("options", entry.name, "ok", f"not configured here, so options cannot be tried: {error}")
        except (ConfigError, PluginError) as error:
            if f"plugins.entries.{entry.name}.config.{_UNKNOWN}" in str(error):
                yield Finding("options", entry.name, "ok", "an unknown option is refused with its path")
                continue
            text = f"an unknown option is refused without its path: {error}. Use looseleaf.settings.parse."
            yield Finding("options", entry.name, "broken", text)
        except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
            text = f"an unknown option raised {type(error).__name__}: {error}. Use looseleaf.settings.parse."
            yield Finding("options", entry.name, "broken", text)
        else:
            text = f"plugins.entries.{entry.name}.config is not read: a user's options, and typing errors, change nothing"
            yield Finding("options", entry.name, "note", text)


CHECKS: Mapping[str, Callable[[Subject], Iterator[Finding]]] = {
    "name": names,
    "import": imports,
    "hook": hooks,
    "foreign": foreign,
    "makes": makes,
    "options": options,
}


def _usable(about: Subject) -> Iterator[tuple[Entry, Callable[..., Any]]]:
    """Yield each plugin that can be asked, with its hook; what is wrong with the others is told by `imports` and `hooks`."""
    for entry in about.entries:
        if entry.kind == "extension":
            continue
        try:
            hook = about.hook(entry)
        except Exception:  # noqa: BLE001, S112 - as above
            continue
        if hook is not None:
            yield entry, hook


def _call(hook: Callable[..., Any], arguments: Mapping[str, Any]) -> object:
    wanted = inspect.signature(hook).parameters
    return hook(**{name: value for name, value in arguments.items() if name in wanted})
