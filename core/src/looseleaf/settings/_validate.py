"""Validate raw settings with pydantic-settings, and say what is wrong by dotted key, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ..errors import Problem
from . import surface
from ._keys import ROOTS, child_of, children_of, nearest

T = TypeVar("T")
Layer = tuple[str, dict[str, Any]]


class _LayerSource(PydanticBaseSettingsSource):
    """One layer of raw settings: the config file, or one environment variable."""

    def __init__(self, settings_cls: type[BaseSettings], data: dict[str, Any]) -> None:
        super().__init__(settings_cls)
        self._data = data

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._data.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return self._data


class Config(BaseSettings):
    """The config surface as pydantic-settings sees it."""

    model_config = SettingsConfigDict(extra="ignore")

    agents: surface.Agents = surface.Agents()
    memory: surface.Memory = surface.Memory()
    plugins: surface.Plugins = surface.Plugins()
    models: surface.Models = surface.Models()


def validate(layers: Sequence[Layer]) -> tuple[Config | None, list[Problem]]:
    """Return the settings that `layers` (later ones win) amount to, or every problem in them."""

    class Layered(Config):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: Any, **__: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(_LayerSource(settings_cls, data) for _, data in reversed(layers))

    try:
        return Layered(), []
    except ValidationError as error:
        return None, _problems(error, layers, ())


def build(cls: type[T], data: dict[str, Any], *, origin: str, prefix: tuple[str, ...] = ()) -> tuple[T | None, list[Problem]]:
    """Return a `cls` made from `data`, or every problem in it; keys are shown below `prefix`."""
    if not hasattr(cls, "__pydantic_config__"):  # a plugin's own dataclass follows the rules of ours
        cls.__pydantic_config__ = surface.STRICT  # type: ignore[attr-defined]  # pydantic looks for it there
    try:
        return TypeAdapter(cls).validate_python(data), []
    except ValidationError as error:
        nested: dict[str, Any] = data
        for key in reversed(prefix):
            nested = {key: nested}
        return None, _problems(error, [(origin, nested)], prefix, cls)


def _problems(error: ValidationError, layers: Sequence[Layer], prefix: tuple[str, ...], cls: type | None = None) -> list[Problem]:
    problems: dict[str, Problem] = {}
    for item in error.errors(include_url=False):
        keys, origin = _locate((*prefix, *item["loc"]), layers, item["type"])
        dotted = _dotted(keys)
        if dotted not in problems:
            problems[dotted] = Problem(dotted, origin, _text(item, keys, len(prefix), cls))
    return list(problems.values())


def _locate(loc: tuple[Any, ...], layers: Sequence[Layer], kind: str) -> tuple[list[str | int], str]:
    """Return `loc` without the names of union members that pydantic puts in, and the highest layer that holds it."""
    best: list[str | int] = []
    origin = layers[-1][0] if len(layers) == 1 else ""
    for name, data in layers:
        keys: list[str | int] = []
        here: Any = data
        for part in loc:
            if (isinstance(here, dict) and part in here) or (
                isinstance(here, list | tuple) and isinstance(part, int) and part < len(here)
            ):
                here = here[part]
            elif not (kind == "missing" and part == loc[-1]):
                continue
            keys.append(part)
        if keys and len(keys) >= len(best):
            best, origin = keys, name
    return best or list(loc), origin


def _dotted(keys: Sequence[str | int]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")


def _text(item: Any, keys: Sequence[str | int], depth: int = 0, cls: type | None = None) -> str:
    """Return what is wrong; from `depth` on the keys are those of `cls`."""
    where: Any = cls
    for key in keys[depth:-1]:
        where = ROOTS.get(str(key)) if where is None else child_of(where, str(key))
    known = children_of(where) or []
    if item["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        near = nearest(str(keys[-1]), known)
        return f"no such key; did you mean {_dotted([*keys[:-1], near])}?" if near else f"no such key; known are {', '.join(known)}"
    if item["type"] == "missing":
        return "the key is missing"
    message = str(item["msg"]).replace("Input should be", "must be")
    given = repr(item["input"])
    return f"{message}, not {given if len(given) <= 60 else given[:57] + '…'}"
