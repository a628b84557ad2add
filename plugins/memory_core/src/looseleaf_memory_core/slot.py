"""The memory-core slot: puts the index, the searcher and the embedder of one workspace together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import apsw

from looseleaf import (
    AgentSettings,
    Check,
    Embedder,
    Fallback,
    Forgotten,
    Hit,
    Layout,
    Limits,
    Note,
    Page,
    Probe,
    Query,
    Retrieval,
    Status,
    StoreError,
    SyncReport,
    in_thread,
    read_page,
)
from looseleaf.errors import told
from looseleaf.reports import ProgressCallback

from .asking import Asker
from .index.syncing import Syncing
from .search import Searcher
from .store.database import connect, is_damaged, renewed, store_error

if TYPE_CHECKING:
    from looseleaf import Vectors


_QUICK_S = 0.002
_PROBE = "ping"
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)


class CoreSlot:
    """The notes of one workspace in one SQLite file."""

    def __init__(self, settings: AgentSettings, embedder: Embedder | None, fallback: Embedder | None = None) -> None:
        self._settings = settings
        self._askers = [Asker(one) for one in (embedder, fallback) if one is not None]  # in the order in which they are asked
        self._layout = Layout.of(settings)
        self._path: Path = settings.database
        self._syncing = Syncing(settings, self._layout, self._askers)
        self._searchers: dict[str, Searcher] = {}  # by the embedder's fingerprint
        self._searching = Lock()  # one connection, one thread at a time
        self._is_new = True  # until something is known to be indexed
        self._was_replaced = False
        self._pace_s = 1.0  # of recent searches; the first ones go to a thread
        self.blocking = all(getattr(asker.embedder, "blocking", False) for asker in self._askers)

    async def retrieve(self, query: Query) -> Retrieval:
        """Return keyword and vector candidates. A failing embedder is a note, and the next one is asked."""
        try:
            found = await self._retrieve(query)
            if not self._was_replaced:
                return found
        except _DAMAGED:
            await in_thread(self._set_aside)
        self._is_new, self._was_replaced = True, False  # what is there now may hold nothing yet
        return await self._retrieve(query)

    async def _retrieve(self, query: Query) -> Retrieval:
        if self._is_new:
            self._is_new = await in_thread(self._is_empty)
            if self._is_new:
                await self._syncing.first_words()
        failures: list[Fallback] = []
        for asker in self._askers:
            if not await in_thread(self._has_vectors, asker):
                failures.append(Fallback(asker.provider, ""))
                continue
            try:
                vector = await asker.vector(query.text)
            except Exception as error:  # noqa: BLE001 - whatever a provider does, words answer
                failures.append(Fallback(asker.provider, told(error)))
                continue
            found = await in_thread(self._search, query, vector, asker)
            stands_in = Fallback(failures[0].provider, failures[0].reason or "it has given no vectors yet") if failures else None
            notes = (
                [Note("fallback", f"{asker.provider} stands in for {stands_in.provider}: {stands_in.reason}")] if stands_in else []
            )
            return replace(found, notes=(*notes, *found.notes), provider=asker.provider, model=asker.model, fallback=stands_in)
        reasons = ". ".join(failure.reason.rstrip(".") for failure in failures if failure.reason)
        found = await in_thread(self._search, query, None, self._askers[0] if self._askers else None)
        return (
            replace(found, notes=(Note("provider-failed", f"searched by words only: {reasons}"), *found.notes))
            if reasons
            else found
        )

    def is_quick(self, text: str) -> bool:
        """Tell whether recent answers took less than two milliseconds, and this one needs no embedding."""
        known = not self._askers or self._askers[0].knows(text)
        return known and self._pace_s < _QUICK_S and not self._searching.locked()

    async def load(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return `hits` with their text as it stands in the files now."""
        return await in_thread(self._load, hits)

    async def diagnose(self) -> list[Check]:
        """Return what is found of the index file, what it holds, and SQLite's extension."""
        from .checks import core_checks

        return await in_thread(core_checks, self._path, self._settings.search.store.vector)

    async def probe(self, *, fallback: bool = False) -> Probe | None:
        """Return how the embedder, or the one that steps in, answers one question."""
        if len(self._askers) <= fallback:
            return None
        asker = self._askers[fallback]
        begun = monotonic()
        dimensions, error = 0, ""
        try:
            dimensions = int((await asker.embedder.embed([_PROBE], "query")).shape[1])
        except Exception as failure:  # noqa: BLE001 - whatever a provider does is the answer
            error = told(failure)
        taken = 1000 * (monotonic() - begun)
        return Probe(asker.provider, asker.model, taken, dimensions, await in_thread(self._limits, asker.embedder), error)

    async def outline(self) -> list[tuple[str, int, int]]:
        """Return path, first and last line of every chunk."""
        return await in_thread(self._outline)

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return part of a memory file, or the turns in some lines of a transcript."""
        if path.startswith("sessions/") and self._settings.search.with_sessions():
            from .index.sessions import read_turns

            return await in_thread(read_turns, self._settings, path, start, lines)
        limit = self._settings.context_limits.memory_get_max_chars
        return await in_thread(read_page, self._layout, path, start, lines, chars=limit)

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """Index words, then vectors; one process at a time. An index that turns out to be damaged is made anew, and said so."""
        try:
            try:
                return await self._syncing.sync(force=force, progress=progress, budget_s=budget_s)
            except _DAMAGED:
                await in_thread(self._set_aside)
                return await self._syncing.sync(force=force, progress=progress, budget_s=budget_s)
        except apsw.Error as error:
            raise store_error(error, self._path) from error
        finally:
            await in_thread(self._close_fixed)

    def follows(self) -> list[str]:
        """Return the folders of the session transcripts, where these are searched."""
        from .index.sessions import Sessions

        sessions = Sessions(self._settings)
        return sessions.folders if sessions.enabled else []

    async def forget(self) -> Forgotten:
        """Take what stands in no note any more out of the index, the cache and the jobs under way, and off the disk."""
        forgotten = await self._syncing.forget()
        with self._searching:
            self._close()
        return forgotten

    async def status(self) -> Status:
        """Return what the index holds and how it differs from the files."""
        from .status import core_status

        return await in_thread(core_status, self._path, self._settings, self._layout, [asker.embedder for asker in self._askers])

    async def aclose(self) -> None:
        """Close the index and the embedder."""
        with self._searching:
            self._close()
        for asker in self._askers:
            await asker.embedder.aclose()

    def _set_aside(self) -> None:
        """Move an index that is damaged out of the way; somebody else may have done so already."""
        from .index.lock import enter_index_lock

        with self._searching:
            self._close()
        with ExitStack() as stack:
            enter_index_lock(stack, self._path)
            if is_damaged(self._path):
                renewed(self._path).close()

    def _limits(self, embedder: Embedder) -> Limits:
        """Return the limits in force: those of the embedder, lowered by what its refusals taught."""
        from .index.space import Space

        if not self._path.exists():
            return embedder.limits
        with ExitStack() as stack:
            try:
                db = connect(self._path, write=False)
            except StoreError:
                return embedder.limits
            stack.callback(db.close)
            return Space(db, embedder.fingerprint).limits(embedder.limits)

    def _close_fixed(self) -> None:
        """Close what could only be opened as it was: the next search tries again."""
        with self._searching:
            if any(searcher.is_fixed for searcher in self._searchers.values()):
                self._close()

    def _close(self) -> None:
        for searcher in self._searchers.values():
            searcher.close()
        self._searchers.clear()

    def _open(self, asker: Asker | None = None) -> Searcher:
        """Return the searcher with the vectors of `asker`; those who do not care about vectors get the first one's."""
        if asker is None and self._askers:
            asker = self._askers[0]
        fingerprint = asker.embedder.fingerprint if asker else ""
        searcher = self._searchers.get(fingerprint)
        if searcher and not searcher.is_there():  # deleted, or made anew by another process
            self._close()
            searcher = None
            self._was_replaced = True
        if searcher is None:
            levels = getattr(asker.embedder, "levels", (0.0, 1.0)) if asker else (0.0, 1.0)
            searcher = self._searchers[fingerprint] = Searcher(self._path, self._layout, self._settings.search, fingerprint, levels)
        return searcher

    def _is_empty(self) -> bool:
        with self._searching:
            return self._open().is_empty()

    def _has_vectors(self, asker: Asker) -> bool:
        with self._searching:
            return self._open(asker).has_vectors()

    def _search(self, query: Query, vector: Vectors | None, asker: Asker | None) -> Retrieval:
        with self._searching:
            begun = monotonic()
            try:
                found = self._open(asker).search(query, vector)
            except apsw.Error:  # the index was rebuilt or replaced between two statements: look again
                self._close()
                try:
                    found = self._open(asker).search(query, vector)
                except _DAMAGED:
                    raise
                except apsw.Error as error:
                    raise store_error(error, self._path) from error
            self._pace_s += 0.2 * (monotonic() - begun - self._pace_s)
            return found

    def _load(self, hits: Sequence[Hit]) -> list[Hit]:
        with self._searching:
            return self._open().load(hits)

    def _outline(self) -> list[tuple[str, int, int]]:
        with self._searching:
            return self._open().outline()
