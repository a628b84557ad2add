"""Small true implementations for tests: an embedder, a slot and a clock that need nothing and always do the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

from ..reports import ProgressCallback, Status, SyncReport
from ..types import Hit, Limits, Page, Purpose, Query, Retrieval

if TYPE_CHECKING:
    from ..types import Vectors


@dataclass(frozen=True, slots=True)
class FixedClock:
    """Always the same moment."""

    moment: datetime

    def __call__(self) -> datetime:
        """Return the moment."""
        return self.moment


class HashEmbedder:
    """An embedder whose vectors are the sum of one direction a word: texts that share words are near each other.

    Attributes:
        requests: The texts of each request for documents, in order.
    """

    provider = "hash"
    blocking = True
    levels = (0.0, 0.6)

    def __init__(self, dimensions: int = 64, *, limits: Limits | None = None) -> None:
        self.model = f"hash-{dimensions}"
        self.fingerprint = f"hash:{dimensions}"
        self.limits = limits or Limits(texts=16)
        self.requests: list[list[str]] = []
        self._dimensions = dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return one unit row a text."""
        import numpy as np

        if purpose == "document" and texts:
            self.requests.append(list(texts))
        rows = np.zeros((len(texts), self._dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split() or [""]:
                seed = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
                row += np.random.default_rng(seed).standard_normal(self._dimensions).astype(np.float32)
            row /= np.linalg.norm(row)
        return rows

    async def aclose(self) -> None:
        """Nothing is held."""


class DictSlot:
    """A memory slot over a mapping from path to text: each line is a hit, scored by the share of the query's words in it."""

    blocking = True

    def __init__(self, notes: Mapping[str, str]) -> None:
        self.notes = dict(notes)

    async def retrieve(self, query: Query) -> Retrieval:
        """Return the lines that share a word with the query."""
        wanted = set(query.text.lower().split())
        hits = [
            Hit(f"{path}:{number}", path, number, number, line, share)
            for path, text in self.notes.items()
            for number, line in enumerate(text.split("\n"), 1)
            if (share := len(wanted & set(line.lower().split())) / max(1, len(wanted)))
        ]
        return Retrieval({"lines": hits[: query.candidates]}, mode="keyword", terms=tuple(sorted(wanted)))

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return lines of a note."""
        if path not in self.notes:
            return Page(path, status="not_found")
        every = self.notes[path].split("\n")
        taken = every[start - 1 : None if lines is None else start - 1 + lines]
        return Page(path, "\n".join(taken), start, len(taken), status="ok" if taken else "past_end")

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """There is no index."""
        return SyncReport(files=len(self.notes))

    async def status(self) -> Status:
        """Return how many notes there are."""
        return Status("dict", files=len(self.notes))

    async def aclose(self) -> None:
        """Nothing is held."""
