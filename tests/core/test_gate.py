"""One sync at a time: none is lost, none is made twice, nobody waits longer than he can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from looseleaf import SyncReport
from looseleaf._gate import SyncGate
from looseleaf._run import run


class Work:
    """A sync that waits until it is let go, and remembers what was asked."""

    def __init__(self) -> None:
        self.gate = SyncGate()
        self.made: list[bool] = []
        self.at_once = self.most = 0
        self.go_on = asyncio.Event()

    def ask(self, *, force: bool = False, budget_s: float | None = None) -> Coroutine[Any, Any, SyncReport]:
        return self.gate.run(self._work(force), force=force, budget_s=budget_s)

    def _work(self, force: bool) -> Callable[[], Coroutine[Any, Any, SyncReport]]:
        async def work() -> SyncReport:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            self.made.append(force)
            number = len(self.made)
            await self.go_on.wait()
            self.at_once -= 1
            return SyncReport(files=number)

        return work


async def _asked(work: Work, *forces: bool) -> list[SyncReport]:
    first = asyncio.ensure_future(work.ask())
    while not work.made:
        await asyncio.sleep(0)
    others = [asyncio.ensure_future(work.ask(force=force)) for force in forces]
    for _ in range(5):
        await asyncio.sleep(0)
    work.go_on.set()
    return [await first, *await asyncio.gather(*others)]


def test_those_who_come_meanwhile_share_one_sync() -> None:
    """Not the one that runs, which may have looked before they came."""

    async def main() -> None:
        work = Work()
        reports = await _asked(work, *[False] * 50)
        assert [report.files for report in reports] == [1, *[2] * 50]
        assert (work.made, work.most) == ([False, False], 1)

    asyncio.run(main())


def test_a_forced_one_is_never_lost() -> None:
    """behaviour.md §3.4: it is made although a plain one runs, and serves the plain ones after it."""

    async def main() -> None:
        work = Work()
        reports = await _asked(work, False, True, False)
        assert work.made == [False, False, True]
        assert [report.files for report in reports] == [1, 2, 3, 3]

    asyncio.run(main())


def test_a_budget_is_kept() -> None:
    """Whoever cannot wait is told that somebody is at work, and no sync is made for him."""

    async def main() -> None:
        work = Work()
        first = asyncio.ensure_future(work.ask())
        while not work.made:
            await asyncio.sleep(0)
        report = await work.ask(budget_s=0.01)
        assert [note.code for note in report.notes] == ["busy"]
        work.go_on.set()
        await first
        assert work.made == [False]

    asyncio.run(main())


def test_a_sync_that_fails_lets_the_next_one_through() -> None:
    """The error reaches who asked for it."""

    async def main() -> None:
        gate = SyncGate()

        async def fail() -> SyncReport:
            raise ValueError("no")

        async def work() -> SyncReport:
            return SyncReport(files=1)

        results = await asyncio.gather(gate.run(fail), gate.run(work), return_exceptions=True)
        assert isinstance(results[0], ValueError)
        assert results[1] == SyncReport(files=1)

    asyncio.run(main())


def test_without_a_loop_and_in_two_of_them() -> None:
    """A command has none; a program may have one after the other."""
    gate = SyncGate()

    async def work() -> SyncReport:
        return SyncReport(files=1)

    for inline in (True, False, False):
        assert run(gate.run(work), inline=inline).files == 1
