"""What is installed: one scan of the entry points, which imports nothing of what it finds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from .files import write_whole

KINDS = ("memory", "embedder", "ranker", "postprocessor", "extension")


class Entry(NamedTuple):
    """One entry point: `value` is `module` or `module:attribute`; `distribution` and `version` say who brings it."""

    kind: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def origin(self) -> str:
        """Who brings it, as shown to people."""
        return f"{self.distribution} {self.version} ({self.value})"


class Catalog:
    """The installed plugins, by kind and name. Names may be claimed twice; choosing such a name is an error."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        found: dict[str, dict[str, list[Entry]]] = {kind: {} for kind in KINDS}
        for entry in dict.fromkeys(entries):  # a lib64 link or an editable install shows a distribution twice
            if entry.kind in found:
                found[entry.kind].setdefault(entry.name, []).append(entry)
        self._by_kind: Mapping[str, Mapping[str, tuple[Entry, ...]]] = MappingProxyType({
            kind: MappingProxyType({name: tuple(claims) for name, claims in sorted(names.items())})
            for kind, names in found.items()
        })  # fmt: skip

    def names(self, kind: str) -> list[str]:
        """Return the installed names of `kind`, sorted."""
        return list(self._by_kind[kind])

    def claims(self, kind: str, name: str) -> tuple[Entry, ...]:
        """Return who offers `name`: nobody, one, or several."""
        return self._by_kind[kind].get(name, ())

    def entries(self, kind: str) -> list[Entry]:
        """Return all entries of `kind`, by name."""
        return [entry for claims in self._by_kind[kind].values() for entry in claims]


def folded(distribution: str) -> str:
    """Return a distribution's name as names are compared: `Foo_Bar` and `foo-bar` are one."""
    return distribution.replace("_", "-").lower()


def scan(path: Sequence[str] | None = None) -> Catalog:
    """Return what is installed on `path`, `sys.path` if None."""
    return Catalog(_read(path))


def cached_scan(cache: Path) -> Catalog:
    """Return what is installed on `sys.path`, from `cache` as long as no folder on it has changed.

    The scan itself takes longer than a search; the file can be deleted at any time.
    """
    stamp = [__import__("looseleaf").__version__, *_stamp()]
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
        if known["stamp"] == stamp:
            return Catalog(Entry(*row) for row in known["entries"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    entries = list(_read(None))
    with suppress(OSError):  # a state directory that cannot be written costs time, nothing else
        write_whole(cache, json.dumps({"stamp": stamp, "entries": entries}).encode())
    return Catalog(entries)


def _read(path: Sequence[str] | None) -> Iterable[Entry]:
    import importlib_metadata

    seen: set[str] = set()
    for distribution in importlib_metadata.distributions(path=list(sys.path if path is None else path)):
        try:
            name, version = distribution.metadata["Name"], distribution.version
            points = distribution.entry_points
        except Exception:  # noqa: BLE001, S112 - one damaged dist-info must not hide the others
            continue
        known_as = folded(str(name))
        if not name or known_as in seen:  # the first on the path is the one that imports
            continue
        seen.add(known_as)
        for point in points:
            group, _, kind = point.group.partition(".")
            if group == "looseleaf" and kind in KINDS:
                yield Entry(kind, point.name, point.value, name, version)


def _stamp() -> list[list[object]]:
    stamp: list[list[object]] = []
    for folder in dict.fromkeys(sys.path):
        try:
            stamp.append([folder, os.stat(folder or ".").st_mtime_ns])
        except OSError:
            continue
    return stamp
