"""Searching the index: both signals for every candidate, and only what is still in the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import found
from looseleaf import Query
from looseleaf._run import run
from looseleaf.testing import HashEmbedder


def test_an_exact_word_is_found_without_vectors(opened: Callable, write: Callable) -> None:
    """RK-01, PV-24: a perfect keyword hit is returned with default settings."""
    write("memory/a.md", "Buy TICKER-XQ on Monday.")
    write("memory/b.md", "Nothing of the kind.")
    assert found(opened(), "TICKER-XQ") == ["memory/a.md"]


def test_the_first_search_indexes_words_by_itself(opened: Callable, write: Callable) -> None:
    """A host that never syncs still gets an answer: an empty index waits for its words, at most two seconds."""
    write("memory/a.md", "alpha")
    assert [hit.hit.path for hit in run(opened().search("alpha"), inline=True).hits] == ["memory/a.md"]


def test_the_first_search_does_not_wait_for_everything(opened: Callable, write: Callable, monkeypatch) -> None:
    """What two seconds did not reach is pending, and the next run does it."""
    from looseleaf_memory_core.index import syncing

    monkeypatch.setattr(syncing, "_FIRST_WORDS_S", 0.0)
    for number in range(20):
        write(f"memory/{number:02}.md", f"alpha {number}")
    notebook = opened()
    assert len(run(notebook.search("alpha", limit=20), inline=True).hits) < 20
    states = [entry.state for entry in run(notebook.status(), inline=True).ledger]
    assert "pending" in states
    assert len(found(notebook, "alpha", limit=20)) == 20


def test_quick_answers_need_no_thread(opened: Callable, write: Callable, monkeypatch) -> None:
    """Once searches take a millisecond or two, the event loop answers by itself; a new question that must be embedded never."""
    import threading

    from looseleaf_memory_core.slot import CoreSlot
    from looseleaf_memory_core.store.plan import KeywordPlan

    write("memory/a.md", "alpha")
    notebook = opened()
    threads = []
    real = KeywordPlan.search

    def search(plan, limit, **options):
        threads.append(threading.get_ident())
        return real(plan, limit, **options)

    monkeypatch.setattr(KeywordPlan, "search", search)

    async def ask(times: int) -> None:
        await notebook.sync()
        for _ in range(times):
            await notebook.search("alpha")

    monkeypatch.setattr("looseleaf_memory_core.slot._QUICK_S", 1e9)
    run(ask(3), inline=False)
    assert set(threads) == {threading.get_ident()}
    threads.clear()
    monkeypatch.setattr("looseleaf_memory_core.slot._QUICK_S", 0.0)
    run(ask(3), inline=False)
    assert threading.get_ident() not in threads
    slot = CoreSlot(notebook.settings, HashEmbedder())
    monkeypatch.setattr("looseleaf_memory_core.slot._QUICK_S", 1e9)
    assert not slot.is_quick("alpha")
    run(slot.sync(), inline=True)
    run(slot.retrieve(Query("alpha")), inline=True)
    assert slot.is_quick("alpha")
    assert not slot.is_quick("beta")
    run(slot.aclose(), inline=True)


def test_parallel_searches_both_answer(opened: Callable, write: Callable) -> None:
    """MC-04: two questions at once each get their own hits."""
    import asyncio

    for number in range(20):
        write(f"memory/{number:02}.md", f"word{number} text")
    notebook = opened()

    async def ask() -> list[list[str]]:
        await notebook.sync()
        results = await asyncio.gather(*(notebook.search(f"word{number}") for number in range(20)))
        return [[hit.hit.path for hit in result.hits] for result in results]

    assert run(ask(), inline=False) == [[f"memory/{number:02}.md"] for number in range(20)]


def test_a_group_s_pool_is_not_filled_by_what_it_may_not_see(opened: Callable, write: Callable) -> None:
    """VS-12: a filter after the nearest k must not starve the answer."""
    write("MEMORY.md", "\n\n".join(f"# Part {number}\n\n" + "alpha " * 300 for number in range(40)))
    write("memory/a.md", "alpha once, among other words")
    notebook = opened()
    run(notebook.sync(), inline=True)
    result = run(notebook.search("alpha", limit=1, session_key="agent:main:telegram:group:5"), inline=True)
    assert [hit.hit.path for hit in result.hits] == ["memory/a.md"]


def test_a_deleted_file_never_answers(opened: Callable, write: Callable) -> None:
    """WS-14: gone from the disk is gone from the answer, before any sync."""
    file = write("memory/a.md", "alpha")
    notebook = opened()
    assert found(notebook, "alpha") == ["memory/a.md"]
    file.unlink()
    result = run(notebook.search("alpha"), inline=True)
    assert result.hits == ()
    assert [note.code for note in result.notes] == ["stale", "no-match"]


def test_a_note_that_was_appended_to_still_answers(opened: Callable, write: Callable) -> None:
    """What is unchanged in a changed file is found, and lines that moved are right."""
    file = write("memory/a.md", "# Day\n\nalpha\n")
    notebook = opened()
    assert found(notebook, "alpha") == ["memory/a.md"]
    file.write_text("# Day\n\nalpha\nmore\n")
    assert [hit.citation for hit in run(notebook.search("alpha"), inline=True).hits] == ["memory/a.md#L1-L3"]
    file.write_text("something else entirely\n")
    assert run(notebook.search("alpha"), inline=True).hits == ()


def test_a_file_replaced_by_a_link_is_not_followed(opened: Callable, write: Callable, tmp_path: Path) -> None:
    """The text of a hit comes from the file that was indexed, never from where a link leads."""
    file = write("memory/a.md", "alpha")
    notebook = opened()
    assert found(notebook, "alpha") == ["memory/a.md"]
    (tmp_path / "secret.md").write_text("alpha")
    file.unlink()
    file.symlink_to(tmp_path / "secret.md")
    assert run(notebook.search("alpha"), inline=True).hits == ()


def test_an_open_notebook_sees_what_others_indexed(opened: Callable, write: Callable) -> None:
    """A second process's sync is noticed at the next question."""
    write("memory/a.md", "alpha")
    reader, writer = opened(), opened()
    assert found(reader, "alpha") == ["memory/a.md"]
    write("memory/b.md", "beta")
    run(writer.sync(), inline=True)
    assert [hit.hit.path for hit in run(reader.search("beta"), inline=True).hits] == ["memory/b.md"]
    run(writer.sync(force=True), inline=True)
    assert [hit.hit.path for hit in run(reader.search("beta"), inline=True).hits] == ["memory/b.md"]


