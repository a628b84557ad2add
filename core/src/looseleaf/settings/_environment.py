"""Settings from `LOOSELEAF_*` variables: `LOOSELEAF_PLUGINS__SLOTS__MEMORY=none` sets `plugins.slots.memory`.

Names match keys whatever their case and underscores, so `MEMORY_SEARCH` and `MEMORYSEARCH` both mean `memorySearch`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import Problem
from ._keys import child_of, children_of, nearest

PREFIX = "LOOSELEAF_"
_OWN = {"LOOSELEAF_STATE_DIR", "LOOSELEAF_CONFIG"}


def read_environment(environ: Mapping[str, str]) -> tuple[list[tuple[str, dict[str, Any]]], list[Problem]]:
    """Return a layer of settings for each variable, by its name, and a warning for each that means nothing."""
    layers: list[tuple[str, dict[str, Any]]] = []
    warnings: list[Problem] = []
    for name in sorted(environ):
        if not name.upper().startswith(PREFIX) or name in _OWN:
            continue
        path = _path(name[len(PREFIX) :].split("__"))
        if isinstance(path, str):
            warnings.append(Problem(name, "environment", f"no such setting{path}; the variable is ignored"))
            continue
        value: Any = _value(environ[name])
        for key in reversed(path):
            value = {key: value}
        layers.append((f"environment variable {name}", value))
    return layers, warnings


def _path(parts: list[str]) -> list[str] | str:
    """Return the keys that `parts` mean, or how a hint at the nearest one reads."""
    where: Any = None
    keys: list[str] = []
    for part in parts:
        names = children_of(where)
        if names is None:  # a map with keys of the user's own, or a leaf
            if not isinstance(where, type) and where is not None:
                keys.append(part)
                where = child_of(where, part)
                continue
            return ""
        plain = part.replace("_", "").lower()
        found = next((name for name in names if name.lower() == plain), None)
        if found is None:
            near = nearest(plain, [name.lower() for name in names])
            hint = next((name for name in names if name.lower() == near), None)
            return f", did you mean {'.'.join([*keys, hint])}" if hint else ""
        keys.append(found)
        where = child_of(where, found)
    return keys


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
