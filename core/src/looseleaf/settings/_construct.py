"""Make settings from raw data that pydantic has already found valid: its import alone takes longer than a search.

The digest of what was validated is kept in the state directory. It stands for one file and one environment, and only for data
that pydantic took as it is, so that both ways always give the same settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from json import dumps
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin

from .. import __version__
from ..files import write_whole
from ._keys import child_of
from .surface import key_of

T = TypeVar("T")


def construct(cls: type[T], data: Mapping[str, Any]) -> T:
    """Return a `cls` made from valid `data`; keys that are not its own are left out."""
    values = {
        item.name: _value(child_of(cls, key), data[key]) for item in fields(cast("Any", cls)) if (key := key_of(item.name)) in data
    }
    return cls(**values)


def _value(annotation: Any, value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(annotation, type) and is_dataclass(annotation):
            return construct(annotation, value)
        if get_origin(annotation) is Mapping:
            inner = child_of(annotation, "")
            return {key: _value(inner, item) for key, item in value.items()}
        return value
    if isinstance(value, list):
        inner = child_of(annotation, "") if get_args(annotation) else Any
        return tuple(_value(inner, item) for item in value)
    return value


def digest(layers: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Return what stands for `layers` in the list of those that were found valid."""
    return blake2b(dumps([__version__, layers]).encode("utf-8", "replace"), digest_size=16).hexdigest()


def is_known_valid(state_dir: Path, identity: str) -> bool:
    """Tell whether the layers behind `identity` were validated before."""
    try:
        return (state_dir / "cache" / "settings").read_text(encoding="ascii") == identity
    except (OSError, ValueError):
        return False


def remember_valid(state_dir: Path, identity: str) -> None:
    """Keep that the layers behind `identity` are valid; a state directory that cannot be written only costs time."""
    with suppress(OSError):
        write_whole(state_dir / "cache" / "settings", identity.encode("ascii"))
