"""What is needed to let another step in: a pause after a failure, longer each time, after which the first is asked again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .errors import ProviderError, ReadRefused, told
from .reports import Forgotten, ProgressCallback, Status, SyncReport
from .types import Hit, Note, Page, Query, Retrieval

if TYPE_CHECKING:
    from .protocols import Forgetting, Loading, MemorySlot

T = TypeVar("T")

_FIRST_S, _LONGEST_S = 5.0, 120.0
_MISSES = 3  # so often in a row what may be better the next time is asked again at once
_FRESH_S = 1.0  # so long a search waits until whoever steps in has looked at the notes


class RestingError(ProviderError):
    """The provider is not asked for the time being."""


class Rest:
    """Whether a provider rests, and for how long."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._until = 0.0
        self._length_s = 0.0
        self._reason = ""

    def check(self) -> None:
        """Pass, or say that the provider rests.

        Raises:
            RestingError: with what went wrong, and when it is asked again.
        """
        left = self._until - self._now()
        if left > 0:
            raise RestingError(f"{self._reason}. It is asked again in {left:.0f} s", retryable=True)

    def begin(self, error: Exception) -> None:
        """Rest after `error`: twice as long as the last time. To be told that it rests is no failure."""
        if isinstance(error, RestingError):
            return
        self._length_s = min(_LONGEST_S, max(_FIRST_S, 2 * self._length_s))
        self._until = self._now() + self._length_s
        self._reason = told(error).rstrip(".")

    def over(self) -> None:
        """It has answered: the next failure rests briefly."""
        self._until = self._length_s = 0.0


class FallbackSlot:
    """A memory slot that hands over to another one where it cannot answer, says so, and is asked again after a while.

    A failure that may be over at once (a time-out, a daemon that died) is of one query only, unless there are three in a row.

    Args:
        name: The slot's name.
        slot: Who is asked first.
        substitute: The name of who steps in.
        make: Makes that one, when it is needed.
        notes: What there is to say about it.
        index: Where it keeps what it has read, which is to be forgotten, too.
        blocking: Whether neither of them waits for anything but `in_thread`.
    """

    def __init__(
        self,
        name: str,
        slot: MemorySlot,
        substitute: str,
        make: Callable[[], MemorySlot],
        *,
        notes: Sequence[Note] = (),
        index: Path,
        blocking: bool = False,
    ) -> None:
        self.blocking = blocking
        self._name, self._slot = name, slot
        self._substitute, self._make = substitute, make
        self._notes, self._index = tuple(notes), index
        self._second: MemorySlot | None = None
        self._rest = Rest()
        self._misses = 0

    def __getattr__(self, name: str) -> Any:
        """Return what else the slot can do."""
        if name.startswith("_") or name == "is_quick":  # whoever steps in may be slow
            raise AttributeError(name)
        return getattr(self._slot, name)

    async def retrieve(self, query: Query) -> Retrieval:
        """Return what the slot finds, or whoever steps in, with the reason.

        Raises:
            Exception: what the slot raised, where nobody can step in.
        """
        try:
            self._rest.check()
            found = await self._slot.retrieve(query)
        except Exception as error:  # noqa: BLE001 - whatever keeps the slot from answering, the other one does
            other = await self._instead(error, lambda second: _fresh(second, query))
            return replace(other, backend=self._substitute, notes=(self._reason(error), *self._notes, *other.notes))
        self._answered()
        return found

    async def load(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return `hits` with their text; those of the slot itself have it, or are read by it."""
        if all(hit.text for hit in hits):
            return list(hits)
        loader = self._second if self._second is not None and hasattr(self._second, "load") else self._slot
        return await cast("Loading", loader).load(hits)

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return part of a file of either slot."""
        try:
            return await self._slot.read(path, start, lines)
        except ReadRefused:
            if self._second is None:
                raise
            return await self._second.read(path, start, lines)

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """Bring the slot up to date, or whoever steps in."""
        try:
            if not force:
                self._rest.check()
            report = await self._slot.sync(force=force, progress=progress, budget_s=budget_s)
        except Exception as error:  # noqa: BLE001 - as in `retrieve`
            other = await self._instead(error, lambda second: second.sync(force=force, progress=progress, budget_s=budget_s))
            return replace(other, notes=(self._reason(error), *other.notes))
        self._answered()
        return report

    async def status(self) -> Status:
        """Return the state of the slot, or of whoever answers while it rests."""
        try:
            self._rest.check()
            status = await self._slot.status()
        except Exception as error:  # noqa: BLE001 - as in `retrieve`
            other = await self._instead(error, lambda second: second.status())
            told_why = {"fallback": {"from": self._name, "reason": told(error)}}
            return replace(other, details={**other.details, **told_why}, notes=(self._reason(error), *other.notes))
        return status

    async def forget(self) -> Forgotten:
        """Forget in both.

        Raises:
            StoreError: one of them could not.
        """
        done = await cast("Forgetting", self._slot).forget()
        if not self._index.exists():
            return done
        second = self._second = self._second or self._make()
        other = await cast("Forgetting", second).forget()
        return Forgotten(done.vectors + other.vectors, done.under_way + other.under_way, done.complete and other.complete)

    async def aclose(self) -> None:
        """Close both."""
        await self._slot.aclose()
        if self._second is not None:
            await self._second.aclose()

    def _answered(self) -> None:
        self._misses = 0
        self._rest.over()

    def _failed(self, error: Exception) -> None:
        self._misses += 1
        if not getattr(error, "retryable", False) or self._misses >= _MISSES:
            self._rest.begin(error)

    async def _instead(self, error: Exception, work: Callable[[MemorySlot], Coroutine[Any, Any, T]]) -> T:
        """Return what whoever steps in makes of it; where that fails, too, it is `error` that is raised."""
        self._failed(error)
        try:
            self._second = self._second or self._make()
            return await work(self._second)
        except Exception as second:
            error.add_note(f"{self._substitute} cannot step in: {told(second)}")
            raise error from second

    def _reason(self, error: Exception) -> Note:
        return Note("fallback", f"{self._substitute} answers for {self._name}: {told(error)}")


async def _fresh(slot: MemorySlot, query: Query) -> Retrieval:
    """Return what a slot finds, after a short look at the notes; what it knows already is an answer, too."""
    with suppress(Exception):
        await slot.sync(budget_s=_FRESH_S)
    return await slot.retrieve(query)
