"""From QMD's rows to the notes that they mean: the path first, the document's hash second, and the text from the file itself."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from looseleaf import Hit, Layout, LooseleafError
from looseleaf.reading import open_below

from .answers import Row
from .collection import Managed, owner

_HEADER = re.compile(r"^(?:\d+: )?@@ -(\d+),(\d+) @@", re.MULTILINE)  # the daemon numbers its lines
_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST_LINE = 65_536


class Place(NamedTuple):
    """Where a row's text stands: in which collection, in which file of it, and how the file is shown."""

    collection: Managed
    relative: str
    shown: str


class Places:
    """Finds what rows mean in `collections`."""

    def __init__(self, layout: Layout, collections: Sequence[Managed]) -> None:
        self._layout = layout
        self._collections = collections

    def hit(self, row: Row, rank: int, count: int) -> Hit | None:
        """Return the hit that a row means; None for one that means no note, or a file that may not be read.

        QMD's own scores are 0 in small collections, so its order counts: `rank` of `count`, from 0, is a score from 1 to above 0.5.
        """
        place = self.place(row)
        if place is None:
            return None
        start, size = _lines_of(row)
        text = self._text(place, start, size)
        if not text.strip():
            return None
        end = start + text.count("\n")
        score = 1 - rank / (2 * max(count, 1))
        day = self._layout.day_of(place.shown)
        return Hit(f"{place.shown}:{start}", place.shown, start, end, text, score, source=place.collection.source, day=day)

    def is_curated(self, row: Row) -> bool:
        """Tell whether a row is of curated memory, in whatever collection, by whatever name."""
        place = self.place(row)
        return place is not None and self._layout.is_curated(os.path.join(place.collection.root, place.relative))

    def place(self, row: Row) -> Place | None:
        """Return which file a row means, or None."""
        where = str(row.get("file") or "")
        name, _, path = where.removeprefix("qmd://").partition("?index=")[0].partition("/")
        collection = owner(self._collections, name)
        if collection is None or not path:
            return None
        for spelt in dict.fromkeys((path, unquote(path))):
            if os.path.isfile(os.path.join(collection.root, spelt)) and self._belongs(collection, spelt):
                return Place(collection, spelt, self.shown(collection, spelt))
        return self._by_slug(collection, unquote(path), str(row.get("docid") or "").lstrip("#"))

    def shown(self, collection: Managed, relative: str) -> str:
        """Return how a file is shown: relative to the workspace, or `qmd/<collection>/<path>` where it lies outside."""
        shown = self._layout.shown(os.path.join(collection.root, *relative.split("/")))
        return f"qmd/{collection.name}/{relative}" if shown.startswith("../") or os.path.isabs(shown) else shown

    def _belongs(self, collection: Managed, relative: str) -> bool:
        return ".." not in relative.split("/") and collection.as_root().takes(relative)

    def _by_slug(self, collection: Managed, path: str, docid: str) -> Place | None:
        """Return the file whose path older versions wrote in this way; of several, the one whose content it is."""
        wanted = _slug(path)
        alike = [relative for relative in collection.files() if _slug(relative) == wanted]
        if len(alike) > 1 and docid:
            alike = [relative for relative in alike if self._digest(collection, relative).startswith(docid)] or alike
        return Place(collection, alike[0], self.shown(collection, alike[0])) if alike else None

    def _digest(self, collection: Managed, relative: str) -> str:
        try:
            with open_below(collection.as_root(), tuple(relative.split("/")), relative) as file:
                return hashlib.sha256(file.read()).hexdigest()
        except (LooseleafError, OSError):
            return ""

    def _text(self, place: Place, start: int, size: int) -> str:
        """Return `size` lines as they stand in the file now; nothing for a file that is gone, a link, or left out by config."""
        if self._layout.excludes(place.shown):
            return ""
        try:
            with open_below(place.collection.as_root(), tuple(place.relative.split("/")), place.shown) as file:
                lines = islice(iter(lambda: file.readline(_LONGEST_LINE), b""), start - 1, start - 1 + size)
                return b"".join(lines).decode("utf-8", "replace").removesuffix("\n")
        except (LooseleafError, OSError):
            return ""


def _lines_of(row: Row) -> tuple[int, int]:
    """Return the first line that a row shows, and how many."""
    header = _HEADER.search(str(row.get("snippet") or ""))
    if header:
        return max(1, int(header[1])), max(1, int(header[2]))
    start, end = (_whole(row.get(name)) for name in ("start_line", "end_line"))
    start = start or _whole(row.get("line")) or 1
    return start, (end - start + 1 if end >= start else max(1, str(row.get("snippet") or "").strip().count("\n") + 1))


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _slug(path: str) -> str:
    return _SLUG.sub("-", path.lower()).strip("-")
