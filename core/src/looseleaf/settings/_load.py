"""Find the settings, put their layers together and work out what they mean."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ConfigError, Problem
from ._agent import AgentSettings
from ._construct import construct, digest, is_known_valid, remember_valid
from ._environment import PREFIX
from ._keys import ROOTS, known_only
from ._merge import canonical, merge, without_nulls
from ._places import OPENCLAW_FILE, database, expanded, find_config, state_folder, usual_workspace
from ._secrets import references
from .surface import AgentEntry, Agents, Compaction, Memory, MemorySearch, Models, Plugins

T = TypeVar("T")

_AGENT = re.compile(r"[^/\\\x00.][^/\\\x00]{0,63}")
_AGENT_RULE = "it names files, so it has 1 to 64 characters, begins with no dot, and holds no slash or backslash"
_SEARCH_KEY = "agents.defaults.memorySearch"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that was configured.

    Attributes:
        layers: Raw settings with where each was read, lowest first, in the seeds' spelling.
        warnings: What was read but means nothing, or is doubtful.
        passed_over: Keys of OpenClaw's own file that are not known here: it checks them itself, and later versions have more.
        config_path: The file that was read, or None.
        trusted: Whether `layers` are valid as they stand, so that merging them needs no validation.
    """

    agents: Agents = field(default_factory=Agents)
    memory: Memory = field(default_factory=Memory)
    plugins: Plugins = field(default_factory=Plugins)
    models: Models = field(default_factory=Models)
    layers: tuple[tuple[str, dict[str, Any]], ...] = ()
    warnings: tuple[Problem, ...] = ()
    passed_over: tuple[str, ...] = ()
    config_path: Path | None = None
    state_dir: Path = field(default_factory=lambda: state_folder(os.environ))
    trusted: bool = False

    def for_agent(self, agent: str | None = None, *, workspace: Path | None = None) -> AgentSettings:
        """Return the settings of `agent` (the default one if None), with `workspace` in place of the configured one.

        Raises:
            ConfigError: the merged settings contradict each other, or no such agent is configured.
        """
        entry = self._entry(agent)
        name = agent or self._first()
        if not _AGENT.fullmatch(name):  # it names files
            raise ConfigError(
                [Problem("agents.list", str(self.config_path), f"{name!r} cannot be the id of an agent: {_AGENT_RULE}")]
            )
        configured = (entry and entry.workspace) or self.agents.defaults.workspace
        home = expanded(configured) if configured else usual_workspace()
        root = Path(os.path.abspath(workspace)) if workspace else home
        search = self._search(name)
        return AgentSettings(
            agent=name,
            workspace=root,
            state_dir=self.state_dir,
            database=database(
                name, search.store.path, root, self.state_dir, home if configured else None, is_first=name == self._first()
            ),
            search=search,
            memory=self.memory,
            plugins=self.plugins,
            models=self.models,
            compaction=self._merged(Compaction, "compaction", name),
            context_limits=self.agents.defaults.context_limits,
            bootstrap_max_chars=self.agents.defaults.bootstrap_max_chars,
            timezone=_timezone(self.agents.defaults.user_timezone),
        )

    def _first(self) -> str:
        entry = self._entry(None)
        return entry.id if entry else "main"

    def _entry(self, agent: str | None) -> AgentEntry | None:
        entries = self.agents.list
        if agent is None:
            return next((entry for entry in entries if entry.default), entries[0] if entries else None)
        found = next((entry for entry in entries if entry.id == agent), None)
        if found is None and entries and agent != "main":
            names = ", ".join(entry.id for entry in entries)
            raise ConfigError([Problem("agents.list", str(self.config_path), f"no agent is called {agent!r}; there are {names}")])
        return found

    def raw(self, section: str, agent: str) -> dict[str, Any]:
        """Return the merged raw settings of `memorySearch` or `compaction` for `agent`."""
        merged: dict[str, Any] = {}
        for _, data in self.layers:
            agents = data.get("agents", {})
            merged = merge(merged, agents.get("defaults", {}).get(section, {}))
        for _, data in self.layers:
            for entry in data.get("agents", {}).get("list", []):
                if entry.get("id") == agent:
                    merged = merge(merged, entry.get(section) or {}, concatenate=True)
        return merged

    def _search(self, agent: str) -> MemorySearch:
        search = self._merged(MemorySearch, "memorySearch", agent)
        problems: list[Problem] = []
        if search.chunking.overlap >= search.chunking.tokens:
            text = f"must be smaller than chunking.tokens ({search.chunking.tokens}), or no chunk could ever move on"
            problems.append(Problem(f"{_SEARCH_KEY}.chunking.overlap", "", f"{text}; it is {search.chunking.overlap}"))
        suits = search.provider == "gemini" and "gemini-embedding-2" in (search.model or "") and search.fallback == "none"
        if search.multimodal.enabled and not suits:
            text = "needs provider gemini with a gemini-embedding-2 model, and fallback none"
            problems.append(Problem(f"{_SEARCH_KEY}.multimodal.enabled", "", text))
        if problems:
            raise ConfigError(problems)
        return search

    def _merged(self, cls: type[T], section: str, agent: str) -> T:
        raw = self.raw(section, agent)
        if not raw:
            return cls()
        if self.trusted:
            return construct(cls, raw)
        from ._validate import build

        made, problems = build(cls, raw, origin="merged settings", prefix=("agents", "defaults", section))
        if made is None:
            raise ConfigError(problems)
        return made


