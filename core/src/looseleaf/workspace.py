"""The Markdown layout of a workspace: which files count, the day a note is about, and which notes do not age."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatch
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Self

    from .settings import AgentSettings

#: Folders that are never walked or watched: other programs' files. Hidden folders (VCS, `.venv`, caches) are left out too.
IGNORED_FOLDERS = frozenset(["__pycache__", "bower_components", "node_modules", "site-packages", "venv"])
#: What is indexed beside Markdown where config says so, by the end of its name.
MEDIA = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp", ".gif", ".heic", ".heif"), "image"),
    **dict.fromkeys((".mp3", ".wav", ".ogg", ".opus", ".m4a", ".aac", ".flac"), "audio"),
}
_USUAL_PATTERN = "**/*.md"
_LINK = "it is a symbolic link; list its target under extraPaths to include it"
CURATED = ("MEMORY.md", "memory.md")
_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_DATED = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that is indexed.

    Attributes:
        path: Absolute path.
        pattern: Glob of the files that count below a folder, matched against the path relative to it.
        is_file: Whether it is one file.
    """

    path: str
    pattern: str = _USUAL_PATTERN
    is_file: bool = False

    def takes(self, relative: str) -> bool:
        """Tell whether the file at `relative` (with `/`) below this root counts."""
        return matches(relative, self.pattern)


def modality(path: str) -> str:
    """Return `image` or `audio` for a file that is one by its name, else an empty string."""
    return MEDIA.get(os.path.splitext(path)[1].lower(), "")


class Found(NamedTuple):
    """A file below a root, with what `stat` says of it: sizes in bytes, times in nanoseconds."""

    path: str
    absolute: str
    size: int
    mtime_ns: int
    device: int
    inode: int
    source: str = "memory"


class Skipped(NamedTuple):
    """A file or folder that is left out, and why."""

    path: str
    reason: str


def daily_note(day: date) -> str:
    """Return the path of the note of a day."""
    return f"memory/{day:%Y-%m-%d}.md"


def matches(path: str, pattern: str) -> bool:
    """Tell whether `path` fits the glob `pattern`, where `**/` stands for any folders, also none."""
    if pattern in ("**/*.md", "*.md") and (pattern[0:2] == "**" or "/" not in path):
        return path.endswith(".md")
    return _glob(pattern).fullmatch(path) is not None


def _glob(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(_WILDCARDS.get(part, re.escape(part)) for part in parts))


