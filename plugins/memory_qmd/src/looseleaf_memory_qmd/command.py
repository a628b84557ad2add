"""Run the qmd program: its own home, its own index, a limit in time, and nothing of our keys."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from looseleaf import NotConfigured, StoreError

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class Command:
    """The qmd program of one agent.

    Attributes:
        words: The program and what always goes before its arguments.
        home: Where its config, cache and index live.
    """

    words: tuple[str, ...]
    home: Path

    @classmethod
    def found(cls, configured: str | tuple[str, ...], home: Path) -> Command:
        """Return the program that `memory.qmd.command` means.

        Raises:
            NotConfigured: it is not on the PATH.
        """
        words = tuple(shlex.split(configured)) if isinstance(configured, str) else configured
        program = shutil.which(words[0]) if words else None
        if program is None:
            text = f"the program {words[0] if words else ''!r} is not on the PATH. Install it (npm install -g @tobilu/qmd, Node 22 or later), "
            raise NotConfigured(text + "set memory.qmd.command to where it is, or set plugins.slots.memory to memory-core.")
        return cls((program, *words[1:]), home)

    def run(self, *arguments: str, timeout_s: float) -> str:
        """Return what `qmd` prints on stdout.

        Raises:
            StoreError: it failed, or took longer than `timeout_s`.
        """
        for folder in ("xdg-config", "xdg-cache"):
            (self.home / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            done = subprocess.run(  # noqa: S603 - the owner's own config names the program
                [*self.words, "--index", "index", *arguments],
                capture_output=True,
                check=False,
                cwd=self.home,  # a .qmd folder in the workspace would take the index over
                encoding="utf-8",
                env=self._environment(),
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            raise StoreError(f"qmd {arguments[0]} took longer than {timeout_s:g} s") from None
        except OSError as error:
            raise StoreError(f"qmd cannot be started: {error.strerror}") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise StoreError(f"qmd {arguments[0]} failed: {said[0] if said else f'exit code {done.returncode}'}")
        return done.stdout

    def search(self, query: str, collection: str, limit: int, *, timeout_s: float) -> list[dict[str, Any]]:
        """Return the rows that `qmd search` finds in one collection, best first."""
        output = self.run("search", "--json", "-n", str(limit), "-c", collection, "--", query, timeout_s=timeout_s)
        begin = output.find("[")
        try:
            rows = json.loads(output[begin:]) if begin >= 0 else []  # older builds print a sentence for no results
        except ValueError:
            raise StoreError(f"qmd search printed something that is not JSON: {output[:80]!r}") from None
        return [row for row in rows if isinstance(row, dict)]

    def _environment(self) -> dict[str, str]:
        environ = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        paths = {"XDG_CONFIG_HOME": str(self.home / "xdg-config"), "XDG_CACHE_HOME": str(self.home / "xdg-cache")}
        return {**environ, **paths, "PWD": str(self.home), "NO_COLOR": "1"}
