"""One sync at a time in a process; whoever comes meanwhile shares the next one, and a forced one is never lost."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from ._run import is_inline
from .reports import SyncReport
from .types import Note

BUSY = Note("busy", "another sync is under way; this is answered from what it has done so far")


class _Done(NamedTuple):
    number: int
    force: bool
    report: SyncReport


class SyncGate:
    """Lets one sync through at a time, without a worker thread for each that waits."""

    def __init__(self) -> None:
        self._lock: Any = None
        self._loop: object = None
        self._begun = 0
        self._last: _Done | None = None

    def is_busy(self) -> bool:
        """Tell whether a sync is under way."""
        return self._lock is not None and bool(self._lock.locked())

    async def run(
        self, work: Callable[[], Coroutine[Any, Any, SyncReport]], *, force: bool = False, budget_s: float | None = None
    ) -> SyncReport:
        """Return what `work` returns, or what a sync returned that began after this call and did as much.

        Whoever has a budget waits no longer than that, and is told that somebody else is at work.
        """
        if is_inline():  # nobody can come meanwhile
            return await work()
        from anyio import move_on_after

        asked = self._begun
        lock = self._of_this_loop()
        with move_on_after(budget_s) as waiting:
            await lock.acquire()
        if waiting.cancelled_caught:
            return SyncReport(notes=(BUSY,))
        try:
            last = self._last
            if last and last.number > asked and (last.force or not force):
                return last.report
            self._begun += 1
            number = self._begun
            report = await work()
            self._last = _Done(number, force, report)
            return report
        finally:
            lock.release()

    def _of_this_loop(self) -> Any:
        """Return the lock of the running loop; two loops take turns by the slot's own lock."""
        from anyio import Lock
        from anyio.lowlevel import current_token

        loop = current_token()
        if self._lock is None or self._loop != loop:
            self._lock, self._loop = Lock(), loop
        return self._lock
