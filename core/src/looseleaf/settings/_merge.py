"""Put layers of raw settings on top of each other: leaf by leaf, except where the seeds say otherwise."""

from __future__ import annotations

from typing import Any

from ._secrets import as_reference

# Lists that an agent's own entry adds to; every other list replaces the one below.
_CONCATENATED = {"extraPaths", "extraCollections"}
# Maps that an agent's own entry replaces as a whole.
_REPLACED = {"headers"}


def merge(low: dict[str, Any], high: dict[str, Any], *, concatenate: bool = False) -> dict[str, Any]:
    """Return `high` over `low`. A null in `high` falls through; `concatenate` joins the lists that agents add to."""
    merged = dict(low)
    for key, value in high.items():
        below = merged.get(key)
        if value is None:
            continue
        if isinstance(value, dict) and isinstance(below, dict) and key not in _REPLACED:
            merged[key] = merge(below, value, concatenate=concatenate)
        elif concatenate and key in _CONCATENATED and isinstance(value, list) and isinstance(below, list):
            merged[key] = below + [item for item in value if item not in below]
        else:
            merged[key] = value
    return merged


def without_nulls(data: Any) -> Any:
    """Return `data` without the keys that are null: a null is as good as absent."""
    if isinstance(data, dict):
        return {key: without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [without_nulls(value) for value in data]
    return data


def canonical(data: dict[str, Any]) -> dict[str, Any]:
    """Return `data` in the spelling of the seeds: `memory.search` and `agents.entries` of later builds are aliases."""
    data = {key: _with_references(data[key]) for key in data if key in ("agents", "memory", "plugins", "models")}
    memory, agents = data.get("memory"), data.get("agents")
    if isinstance(memory, dict) and isinstance(memory.get("search"), dict):
        memory = dict(memory)
        found = {"defaults": {"memorySearch": memory.pop("search")}}
        data["memory"] = memory
        agents = data["agents"] = merge(found, agents if isinstance(agents, dict) else {})
    if isinstance(agents, dict) and isinstance(agents.get("entries"), dict):
        agents = dict(agents)
        listed = agents.get("list")
        agents["list"] = [*(listed if isinstance(listed, list) else []), *map(_entry, agents.pop("entries").items())]
        data["agents"] = agents
    return data


def _with_references(data: Any) -> Any:
    if isinstance(data, dict):
        reference = as_reference(data)
        return {key: _with_references(value) for key, value in data.items()} if reference is None else reference
    return [_with_references(value) for value in data] if isinstance(data, list) else data


def _entry(item: tuple[str, Any]) -> dict[str, Any]:
    name, entry = item
    entry = dict(entry) if isinstance(entry, dict) else {}
    memory = entry.pop("memory", None)
    search = memory.get("search") if isinstance(memory, dict) else None
    return {"id": name, **entry, **({"memorySearch": search} if search is not None else {})}
