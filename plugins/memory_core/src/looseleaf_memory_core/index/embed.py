"""Give chunks their vectors: what has none yet, newest notes first, a request at a time, each committed when it is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import apsw

from looseleaf import Embedder, Note, Progress, ProviderError, TextTooLong, in_thread
from looseleaf.settings import MemorySearch
from looseleaf.types import ProgressCallback

from ..packing import packed
from ..store.schema import known_space
from ..store.vectors import checked
from ..text import clean
from .cache import prune
from .source import PLACE, Reader, told

if TYPE_CHECKING:
    from looseleaf import Vectors

_READ_AHEAD = 1024
_HARMLESS = "ping"
_GRACE_S = 1.0
_MISSING = (
    "NOT EXISTS(SELECT 1 FROM embedding WHERE space = ?1 AND hash = chunk.hash) "
    "AND NOT EXISTS(SELECT 1 FROM refused WHERE space = ?1 AND hash = chunk.hash)"
)


class VectorWriter:
    """Embeds the chunks of one generation into one space.

    Args:
        db: Where they are kept.
        embedder: Who embeds.
        generation: Of the chunks.
        lanes: How many requests are under way at once; 1 for an embedder that computes.
        waits: Whether the embedder waits for somebody, so that it can be told to stop.
    """

    def __init__(self, db: apsw.Connection, embedder: Embedder, generation: int, *, lanes: int = 1, waits: bool = False) -> None:
        self._db = db
        self._embedder = embedder
        self._generation = generation
        self._lanes = lanes
        self._waits = waits
        self._writing = Lock()  # one connection, several lanes
        self._works: bool | None = None

    async def run(self, *, budget_s: float | None = None, progress: ProgressCallback | None = None) -> tuple[int, int, list[Note]]:
        """Return how many texts were embedded, how many chunks still wait, and what went wrong."""
        ends = None if budget_s is None else monotonic() + budget_s
        embedded = 0
        notes: list[Note] = []
        todo = await in_thread(self._missing)
        try:
            for first in range(0, len(todo), _READ_AHEAD):
                batch = await in_thread(self._read, todo[first : first + _READ_AHEAD])
                for parts in _batched(packed(batch, self._embedder.limits, itemgetter(1)), self._lanes):
                    if ends is not None and monotonic() > ends:
                        return embedded, await in_thread(self.waiting), notes
                    embedded += await self._in_time(parts, ends)
                    if progress:
                        progress(Progress("embed", embedded, len(todo)))
        except Exception as error:  # noqa: BLE001 - whatever a provider does, words stay and the next run goes on
            notes.append(
                Note(
                    "provider-failed",
                    f"{told(error).rstrip('.')}. What is embedded so far is kept; the rest is found by its words.",
                )
            )
        return embedded, await in_thread(self.waiting), notes

    async def _in_time(self, parts: Sequence[list[tuple[bytes, str]]], ends: float | None) -> int:
        """Embed `parts`; a provider that is silent when time is up, and a little after, is not waited for."""
        if ends is None or not self._waits:
            return await self._side_by_side(parts)
        from anyio import move_on_after

        with move_on_after(ends - monotonic() + _GRACE_S):
            return await self._side_by_side(parts)
        provider = getattr(self._embedder, "provider", "the embedder")
        raise ProviderError(f"{provider} did not answer in the time that there was", retryable=True)

    async def _side_by_side(self, parts: Sequence[list[tuple[bytes, str]]]) -> int:
        """Embed `parts` at the same time; all come to their end, so that nothing that is paid for is lost, then the first error is raised."""
        if len(parts) == 1:
            return await self._embed(parts[0])
        from anyio import create_task_group

        done: list[int] = []
        failed: list[Exception] = []

        async def lane(part: list[tuple[bytes, str]]) -> None:
            try:
                done.append(await self._embed(part))
            except Exception as error:  # noqa: BLE001 - raised when the other lanes are through
                failed.append(error)

        async with create_task_group() as group:
            for part in parts:
                group.start_soon(lane, part)
        if failed:
            raise failed[0]
        return sum(done)

    def waiting(self) -> int:
        """Return how many chunks have neither a vector nor a refusal."""
        return int(
            self._db.execute(f"SELECT count(*) FROM chunk_{self._generation} AS chunk WHERE {_MISSING}", (self.space(),)).get
        )

    def would_pay_again(self) -> bool:
        """Tell whether chunks have vectors of another embedder and none of this one: a change of provider, not a first sync."""
        sql = (
            f"SELECT EXISTS(SELECT 1 FROM embedding JOIN chunk_{self._generation} AS chunk ON chunk.hash = embedding.hash "
            "WHERE (embedding.space = ?) = ?)"
        )
        space = self.space()
        return not self._db.execute(sql, (space, 1)).get and bool(self._db.execute(sql, (space, 0)).get)

    def prune(self, search: MemorySearch) -> int:
        """Bring the cache within its limits, and return how many vectors were removed."""
        return prune(self._db, self._generation, self.space(), search)

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

    async def _embed(self, part: list[tuple[bytes, str]]) -> int:
        """Embed `part`. What is refused is halved until the one text stands alone, which is remembered with the reason."""
        try:
            vectors = await self._embedder.embed([text for _, text in part], "document")
            if len(vectors) != len(part):
                raise ProviderError(f"the embedder gave {len(vectors)} vectors for {len(part)} texts")
        except ProviderError as error:
            if not isinstance(error, TextTooLong) and not (_may_be_the_text(error) and await self._embeds_others()):
                raise
            if len(part) == 1:
                await in_thread(self._refuse, part[0][0], str(error))
                return 0
            half = len(part) // 2
            return await self._embed(part[:half]) + await self._embed(part[half:])
        return await in_thread(self._store, part, vectors)

    async def _embeds_others(self) -> bool:
        """Tell whether a harmless text can be embedded: then a refusal is the fault of the texts. Asked once a run."""
        if self._works is None:
            try:
                self._works = len(await self._embedder.embed([_HARMLESS], "document")) == 1
            except ProviderError:
                self._works = False
        return self._works

    def _store(self, part: list[tuple[bytes, str]], vectors: Vectors) -> int:
        with self._writing, self._db:
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
        with self._writing, self._db:
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


def _may_be_the_text(error: ProviderError) -> bool:
    """Tell whether one text may be to blame: a wrong answer, or a refusal that is about neither key, rate nor the server."""
    return not error.retryable and error.status in (None, 400, 422, 500)


def _batched(parts: Iterable[list[tuple[bytes, str]]], count: int) -> Iterator[list[list[tuple[bytes, str]]]]:
    every = iter(parts)
    while some := list(islice(every, count)):
        yield some
