"""Run a program for so long and for so much output, and leave nothing of it behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import IO, NamedTuple, TypeAlias

_MOST_BYTES = 4_000_000  # an answer is a few kilobytes
_BLOCK = 1 << 16


Process: TypeAlias = subprocess.Popen[bytes]


class Done(NamedTuple):
    """What a program did.

    Attributes:
        code: Its exit code; None where it was ended.
        stdout: What it printed.
        stderr: What it complained about.
        ended: Why it was ended, or an empty string.
    """

    code: int | None
    stdout: str
    stderr: str
    ended: str = ""


class Processes:
    """Programs that are running, each in a process group of its own, so that all that it started ends with it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: set[Process] = set()

    def run(self, words: Sequence[str], *, folder: Path, environ: Mapping[str, str], timeout_s: float) -> Done:
        """Run a program to its end, or to the end of `timeout_s` seconds or four megabytes.

        Raises:
            OSError: it cannot be started.
        """
        ends = monotonic() + timeout_s
        process = self.start(words, folder=folder, environ=environ)
        try:
            readers = [_Reader(pipe, process) for pipe in (process.stdout, process.stderr) if pipe]
            for reader in readers:
                reader.join(max(0.0, ends - monotonic()))
            late = any(reader.is_alive() for reader in readers)
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.05, ends - monotonic()))  # it may take a moment after it closed its output
        finally:
            self.end(process)
        for reader in readers:
            reader.join(1.0)
        out, err = (bytes(reader.data).decode("utf-8", "replace") for reader in readers)
        flooded = any(reader.flooded for reader in readers)
        ended = (
            f"printed more than {_MOST_BYTES // 1_000_000} MB" if flooded else f"took longer than {timeout_s:g} s" if late else ""
        )
        return Done(None if ended else process.returncode, out, err, ended)

    def start(self, words: Sequence[str], *, folder: Path, environ: Mapping[str, str], serves: bool = False) -> Process:
        """Start a program; one that `serves` has its output thrown away, and a pipe to read that ends when we do.

        Raises:
            OSError: it cannot be started.
        """
        stdin, output = (subprocess.PIPE, subprocess.DEVNULL) if serves else (subprocess.DEVNULL, subprocess.PIPE)
        process = subprocess.Popen(  # noqa: S603 - the owner's own config names the program
            list(words), cwd=folder, env=dict(environ), stdin=stdin, stdout=output, stderr=output, start_new_session=True
        )
        with self._lock:
            self._running.add(process)
        return process

    def end(self, process: Process) -> None:
        """End a program and all that it started; one that has ended is only forgotten."""
        _kill(process)
        process.wait()
        if process.stdin:
            with suppress(OSError):
                process.stdin.close()
        with self._lock:
            self._running.discard(process)

    def end_all(self) -> None:
        """End everything that runs."""
        with self._lock:
            running = list(self._running)
        for process in running:
            _kill(process)


class _Reader(Thread):
    """Takes in what a pipe gives, up to a limit, at which the program is ended."""

    def __init__(self, pipe: IO[bytes], process: Process) -> None:
        super().__init__(name="looseleaf-qmd-output", daemon=True)
        self.data = bytearray()
        self.flooded = False
        self._pipe, self._process = pipe, process
        self.start()

    def run(self) -> None:
        """Read to the end."""
        with self._pipe:
            while block := os.read(self._pipe.fileno(), _BLOCK):
                self.data += block
                if len(self.data) > _MOST_BYTES:
                    self.flooded = True
                    _kill(self._process)
                    return


def _kill(process: Process) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # its group is empty
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
