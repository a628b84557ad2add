"""Keep QMD's index up with the files: when it is told to, at the start, and every few minutes, in the background."""

from __future__ import annotations

import random
import re
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Lock, Thread
from time import time
from typing import TYPE_CHECKING

from looseleaf import AgentSettings, Layout, Note, StoreError, SyncReport
from looseleaf.errors import told
from looseleaf.files import make_folder

from .answers import updated_in
from .collection import Managed, agent_suffix, listed, managed, reconcile
from .command import Command, failure
from .exports import Exports
from .state import State, look

if TYPE_CHECKING:
    from filelock import BaseFileLock

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", re.IGNORECASE)
_TRIES, _FIRST_PAUSE_S = 3, 0.5
_BUSY = re.compile(r"busy|locked|longer than", re.IGNORECASE)
_BROKEN = re.compile(r"null byte|ENOTDIR|UNIQUE constraint", re.IGNORECASE)
_EMBED_REST_S, _LONGEST_REST_S = 60.0, 3600.0
_JITTER = 0.1  # of the interval, so that agents that started together do not embed together
_LOCK_S = 10.0
_WAIT_S = 0.5  # a search waits so long for the first update


class Refresh:
    """Brings the index of one agent up to date, one at a time on this machine.

    Attributes:
        error: Why the last time failed, or None.
    """

    def __init__(self, settings: AgentSettings, layout: Layout, command: Command) -> None:
        self._options = settings.memory.qmd
        self._settings = settings
        self._layout = layout
        self._command = command
        self._state_path = command.home / "state.json"
        self._exports = Exports(settings, command.home) if self._options.sessions.enabled else None
        self._turn = Lock()
        self._first = Event()
        self._stop = Event()
        self._thread: Thread | None = None
        self.error: Exception | None = None

    @property
    def collections(self) -> list[Managed]:
        """The collections that there should be now."""
        return managed(self._settings, self._layout, self._exports.folder if self._exports else None)

    @property
    def state(self) -> State:
        """What is remembered of the last update."""
        return State.read(self._state_path)

    @property
    def is_fresh(self) -> bool:
        """Whether no file has changed since the last update."""
        return self.state.seen == look(self.collections)[0]

    def run(self, *, force: bool = False) -> SyncReport:
        """Export, reconcile, update where anything changed, and embed where the mode needs it.

        Raises:
            NotConfigured: there is no qmd.
            StoreError: it failed.
        """
        from filelock import Timeout

        with self._turn, ExitStack() as stack:
            self._command.prepare()
            try:
                stack.enter_context(_lock(self._command.home / "sync.lock", self._options.update.update_timeout_ms / 1000))
            except Timeout:
                raise StoreError("another process is updating QMD's index for too long: try again") from None
            notes = self._export()
            collections = self.collections
            seen, files = look(collections)
            state = self.state
            indexed = removed = 0
            if force or seen != state.seen or not self._are_listed(collections):
                (indexed, removed), more = self._update(collections, all_anew=force)
                notes += more
                state.seen, state.files, state.updated = seen, files, time()
                state.write(self._state_path)
            notes += self._embed(state, force=force)
            self.error = None
            self._first.set()
            return SyncReport(files=files, indexed=indexed, removed=removed, chunks=files, notes=tuple(notes))

    def wait_first(self) -> None:
        """Start what runs in the background, and wait for the first update: all of it if config says so, else for half a second."""
        options = self._options.update
        if self._thread is None:
            self._thread = Thread(target=self._work, name="looseleaf-qmd", daemon=True)  # it keeps no process alive
            self._thread.start()
        if options.on_boot and options.startup not in ("off", "idle") and not self._first.is_set():
            self._first.wait(options.update_timeout_ms / 1000 if options.wait_for_boot_sync else _WAIT_S)

    def stop(self) -> None:
        """End the background, and what it runs."""
        self._stop.set()
        self._command.processes.end_all()
        if self._thread is not None:
            self._thread.join(1.0)
            self._thread = None

    def _work(self) -> None:
        options = self._options.update
        every = seconds(options.interval)
        if options.on_boot and options.startup != "off" and not self._first.is_set():
            if options.startup == "idle" and self._stop.wait(options.startup_delay_ms / 1000):
                return
            self._quietly()
        self._first.set()
        while every and not self._stop.wait(every * (1 + _JITTER * random.random())):  # noqa: S311 - not for secrets
            if time() - self.state.updated >= options.debounce_ms / 1000:
                self._quietly()

    def _quietly(self) -> None:
        """Run, and keep what went wrong for whoever asks; a busy database is tried again."""
        for attempt in range(_TRIES):
            try:
                self.run()
                return
            except Exception as error:  # noqa: BLE001 - nobody is there to be told: the next search is
                self.error = error
                if not _BUSY.search(str(error)) or self._stop.wait(_FIRST_PAUSE_S * 2**attempt):
                    return

    def _export(self) -> list[Note]:
        if self._exports is None:
            return []
        try:
            return self._exports.write()
        except OSError as error:
            return [Note("export-failed", f"sessions are not exported to {self._exports.folder}: {error.strerror}")]

    def _are_listed(self, collections: list[Managed]) -> bool:
        known = listed(self._command)
        return all(known.get(one.name) == (one.root, one.pattern) for one in collections if look([one])[1])

    def _update(self, collections: list[Managed], *, all_anew: bool) -> tuple[tuple[int, int], list[Note]]:
        options = self._options.update
        suffix = agent_suffix(self._settings.agent)
        short_s = options.command_timeout_ms / 1000
        if all_anew:
            reconcile(self._command, [], suffix, timeout_s=short_s)
        said, notes = reconcile(self._command, collections, suffix, timeout_s=options.update_timeout_ms / 1000)
        done = self._command.run("update", timeout_s=options.update_timeout_ms / 1000)
        if done.code != 0 and _BROKEN.search(done.stderr) and not all_anew:
            return self._update(collections, all_anew=True)
        if done.code != 0:
            raise failure("qmd update", done)
        counts = [updated_in(text) for text in (*said, done.stdout)]
        return (sum(indexed for indexed, _ in counts), sum(removed for _, removed in counts)), notes

    def _embed(self, state: State, *, force: bool) -> list[Note]:
        """Let QMD embed: only where the mode needs vectors and models are there, and one agent of this machine at a time."""
        from filelock import Timeout

        every = seconds(self._options.update.embed_interval)
        now = time()
        due = not state.embedded or (every and now - state.embedded >= every)
        if self._options.search_mode == "search" or not self._command.has_models() or not (force or (due and now >= state.retry)):
            return []
        try:
            with _lock(self._settings.state_dir / "qmd" / "embed.lock", _LOCK_S):
                self._command.do("embed", timeout_s=self._options.update.embed_timeout_ms / 1000)
        except Timeout:
            return [Note("embed-later", "another agent is embedding; this one waits for its turn")]
        except StoreError as error:
            state.failures += 1
            state.retry = now + min(_LONGEST_REST_S, _EMBED_REST_S * 2 ** (state.failures - 1))
            state.write(self._state_path)
            return [Note("embed-failed", f"{told(error)}. Notes are found by their words and by the vectors that are there.")]
        state.embedded, state.failures, state.retry = time(), 0, 0.0
        state.write(self._state_path)
        return []


def seconds(duration: str | int) -> float:
    """Return a duration of config in seconds: `5m`, `90s`, `1h`, or milliseconds as a whole number; 0 for none that is known."""
    if isinstance(duration, int):
        return duration / 1000
    match = _DURATION.fullmatch(duration)
    return float(match[1]) * _UNITS_S[(match[2] or "m").lower()] if match else 0.0


def _lock(path: Path, wait_s: float) -> BaseFileLock:
    """Return a lock that ends with its process."""
    from filelock import FileLock

    make_folder(path.parent)
    return FileLock(path, timeout=wait_s)
