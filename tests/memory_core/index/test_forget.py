"""Forget: nothing of a deleted text is left, in the index, the cache, the work in flight or the bytes of the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Notebook, open_notebook
from looseleaf._run import run
from looseleaf.testing import BatchServer, HashEmbedder
from looseleaf_memory_core.slot import CoreSlot
from looseleaf_memory_core.store.database import connect

SECRET = "xylophonic zanzibarian quetzalcoatl"


def left(notebook: Notebook) -> dict[str, int]:
    """Return how many rows the index has of each kind."""
    db = connect(notebook.settings.database)
    try:
        (generation,) = db.execute("SELECT id FROM generation WHERE live").fetchone()
        tables = {"chunk": f"chunk_{generation}", "words": f"words_{generation}_docsize", "embedding": "embedding"}
        return {name: int(db.execute(f"SELECT count(*) FROM {table}").get) for name, table in tables.items()}
    finally:
        db.close()


def on_disk(notebook: Notebook) -> bool:
    """Tell whether any word of the secret stands in a file of the state."""
    files = [path for path in notebook.settings.state_dir.rglob("*") if path.is_file()]
    assert files
    return any(word[:6].encode() in path.read_bytes() for path in files for word in SECRET.split())


@pytest.fixture
def notebook(opened: Callable[..., Notebook], write: Callable) -> Notebook:
    write("memory/a.md", SECRET)
    write("memory/b.md", "another note")
    made = opened()
    made = replace(made, slot=CoreSlot(made.settings, HashEmbedder()))
    run(made.sync(), inline=True)
    assert on_disk(made)
    return made


def test_nothing_is_left_of_a_deleted_note(notebook: Notebook, workspace: Path) -> None:
    """Rows, words, vectors, cache and free pages; the other note is found as before."""
    (workspace / "memory/a.md").unlink()
    run(notebook.sync(), inline=True)
    assert left(notebook)["embedding"] == 2, "the cache keeps it"
    forgotten = run(notebook.forget(), inline=True)
    assert (forgotten.vectors, forgotten.complete) == (1, True)
    assert left(notebook) == {"chunk": 1, "words": 1, "embedding": 1}
    assert not on_disk(notebook)
    assert run(notebook.search(SECRET), inline=True).hits == ()
    assert [hit.hit.path for hit in run(notebook.search("another note"), inline=True).hits] == ["memory/b.md"]


def test_a_line_that_was_cut_out_is_forgotten(notebook: Notebook, write: Callable) -> None:
    """The rest of the note stays; no sync is needed before."""
    write("memory/a.md", "a harmless line")
    run(notebook.forget(), inline=True)
    assert not on_disk(notebook)
    assert left(notebook)["chunk"] == 2


class Paused(HashEmbedder):
    """Waits in the middle of an embedding until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.blocking = False

    async def embed(self, texts: Any, purpose: Any) -> Any:
        self.begun.set()
        await self.go_on.wait()
        return await super().embed(texts, purpose)


def test_work_in_flight_does_not_bring_it_back(opened: Callable[..., Notebook], write: Callable, workspace: Path) -> None:
    """CA-04: the note is deleted while its embedding is paused; when that ends, nothing of it is kept."""
    write("memory/a.md", SECRET)
    write("memory/b.md", "another note")
    made = opened()

    async def main() -> Notebook:
        embedder = Paused()
        notebook = replace(made, slot=CoreSlot(made.settings, embedder))
        syncing = asyncio.ensure_future(notebook.sync())
        await embedder.begun.wait()
        (workspace / "memory/a.md").unlink()
        forgetting = asyncio.ensure_future(notebook.forget())
        await asyncio.sleep(0)
        embedder.go_on.set()
        await asyncio.gather(syncing, forgetting)
        await notebook.aclose()
        return notebook

    notebook = asyncio.run(main())
    assert left(notebook) == {"chunk": 1, "words": 1, "embedding": 1}
    assert not on_disk(notebook)


def test_a_batch_job_does_not_bring_it_back(agent: Callable[..., Any], write: Callable, workspace: Path) -> None:
    """CA-04: its results come later, and that of the forgotten text is not stored."""
    write("memory/a.md", SECRET)
    write("memory/b.md", "another note")
    batch = {"enabled": True, "wait": False}
    with BatchServer(states=["completed"]) as server:
        settings = agent({"provider": "openai", "remote": {"baseUrl": server.url, "apiKey": "k", "batch": batch}})
        notebook = open_notebook(settings, environ={}, strict=True)

        async def main() -> int:
            await notebook.sync()
            (workspace / "memory/a.md").unlink()
            forgotten = await notebook.forget()
            assert (await notebook.sync()).pending == 0
            await notebook.aclose()
            return forgotten.under_way

        assert run(main(), inline=False) == 1
        assert left(notebook) == {"chunk": 1, "words": 1, "embedding": 1}
        assert not on_disk(notebook)


def test_an_empty_index_forgets_nothing(opened: Callable[..., Notebook]) -> None:
    """And says so, without an error."""
    assert run(opened().forget(), inline=True).vectors == 0
