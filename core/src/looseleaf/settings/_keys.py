"""Walk the config surface by key: what stands below a key, and which known key is nearest to an unknown one."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from . import surface
from .surface import key_of

ROOTS: dict[str, type] = {
    "agents": surface.Agents,
    "memory": surface.Memory,
    "plugins": surface.Plugins,
    "models": surface.Models,
}


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {key_of(item.name): hints[item.name] for item in fields(cls)}


def _bare(annotation: Any) -> Any:
    """Return the dataclass, map or list in an annotation such as `X | None` or `Annotated[X, …]`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        structured = [_bare(part) for part in get_args(annotation) if part is not type(None)]
        return next((part for part in structured if is_dataclass(part)), structured[0])
    return annotation


def children_of(where: Any) -> list[str] | None:
    """Return the keys below `where` (None is the root), or None where there are none or the user chooses them."""
    if where is None:
        return list(ROOTS)
    return list(_hints(where)) if isinstance(where, type) and is_dataclass(where) else None


def child_of(where: Any, key: str) -> Any:
    """Return the annotation below `where`, or Any where nothing is known."""
    if where is None:
        return ROOTS.get(key, Any)
    if isinstance(where, type) and is_dataclass(where):
        return _bare(_hints(where).get(key, Any))
    if get_origin(where) in (Mapping, dict):
        return _bare(get_args(where)[1])
    if get_origin(where) is tuple:
        return _bare(get_args(where)[0])
    return Any


def known_only(data: Any, where: Any = None, key: str = "") -> tuple[Any, list[str]]:
    """Return `data` without the keys that the surface does not know below `where`, and those keys, dotted."""
    unknown: list[str] = []
    if isinstance(data, dict):
        known = children_of(where)
        kept = {}
        for name, value in data.items():
            dotted = f"{key}.{name}".lstrip(".")
            if known is not None and name not in known and where is not None:
                if where.__pydantic_config__["extra"] == "forbid":  # elsewhere keys of other programs are at home
                    unknown.append(dotted)
                continue
            kept[name], below = known_only(value, child_of(where, name), dotted)
            unknown += below
        return kept, unknown
    if isinstance(data, list):
        parts = [known_only(value, child_of(where, ""), f"{key}[{index}]") for index, value in enumerate(data)]
        return [part for part, _ in parts], [name for _, names in parts for name in names]
    return data, unknown


def nearest(key: str, known: list[str]) -> str | None:
    """Return the known key that `key` was probably meant to be."""
    from difflib import get_close_matches

    folded = {name.lower(): name for name in known}
    found = get_close_matches(key.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def flatten(data: Any, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of nested objects by dotted key; a list is a leaf."""
    if not isinstance(data, dict):
        return {prefix: data}
    leaves: dict[str, Any] = {}
    for key, value in data.items():
        leaves.update(flatten(value, f"{prefix}.{key}" if prefix else str(key)))
    return leaves