class Layout:
    """What belongs to one workspace.

    Args:
        workspace: Absolute path of the workspace.
        extra_paths: More files and folders, absolute or relative to the workspace, `~` allowed, each with its pattern.
        exclude: Globs of shown paths that are left out.
        evergreen: Globs of shown paths that do not age.
        media: Kinds of files besides Markdown, `image` and `audio`, that count below extra folders.
    """

    def __init__(
        self,
        workspace: Path,
        extra_paths: Iterable[tuple[str, str]] = (),
        exclude: Iterable[str] = (),
        evergreen: Iterable[str] = (),
        media: Iterable[str] = (),
    ) -> None:
        self.workspace = Path(os.path.abspath(workspace))
        self._exclude = tuple(exclude)
        self._evergreen = tuple(evergreen)
        self._media = frozenset(media)
        self._days: dict[str, date | None] = {}
        self.extra: list[Root] = []
        for path, pattern in extra_paths:
            # An extra path is the user's own word: a link there is followed once, below it none is.
            full = os.path.realpath(self.workspace / os.path.expanduser(path.strip()))
            self.extra.append(Root(full, pattern, is_file=not os.path.isdir(full)))

    @classmethod
    def of(cls, settings: AgentSettings) -> Self:
        """Return the layout that `settings` describe."""
        search = settings.search
        return cls(
            settings.workspace, search.extra_roots(), search.exclude_paths, search.evergreen_paths, search.multimodal.kinds()
        )

    def concerns(self, absolute: str) -> bool:
        """Tell whether a change at `absolute` may change what belongs to the workspace: a file that counts, or a folder."""
        for root in [Root(str(self.workspace / name), is_file=True) for name in CURATED] + [
            Root(str(self.workspace / "memory")), *self.extra,
        ]:  # fmt: skip
            if absolute == root.path:
                return True
            inside = os.path.relpath(absolute, root.path).replace(os.sep, "/")
            if root.is_file or inside.startswith("../"):
                continue
            *folders, name = inside.split("/")
            if any(part[0] == "." or part in IGNORED_FOLDERS for part in folders) or name[0] == ".":
                continue
            if "." not in name or root.takes(inside) or self._takes_media(root, name):
                return True
        return False

    def excludes(self, path: str) -> bool:
        """Tell whether `excludePaths` leave out the file that is shown as `path`."""
        return any(matches(path, glob) for glob in self._exclude)

    def curated(self) -> Root | None:
        """Return the file of curated memory: MEMORY.md, else memory.md."""
        for name in CURATED:
            path = self.workspace / name
            # On a disk that ignores case either name opens the file: the name that stands in the folder counts.
            if path.is_file() and name in os.listdir(self.workspace):
                return Root(str(path), is_file=True)
        return None

    def roots(self) -> list[Root]:
        """Return the roots in the order in which they claim files."""
        curated = self.curated()
        return [*([curated] if curated else []), Root(str(self.workspace / "memory")), *self.extra]

    def shown(self, absolute: str) -> str:
        """Return the path of a file as people and `memory_get` see it: relative to the workspace, with `/`."""
        try:
            return os.path.relpath(absolute, self.workspace).replace(os.sep, "/")
        except ValueError:  # another drive
            return absolute.replace(os.sep, "/")

    def walk(self) -> Iterator[Found | Skipped]:
        """Yield every file that counts, once, and every link, unreadable or ignored folder that was met."""
        seen: set[tuple[int, int]] = set()
        for root in self.roots():
            for item in self.walk_root(root):
                if isinstance(item, Found):
                    identity = (item.device, item.inode)
                    if identity in seen:
                        continue
                    seen.add(identity)
                    if self._exclude and self.excludes(item.path):
                        yield Skipped(item.path, "excluded by excludePaths")
                        continue
                yield item

    def walk_root(self, root: Root) -> list[Found | Skipped]:
        """Return every file that counts below one root, and what is left out."""
        shown = self.shown(root.path)
        if os.path.islink(root.path):
            return [Skipped(shown, _LINK)]
        if root.is_file:
            try:
                info = os.stat(root.path)
            except OSError as error:
                return [Skipped(shown, f"it cannot be read: {error.strerror}")]
            return [Found(shown, root.path, info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)]
        if not os.path.isdir(root.path):
            return []
        items: list[Found | Skipped] = []
        pending = [(root.path, "" if shown == "." else f"{shown}/", "")]
        while pending:
            folder, prefix, inside = pending.pop()
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=attrgetter("name"))
            except OSError as error:
                items.append(Skipped(prefix.rstrip("/") or ".", f"the folder cannot be read: {error.strerror}"))
                continue
            folders = []
            for entry in listed:
                if entry.is_dir(follow_symlinks=False):
                    name = entry.name
                    if name[0] == "." or name in IGNORED_FOLDERS:
                        items.append(Skipped(prefix + name, "folders of this name, and hidden ones, are ignored"))
                    else:
                        folders.append((entry.path, f"{prefix}{name}/", f"{inside}{name}/"))
                elif item := self._file(root, entry, prefix, inside):
                    items.append(item)
            pending += reversed(folders)
        return items

    def _file(self, root: Root, entry: os.DirEntry[str], prefix: str, inside: str) -> Found | Skipped | None:
        name = entry.name
        if entry.is_symlink():
            return Skipped(prefix + name, _LINK) if name.endswith(".md") or os.path.isdir(entry.path) else None
        if not root.takes(inside + name) and not (root.pattern == _USUAL_PATTERN and self._takes_media(root, name)):
            return None
        if name[0] == ".":
            return Skipped(prefix + name, "hidden files are ignored")
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:
            return None  # it vanished since the folder was listed
        if not stat.S_ISREG(info.st_mode):
            return None
        return Found(prefix + name, entry.path, info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)

    def _takes_media(self, root: Root, name: str) -> bool:
        return bool(self._media) and root in self.extra and modality(name) in self._media

    def day_of(self, path: str) -> date | None:
        """Return the day that the note at `path` is about, or None if it does not age.

        Dated is any file below `memory/` (whatever its case) whose name starts with a valid `YYYY-MM-DD`.
        """
        try:
            return self._days[path]
        except KeyError:
            day = self._days[path] = self._read_day(path)
            return day

    def _read_day(self, path: str) -> date | None:
        if path[:7].lower() != "memory/":
            return None
        match = _DATED.match(path.rpartition("/")[2])
        if not match or any(fnmatch(path, glob) for glob in self._evergreen):
            return None
        try:
            return date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            return None

    def is_curated(self, path: str) -> bool:
        """Tell whether the file shown as `path` is curated memory, which groups and channels never see.

        It is one by its name, in whatever folder, and by being the same file as the workspace's own: links count, too.
        """
        if path.rpartition("/")[2].lower() == "memory.md":
            return True
        identity = _identity(self.workspace / path)
        return identity is not None and identity in self.curated_identities()

    def curated_identities(self) -> frozenset[tuple[int, int]]:
        """Return device and inode of the workspace's curated memory; a link stands for what it leads to."""
        found = (_identity(self.workspace / name) for name in CURATED)
        return frozenset(identity for identity in found if identity)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino
