"""`${NAME}` in config: the environment's value, or an error that names NAME. Never sent as it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import NotConfigured

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def references(value: str) -> list[str]:
    """Return the names that `value` refers to."""
    return _REFERENCE.findall(value)


def resolve_secret(value: str, environ: Mapping[str, str], *, key: str) -> str:
    """Return `value` with each `${NAME}` replaced.

    Raises:
        NotConfigured: a name is not set, or is empty. The message names it and never holds a value.
    """
    for name in references(value):
        if not environ.get(name):
            raise NotConfigured(f"{key} refers to ${{{name}}}, which is not set in the environment. Set {name}, or change {key}.")
    return _REFERENCE.sub(lambda match: environ[match[1]], value)
