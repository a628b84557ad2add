"""Batch jobs from the index's side: hand in what is new, collect what is done, give up what came to nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from math import inf
from time import monotonic, time
from typing import TYPE_CHECKING

import apsw

from looseleaf import Note, Progress, ProviderError, in_thread
from looseleaf.errors import told
from looseleaf.reports import ProgressCallback
from looseleaf.settings.surface import RemoteBatch

from ..packing import tokens_of
from .embed import Item, VectorWriter
from .jobs import Job, JobTable
from .space import Space

if TYPE_CHECKING:
    from ..embedders.batch import Jobs, Result, State

_READ_AHEAD = 4096
_STORED_AT_ONCE = 256
_MOST_UNKNOWN = 5
_OLDEST_S = 26 * 3600  # every provider ends a job within a day
_GONE = 404


class Batches:
    """The jobs of one embedder.

    Args:
        db: Where they are remembered.
        jobs: The provider's.
        writer: Who embeds what comes back without a vector.
        space: Where vectors go.
        settings: `remote.batch`.
    """

    def __init__(self, db: apsw.Connection, jobs: Jobs, writer: VectorWriter, space: Space, settings: RemoteBatch) -> None:
        self._table = JobTable(db, space)
        self._jobs = jobs
        self._writer = writer
        self._space = space
        self._settings = settings
        self.notes: list[Note] = []
        self._left = 0  # jobs' worth of texts that may be handed in when others are done
        self._stuck = False  # results that cannot be had now

    @property
    def takes_all(self) -> bool:
        """Whether new texts go into jobs, and only what came back is embedded directly."""
        return self._settings.enabled and self._jobs.works

    def running(self) -> int:
        """Return how many jobs are not collected yet."""
        return len(self._table.running())

    async def turn(self, ends: float | None = None) -> None:
        """Collect what is done, give up what came to nothing, hand in what is new. After `ends` no job is asked after."""
        await in_thread(self._table.tidy)
        for job in await in_thread(self._table.running):
            await self._look_after(job, inf if ends is None else ends - monotonic())
        if self._settings.enabled and not self._jobs.works:
            self._note(f"batch jobs are off until the next start, after {self._jobs.failures} failures: {self._jobs.last_error}")
        elif self._settings.enabled:
            await self._hand_in()

    async def wait(self, ends: float, progress: ProgressCallback | None) -> bool:
        """Ask after the jobs until there is something to do; false if `ends` comes first, or nothing is to be waited for."""
        from anyio import sleep

        if self._stuck:
            return False
        if not await in_thread(self._table.running):
            return self._left > 0
        while (left := ends - monotonic()) > 0:
            await sleep(min(self._settings.poll_interval_ms / 1000, left))
            jobs = await in_thread(self._table.running)
            if not jobs:
                return True
            said: Counter[str] = Counter()
            over = 0
            for job in jobs:
                try:
                    state = await self._jobs.state(job.name, ends - monotonic())
                except ProviderError as error:
                    over += error.status == _GONE
                    said["cannot be asked"] += 1
                    continue
                over += state.phase != "running"
                said[state.said] += 1
            if progress:
                words = ", ".join(f"{count} {word}" for word, count in sorted(said.items()))
                progress(Progress("batch", over, len(jobs), f"({words})"))
            if over:
                return True
        return False

    def standing(self) -> list[Note]:
        """Return what is still under way, as a note."""
        jobs = self._table.running()
        if not jobs:
            return []
        names = ", ".join(f"{job.name}{f': {job.said}' if job.said else ''}" for job in jobs[:3])
        text = f"{self._table.texts():,} texts are in {len(jobs)} batch jobs of {self._jobs.provider} ({names}); a later sync collects them"
        return [Note("batch", text)]

    async def _look_after(self, job: Job, within_s: float) -> None:
        try:
            state = await self._jobs.state(job.name, within_s)
        except ProviderError as error:
            if error.status == _GONE or time() - job.made > _OLDEST_S:
                await self._give_up(job, told(error))
            else:
                self._note(f"the batch job {job.name} cannot be asked after: {told(error)}")
            return
        await in_thread(self._table.remember, job, state)
        if state.phase in ("done", "failed"):
            await self._collect(job, state)
        elif time() - job.made > _OLDEST_S:
            await self._give_up(job, f"it is {state.said} for more than a day")
        elif state.phase == "unknown" and job.unknown + 1 >= _MOST_UNKNOWN:
            await self._give_up(job, f"its state is {state.said!r}, which means nothing to us")

    async def _collect(self, job: Job, state: State) -> None:
        """Store what a job gave; what it owes is embedded directly. One that cannot be read now is read later."""
        wanted = await in_thread(self._table.texts_of, job)  # what was forgotten meanwhile is not
        good: list[tuple[bytes, Sequence[float]]] = []
        faults: Counter[str] = Counter()
        try:
            async with aclosing(self._jobs.results(state)) as results:
                async for result in results:
                    if (identity := _identity(result, faults)) and identity in wanted:
                        good.append((identity, result.vector or ()))
                    if len(good) >= _STORED_AT_ONCE:
                        await in_thread(self._store, good, faults)
                        good = []
        except ProviderError as error:
            await in_thread(self._store, good, faults)
            if error.status == _GONE or time() - job.made > _OLDEST_S:
                await self._give_up(job, told(error))
            else:
                self._stuck = True
                self._note(f"the results of the batch job {job.name} cannot be had yet: {told(error)}")
            return
        await in_thread(self._store, good, faults)
        owed = await in_thread(self._table.close, job)
        if state.phase == "failed":
            self._fail(job, state.reason or state.said, owed)
            return
        self._jobs.failures = 0
        if owed:
            why = (
                "; ".join(f"{count} times {reason}" for reason, count in faults.most_common(3)) or "they are missing in its results"
            )
            self._note(f"{owed} texts of the batch job {job.name} got no vector ({why}); they are embedded directly")

    async def _give_up(self, job: Job, reason: str) -> None:
        await self._jobs.cancel(job.name)
        self._fail(job, reason, await in_thread(self._table.close, job))

    def _fail(self, job: Job, reason: str, owed: int) -> None:
        self._jobs.failed(reason)
        self._note(
            f"the batch job {job.name} of {self._jobs.provider} came to nothing: {reason.rstrip('.')}. {owed} texts are embedded directly"
        )

    async def _hand_in(self) -> None:
        """Make jobs of the texts that are in none, as many as may run at once."""
        free = self._settings.concurrency - len(await in_thread(self._table.running))
        todo = await in_thread(self._writer.missing, "new") if free > 0 else []
        items: list[Item] = []
        for begin in range(0, len(todo), _READ_AHEAD):
            items += await in_thread(self._writer.read, todo[begin : begin + _READ_AHEAD])
        most = self._writer.limits.tokens
        lines = [(identity.hex(), text) for identity, text in items if isinstance(text, str) and tokens_of(text) <= most]
        others = [identity for identity, text in items if not (isinstance(text, str) and tokens_of(text) <= most)]
        await in_thread(self._table.send_directly, others)  # what has to be cut, and what is no text
        parts = await in_thread(self._jobs.parts, lines)
        self._left = max(0, len(parts) - max(0, free))
        for identities, content in parts[: max(0, free)]:
            hashes = list(map(bytes.fromhex, identities))
            try:
                name = await self._jobs.submit(content)
            except ProviderError as error:
                self._jobs.failed(told(error))
                self._note(f"no batch job could be made: {told(error).rstrip('.')}. The texts are embedded directly")
                await in_thread(self._table.send_directly, hashes)
                if error.status == _GONE:  # there is no such thing here
                    self._jobs.failed(told(error))
                if not self._jobs.works:
                    return
            else:
                await in_thread(self._table.open, name, hashes)

    def _note(self, text: str) -> None:
        self.notes.append(Note("batch", text))

    def _store(self, good: Sequence[tuple[bytes, Sequence[float]]], faults: Counter[str]) -> None:
        """Write the vectors that can be used, and count the others by their fault."""
        import numpy as np

        sizes = Counter(len(vector) for _, vector in good)
        width = self._space.dimensions or (sizes.most_common(1)[0][0] if sizes else 0)
        rows: list[tuple[bytes, np.ndarray[tuple[int], np.dtype[np.float32]]]] = []
        for identity, vector in good:
            try:
                row = np.array(vector, np.float32)
            except (TypeError, ValueError):
                faults["a vector that does not hold numbers"] += 1
                continue
            if row.shape != (width,) or not np.isfinite(row).all() or not row.any():
                faults["a vector that cannot be used"] += 1
                continue
            rows.append((identity, row))
        if rows:
            self._space.store([identity for identity, _ in rows], np.stack([row for _, row in rows]))
            self._writer.embedded += len(rows)


def _identity(result: Result, faults: Counter[str]) -> bytes | None:
    """Return whose vector a result is; None, and the reason is counted, if it has none."""
    if result.vector is None:
        faults[result.reason] += 1
        return None
    try:
        return bytes.fromhex(result.identity)
    except ValueError:
        return None