@pytest.mark.parametrize("enabled", [True, False])
def test_both_vector_paths_give_the_same_hits(opened: Callable, write: Callable, site: Path, enabled: bool) -> None:
    """`store.vector.enabled` chooses the path, not the answer; the first question and the second agree."""
    for number in range(30):
        write(f"memory/{number:02}.md", "e" * number + " note")
    notebook = opened({"provider": "fake", "store": {"vector": {"enabled": enabled}}})
    expected = found(notebook, "eee note", limit=10)
    assert len(expected) == 10
    for _ in range(2):
        assert found(notebook, "eee note", limit=10) == expected
    run(notebook.aclose(), inline=True)
    other = opened({"provider": "fake", "store": {"vector": {"enabled": not enabled}}})
    assert found(other, "eee note", limit=10) == expected


def test_an_extension_that_does_not_load_changes_nothing_but_a_note(opened: Callable, write: Callable, site: Path) -> None:
    """VS-09: vectors are searched in-process, and status says so with the loader's words."""
    write("memory/a.md", "eee note")
    notebook = opened({"provider": "fake", "store": {"vector": {"extensionPath": "/no/such/vec0.so"}}})
    assert found(notebook, "eee note") == ["memory/a.md"]
    assert run(notebook.search("eee note"), inline=True).mode == "hybrid"
    status = run(notebook.status(), inline=True)
    assert status.details["vector"]["path"] == "in-process (NumPy)"
    assert "no-sqlite-vec" in [note.code for note in status.notes]


