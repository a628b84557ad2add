"""`looseleaf config`: show, check and explain the settings."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConfigError, Problem
from ._common import common_options, load
from ._output import print_json, print_table

if TYPE_CHECKING:
    from ..settings import AgentSettings, Settings

_SECRET_KEYS = ("apiKey", "headers")


@click.group("config", help=__doc__)
def command() -> None:
    """Show, check and explain the settings."""


@command.command("show")
@common_options
def show(agent: str | None, workspace: str | None, config: str | None, as_json: bool) -> int:
    """Print the merged settings of an agent, and where each value came from."""
    settings, chosen = load(config, agent, workspace)
    values = _values(chosen)
    if as_json:
        print_json(_nested(values))
        return 0
    print_table(
        ["key", "value", "from"], [[key, _shown(key, value), _origin(settings, chosen, key)] for key, value in values.items()]
    )
    return 0


@command.command("check")
@common_options
def check(agent: str | None, workspace: str | None, config: str | None, as_json: bool) -> int:
    """Say whether the settings are in order; exits with 2 if they are not."""
    settings, _ = load(config, agent, workspace)
    for entry in settings.agents.list:
        settings.for_agent(entry.id)
    if as_json:
        print_json(
            {
                "ok": True,
                "config": str(settings.config_path or ""),
                "warnings": [str(item) for item in settings.warnings],
                "passedOver": settings.passed_over,
            }
        )
    else:
        print(f"{settings.config_path or 'no config file, built-in values'}: in order")
        if settings.passed_over:
            print(f"passed over, for looseleaf does not know them: {', '.join(settings.passed_over)}")
    return 0


@command.command("explain")
@click.argument("key")
@common_options
def explain(key: str, agent: str | None, workspace: str | None, config: str | None, as_json: bool) -> int:
    """Print one setting, or a whole section: its value, and where it came from."""
    settings, chosen = load(config, agent, workspace)
    values = _values(chosen)
    wanted = _full(key)
    found = {name: value for name, value in values.items() if name == wanted or name.startswith(f"{wanted}.")}
    if not found:
        from difflib import get_close_matches

        near = get_close_matches(wanted, values, n=1, cutoff=0.5)
        raise ConfigError([Problem(key, "", f"no such key; did you mean {near[0]}?" if near else "no such key")])
    if as_json:
        print_json(
            [
                {"key": name, "value": _masked(name, value), "origin": _origin(settings, chosen, name)}
                for name, value in found.items()
            ]
        )
        return 0
    print_table(
        ["key", "value", "from"], [[name, _shown(name, value), _origin(settings, chosen, name)] for name, value in found.items()]
    )
    return 0


def _values(settings: AgentSettings) -> dict[str, Any]:
    """Return every leaf by its dotted key in config."""
    values: dict[str, Any] = {"agents.defaults.workspace": str(settings.workspace)}
    _collect("agents.defaults.memorySearch", settings.search, values)
    _collect("agents.defaults.compaction", settings.compaction, values)
    _collect("memory", settings.memory, values)
    _collect("plugins", settings.plugins, values)
    return values


def _collect(prefix: str, value: Any, into: dict[str, Any]) -> None:
    from ..settings.surface import key_of

    if is_dataclass(value):
        for item in fields(value):
            _collect(f"{prefix}.{key_of(item.name)}", getattr(value, item.name), into)
    elif isinstance(value, dict) and value and not prefix.endswith(_SECRET_KEYS):
        for key, inner in value.items():
            _collect(f"{prefix}.{key}", inner, into)
    else:
        into[prefix] = value


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        from dataclasses import asdict

        return asdict(value)  # type: ignore[arg-type]  # an instance, never the class
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _masked(key: str, value: Any) -> Any:
    """Return `value`, or that a secret is set: keys and headers are never shown, references to the environment are."""
    if key.rpartition(".")[2] not in _SECRET_KEYS or not value:
        return _plain(value)
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return value
    return "(set)"


def _shown(key: str, value: Any) -> str:
    masked = _masked(key, value)
    if masked is None:
        return "(unset)"
    if isinstance(masked, bool):
        return str(masked).lower()
    if isinstance(masked, list):
        return ", ".join(map(str, masked)) or "[]"
    return str(masked) if masked != {} else "{}"


def _nested(values: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *path, last = key.split(".")
        here = tree
        for part in path:
            here = here.setdefault(part, {})
        here[last] = _masked(key, value)
    return tree


def _full(key: str) -> str:
    """Return the key in the seeds' spelling; `memory.search.x` and `memorySearch.x` are short for it."""
    for short in ("memory.search", "memorySearch"):
        if key == short or key.startswith(f"{short}."):
            return "agents.defaults.memorySearch" + key[len(short) :]
    return key


def _origin(settings: Settings, chosen: AgentSettings, key: str) -> str:
    origin = "built-in"
    path = key.split(".")
    for name, data in settings.layers:
        if _holds(data, path):
            origin = name
    if path[:2] == ["agents", "defaults"]:
        for name, data in settings.layers:
            for entry in data.get("agents", {}).get("list", []):
                if entry.get("id") == chosen.agent and _holds(entry, path[2:]):
                    origin = f"{name}, agent {chosen.agent}"
    return origin


def _holds(data: Any, path: list[str]) -> bool:
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True
