"""Give the chunks their vectors by the embedder that is asked first; where it fails, by the one that steps in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from time import monotonic

import apsw

from looseleaf import Note, StoreError, SyncReport, in_thread
from looseleaf.errors import told
from looseleaf.fallback import RestingError
from looseleaf.settings import MemorySearch
from looseleaf.types import ProgressCallback

from ..asking import Asker
from ..store.schema import live_generation
from .cache import prune
from .embed import OutOfTimeError, VectorWriter

_LANES = 4  # requests under way at once
_CONSENT = Note(
    "consent",
    "the notes have vectors of another embedder; this one is paid for, so they are sent to it only when you say so: "
    "`looseleaf index --force`, or sync.autoReindex. Until then they are found by their words.",
)


class Relay:
    """The embedders of one workspace, in the order in which they are asked, and the index that they write to."""

    def __init__(self, db: apsw.Connection, askers: Sequence[Asker], search: MemorySearch) -> None:
        self._db = db
        self._askers = askers
        self._search = search

    def waiting(self) -> int:
        """Return how many chunks wait for the embedder that is asked first."""
        return self._writers[0].waiting() if self._askers else 0

    async def run(self, report: SyncReport, *, force: bool, progress: ProgressCallback | None, ends: float | None) -> SyncReport:
        """Return `report` with what was embedded, what waits and what went wrong."""
        if not self._askers:
            return report
        await in_thread(lambda: self._writers)
        if not force and await in_thread(self._needs_consent):
            return replace(report, pending=await in_thread(self.waiting), notes=(*report.notes, _CONSENT))
        for asker, writer in zip(self._askers, self._writers, strict=True):
            if force:
                await in_thread(writer.forget_limits)
                asker.rest.over()
            error = await self._run_one(asker, writer, progress, ends)
            report = replace(
                report,
                embedded=report.embedded + writer.embedded,
                pending=await in_thread(writer.waiting),
                notes=(*report.notes, *([_failed(error)] if error else [])),
            )
            if error is None or isinstance(error, OutOfTimeError):
                break
        await in_thread(self._prune)
        return report

    async def _run_one(
        self, asker: Asker, writer: VectorWriter, progress: ProgressCallback | None, ends: float | None
    ) -> Exception | None:
        """Return what went wrong, or None."""
        try:
            asker.rest.check()
            await writer.run(budget_s=None if ends is None else max(0.0, ends - monotonic()), progress=progress)
        except (RestingError, OutOfTimeError) as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever a provider does, words stay and the next run goes on
            asker.rest.begin(error)
            return error
        asker.rest.over()
        return None

    @cached_property
    def _writers(self) -> list[VectorWriter]:
        live = live_generation(self._db)
        if live is None:
            raise StoreError("vectors are written into a generation that answers")
        writers = []
        for asker in self._askers:
            waits = not getattr(asker.embedder, "blocking", False)
            lanes = (self._search.remote.non_batch_concurrency or _LANES) if waits else 1
            writers.append(VectorWriter(self._db, asker.embedder, live[0], lanes=lanes, waits=waits))
        return writers

    def _needs_consent(self) -> bool:
        """Tell whether notes that have vectors already would be sent to somebody who is paid for it, unasked.

        Who steps in is named in config for just that.
        """
        paid = getattr(self._askers[0].embedder, "paid", False) and not self._search.sync.auto_reindex
        return bool(paid) and self._writers[0].would_pay_again()

    def _prune(self) -> None:
        prune(self._db, self._writers[0].generation, [writer.space for writer in self._writers], self._search)


def _failed(error: Exception) -> Note:
    text = f"{told(error).rstrip('.')}. What is embedded so far is kept; the rest is found by its words."
    return Note("provider-failed", text)