def test_every_candidate_has_both_signals(opened: Callable, write: Callable, site: Path) -> None:
    """RK-08: the union of both lists, each with its cosine and its bm25."""
    for number in range(8):
        write(f"memory/{number}.md", "e" * number + (" needle" if number == 7 else " note"))
    notebook = opened({"provider": "fake"})
    run(notebook.sync(), inline=True)
    retrieval = run(notebook.slot.retrieve(Query("e needle", candidates=3)), inline=True)
    for hits in retrieval.lists.values():
        assert all({"bm25", "matched", "cosine", "similarity"} <= hit.signals.keys() for hit in hits)
    assert "memory/7.md" in [hit.path for hit in retrieval.lists["vector"]]


def test_vectors_alone_when_hybrid_is_off(opened: Callable, write: Callable, site: Path) -> None:
    """`query.hybrid.enabled: false` searches by meaning only; without a provider by words."""
    write("memory/a.md", "eee note")
    search = {"query": {"hybrid": {"enabled": False}}}
    notebook = opened({"provider": "fake", **search})
    assert found(notebook, "eee note") == ["memory/a.md"]
    assert run(notebook.search("eee note"), inline=True).mode == "vector"
    assert found(opened(search), "note") == ["memory/a.md"]


def test_the_source_of_an_extra_path_is_shown_as_it_can_be_read(opened: Callable, tmp_path: Path) -> None:
    """A hit's path opens with memory_get."""
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "plan.md").write_text("alpha")
    notebook = opened({"extraPaths": ["../team"]})
    assert found(notebook, "alpha") == ["../team/plan.md"]
    assert run(notebook.read("../team/plan.md"), inline=True).text == "alpha"


def test_what_changes_is_read_and_nothing_else(opened: Callable, write: Callable, monkeypatch) -> None:
    """The next search finds a new note by its meaning, and reads no vector twice; what is gone is not shown."""
    from looseleaf_memory_core.slot import CoreSlot
    from looseleaf_memory_core.store.vectors import MemoryNearest

    for number in range(100):
        write(f"memory/{number}.md", f"alpha {number}")
    notebook = opened()
    notebook = replace(notebook, slot=CoreSlot(notebook.settings, HashEmbedder()))
    read = []
    take = MemoryNearest._take
    monkeypatch.setattr(MemoryNearest, "_take", lambda self, rows: (read.append(len(rows)), take(self, rows))[1])
    for query in ("alpha", "alpha 1"):
        found(notebook, query)
    assert sum(read) == 100
    write("memory/new.md", "zanzibar")
    (notebook.settings.workspace / "memory/0.md").unlink()
    run(notebook.sync(), inline=True)
    result = run(notebook.search("zanzibar"), inline=True)
    assert result.hits[0].hit.signals["cosine"] == pytest.approx(1, abs=1e-3)
    assert "memory/0.md" not in found(notebook, "alpha 0", limit=200)
    assert sum(read) == 101


def test_a_rebuilt_index_is_read_bit_by_bit(opened: Callable, write: Callable, monkeypatch) -> None:
    """After a rebuild one search reads a little, words answer for the rest; whoever searches after a while gets all."""
    from looseleaf_memory_core import search
    from looseleaf_memory_core.slot import CoreSlot
    from looseleaf_memory_core.store import vectors

    for number in range(30):
        write(f"memory/{number}.md", f"alpha {number}")
    notebook = opened()
    notebook = replace(notebook, slot=CoreSlot(notebook.settings, HashEmbedder()))
    now = [0.0]

    def tick() -> float:
        now[0] += 0.004
        return now[0]

    monkeypatch.setattr(search, "monotonic", tick)
    monkeypatch.setattr(vectors, "monotonic", tick)
    monkeypatch.setattr(vectors, "_READ_AT_ONCE", 1)
    for query in ("alpha", "alpha 1"):
        found(notebook, query)
    run(notebook.sync(force=True), inline=True)
    with_meaning = []
    for _ in range(3):
        hits = run(notebook.search("alpha", limit=200), inline=True).hits
        assert len(hits) == 30
        with_meaning.append(sum("cosine" in found.hit.signals for found in hits))
    assert 0 < with_meaning[0] < with_meaning[1] < with_meaning[2] < 30
    now[0] += 60.0
    hits = run(notebook.search("alpha", limit=200), inline=True).hits
    assert all("cosine" in found.hit.signals for found in hits)
