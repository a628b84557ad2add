"""The qmd program of one agent: where it is, which version, its own home, and nothing of our keys."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from looseleaf import NotConfigured, StoreError
from looseleaf.files import make_folder, write_whole

from .process import Done, Processes

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_VERSION_S = 10.0


class TimeoutStoreError(StoreError):
    """QMD was too slow this time.

    Attributes:
        retryable: The next question may be answered.
    """

    retryable = True


class Command:
    """Runs qmd.

    Args:
        configured: `memory.qmd.command`, as text or as words.
        home: The folder where qmd's config, cache, index and models are.

    Attributes:
        home: The same.
        processes: What is running.
    """

    def __init__(self, configured: str | Sequence[str], home: Path) -> None:
        self._configured = configured
        self.home = home
        self.processes = Processes()
        self._version: tuple[str, tuple[int, int, int]] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The program and what always goes before its arguments.

        Raises:
            NotConfigured: it is not on the PATH, or config cannot be read.
        """
        try:
            words = tuple(shlex.split(self._configured) if isinstance(self._configured, str) else self._configured)
        except ValueError as error:
            raise NotConfigured(f"memory.qmd.command {self._configured!r} cannot be read: {error}") from None
        program = shutil.which(words[0]) if words else None
        if program is None:
            text = f"the program {words[0] if words else ''!r} is not on the PATH. Install it (npm install -g @tobilu/qmd, Node 22 or later), "
            raise NotConfigured(text + "set memory.qmd.command to where it is, or set plugins.slots.memory to memory-core.")
        return program, *words[1:]

    def run(self, *arguments: str, timeout_s: float) -> Done:
        """Run `qmd` with `arguments`, and return whatever came of it.

        Raises:
            NotConfigured: there is no such program.
            StoreError: it cannot be started, or its home cannot be made.
        """
        words = self.words
        self.prepare()
        try:
            return self.processes.run(
                [*words, "--index", "index", *arguments], folder=self.home, environ=self.environ(), timeout_s=timeout_s
            )
        except OSError as error:
            raise StoreError(f"{words[0]} cannot be started: {error.strerror}") from None

    def do(self, *arguments: str, timeout_s: float) -> str:
        """Run `qmd` and return what it prints.

        Raises:
            NotConfigured: there is no such program.
            StoreError: it failed.
        """
        done = self.run(*arguments, timeout_s=timeout_s)
        if done.code != 0:
            raise failure(f"qmd {arguments[0]}", done)
        return done.stdout

    def prepare(self) -> None:
        """Make the home; models that are on this machine are linked, not downloaded once more.

        Raises:
            StoreError: it cannot be made.
        """
        cache = self.home / "xdg-cache" / "qmd"
        try:
            for folder in (cache, self.home / "xdg-config" / "qmd"):
                make_folder(folder)
            self.home.chmod(0o700)
            usual = Path.home() / ".cache" / "qmd" / "models"
            if usual.is_dir() and not (cache / "models").exists():
                (cache / "models").symlink_to(usual, target_is_directory=True)
        except OSError as error:
            raise StoreError(
                f"the folder {self.home} cannot be made: {error.strerror}. Set LOOSELEAF_STATE_DIR to a folder you own."
            ) from None

    def environ(self) -> Mapping[str, str]:
        """Return the variables that qmd gets: its own folders, and no key."""
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        config = self.home / "xdg-config"
        own = {"XDG_CONFIG_HOME": config, "QMD_CONFIG_DIR": config / "qmd", "XDG_CACHE_HOME": self.home / "xdg-cache"}
        # A .qmd folder in the workspace would take the index over: qmd looks for it from PWD upward.
        return {**passed, **{name: str(path) for name, path in own.items()}, "PWD": str(self.home), "NO_COLOR": "1"}

    def has_models(self) -> bool:
        """Tell whether models are there; without them qmd would download gigabytes in the middle of a search."""
        return any((self.home / "xdg-cache" / "qmd" / "models").glob("*.gguf"))

    def version(self) -> tuple[int, int, int]:
        """Return qmd's version, asked once for each program file.

        Raises:
            NotConfigured: there is no such program.
            StoreError: it does not say.
        """
        words = self.words
        identity = json.dumps([*words, os.stat(words[0]).st_mtime_ns])
        if self._version and self._version[0] == identity:
            return self._version[1]
        kept = self.home / "version.json"
        try:
            known = json.loads(kept.read_text("utf-8"))
        except (OSError, ValueError):
            known = {}
        said = known.get(identity) if isinstance(known, dict) else None
        if not isinstance(said, str) or not _VERSION.search(said):
            said = self.ask_version()
            write_whole(kept, json.dumps({identity: said}).encode())
        major, minor, patch = _VERSION.search(said).groups()  # type: ignore[union-attr]  # looked for above
        self._version = identity, (int(major), int(minor), int(patch))
        return self._version[1]

    def ask_version(self) -> str:
        """Return what `qmd --version` says now.

        Raises:
            NotConfigured: there is no such program.
            StoreError: it does not say.
        """
        said = self.do("--version", timeout_s=_VERSION_S).strip()
        if not _VERSION.search(said):
            raise StoreError(f"{self.words[0]} --version says {said[:80]!r}: is it qmd?")
        return said


def failure(what: str, done: Done) -> StoreError:
    """Return the error that a run came to."""
    if done.ended:
        kind = TimeoutStoreError if "longer" in done.ended else StoreError
        return kind(f"{what} {done.ended}")
    said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    reason = next((line for line in said if "Error" in line), said[0] if said else f"exit code {done.code}")
    return StoreError(f"{what} failed: {reason.strip()}")
