"""The laws of memory slots: tried on histories of a real workspace on disk, against a plain mapping from path to text."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from hypothesis import strategies as st

from ..errors import ReadRefused
from ..protocols import MemorySlot
from ..types import Hit, Page, Query, SyncReport
from ._law import Law, chosen
from .strategies import NOW, texts

#: Makes the slot of a workspace, with a folder for what can be built again.
MakeSlot: TypeAlias = Callable[[Path, Path], MemorySlot]

_NOTES = ("MEMORY.md", "memory/2026-02-10.md", "memory/a b.md", "memory/sub/网络.md")
_EXAMPLES = 25  # each is a folder of files and an index


class Step(NamedTuple):
    """One thing that happens to a workspace: `write`, `append`, `delete`, `rename`, `touch`, `sync`, `reopen` or `drop`."""

    what: str
    path: str
    body: str


class Workspace:
    """A workspace on disk, what it should hold, and the slot that remembers it.

    Attributes:
        texts: What each note holds now.
        settled: Whether the slot has been synced since the last change.
    """

    def __init__(self, make: MakeSlot, folder: Path, runner: asyncio.Runner) -> None:
        self.root = folder / "workspace"
        self.state = folder / "state"
        self.root.mkdir(parents=True)
        self.texts: dict[str, str] = {}
        self.settled = False
        self._make = make
        self._runner = runner
        self._version = 0
        self.slot = make(self.root, self.state)

    def run(self, waited: Any) -> Any:
        """Return what a coroutine of the slot's returns."""
        return self._runner.run(asyncio.wait_for(waited, 60))

    def replay(self, steps: Sequence[Step]) -> None:
        """Let the steps happen to a workspace that has a note already, and sync at the end."""
        self.write(_NOTES[0], "first")
        self.sync()
        for step in steps:
            getattr(self, step.what)(step.path, step.body)
        self.sync()

    def write(self, path: str, body: str) -> None:
        """Write a note anew, with a word of its own in it."""
        self._version += 1
        self._put(path, f"# {path}\r\n\nneedle{self._version}x is common\r\nto all\u2028of them,\nas common as can be\n{body}")

    def append(self, path: str, body: str) -> None:
        """Add lines to a note."""
        self._version += 1
        self._put(path, f"{self.texts.get(path, '')}\n\nneedle{self._version}x is common, too\n{body}")

    def delete(self, path: str, body: str) -> None:
        """Delete a note."""
        if self.texts.pop(path, None) is not None:
            (self.root / path).unlink()
            self.settled = False

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
            self.settled = False

    def sync(self, path: str = "", body: str = "") -> SyncReport:
        """Bring the slot up to date."""
        report: SyncReport = self.run(self.slot.sync())
        self.settled = True
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
        self.settled = False

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
        self.settled = False


@contextmanager
def _workspace(make: MakeSlot) -> Iterator[Workspace]:
    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        workspace = Workspace(make, Path(folder), runner)
        try:
            yield workspace
        finally:
            workspace.close()


def _true(make: MakeSlot, steps: list[Step]) -> None:
    with _workspace(make) as workspace:
        workspace.replay(steps)
        for hit in workspace.hits("common needle"):
            assert hit.path in workspace.texts, f"{hit.path} is no note"
            lines = workspace.texts[hit.path].split("\n")
            assert 1 <= hit.start <= hit.end <= len(lines), f"lines {hit.start} to {hit.end} of {len(lines)}"
            assert hit.text.strip() in "\n".join(lines[hit.start - 1 : hit.end]), f"{hit.path}: not the text of its lines"


def _found(make: MakeSlot, steps: list[Step]) -> None:
    with _workspace(make) as workspace:
        workspace.replay(steps)
        for path, text in workspace.texts.items():
            for needle in {word for word in text.split() if word.startswith("needle")}:
                assert path in [hit.path for hit in workspace.hits(needle)], f"{needle} of {path} is not found"


def _gone(make: MakeSlot, steps: list[Step], path: str) -> None:
    with _workspace(make) as workspace:
        workspace.replay([Step("write", path, "last words"), *steps])
        if path not in workspace.texts:
            workspace.write(path, "last words")
            workspace.sync()
        workspace.delete(path, "")
        workspace.sync()
        assert path not in [hit.path for hit in workspace.hits("last words common needle")], "a deleted note answers"


def _settled(make: MakeSlot, steps: list[Step]) -> None:
    with _workspace(make) as workspace:
        workspace.replay(steps)
        again = workspace.sync()
        assert (again.embedded, again.indexed, again.removed) == (0, 0, 0), f"a second sync worked again: {again}"
        workspace.reopen()
        after = workspace.sync()
        assert (after.embedded, after.indexed) == (0, 0), f"a sync after a restart worked again: {after}"


def _same(make: MakeSlot, steps: list[Step]) -> None:
    with _workspace(make) as workspace:
        workspace.replay(steps)
        by_steps = {(hit.path, hit.start, hit.end, hit.text) for hit in workspace.hits("common")}
        workspace.drop("", "")
        workspace.sync()
        assert by_steps == {(hit.path, hit.start, hit.end, hit.text) for hit in workspace.hits("common")}


def _reads(make: MakeSlot, steps: list[Step]) -> None:
    with _workspace(make) as workspace:
        workspace.replay(steps)
        for path, text in workspace.texts.items():
            assert workspace.read(path).text.split() == text.split(), f"{path} does not read as it is"
        missing = workspace.read("memory/2000-01-01.md")
        assert (missing.text, missing.path, missing.status) == ("", "memory/2000-01-01.md", "not_found")


