"""What is remembered from run to run: what the files looked like at the last update, and when QMD embedded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Self

from looseleaf.files import write_whole

from .collection import Managed


@dataclass(slots=True)
class State:
    """The state of one agent's QMD.

    Attributes:
        seen: Of all files at the last update; see `look`.
        files: How many there were.
        updated: When that was, in seconds since 1970; 0 before the first.
        embedded: When QMD last embedded without an error.
        failures: How often in a row it could not.
        retry: Before when it is not tried again.
    """

    seen: str = ""
    files: int = 0
    updated: float = 0.0
    embedded: float = 0.0
    failures: int = 0
    retry: float = 0.0

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return what was written; a new state where that cannot be read."""
        try:
            known = json.loads(path.read_text("utf-8"))
            given = {one.name: type(getattr(cls(), one.name))(known[one.name]) for one in fields(cls)}
        except (OSError, ValueError, TypeError, KeyError):
            return cls()
        return cls(**given)

    def write(self, path: Path) -> None:
        """Write it as a whole."""
        write_whole(path, json.dumps(asdict(self)).encode())


def look(collections: Sequence[Managed]) -> tuple[str, int]:
    """Return what the files of `collections` look like by name, size and time, and how many there are. No file is read."""
    digest = hashlib.blake2b(digest_size=16)
    count = 0
    for one in collections:
        digest.update(f"{one}\0".encode("utf-8", "surrogateescape"))
        for relative in one.files():
            try:
                info = os.stat(os.path.join(one.root, relative), follow_symlinks=False)
            except OSError:
                continue
            count += 1
            digest.update(f"{relative}\0{info.st_size}\0{info.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest(), count
