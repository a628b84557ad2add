"""Which folders QMD indexes under which names, and making its own list agree with that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from looseleaf import AgentSettings, Layout, Note, StoreError
from looseleaf.settings.surface import Collection
from looseleaf.workspace import IGNORED_FOLDERS, Root

from .command import Command, failure

_OTHER = re.compile(r"[^a-z0-9-]+")
_HELD_BY = re.compile(r"^\s*Name:\s*(\S+)", re.MULTILINE)


class Managed(NamedTuple):
    """One of our collections.

    Attributes:
        name: In QMD.
        root: Absolute path of its folder.
        pattern: Glob of its files.
        source: `memory`, or `sessions` for exported transcripts.
        curated: Whether it is the curated memory, which groups never see.
    """

    name: str
    root: str
    pattern: str
    source: str = "memory"
    curated: bool = False

    def as_root(self) -> Root:
        """Return it as the core knows folders."""
        return Root(self.root, self.pattern)

    def files(self) -> Iterator[str]:
        """Yield the path of each of its files below its folder, in order; nothing hidden, as QMD does it."""
        root = self.as_root()
        is_one = "/" not in self.pattern and "*" not in self.pattern  # a file of the folder itself: no need to go deeper
        for folder, folders, names in os.walk(self.root):
            folders[:] = [] if is_one else sorted(name for name in folders if name[0] != "." and name not in IGNORED_FOLDERS)
            inside = os.path.relpath(folder, self.root).replace(os.sep, "/")
            for name in sorted(names):
                relative = name if inside == "." else f"{inside}/{name}"
                if name[0] != "." and root.takes(relative):
                    yield relative


def managed(settings: AgentSettings, layout: Layout, exports: Path | None) -> list[Managed]:
    """Return the collections that `settings` ask for: the memory of the workspace, extra paths, and exported transcripts."""
    qmd, workspace = settings.memory.qmd, str(layout.workspace)
    wanted: list[tuple[str, str, str, str, bool]] = []
    if qmd.include_default_memory:
        curated = layout.curated()
        name = os.path.basename(curated.path) if curated else "MEMORY.md"
        wanted.append(("memory-root" if name == "MEMORY.md" else "memory-alt", workspace, name, "memory", True))
        wanted.append(("memory-dir", os.path.join(workspace, "memory"), "**/*.md", "memory", False))
    for number, extra in enumerate(layout.extra, 1):
        wanted.append((f"extra-{number}", *_folder(extra.path, extra.pattern), "memory", False))
    for number, more in enumerate((*qmd.paths, *settings.search.qmd.extra_collections), 1):
        wanted.append((more.name or f"custom-{number}", *_folder(_full(more, workspace), more.pattern), "memory", False))
    if exports:
        wanted.append(("sessions", str(exports), "**/*.md", "sessions", False))
    names: set[str] = set()
    suffix = agent_suffix(settings.agent)
    return [Managed(_free(name, suffix, names), *rest) for name, *rest in wanted]  # type: ignore[arg-type]


def agent_suffix(agent: str) -> str:
    """Return how the names of an agent's collections end."""
    return f"-{_slug(agent)}"


def listed(command: Command) -> dict[str, tuple[str, str]]:
    """Return root and pattern of each collection in QMD's own config, by name."""
    try:
        data = yaml.safe_load((command.home / "xdg-config" / "qmd" / "index.yml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    known = data.get("collections") if isinstance(data, dict) else None
    if not isinstance(known, dict):
        return {}
    return {
        str(name): (str(row.get("path", "")), str(row.get("pattern", ""))) for name, row in known.items() if isinstance(row, dict)
    }


def reconcile(command: Command, wanted: Sequence[Managed], suffix: str, *, timeout_s: float) -> tuple[list[str], list[Note]]:
    """Add what is missing, make anew what has another folder or pattern, and remove what is ours and no longer wanted.

    Returns what `qmd` said of the collections that it indexed, and what could not be done. Folders that do not exist are left for later.
    """
    known = listed(command)
    names = {one.name for one in wanted}
    said: list[str] = []
    notes: list[Note] = []
    for name in known:
        if name.endswith(suffix) and name not in names:
            _remove(command, name, timeout_s)
    for one in wanted:
        if known.get(one.name) == (one.root, one.pattern) or not os.path.isdir(one.root):
            continue
        if one.name in known:
            _remove(command, one.name, timeout_s)
        try:
            said.append(_add(command, one, suffix, timeout_s))
        except StoreError as error:
            notes.append(Note("qmd-collection", f"{one.root} is not indexed: {error}"))
    return said, notes


def _add(command: Command, one: Managed, suffix: str, timeout_s: float) -> str:
    arguments = ("collection", "add", one.root, "--name", one.name, "--mask", one.pattern)
    done = command.run(*arguments, timeout_s=timeout_s)
    if done.code and (other := _HELD_BY.search(done.stderr)) and other[1] != one.name:
        if not other[1].endswith(suffix):
            raise StoreError(
                f"QMD has the same folder as {other[1]!r}, which is not ours. Remove it: qmd collection remove {other[1]}"
            )
        _remove(command, other[1], timeout_s)
        done = command.run(*arguments, timeout_s=timeout_s)
    if done.code != 0:
        raise failure("qmd collection add", done)
    pattern = listed(command).get(one.name, ("", one.pattern))[1]
    if pattern != one.pattern:  # the whole folder would be indexed
        _remove(command, one.name, timeout_s)
        raise StoreError(f"this qmd took the pattern {pattern!r} instead of {one.pattern!r}; use a newer one")
    return done.stdout


def _remove(command: Command, name: str, timeout_s: float) -> None:
    command.do("collection", "remove", name, timeout_s=timeout_s)


def _full(more: Collection, workspace: str) -> str:
    return os.path.realpath(os.path.join(workspace, os.path.expanduser(more.path)))


def _folder(path: str, pattern: str) -> tuple[str, str]:
    """Return the folder and pattern of a path, which may be one file."""
    return (os.path.dirname(path), os.path.basename(path)) if os.path.isfile(path) else (path, pattern)


def _slug(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-") or "agent"


def _free(name: str, suffix: str, taken: set[str]) -> str:
    """Return the name of a collection as QMD takes it, with a number where it is taken."""
    base = _slug(name)
    free, number = base + suffix, 2
    while free in taken:
        free, number = f"{base}-{number}{suffix}", number + 1
    taken.add(free)
    return free


def owner(collections: Iterable[Managed], name: str) -> Managed | None:
    """Return the collection called `name`."""
    return next((one for one in collections if one.name == name), None)