def _confined(make: MakeSlot) -> None:
    with _workspace(make) as workspace:
        secret = workspace.root.parent / "secret.md"
        secret.write_text("secret words", "utf-8")
        (workspace.root / "memory").mkdir()
        (workspace.root / "notes.txt").write_text("secret words", "utf-8")
        (workspace.root / "memory" / "link.md").symlink_to(secret)
        (workspace.root / "memory" / "folder").symlink_to(workspace.root.parent, target_is_directory=True)
        workspace.sync()
        assert not workspace.hits("secret words"), "a file outside the workspace, or one that is no note, was indexed"
        for path in (
            "../secret.md",
            "memory/../../secret.md",
            str(secret),
            "memory/link.md",
            "memory/folder/secret.md",
            "notes.txt",
        ):
            try:
                page = workspace.read(path)
            except ReadRefused:
                continue
            assert "secret" not in page.text, f"{path} was read"


def _leaves_alone(make: MakeSlot, steps: list[Step]) -> None:
    with _workspace(make) as workspace:
        workspace.replay(steps)
        workspace.hits("common")
        wanted = {path.replace("/", os.sep): text.encode() for path, text in workspace.texts.items()}
        assert workspace.on_disk() == wanted, "something under the workspace was written or deleted"


def _at_once(make: MakeSlot, steps: list[Step]) -> None:
    async def both(slot: MemorySlot) -> None:
        await asyncio.gather(slot.sync(), slot.retrieve(Query("common", now=NOW)), slot.retrieve(Query("needle1x", now=NOW)))

    with _workspace(make) as workspace:
        workspace.replay(steps)
        workspace.write(_NOTES[0], "more")
        workspace.run(both(workspace.slot))


def _private(make: MakeSlot) -> None:
    with _workspace(make) as workspace:
        workspace.write("MEMORY.md", "the code is 4711")
        workspace.write("memory/a b.md", "nothing")
        workspace.sync()
        found = workspace.run(workspace.slot.retrieve(Query("common code 4711", now=NOW, private=False)))
        paths = {hit.path for hits in found.lists.values() for hit in hits}
        assert "MEMORY.md" not in paths, "curated memory answers in a group"


_STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["write", "write", "write", "append", "delete", "rename", "touch", "sync", "sync", "reopen", "drop"]),
        st.sampled_from([*_NOTES[:1], *_NOTES]),
        texts(),
    ),
    max_size=6,
)
_DRAWN: Mapping[str, st.SearchStrategy[Any]] = {"steps": _STEPS}
_LAWS = (
    Law(
        "memory-true",
        "A hit's path is a note, its lines are inside it, and its text is the text of those lines.",
        "lines counted from 0, or by splitlines (which also breaks at U+2028); a text that was normalised or cut",
        _true,
        _DRAWN,
        examples=_EXAMPLES,
    ),
    Law(
        "memory-found",
        "Every word of a note is found once the slot is synced, whatever happened before.",
        "a change noticed by time alone, a renamed file, a chunk that is left out, a sync that stops at the first error",
        _found,
        _DRAWN,
        examples=_EXAMPLES,
    ),
    Law(
        "memory-gone",
        "A deleted note does not answer after the next sync.",
        "rows of files that are gone, a cache by path",
        _gone,
        {**_DRAWN, "path": st.sampled_from(_NOTES)},
        examples=_EXAMPLES,
    ),
    Law(
        "memory-settled",
        "A second sync does nothing, also after a restart.",
        "times compared with rounding, a fingerprint that differs from run to run, embeddings that are not kept",
        _settled,
        _DRAWN,
        examples=_EXAMPLES,
    ),
    Law(
        "memory-same",
        "Built step by step it answers as if it had been built from scratch.",
        "rows left over from an older version of a note, two versions of one note side by side",
        _same,
        _DRAWN,
        examples=_EXAMPLES,
    ),
    Law(
        "memory-reads",
        "`read` gives a note as it is, and a missing one as empty text with its path and the status not_found.",
        "an exception for a missing file, a read from the index instead of the file",
        _reads,
        _DRAWN,
        examples=_EXAMPLES,
    ),
    Law(
        "memory-confined",
        "Nothing outside the workspace and nothing but notes is indexed or read: no `..`, absolute path or symbolic link.",
        "os.path.join with an absolute path, a check before the link is resolved, a walk that follows links",
        _confined,
    ),
    Law(
        "memory-leaves-alone",
        "Nothing under the workspace is ever written.",
        "an index, a lock or a temporary file beside the notes",
        _leaves_alone,
        _DRAWN,
        examples=_EXAMPLES,
    ),
    Law(
        "memory-at-once",
        "`retrieve` works while `sync` runs.",
        "one connection used by two threads, a write lock held while a provider is asked",
        _at_once,
        _DRAWN,
        examples=_EXAMPLES,
    ),
    Law("memory-private", "MEMORY.md is no candidate in groups and channels.", "query.private", _private),
)


def memory_laws(*, waive: Mapping[str, str] | None = None) -> tuple[Law, ...]:
    """Return the laws that a memory slot must keep. They are called with `make(workspace, state_dir)`.

    Args:
        waive: Reasons by the name of a law that need not hold.
    """
    return chosen(_LAWS, (), waive)
