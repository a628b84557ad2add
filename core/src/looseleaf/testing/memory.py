"""The laws of memory slots: tried on histories of a real workspace on disk, against a plain mapping from path to text."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from ..errors import ReadRefused
from ..protocols import MemorySlot
from ..types import Query
from ._law import Law, chosen
from .strategies import NOW
from .workspaces import NOTES, MakeSlot, Step, histories, workspace

_EXAMPLES = 25  # each is a folder of files and an index


def _true(make: MakeSlot, steps: list[Step]) -> None:
    with workspace(make) as notes:
        notes.replay(steps)
        for hit in notes.hits("common needle"):
            assert hit.path in notes.texts, f"{hit.path} is no note"
            lines = notes.texts[hit.path].split("\n")
            assert 1 <= hit.start <= hit.end <= len(lines), f"lines {hit.start} to {hit.end} of {len(lines)}"
            assert hit.text.strip() in "\n".join(lines[hit.start - 1 : hit.end]), f"{hit.path}: not the text of its lines"


def _found(make: MakeSlot, steps: list[Step]) -> None:
    with workspace(make) as notes:
        notes.replay(steps)
        for path, text in notes.texts.items():
            for needle in {word for word in text.split() if word.startswith("needle")}:
                assert path in [hit.path for hit in notes.hits(needle)], f"{needle} of {path} is not found"


def _gone(make: MakeSlot, steps: list[Step], path: str) -> None:
    with workspace(make) as notes:
        notes.replay([Step("write", path, "last words"), *steps])
        if path not in notes.texts:
            notes.write(path, "last words")
            notes.sync()
        notes.delete(path, "")
        notes.sync()
        assert path not in [hit.path for hit in notes.hits("last words common needle")], "a deleted note answers"


def _settled(make: MakeSlot, steps: list[Step]) -> None:
    with workspace(make) as notes:
        notes.replay(steps)
        again = notes.sync()
        assert (again.embedded, again.indexed, again.removed) == (0, 0, 0), f"a second sync worked again: {again}"
        notes.reopen()
        after = notes.sync()
        assert (after.embedded, after.indexed) == (0, 0), f"a sync after a restart worked again: {after}"


def _same(make: MakeSlot, steps: list[Step]) -> None:
    with workspace(make) as notes:
        notes.replay(steps)
        by_steps = {(hit.path, hit.start, hit.end, hit.text) for hit in notes.hits("common")}
        notes.drop("", "")
        notes.sync()
        assert by_steps == {(hit.path, hit.start, hit.end, hit.text) for hit in notes.hits("common")}


def _reads(make: MakeSlot, steps: list[Step]) -> None:
    with workspace(make) as notes:
        notes.replay(steps)
        for path, text in notes.texts.items():
            assert notes.read(path).text.split() == text.split(), f"{path} does not read as it is"
        missing = notes.read("memory/2000-01-01.md")
        assert (missing.text, missing.path, missing.status) == ("", "memory/2000-01-01.md", "not_found")


def _confined(make: MakeSlot) -> None:
    with workspace(make) as notes:
        secret = notes.root.parent / "secret.md"
        secret.write_text("secret words", "utf-8")
        (notes.root / "memory").mkdir()
        (notes.root / "notes.txt").write_text("secret words", "utf-8")
        (notes.root / "memory" / "link.md").symlink_to(secret)
        (notes.root / "memory" / "folder").symlink_to(notes.root.parent, target_is_directory=True)
        notes.sync()
        assert not notes.hits("secret words"), "a file outside the workspace, or one that is no note, was indexed"
        for path in (
            "../secret.md",
            "memory/../../secret.md",
            str(secret),
            "memory/link.md",
            "memory/folder/secret.md",
            "notes.txt",
        ):
            try:
                page = notes.read(path)
            except ReadRefused:
                continue
            assert "secret" not in page.text, f"{path} was read"


def _leaves_alone(make: MakeSlot, steps: list[Step]) -> None:
    with workspace(make) as notes:
        notes.replay(steps)
        notes.hits("common")
        wanted = {path.replace("/", os.sep): text.encode() for path, text in notes.texts.items()}
        assert notes.on_disk() == wanted, "something under the workspace was written or deleted"


def _at_once(make: MakeSlot, steps: list[Step]) -> None:
    async def both(slot: MemorySlot) -> None:
        await asyncio.gather(slot.sync(), slot.retrieve(Query("common", now=NOW)), slot.retrieve(Query("needle1x", now=NOW)))

    with workspace(make) as notes:
        notes.replay(steps)
        notes.write(NOTES[0], "more")
        notes.run(both(notes.slot))


def _private(make: MakeSlot) -> None:
    with workspace(make) as notes:
        notes.write("MEMORY.md", "the code is 4711")
        notes.write("memory/a b.md", "nothing")
        notes.sync()
        found = notes.run(notes.slot.retrieve(Query("common code 4711", now=NOW, private=False)))
        paths = {hit.path for hits in found.lists.values() for hit in hits}
        assert "MEMORY.md" not in paths, "curated memory answers in a group"


_DRAWN: Mapping[str, st.SearchStrategy[Any]] = {"steps": histories()}
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
        {**_DRAWN, "path": st.sampled_from(NOTES)},
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
