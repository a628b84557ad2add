"""Give the chunks their vectors by the embedder that is asked first; where it fails, by the one that steps in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

import apsw

from looseleaf import Note, StoreError, SyncReport, in_thread
from looseleaf.errors import told
from looseleaf.fallback import RestingError
from looseleaf.reports import ProgressCallback
from looseleaf.settings import MemorySearch

from ..asking import Asker
from ..store.schema import live_generation
from .cache import is_full, prune
from .embed import OutOfTimeError, VectorWriter, Which

if TYPE_CHECKING:
    from .batches import Batches

_LANES = 4  # requests under way at once
_CONSENT = Note(
    "consent",
    "the notes have vectors of another embedder; this one is paid for, so they are sent to it only when you say so: "
    "`looseleaf index --force`, or sync.autoReindex. Until then they are found by their words.",
)


class Relay:
    """The embedders of one workspace, at least one, in the order in which they are asked, and the index that they write to.

    Attributes:
        rebuilt: Whether the words were made anew just now.
    """

    def __init__(self, db: apsw.Connection, askers: Sequence[Asker], search: MemorySearch) -> None:
        self.rebuilt = False
        self._db = db
        self._askers = askers
        self._search = search

    def standing(self) -> list[Note]:
        """Return what is in batch jobs, as a note."""
        return self._first_batches.standing() if self._first_batches else []

    async def wait(self, ends: float, progress: ProgressCallback | None) -> bool:
        """Wait for batch jobs, if config says so; true when there is something to do."""
        batches = self._first_batches
        return batches is not None and self._search.remote.batch.wait and await batches.wait(ends, progress)

    def is_idle(self) -> bool:
        """Tell whether no chunk waits for the embedder that is asked first, no job of it runs, and the cache is within its limits."""
        if self._writers[0].waiting() or is_full(self._db, self._writers[0].generation, self._search.cache):
            return False
        return not (self._first_batches and self._first_batches.running())

    async def run(self, report: SyncReport, *, force: bool, progress: ProgressCallback | None, ends: float | None) -> SyncReport:
        """Return `report` with what was embedded, what waits and what went wrong."""
        await in_thread(lambda: self._writers)
        if not force and await in_thread(self._needs_consent):
            return replace(report, pending=await in_thread(self._writers[0].waiting), notes=(*report.notes, _CONSENT))
        for asker, writer in zip(self._askers, self._writers, strict=True):
            if force:
                await in_thread(writer.forget_limits)
                asker.rest.over()
            batches = self._first_batches if asker is self._askers[0] else self._batches_of(asker, writer)
            error = await self._run_one(asker, writer, batches, progress, ends)
            notes = [*(batches.notes if batches else []), *([_failed(error)] if error else [])]
            report = replace(
                report,
                embedded=report.embedded + writer.embedded,
                pending=await in_thread(writer.waiting),
                notes=(*report.notes, *notes),
            )
            if error is None or isinstance(error, OutOfTimeError):
                break
        await in_thread(self._prune)
        return report

    async def _run_one(
        self,
        asker: Asker,
        writer: VectorWriter,
        batches: Batches | None,
        progress: ProgressCallback | None,
        ends: float | None,
    ) -> Exception | None:
        """Return what went wrong, or None."""
        try:
            asker.rest.check()
            if batches:
                await batches.turn(ends)
            which: Which = "returned" if batches and batches.takes_all else "free"
            left = None if ends is None else max(0.0, ends - monotonic())
            await writer.run(which=which, budget_s=left, progress=progress)
        except (RestingError, OutOfTimeError) as error:
            return error
        except apsw.Error:  # the disk, not the provider
            raise
        except Exception as error:  # noqa: BLE001 - whatever a provider does, words stay and the next run goes on
            asker.rest.begin(error)
            return error
        asker.rest.over()
        return None

    def _batches_of(self, asker: Asker, writer: VectorWriter) -> Batches | None:
        """Return the batch jobs of an embedder that has such a thing; what was handed in is collected also when they are off now."""
        jobs = getattr(asker.embedder, "jobs", None)
        if jobs is None:
            return None
        from .batches import Batches

        return Batches(self._db, jobs, writer, writer.space, self._search.remote.batch)

    @cached_property
    def _first_batches(self) -> Batches | None:
        return self._batches_of(self._askers[0], self._writers[0])

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
        prune(
            self._db,
            self._writers[0].generation,
            [writer.space.number for writer in self._writers],
            self._search.cache,
            rebuilt=self.rebuilt,
        )


def _failed(error: Exception) -> Note:
    text = f"{told(error).rstrip('.')}. What is embedded so far is kept; the rest is found by its words."
    return Note("provider-failed", text)
