"""Give chunks their vectors: what has none yet, newest notes first, a request at a time, each committed when it is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

import apsw

from looseleaf import Embedder, Note, Progress, ProviderError, TextTooLong, in_thread
from looseleaf.types import ProgressCallback

from ..chunk import estimate_cost
from ..store.schema import known_space
from ..store.vectors import checked
from ..text import clean
from .source import PLACE, Reader, told

if TYPE_CHECKING:
    from looseleaf import Vectors

_READ_AHEAD = 256
_MISSING = (
    "NOT EXISTS(SELECT 1 FROM embedding WHERE space = ?1 AND hash = chunk.hash) "
    "AND NOT EXISTS(SELECT 1 FROM refused WHERE space = ?1 AND hash = chunk.hash)"
)


class VectorWriter:
    """Embeds the chunks of one generation into one space."""

    def __init__(self, db: apsw.Connection, embedder: Embedder, generation: int) -> None:
        self._db = db
        self._embedder = embedder
        self._generation = generation

    async def run(self, *, budget_s: float | None = None, progress: ProgressCallback | None = None) -> tuple[int, int, list[Note]]:
        """Return how many texts were embedded, how many chunks still wait, and what went wrong."""
        begun = monotonic()
        embedded = 0
        notes: list[Note] = []
        todo = await in_thread(self._missing)
        try:
            for first in range(0, len(todo), _READ_AHEAD):
                batch = await in_thread(self._read, todo[first : first + _READ_AHEAD])
                for part in self._requests(batch):
                    if budget_s is not None and monotonic() - begun > budget_s:
                        return embedded, await in_thread(self.waiting), notes
                    embedded += await self._embed(part)
                    if progress:
                        progress(Progress("embed", embedded, len(todo)))
        except Exception as error:  # noqa: BLE001 - whatever a provider does, words stay and the next run goes on
            notes.append(
                Note("provider-failed", f"{told(error)}. What is embedded so far is kept; the rest is found by its words.")
            )
        return embedded, await in_thread(self.waiting), notes

    def waiting(self) -> int:
        """Return how many chunks have neither a vector nor a refusal."""
        return int(
            self._db.execute(f"SELECT count(*) FROM chunk_{self._generation} AS chunk WHERE {_MISSING}", (self.space(),)).get
        )

    def space(self) -> int:
        """Return the number of the embedder's space; 0 before its first vector."""
        return known_space(self._db, self._embedder.fingerprint)[0]

    def _missing(self) -> list[int]:
        """Return a chunk for each text that has no vector, newest notes first."""
        chunks, files = f"chunk_{self._generation}", f"file_{self._generation}"
        rows = self._db.execute(
            f"SELECT min(chunk.id) FROM {chunks} AS chunk JOIN {files} AS file ON file.id = chunk.file WHERE {_MISSING} "
            "GROUP BY chunk.hash ORDER BY max(file.mtime_ns) DESC, chunk.id",
            (self.space(),),
        )
        return [chunk for (chunk,) in rows]

    def _read(self, chunks: Sequence[int]) -> list[tuple[bytes, str]]:
        sql = (
            f"SELECT {PLACE} FROM chunk_{self._generation} AS chunk "
            f"JOIN file_{self._generation} AS file ON file.id = chunk.file WHERE chunk.id = ?"
        )
        reader = Reader()
        try:
            return [
                (place[-1], clean(read[0]))
                for chunk in chunks
                for place in self._db.execute(sql, (chunk,))
                if (read := reader.chunk(*place))
            ]
        finally:
            reader.close()

    def _requests(self, batch: Sequence[tuple[bytes, str]]) -> Iterable[list[tuple[bytes, str]]]:
        limits = self._embedder.limits
        part: list[tuple[bytes, str]] = []
        used = 0
        for item in batch:
            cost = 1 + estimate_cost(item[1]) // 4
            if part and (len(part) >= limits.texts or used + cost > limits.request_tokens):
                yield part
                part, used = [], 0
            part.append(item)
            used += cost
        if part:
            yield part

    async def _embed(self, part: list[tuple[bytes, str]]) -> int:
        """Embed `part`; what is refused as too long is halved until the one text stands alone and is remembered."""
        try:
            vectors = await self._embedder.embed([text for _, text in part], "document")
        except TextTooLong as error:
            if len(part) == 1:
                await in_thread(self._refuse, part[0][0], str(error))
                return 0
            half = len(part) // 2
            return await self._embed(part[:half]) + await self._embed(part[half:])
        if len(vectors) != len(part):
            raise ProviderError(f"the embedder gave {len(vectors)} vectors for {len(part)} texts")
        return await in_thread(self._store, part, vectors)

    def _store(self, part: list[tuple[bytes, str]], vectors: Vectors) -> int:
        with self._db:
            space, dimensions = self._space_for(vectors)
            unit, faults = checked(vectors, dimensions)
            for (identity, _), row, fault in zip(part, unit, faults, strict=True):
                if fault:
                    self._db.execute("INSERT OR REPLACE INTO refused VALUES(?, ?, ?)", (space, identity, fault))
                    continue
                self._db.execute(
                    "INSERT OR IGNORE INTO embedding(space, hash, vector) VALUES(?, ?, ?)", (space, identity, row.tobytes())
                )
        return len(part)

    def _refuse(self, identity: bytes, reason: str) -> None:
        with self._db:
            space = self.space() or self._new_space(0)
            self._db.execute("INSERT OR REPLACE INTO refused VALUES(?, ?, ?)", (space, identity, reason))

    def _space_for(self, vectors: Vectors) -> tuple[int, int]:
        width = vectors.shape[1] if vectors.ndim == 2 else 0
        space, dimensions = known_space(self._db, self._embedder.fingerprint)
        if not space:
            return self._new_space(width), width
        if not dimensions:
            self._db.execute("UPDATE space SET dimensions = ? WHERE id = ?", (width, space))
        return space, dimensions or width

    def _new_space(self, dimensions: int) -> int:
        self._db.execute("INSERT INTO space(fingerprint, dimensions) VALUES(?, ?)", (self._embedder.fingerprint, dimensions))
        return self._db.last_insert_rowid()
