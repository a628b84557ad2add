"""The memory-core slot: puts the index, the searcher and the embedder of one workspace together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import apsw

from looseleaf import (
    AgentSettings,
    Embedder,
    Hit,
    Layout,
    Limits,
    Note,
    Page,
    Probe,
    ProviderError,
    Query,
    Retrieval,
    Status,
    StoreError,
    SyncReport,
    in_thread,
    read_page,
)
from looseleaf.types import ProgressCallback

from .index.source import told
from .rest import Rest
from .search import Searcher
from .store.database import connect

if TYPE_CHECKING:
    from looseleaf import Vectors

    from .index.embed import VectorWriter
    from .index.sync import WordIndexer

_QUERY_VECTORS = 256
_FIRST_WORDS_S = 2.0
_QUICK_S = 0.002
_PROBE = "ping"
_LANES = 4  # requests under way at once
_CONSENT = Note(
    "consent",
    "the notes have vectors of another embedder; this one is paid for, so they are sent to it only when you say so: "
    "`looseleaf index --force`, or sync.autoReindex. Until then they are found by their words.",
)


class CoreSlot:
    """The notes of one workspace in one SQLite file."""

    def __init__(self, settings: AgentSettings, embedder: Embedder | None) -> None:
        self._settings = settings
        self._embedder = embedder
        search = settings.search
        self._layout = Layout(settings.workspace, search.extra_roots(), search.exclude_paths, search.evergreen_paths)
        self._path: Path = settings.database
        self._searcher: Searcher | None = None
        self._searching = Lock()  # one connection, one thread at a time
        self._query_vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._is_new = True  # until something is known to be indexed
        self._pace_s = 1.0  # of recent searches; the first ones go to a thread
        self._rest = Rest()
        self.blocking = embedder is None or bool(getattr(embedder, "blocking", False))

    async def retrieve(self, query: Query) -> Retrieval:
        """Return keyword and vector candidates. A failing embedder is a note."""
        notes: list[Note] = []
        vector = None
        embedder = self._embedder
        if self._is_new:
            self._is_new = await in_thread(self._is_empty)
            if self._is_new:
                await self._first_words()
        if embedder is not None and await in_thread(self._has_vectors):
            try:
                self._rest.check()
                vector = await self._query_vector(embedder, query.text)
                self._rest.over()
            except Exception as error:  # noqa: BLE001 - whatever a provider does, words answer
                self._rest.begin(error)
                notes.append(Note("provider-failed", f"searched by words only: {told(error)}"))
        found = await in_thread(self._search, query, vector)
        provider, model = ("", "") if vector is None else (getattr(embedder, "provider", ""), getattr(embedder, "model", ""))
        return Retrieval(found.lists, (*notes, *found.notes), found.mode, provider, model, found.terms, found.withheld)

    def is_quick(self, text: str) -> bool:
        """Tell whether recent answers took less than two milliseconds, and this one needs no embedding."""
        known = self._embedder is None or text in self._query_vectors
        return known and self._pace_s < _QUICK_S and not self._searching.locked()

    async def load(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return `hits` with their text as it stands in the files now."""
        return await in_thread(self._load, hits)

    async def probe(self) -> Probe | None:
        """Return how the embedder answers one question."""
        embedder = self._embedder
        if embedder is None:
            return None
        begun = monotonic()
        dimensions, error = 0, ""
        try:
            dimensions = int((await embedder.embed([_PROBE], "query")).shape[1])
        except Exception as failure:  # noqa: BLE001 - whatever a provider does is the answer
            error = told(failure)
        taken = 1000 * (monotonic() - begun)
        names = getattr(embedder, "provider", type(embedder).__name__), getattr(embedder, "model", "")
        return Probe(*names, taken, dimensions, await in_thread(self._limits, embedder), error)

    async def outline(self) -> list[tuple[str, int, int]]:
        """Return path, first and last line of every chunk."""
        return await in_thread(self._outline)

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return part of a memory file."""
        limit = self._settings.context_limits.memory_get_max_chars
        return await in_thread(read_page, self._layout, path, start, lines, chars=limit)

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """Index words, then vectors; one process at a time."""
        from .index.lock import enter_index_lock
        from .index.sync import with_vectors

        begun = monotonic()
        with ExitStack() as stack:
            db = await in_thread(connect, self._path)
            stack.callback(db.close)
            indexer = self._indexer(db)
            current = None if force else await in_thread(indexer.current)
            if current and (self._embedder is None or not await in_thread(self._writer(db).waiting)):
                return current
            if not await in_thread(enter_index_lock, stack, self._path, budget_s):
                busy = Note("busy", "another process is indexing these notes; this is answered from what it has done so far")
                return await in_thread(indexer.standing, busy)
            report = await in_thread(indexer.run, force=force, progress=progress)
            if self._embedder is None:
                return report
            writer = self._writer(db)
            if force:
                await in_thread(writer.forget_limits)
            if not force and await in_thread(self._needs_consent, writer):
                return with_vectors(report, 0, await in_thread(writer.waiting), [_CONSENT])
            left = None if budget_s is None else max(0.0, budget_s - (monotonic() - begun))
            embedded = await writer.run(budget_s=left, progress=progress)
            await in_thread(writer.prune, self._settings.search)
            return with_vectors(report, *embedded)

    async def status(self) -> Status:
        """Return what the index holds and how it differs from the files."""
        from .status import core_status

        return await in_thread(core_status, self._path, self._settings, self._layout, self._embedder)

    async def aclose(self) -> None:
        """Close the index and the embedder."""
        with self._searching:
            self._close()
        if self._embedder is not None:
            await self._embedder.aclose()

    def _indexer(self, db: apsw.Connection) -> WordIndexer:
        from .index.sync import WordIndexer

        chunking = self._settings.search.chunking
        return WordIndexer(db, self._layout, chunking.tokens, chunking.overlap)

    def _writer(self, db: apsw.Connection) -> VectorWriter:
        from .index.embed import VectorWriter
        from .store.schema import live_generation

        live = live_generation(db)
        if live is None or self._embedder is None:
            raise StoreError("vectors are written into a generation that answers, by an embedder")
        lanes = 1 if self.blocking else self._settings.search.remote.non_batch_concurrency or _LANES
        return VectorWriter(db, self._embedder, live[0], lanes=lanes, waits=not self.blocking)

    def _limits(self, embedder: Embedder) -> Limits:
        """Return the limits in force: those of the embedder, lowered by what its refusals taught."""
        from .index.space import Space

        if not self._path.exists():
            return embedder.limits
        with ExitStack() as stack:
            db = connect(self._path)
            stack.callback(db.close)
            return Space(db, embedder.fingerprint).limits(embedder.limits)

    def _needs_consent(self, writer: VectorWriter) -> bool:
        """Tell whether notes that have vectors already would be sent to somebody who is paid for it, unasked."""
        paid = getattr(self._embedder, "paid", False) and not self._settings.search.sync.auto_reindex
        return bool(paid) and writer.would_pay_again()

    def _close(self) -> None:
        if self._searcher is not None:
            self._searcher.close()
            self._searcher = None

    def _open(self) -> Searcher:
        if self._searcher is None:
            fingerprint = self._embedder.fingerprint if self._embedder else ""
            levels = getattr(self._embedder, "levels", (0.0, 1.0))
            self._searcher = Searcher(self._path, self._layout, self._settings.search, fingerprint, levels)
        return self._searcher

    async def _first_words(self) -> None:
        """Index words for at most two seconds: the only time that a search waits for the index."""
        from .index.lock import enter_index_lock

        with ExitStack() as stack:
            if await in_thread(enter_index_lock, stack, self._path, 0.0):
                db = await in_thread(connect, self._path)
                stack.callback(db.close)
                await in_thread(self._indexer(db).run, budget_s=_FIRST_WORDS_S)

    def _is_empty(self) -> bool:
        with self._searching:
            return self._open().is_empty()

    def _has_vectors(self) -> bool:
        with self._searching:
            return self._open().has_vectors()

    def _search(self, query: Query, vector: Vectors | None) -> Retrieval:
        with self._searching:
            begun = monotonic()
            try:
                found = self._open().search(query, vector)
            except apsw.Error:  # the index was rebuilt or replaced between two statements: look again
                self._close()
                try:
                    found = self._open().search(query, vector)
                except apsw.Error as error:
                    raise StoreError(f"the index {self._path} cannot be read: {error}. Delete it; it is made anew.") from error
            self._pace_s += 0.2 * (monotonic() - begun - self._pace_s)
            return found

    def _load(self, hits: Sequence[Hit]) -> list[Hit]:
        with self._searching:
            return self._open().load(hits)

    def _outline(self) -> list[tuple[str, int, int]]:
        with self._searching:
            return self._open().outline()

    async def _query_vector(self, embedder: Embedder, text: str) -> Vectors | None:
        known = self._query_vectors.get(text)
        if known is not None:
            self._query_vectors.move_to_end(text)
            return known
        from .store.vectors import checked

        vectors, faults = checked(await embedder.embed([text], "query"), None)
        if len(vectors) != 1 or faults[0]:
            raise ProviderError(f"the embedder gave no usable vector for the query: {faults[0] if faults else 'none at all'}")
        if len(self._query_vectors) >= _QUERY_VECTORS:
            self._query_vectors.popitem(last=False)
        vector: Vectors = vectors[0]
        self._query_vectors[text] = vector
        return vector
