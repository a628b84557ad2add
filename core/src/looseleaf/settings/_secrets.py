"""`${NAME}` in config: the environment's value, or an error that names NAME. Never sent as it stands.

OpenClaw's `{source, provider, id}` means the same: what it keeps elsewhere is looked for in the environment under its id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import NotConfigured

_UNFIT = re.compile(r"\W+", re.ASCII)
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def references(value: str) -> list[str]:
    """Return the names that `value` refers to."""
    return _REFERENCE.findall(value)


def as_reference(value: Any) -> str | None:
    """Return `{source, provider, id}` as `${ID}`, or None for anything else."""
    if not (isinstance(value, dict) and set(value) == {"source", "provider", "id"} and isinstance(value["id"], str)):
        return None
    name = _UNFIT.sub("_", value["id"]).strip("_").upper()
    return f"${{{name if name[:1].isalpha() else f'SECRET_{name}'}}}"


def resolve_secret(value: str, environ: Mapping[str, str], *, key: str) -> str:
    """Return `value` with each `${NAME}` replaced.

    Raises:
        NotConfigured: a name is not set, or is empty. The message names it and never holds a value.
    """
    for name in references(value):
        if not environ.get(name):
            raise NotConfigured(f"{key} refers to ${{{name}}}, which is not set in the environment. Set {name}, or change {key}.")
    return _REFERENCE.sub(lambda match: environ[match[1]], value)
