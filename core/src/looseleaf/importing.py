"""Take notes over from other memories, as plain files: a plan first, then copies; nothing is overwritten, nothing of theirs is touched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from .errors import LooseleafError
from .reading import open_below
from .workspace import Found, Layout, Root

Kind: TypeAlias = Literal["memsearch", "basic-memory", "qmd"]
_MOST_BYTES = 10_000_000
_UNFIT = re.compile(r"[/\\:\x00]")  # in the name of a folder
_PLACES = {"memsearch": (".memsearch/memory",), "basic-memory": ("~/basic-memory",)}


class Copy(NamedTuple):
    """One note.

    Attributes:
        root: The folder that it comes from.
        relative: Its path there, with `/`.
        target: Its path in the workspace, as it is shown.
        state: `new`, `same` (it is there already), `taken` (another file is) or `large`.
    """

    root: Root
    relative: str
    target: str
    state: Literal["new", "same", "taken", "large"]


def plan(kind: Kind, place: str | None, workspace: Path, home: Path) -> list[Copy]:
    """Return what would be copied to `memory/imported/<kind>/`, in order of path.

    Args:
        kind: Whose notes they are.
        place: Their folder, or QMD's index.yml; None is where they usually are.
        workspace: Where they go.
        home: Of the user.

    Raises:
        LooseleafError: there is no such folder.
    """
    folders = _qmd_folders(place, home) if kind == "qmd" else {"": _folder(kind, place, workspace, home)}
    copies: list[Copy] = []
    for name, root in folders.items():
        inside = "/".join(filter(None, ("memory/imported", kind, name)))
        copies += [_copy(root, found, f"{inside}/{_below(root, found)}", workspace) for found in _notes(root)]
    return sorted(copies, key=lambda copy: copy.target)


def carry_out(copies: list[Copy], workspace: Path) -> list[str]:
    """Copy what is new, and return the paths that were written.

    Raises:
        LooseleafError: a file cannot be written; those before it are there.
    """
    written: list[str] = []
    for copy in copies:
        if copy.state != "new":
            continue
        target = workspace / copy.target
        try:
            with open_below(copy.root, tuple(copy.relative.split("/")), copy.relative) as file:
                data = file.read(_MOST_BYTES + 1)
            if os.path.realpath(target.parent) != os.path.join(os.path.realpath(workspace), os.path.dirname(copy.target)):
                raise LooseleafError(f"{copy.target} lies below a symbolic link: {len(written)} notes were copied")
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "xb") as made:  # whatever came there meanwhile stays
                made.write(data)
        except OSError as error:
            raise LooseleafError(f"{copy.target} cannot be written: {error.strerror}; {len(written)} notes were copied") from None
        written.append(copy.target)
    return written


def _folder(kind: str, place: str | None, workspace: Path, home: Path) -> Root:
    tried = [place] if place else list(_PLACES[kind])
    for each in tried:
        folder = home / each[2:] if each.startswith("~/") else workspace / each
        if folder.is_dir():
            return Root(os.path.realpath(folder))
    raise LooseleafError(f"there are no notes of {kind} in {', '.join(tried)}: say where they are")


def _qmd_folders(place: str | None, home: Path) -> dict[str, Root]:
    """Return QMD's collections by name; a folder that is given is one."""
    if place and Path(place).is_dir():
        return {Path(place).resolve().name: Root(os.path.realpath(place))}
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    file = Path(place) if place else config / "qmd" / "index.yml"
    try:
        import yaml
    except ModuleNotFoundError:
        raise LooseleafError(f"{file} needs pyyaml to be read: pip install looseleaf-memory-qmd, or name a folder") from None
    try:
        known = (yaml.safe_load(file.read_text("utf-8")) or {}).get("collections") or {}
        rows = {str(name): (str(row["path"]), str(row.get("pattern") or "**/*.md")) for name, row in known.items()}
    except FileNotFoundError:
        raise LooseleafError(f"there is no {file}: name QMD's index.yml, or a folder of notes") from None
    except (OSError, ValueError, AttributeError, KeyError, TypeError, yaml.YAMLError) as error:
        raise LooseleafError(f"{file} cannot be read as QMD's index.yml: {error}") from None
    return {
        _UNFIT.sub("-", name).lstrip("."): Root(os.path.realpath(path), pattern)
        for name, (path, pattern) in rows.items()
        if os.path.isdir(path)
    }


def _notes(root: Root) -> Iterator[Found]:
    """Yield the Markdown files below a folder, by the rules of a workspace: no links, nothing hidden."""
    layout = Layout(Path(root.path).parent, [(root.path, root.pattern)])
    yield from (item for item in layout.walk_root(layout.extra[0]) if isinstance(item, Found) and item.path.endswith(".md"))


def _below(root: Root, found: Found) -> str:
    return os.path.relpath(found.absolute, root.path).replace(os.sep, "/")


def _copy(root: Root, found: Found, target: str, workspace: Path) -> Copy:
    full, relative = workspace / target, _below(root, found)
    if found.size > _MOST_BYTES:
        return Copy(root, relative, target, "large")
    if not os.path.lexists(full):
        return Copy(root, relative, target, "new")
    same = full.is_file() and full.stat().st_size == found.size and full.read_bytes() == Path(found.absolute).read_bytes()
    return Copy(root, relative, target, "same" if same else "taken")
