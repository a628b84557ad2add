"""Follow the files: changes as the system tells them, or a look every few seconds where it does not, and a look now and then anyway."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from .errors import told as told_of
from .mounts import SILENT, kind_of
from .reports import SyncReport
from .settings.surface import Sync
from .types import Note
from .workspace import Layout

if TYPE_CHECKING:
    from anyio import Event

_STEP_MS = 100  # how often what the system told is collected
_MOST_WAIT = 4  # times the debounce, while writing goes on
_RECONCILE_S = 300.0
_POLL_S = 2.0
_POLL_SHARE = 20  # looking takes at most a twentieth of the time
_PROBE_S = 3.0
_AFTER_ERROR_S = 10.0


class Watch:
    """Keeps an index up with the files of one workspace.

    Args:
        layout: Which files count.
        options: `memorySearch.sync`.
        sync: Brings the index up to date.
        told: Gets what each sync did.
        also: Folders of other files that the slot follows, each without those below it.

    Attributes:
        polls: Why changes are looked for instead of being told, or an empty string.
        syncs: How many syncs were made.
    """

    def __init__(
        self,
        layout: Layout,
        options: Sync,
        sync: Callable[[], Awaitable[SyncReport]],
        told: Callable[[SyncReport], None],
        also: Iterable[str] = (),
    ) -> None:
        self._layout = layout
        self._options = options
        self._sync = sync
        self._told = told
        self._also = frozenset(map(os.path.realpath, also))
        self._first = self._latest = 0.0  # of the changes that no sync has seen yet
        self._news: Event | None = None
        self._probe = ""
        self.polls = _why_poll(options, self._folders())
        self.syncs = 0

    async def run(self) -> None:
        """Sync now and after every change, until it is cancelled."""
        from anyio import create_task_group

        async with create_task_group() as group:
            if not self.polls:
                group.start_soon(self._listen)
            while True:
                pause = await self._once()
                if await self._changed_within(pause):
                    await self._settled()

    async def _once(self) -> float:
        """Sync, and return the seconds after which to look again if nothing is told."""
        begun = monotonic()
        self._first = 0.0
        try:
            self._told(await self._sync())
        except Exception as error:  # noqa: BLE001 - a disk that is full now may not be later
            self._told(SyncReport(notes=(Note("sync-failed", told_of(error)),)))
            return _AFTER_ERROR_S
        finally:
            self.syncs += 1
        if self.polls:
            return max(_POLL_S, _POLL_SHARE * (monotonic() - begun))
        return 60.0 * self._options.interval_minutes or _RECONCILE_S

    async def _changed_within(self, seconds: float) -> bool:
        from anyio import Event, move_on_after

        if not self._first:
            self._news = Event()
            with move_on_after(seconds):
                await self._news.wait()
        return bool(self._first)

    async def _settled(self) -> None:
        """Wait until nothing has changed for the debounce, or for four times as long if writing goes on."""
        from anyio import sleep

        quiet = self._options.watch_debounce_ms / 1000
        while (left := min(self._latest + quiet, self._first + _MOST_WAIT * quiet) - monotonic()) > 0:
            await sleep(left)

    def _note(self) -> None:
        """Take down that something has changed."""
        self._latest = monotonic()
        self._first = self._first or self._latest
        if self._news:
            self._news.set()

    async def _listen(self) -> None:
        """Take down what the system tells; look by ourselves where it does not."""
        from anyio import create_task_group

        while not self.polls:
            folders = self._folders()
            async with create_task_group() as group:
                for recursive in (False, True):
                    if some := [folder for folder, deep in folders.items() if deep == recursive]:
                        group.start_soon(self._hear, some, recursive, group.cancel_scope.cancel)
                group.start_soon(self._try, next(iter(folders)), group.cancel_scope.cancel)

    async def _hear(self, folders: list[str], recursive: bool, again: Callable[[], None]) -> None:
        from watchfiles import awatch

        known = self._folders()
        try:
            async for changes in awatch(
                *folders,
                watch_filter=None,
                debounce=_STEP_MS,
                step=_STEP_MS,
                recursive=recursive,
                ignore_permission_denied=True,
            ):
                paths = {path for _, path in changes}
                if self._probe in paths:
                    self._probe = ""
                if any(self._layout.concerns(path) or os.path.dirname(path) in self._also for path in paths):
                    self._note()
                if self._folders() != known:  # a folder that is listened to has come or gone
                    again()
                    return
        except Exception as error:  # noqa: BLE001 - whatever the system lacks (watches, descriptors), files can be looked at
            self._poll(f"the system does not tell of changes ({type(error).__name__}: {error})")
            again()

    async def _try(self, folder: str, again: Callable[[], None]) -> None:
        """Make a file and delete it: who is not told of that is not told of others either."""
        from anyio import sleep

        await sleep(_STEP_MS / 1000)
        path = os.path.join(folder, f".looseleaf-{os.getpid()}")
        self._probe = path
        try:
            Path(path).write_bytes(b"")
            Path(path).unlink()
        except OSError:
            return  # nothing can be tried here; the look now and then has to do
        await sleep(_PROBE_S)
        if self._probe == path:
            self._poll("the system does not tell of changes in this folder")
            again()

    def _poll(self, reason: str) -> None:
        self.polls = reason
        self._note()

    def _folders(self) -> dict[str, bool]:
        """Return the folders to listen to, and whether with all below."""
        layout = self._layout
        memory = str(layout.workspace / "memory")
        folders = {str(layout.workspace): False, **dict.fromkeys(self._also, False)}
        for path, is_file in [(memory, False), *((root.path, root.is_file) for root in layout.extra)]:
            if is_file:
                folders.setdefault(os.path.dirname(path), False)
            else:
                folders[path] = True
        return {path: deep for path, deep in folders.items() if os.path.isdir(path)}


def _why_poll(options: Sync, folders: Iterable[str]) -> str:
    if options.watch == "poll":
        return "sync.watch is poll"
    for folder in folders:
        kind = kind_of(folder)
        if kind in SILENT:
            return f"{folder} is on {kind}, where changes are not told"
    return ""