def load_settings(
    config: str | os.PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> Settings:
    """Return the settings: built-in values, under a config file, under `LOOSELEAF_*` variables.

    Args:
        config: The file; None looks at `$LOOSELEAF_CONFIG`, `~/.looseleaf/looseleaf.json5`, `~/.openclaw/openclaw.json`.
        environ: The environment; None is the process's own.
        home: Where `~` points, for the places looked at by default.

    Raises:
        ConfigError: with every problem found.
    """
    environ = os.environ if environ is None else environ
    path = find_config(config, environ, home)
    state_dir = state_folder(environ, home)
    if path is None and not any(name.upper().startswith(PREFIX) for name in environ):
        return Settings(state_dir=state_dir)
    layers: list[tuple[str, dict[str, Any]]] = []
    warnings: list[Problem] = []
    passed_over: list[str] = []
    if path:
        from ._file import read_config

        data, doubled = read_config(path)
        warnings += doubled + _strays(data, str(path))
        data = canonical(data)
        if path.name == OPENCLAW_FILE:
            data, passed_over = known_only(data)
        layers.append((str(path), data))
    from ._environment import read_environment

    variables, unknown = read_environment(environ)
    problems: list[Problem] = []
    layers = [
        (origin, _with_values(without_nulls(data), environ, origin, problems))
        for origin, data in [*layers, *((origin, canonical(data)) for origin, data in variables)]
    ]
    warnings += unknown
    if not layers:
        return Settings(state_dir=state_dir, warnings=tuple(warnings), config_path=path)
    if problems:
        raise ConfigError(problems + _checked(layers)[1])
    identity = digest(layers)
    trusted = is_known_valid(state_dir, identity)
    plain = _plain(layers) if trusted else None
    if plain is None:
        made, wrong = _checked(layers)
        if wrong:
            raise ConfigError(wrong)
        trusted = made == (plain := _plain(layers))
        if trusted:
            remember_valid(state_dir, identity)
        plain = made
    if plain["plugins"].load.paths:
        text = "is not read: plugins are installed packages, never files that an agent could write"
        warnings.append(Problem("plugins.load.paths", str(path), text))
    return Settings(
        **plain,
        layers=tuple(layers),
        warnings=tuple(warnings),
        passed_over=tuple(passed_over),
        config_path=path,
        state_dir=state_dir,
        trusted=trusted,
    )


def _checked(layers: list[tuple[str, dict[str, Any]]]) -> tuple[dict[str, Any], list[Problem]]:
    """Return the validated roots of the settings, or every problem in them."""
    from ._validate import validate

    made, problems = validate(layers)
    return ({name: getattr(made, name) for name in ROOTS} if made else {}), problems


def _plain(layers: list[tuple[str, dict[str, Any]]]) -> dict[str, Any] | None:
    """Return the roots of the settings made without validation, or None if the data has another shape."""
    merged: dict[str, Any] = {}
    for _, data in layers:
        merged = merge(merged, data)
    try:
        return {name: construct(cls, merged.get(name, {})) for name, cls in ROOTS.items()}
    except (TypeError, ValueError, AttributeError):
        return None


def parse(cls: type[T], data: Mapping[str, Any], *, plugin: str) -> T:
    """Return a `cls`, a dataclass of the plugin's own, made from `plugins.entries.<plugin>.config`.

    Keys are camelCase, and unknown ones are refused.

    Raises:
        ConfigError: with the dotted path of every problem.
    """
    from ._validate import build

    made, problems = build(cls, dict(data), origin="", prefix=("plugins", "entries", plugin, "config"))
    if made is None:
        raise ConfigError(problems)
    return made


def _timezone(name: str | None) -> Any:
    if not name:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        problem = Problem("agents.defaults.userTimezone", "", f"no time zone is called {name!r}; names look like Europe/Berlin")
        raise ConfigError([problem]) from None


def _strays(data: dict[str, Any], origin: str) -> list[Problem]:
    """Return a warning for each top-level key that looks like a misspelt one of ours; others belong to other programs."""
    from ._keys import ROOTS, nearest

    close = {key: nearest(key, list(ROOTS)) for key in data if key not in ROOTS}
    sure = {key: near for key, near in close.items() if near and abs(len(near) - len(key)) <= 1 and near[:3] == key[:3].lower()}
    return [Problem(key, origin, f"is not read; did you mean {near}?") for key, near in sure.items()]


def _with_values(data: Any, environ: Mapping[str, str], origin: str, problems: list[Problem], key: str = "") -> Any:
    """Put the environment's values in for `${NAME}`, except in keys and headers, which are resolved when they are used."""
    if isinstance(data, dict):
        keep = ("apiKey", "headers")
        return {
            name: value if name in keep else _with_values(value, environ, origin, problems, f"{key}.{name}".lstrip("."))
            for name, value in data.items()
        }
    if isinstance(data, list):
        return [_with_values(value, environ, origin, problems, f"{key}[{index}]") for index, value in enumerate(data)]
    if isinstance(data, str):
        for name in references(data):
            if name not in environ:
                problems.append(Problem(key, origin, f"refers to ${{{name}}}, which is not set in the environment"))
            data = data.replace(f"${{{name}}}", environ.get(name, ""))
    return data
