"""Histories of a real workspace on disk: what happens to its notes, and what a memory slot makes of it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from hypothesis import strategies as st

from ..protocols import MemorySlot
from ..reports import SyncReport
from ..types import Hit, Page, Query
from .strategies import NOW, texts

#: Makes the slot of a workspace, with a folder for what can be built again.
MakeSlot: TypeAlias = Callable[[Path, Path], MemorySlot]

NOTES = ("MEMORY.md", "memory/2026-02-10.md", "memory/a b.md", "memory/sub/网络.md")


class Step(NamedTuple):
    """One thing that happens to a workspace: `write`, `append`, `delete`, `rename`, `touch`, `sync`, `reopen` or `drop`."""

    what: str
    path: str
    body: str


class Workspace:
    """A workspace on disk, what it should hold, and the slot that remembers it.

    Attributes:
        texts: What each note holds now.
    """

    def __init__(self, make: MakeSlot, folder: Path, runner: asyncio.Runner) -> None:
        self.root = folder / "workspace"
        self.state = folder / "state"
        self.root.mkdir(parents=True)
        self.texts: dict[str, str] = {}
        self._make = make
        self._runner = runner
        self._version = 0
        self.slot = make(self.root, self.state)

    def run(self, waited: Any) -> Any:
        """Return what a coroutine of the slot's returns."""
        return self._runner.run(asyncio.wait_for(waited, 60))

    def replay(self, steps: Sequence[Step]) -> None:
        """Let the steps happen to a workspace that has a note already, and sync at the end."""
        self.write(NOTES[0], "first")
        self.sync()
        for step in steps:
            getattr(self, step.what)(step.path, step.body)
        self.sync()

    def write(self, path: str, body: str) -> None:
        """Write a note anew, with a word of its own in it."""
        self._version += 1
        self._put(
            path,
            f"# {path}\r\n\nneedle{self._version}x is common\r\nto all\u2028of them,\nas common as a cafe\u0301 can be\n{body}",
        )

    def append(self, path: str, body: str) -> None:
        """Add lines to a note."""
        self._version += 1
        self._put(path, f"{self.texts.get(path, '')}\n\nneedle{self._version}x is common, too\n{body}")

    def delete(self, path: str, body: str) -> None:
        """Delete a note."""
        if self.texts.pop(path, None) is not None:
            (self.root / path).unlink()

    def rename(self, path: str, body: str) -> None:
        """Give a note another name."""
        text = self.texts.get(path)
        if text is not None:
            self.delete(path, body)
            self._put("memory/renamed.md", text)

    def touch(self, path: str, body: str) -> None:
        """Change a note's time and nothing else."""
        if path in self.texts:
            os.utime(self.root / path, ns=(0, 1_000_000_000 + self._version))

    def sync(self, path: str = "", body: str = "") -> SyncReport:
        """Bring the slot up to date."""
        report: SyncReport = self.run(self.slot.sync())
        return report

    def reopen(self, path: str = "", body: str = "") -> None:
        """Close the slot and open it again, as after a restart."""
        self.close()
        self.slot = self._make(self.root, self.state)

    def drop(self, path: str, body: str) -> None:
        """Lose everything that can be built again."""
        self.close()
        shutil.rmtree(self.state, ignore_errors=True)
        self.slot = self._make(self.root, self.state)

    def close(self) -> None:
        """Close the slot, twice."""
        self.run(self.slot.aclose())
        self.run(self.slot.aclose())

    def hits(self, question: str) -> list[Hit]:
        """Return all candidates for `question`, with their text."""
        found = self.run(self.slot.retrieve(Query(question, limit=50, candidates=200, now=NOW)))
        unique = list({hit.id: hit for hits in found.lists.values() for hit in hits}.values())
        load = getattr(self.slot, "load", None)
        return self.run(load(unique)) if load else unique

    def read(self, path: str) -> Page:
        """Return what `memory_get` gives."""
        page: Page = self.run(self.slot.read(path))
        return page

    def on_disk(self) -> dict[str, bytes]:
        """Return every file of the workspace."""
        return {str(file.relative_to(self.root)): file.read_bytes() for file in self.root.rglob("*") if file.is_file()}

    def _put(self, path: str, text: str) -> None:
        data = text.encode("utf-8", "replace")
        self.texts[path] = data.decode()
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


@contextmanager
def workspace(make: MakeSlot) -> Iterator[Workspace]:
    """Give a new workspace, and close its slot in the end."""
    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        made = Workspace(make, Path(folder), runner)
        try:
            yield made
        finally:
            made.close()


def histories() -> st.SearchStrategy[list[Step]]:
    """Return up to six things that happen to a few notes. No note holds NUL: a slot may take such a file for no text."""
    body = texts().map(lambda text: text.replace("\x00", ""))
    what = ["write", "write", "write", "append", "delete", "rename", "touch", "sync", "sync", "reopen", "drop"]
    return st.lists(st.builds(Step, st.sampled_from(what), st.sampled_from([*NOTES[:1], *NOTES]), body), max_size=6)
