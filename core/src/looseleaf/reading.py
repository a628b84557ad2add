"""Read memory files, and nothing else: one check for every way in.

Each folder below a root is opened without following links, and the file is opened from its folder, so nothing can be swapped
between the check and the read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO

from .errors import ReadRefused
from .types import Page
from .workspace import CURATED, Layout, Root, modality

DEFAULT_LINES = 120
DEFAULT_CHARS = 12_000
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LINK = "it is a symbolic link, or lies below one; list its target under extraPaths to allow it"


def read_page(layout: Layout, path: str, start: int = 1, lines: int | None = None, *, chars: int = DEFAULT_CHARS) -> Page:
    """Return `lines` lines of the memory file at `path` from line `start`: at most 120 lines and `chars` characters unless asked.

    A missing file and a start past the end give an empty page whose `status` says so. The file is streamed.

    Raises:
        ReadRefused: `path` is no memory file.
    """
    start = max(1, start)
    wanted = DEFAULT_LINES if lines is None else max(1, lines)
    root, relative = locate(layout, path)
    shown = layout.shown(os.path.join(root.path, *relative) if relative else root.path)
    try:
        with open_below(root, relative, path) as file:
            info = os.fstat(file.fileno())
            return replace(_page(file, shown, start, wanted, chars), identity=(info.st_dev, info.st_ino))
    except FileNotFoundError:
        return Page(shown, status="not_found")


def locate(layout: Layout, path: str) -> tuple[Root, tuple[str, ...]]:
    """Return the root that `path` belongs to and its parts below it.

    Raises:
        ReadRefused: it belongs to none.
    """
    asked = path.strip()
    if modality(asked):
        raise ReadRefused(path, "it is an image or sound: it can be found, but only Markdown is read")
    if not asked:
        raise ReadRefused(path, "no path was given")
    if "\x00" in asked or any("\ud800" <= char <= "\udfff" for char in asked):
        raise ReadRefused(path, "the path holds characters that no file name can hold")
    if os.sep == "/" and "\\" in asked:
        raise ReadRefused(path, "parts of a path are separated by /")
    if asked[0] == "~":
        raise ReadRefused(path, "paths are absolute or relative to the workspace; ~ is not expanded")
    full = os.path.normpath(os.path.join(layout.workspace, asked))
    inside = False
    for root, relative in _owners(layout, full):
        if not relative or root.takes("/".join(relative)):
            return root, relative
        inside = True
    if inside and not full.endswith(".md"):
        raise ReadRefused(path, "it is not a Markdown file (.md)")
    if os.path.commonpath([str(layout.workspace), full]) == str(layout.workspace):
        raise ReadRefused(path, "it is not a memory file: those are MEMORY.md, memory/**/*.md and what extraPaths lists")
    raise ReadRefused(path, "it lies outside the workspace and is not listed under extraPaths")


def _owners(layout: Layout, full: str) -> Iterator[tuple[Root, tuple[str, ...]]]:
    fixed = [Root(str(layout.workspace / name), is_file=True) for name in CURATED]
    for root in [*fixed, Root(str(layout.workspace / "memory")), *layout.extra]:
        candidates = {full}
        if root in layout.extra:  # extra paths are known by where they really lie
            candidates.add(os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full)))
        for candidate in candidates:
            if candidate == root.path and (root.is_file or not os.path.isdir(root.path)):
                yield root, ()
            elif not root.is_file and candidate.startswith(root.path + os.sep):
                yield root, tuple(candidate[len(root.path) + 1 :].split(os.sep))


@contextmanager
def open_below(root: Root, relative: tuple[str, ...], asked: str) -> Iterator[BinaryIO]:
    """Open the regular file at `relative` below `root`, following no link on the way.

    Raises:
        ReadRefused: a part is a link, or the file is not a regular one.
        FileNotFoundError: there is no such file.
    """
    handle = _open(root.path, None, asked)
    try:
        for index, part in enumerate(relative):
            if os.open in os.supports_dir_fd:
                inner = _open(part, handle, asked)
            else:  # Windows: no folder handles, so each part is looked at before it is opened
                inner = _open(os.path.join(root.path, *relative[: index + 1]), None, asked)
            if handle is not None:
                os.close(handle)
            handle = inner
        if handle is None or not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ReadRefused(asked, "it is not a regular file")
        with os.fdopen(handle, "rb") as file:
            handle = None
            yield file
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise FileNotFoundError(error.errno, error.strerror) from None
        raise ReadRefused(asked, f"the file cannot be opened: {error.strerror}") from None
    finally:
        if handle is not None:
            os.close(handle)


def _open(path: str, folder: int | None, asked: str) -> int | None:
    try:
        info = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except ValueError:
        raise ReadRefused(asked, "the path holds characters that no file name can hold") from None
    if stat.S_ISLNK(info.st_mode):
        raise ReadRefused(asked, _LINK)
    if stat.S_ISDIR(info.st_mode) and os.open not in os.supports_dir_fd:
        return None
    if not stat.S_ISREG(info.st_mode) and not stat.S_ISDIR(info.st_mode):
        raise ReadRefused(asked, "it is not a regular file")
    return os.open(path, os.O_RDONLY | _NOFOLLOW, dir_fd=folder)


def _page(file: BinaryIO, shown: str, start: int, wanted: int, chars: int) -> Page:
    taken: list[str] = []
    room = chars
    number = 0
    cut = False
    while True:
        raw = file.readline(4 * chars + 4)  # a line longer than a page is not read whole
        if not raw:
            break
        number += 1
        ended = raw.endswith(b"\n")
        if number >= start:
            line = raw.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
            if number == 1:
                line = line.removeprefix("\ufeff")
            if len(taken) == wanted or (taken and len(line) + 1 > room):
                return _made(shown, taken, start, number)
            if len(line) > room:
                line, cut = line[:room], True
            taken.append(line)
            room -= len(line) + 1
        while not ended:  # skip the rest of an over-long line
            raw = file.readline(65_536)
            ended = not raw or raw.endswith(b"\n")
    if not taken:
        return Page(shown, start=start, status="empty" if number == 0 else "past_end")
    return Page(shown, "\n".join(taken), start, len(taken), truncated=cut)


def _made(shown: str, taken: list[str], start: int, following: int) -> Page:
    return Page(shown, "\n".join(taken), start, len(taken), truncated=True, next_start=following)
