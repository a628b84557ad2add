"""Bring one index up to date, and forget: with the lock, in turns, for what a provider works off meanwhile is waited for without it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import apsw

from looseleaf import AgentSettings, Forgotten, Layout, Note, SyncReport, in_thread
from looseleaf.reports import ProgressCallback

from ..store.database import connect, has_room, repack
from ..store.schema import take_said

if TYPE_CHECKING:
    from ..asking import Asker
    from .relay import Relay
    from .sync import WordIndexer

_FIRST_WORDS_S = 2.0
_READ_ONLY = Note("read-only", "the index is read-only, so it is searched as it is: check who owns it, or set LOOSELEAF_STATE_DIR")
_BUSY = Note("busy", "another process is indexing these notes; this is answered from what it has done so far")


class Syncing:
    """What writes to the index of one workspace."""

    def __init__(self, settings: AgentSettings, layout: Layout, askers: Sequence[Asker]) -> None:
        self._settings = settings
        self._layout = layout
        self._askers = askers
        self._path = settings.database

    async def sync(self, *, force: bool, progress: ProgressCallback | None, budget_s: float | None) -> SyncReport:
        """Index words, then vectors.

        Raises:
            StoreError: another process is at work for too long, or the index cannot be made.
            apsw.Error: the disk or the file failed.
        """
        begun = monotonic()
        ends = None if budget_s is None else begun + budget_s
        until = begun + 60 * self._settings.search.remote.batch.timeout_minutes
        with ExitStack() as stack:
            db = await in_thread(connect, self._path)
            stack.callback(db.close)
            report, relay = await self._turn(db, force=force, progress=progress, ends=ends)
            while relay and await relay.wait(until if ends is None else min(until, ends), progress):
                more, relay = await self._turn(db, force=False, progress=progress, ends=ends)
                report = _summed(report, more)
            standing = await in_thread(relay.standing) if relay else []
            return replace(report, notes=(*report.notes, *standing))

    async def _turn(
        self, db: apsw.Connection, *, force: bool, progress: ProgressCallback | None, ends: float | None
    ) -> tuple[SyncReport, Relay | None]:
        """Do what can be done now, with the lock; where something is left to wait for, return who waits, without it."""
        from .lock import enter_index_lock

        indexer = self._indexer(db)
        relay = self._relay(db)
        if await in_thread(db.readonly, "main"):
            if not has_room(self._path):
                raise apsw.FullError("no room for a log")
            return await in_thread(indexer.standing, _READ_ONLY), None
        current = None if force else await in_thread(indexer.current)
        if current is not None and (relay is None or await in_thread(relay.is_idle)):
            return replace(current, notes=(*await in_thread(take_said, db), *current.notes)), None
        left = None if ends is None else max(0.0, ends - monotonic())
        with ExitStack() as stack:
            if not await in_thread(enter_index_lock, stack, self._path, left):
                return await in_thread(indexer.standing, _BUSY), None
            report = await in_thread(indexer.run, force=force, progress=progress)
            if relay:
                relay.rebuilt = indexer.rebuilt
                report = await relay.run(report, force=force, progress=progress, ends=ends)
            said = await in_thread(take_said, db)
            await in_thread(partial(repack, db, all_holes=indexer.rebuilt))
            return replace(report, notes=(*said, *report.notes)), relay

    async def first_words(self) -> None:
        """Index words for at most two seconds: the only time that a search waits for the index."""
        from .lock import enter_index_lock

        with ExitStack() as stack:
            if await in_thread(enter_index_lock, stack, self._path, 0.0):
                db = await in_thread(connect, self._path)
                stack.callback(db.close)
                await in_thread(self._indexer(db).run, budget_s=_FIRST_WORDS_S)

    async def forget(self) -> Forgotten:
        """Take what stands in no note any more out of the index, the cache and the jobs under way, and off the disk."""
        from .forget import forget
        from .lock import enter_index_lock

        with ExitStack() as stack:
            db = await in_thread(connect, self._path)
            stack.callback(db.close)
            await in_thread(enter_index_lock, stack, self._path)  # work in flight ends first
            await in_thread(self._indexer(db).run)
            return await in_thread(forget, db)

    def _relay(self, db: apsw.Connection) -> Relay | None:
        if not self._askers:
            return None
        from .relay import Relay

        return Relay(db, self._askers, self._settings.search)

    def _indexer(self, db: apsw.Connection) -> WordIndexer:
        from .sessions import Sessions
        from .sync import WordIndexer

        search = self._settings.search
        return WordIndexer(db, self._layout, search.chunking, search.multimodal, Sessions(self._settings))


def _summed(first: SyncReport, second: SyncReport) -> SyncReport:
    """Return what two turns of one sync did: the state of the second, the work of both."""
    return replace(
        second,
        indexed=first.indexed + second.indexed,
        removed=first.removed + second.removed,
        embedded=first.embedded + second.embedded,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
    )
