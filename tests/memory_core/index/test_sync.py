"""Keeping the index in step: only what changed, nothing lost, nothing silently missing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import found
from looseleaf import Layout, Notebook, Query, StoreError
from looseleaf._run import run
from looseleaf.settings.surface import Chunking
from looseleaf_memory_core.index.sync import WordIndexer
from looseleaf_memory_core.store import schema
from looseleaf_memory_core.store.database import connect


def sync(notebook: Notebook, **options):
    return run(notebook.sync(**options), inline=True)


def rows(notebook: Notebook) -> list[tuple]:
    """Return everything derived from the notes, without row numbers."""
    db = connect(notebook.settings.database)
    (number, _) = schema.live_generation(db)
    chunks = db.execute(
        f"SELECT path, start, end, begin, c.size, c.hash, heading FROM chunk_{number} c JOIN file_{number} f ON f.id = c.file"
    )
    words = db.execute(f"SELECT term, doc, cnt FROM words_{number}_vocab")
    try:
        return sorted([*chunks, *words], key=str)
    finally:
        db.close()


def test_only_what_changed_is_indexed(opened: Callable, write: Callable) -> None:
    """A second run does nothing; a changed, a new and a deleted file are each seen."""
    write("memory/a.md", "alpha")
    write("memory/b.md", "beta")
    notebook = opened()
    assert (sync(notebook).indexed, sync(notebook).indexed) == (2, 0)
    write("memory/a.md", "gamma delta")
    write("memory/c.md", "epsilon")
    (notebook.settings.workspace / "memory/b.md").unlink()
    report = sync(notebook)
    assert (report.files, report.indexed, report.removed) == (2, 2, 1)
    assert found(notebook, "gamma") == ["memory/a.md"]
    assert found(notebook, "beta") == found(notebook, "alpha") == []


def test_a_touched_file_is_not_indexed_again(opened: Callable, write: Callable) -> None:
    """Another time without another text changes nothing."""
    file = write("memory/a.md", "alpha")
    notebook = opened()
    sync(notebook)
    before = rows(notebook)
    os.utime(file, ns=(1, 1))
    sync(notebook)
    assert rows(notebook) == before
    assert sync(notebook).indexed == 0


def test_by_steps_equals_from_scratch(opened: Callable, write: Callable) -> None:
    """Whatever was edited on the way, the index holds what a new one would."""
    notebook = opened()
    write("memory/a.md", "# One\n\nalpha beta\n")
    sync(notebook)
    write("memory/a.md", "# Two\n\nalpha 方案 gamma\r\n" * 90)
    write("memory/b.md", "beta")
    sync(notebook)
    (notebook.settings.workspace / "memory/b.md").rename(notebook.settings.workspace / "memory/c.md")
    sync(notebook)
    by_steps = [row for row in rows(notebook) if len(row) == 7]
    run(notebook.aclose(), inline=True)
    notebook.settings.database.unlink()
    again = opened()
    sync(again)
    assert [row for row in rows(again) if len(row) == 7] == by_steps


def test_the_text_of_a_hit_is_exactly_its_lines(opened: Callable, write: Callable) -> None:
    """Offsets are bytes and lines are lines, in any script, with CRLF, a BOM and bytes that are no UTF-8."""
    for name, text in {
        "bom": "\ufeff# Kopf\r\nwörter\r\n", "mixed": "a方é\n" * 700, "bytes": "x \udce9\udcff needle\nmore\n" * 200, "long": "wort " * 2000,
    }.items():  # fmt: skip
        write(f"memory/{name}.md", text)
    notebook = opened()
    sync(notebook)
    for query in ("kopf wörter", "方", "needle", "wort"):
        retrieval = run(notebook.slot.retrieve(Query(query, candidates=50)), inline=True)
        hits = run(notebook.slot.load([hit for hits in retrieval.lists.values() for hit in hits]), inline=True)
        assert hits
        for hit in hits:
            data = (notebook.settings.workspace / hit.path).read_bytes().decode("utf-8", "replace")
            assert hit.text in data
            assert hit.text in "\n".join(data.split("\n")[hit.start - 1 : hit.end]) + "\n"


def test_a_file_that_cannot_be_indexed_stops_no_other(opened: Callable, write: Callable) -> None:
    """CH-04, WS-08: each file fails by itself, with its reason in the ledger, and is tried again when it changes."""
    write("memory/good.md", "alpha")
    write("memory/utf16.md", "").write_bytes("beta".encode("utf-16"))
    write("memory/binary.md", "a\x00b")
    notebook = opened()
    report = sync(notebook)
    assert (report.indexed, report.failed) == (1, 2)
    ledger = {entry.path: (entry.state, entry.reason) for entry in run(notebook.status(), inline=True).ledger}
    assert ledger["memory/utf16.md"] == ("failed", "it is UTF-16; save it as UTF-8")
    assert ledger["memory/good.md"][0] == "indexed"
    write("memory/utf16.md", "beta")
    assert found(notebook, "beta") == ["memory/utf16.md"]


def test_a_file_that_vanishes_is_no_error(opened: Callable, write: Callable, monkeypatch) -> None:
    """WS-12: listed, then gone before it was read."""
    write("memory/a.md", "alpha")
    write("memory/b.md", "beta")
    from looseleaf_memory_core.index import prepare

    real = prepare.read_note

    def vanish(path: str):
        if path.endswith("a.md"):
            Path(path).unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(prepare, "read_note", vanish)
    notebook = opened()
    assert sync(notebook).failed == 0
    assert found(notebook, "beta") == ["memory/b.md"]


def test_links_stay_in_the_ledger(opened: Callable, write: Callable, tmp_path: Path) -> None:
    """WS-13: a linked note is named with its reason, the rest is indexed."""
    write("memory/a.md", "alpha")
    (tmp_path / "outside.md").write_text("secret")
    (notebook := opened()).settings.workspace.joinpath("memory/USER.md").symlink_to(tmp_path / "outside.md")
    assert found(notebook, "alpha") == ["memory/a.md"]
    assert found(notebook, "secret") == []
    ledger = {entry.path: entry for entry in run(notebook.status(), inline=True).ledger}
    assert ledger["memory/USER.md"].state == "skipped"


def test_a_changed_scope_takes_effect(opened: Callable, write: Callable) -> None:
    """CF-08: another pattern drops the files it no longer fits."""
    write("docs/a.md", "alpha")
    write("other/b.md", "alpha, too")
    assert set(found(opened({"extraPaths": [{"path": ".", "pattern": "**/*.md"}]}), "alpha")) == {"docs/a.md", "other/b.md"}
    assert found(opened({"extraPaths": [{"path": ".", "pattern": "docs/*.md"}]}), "alpha") == ["docs/a.md"]


def test_other_chunking_builds_beside_the_old(opened: Callable, write: Callable) -> None:
    """A new fingerprint is a new generation; the old one answers until the switch, and leaves nothing behind."""
    write("memory/a.md", "alpha beta gamma delta\n" * 50)
    notebook = opened()
    sync(notebook)
    first = sync(notebook).chunks
    other = opened({"chunking": {"tokens": 40, "overlap": 0}})
    assert run(other.search("alpha"), inline=True).hits
    assert sync(other).chunks > first
    db = connect(other.settings.database)
    assert db.execute("SELECT count(*) FROM generation").get == 1
    db.close()


def test_force_builds_anew(opened: Callable, write: Callable) -> None:
    """`index --force` reads every file again."""
    write("memory/a.md", "alpha")
    notebook = opened()
    sync(notebook)
    assert sync(notebook, force=True).indexed == 1
    assert found(notebook, "alpha") == ["memory/a.md"]


def test_an_abandoned_generation_is_swept(opened: Callable, write: Callable) -> None:
    """CD-04: what a killed rebuild left is gone after the next one."""
    write("memory/a.md", "alpha")
    notebook = opened()
    sync(notebook)
    db = connect(notebook.settings.database)
    schema.create_generation(db, "half")
    db.close()
    sync(notebook, force=True)
    db = connect(notebook.settings.database)
    assert db.execute("SELECT count(*) FROM generation").get == 1
    db.close()


def test_a_killed_run_loses_nothing_finished(opened: Callable, write: Callable, workspace: Path) -> None:
    """CD-01: after SIGKILL the index opens, what was committed is there, and the next run finishes the rest."""
    for number in range(300):
        write(f"memory/{number:03}.md", f"# Note {number}\n\nneedle{number} " + "filler text of a note " * 300)
    notebook = opened()
    database = notebook.settings.database
    code = (
        "import sys; from pathlib import Path; from looseleaf import Layout\n"
        "from looseleaf_memory_core.index import sync; from looseleaf_memory_core.store.database import connect\n"
        "sync._BATCH_S = 0.02\n"
        "sync.WordIndexer(connect(Path(sys.argv[1])), Layout(Path(sys.argv[2]))).run()"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(database), str(workspace)])
    limit = time.monotonic() + 60
    done = 0
    while not done and process.poll() is None and time.monotonic() < limit:
        if database.exists():
            try:
                reader = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
                reader.set_busy_timeout(1000)
                done = reader.execute("SELECT count(*) FROM file_1").get
                reader.close()
            except apsw.Error:
                continue
    process.kill()
    process.wait()
    db = connect(database)
    assert db.execute("PRAGMA integrity_check").get == "ok"
    kept = db.execute("SELECT count(*) FROM file_1 WHERE state = 'indexed'").get
    db.close()
    assert kept >= done > 0
    report = sync(notebook)
    assert (report.files, report.indexed) == (300, 300 - kept)
    for number in (0, 150, 299):
        assert found(notebook, f"needle{number}") == [f"memory/{number:03}.md"]


def test_one_process_indexes_at_a_time(opened: Callable, write: Callable) -> None:
    """UX-04: a search that meets another's index run does not wait for it, and names that as the cause, not the provider."""
    from contextlib import ExitStack

    from looseleaf_memory_core.index.lock import enter_index_lock

    write("memory/a.md", "alpha")
    notebook = opened()
    sync(notebook)
    write("memory/b.md", "beta")
    with ExitStack() as stack:
        assert enter_index_lock(stack, notebook.settings.database)
        report = sync(notebook, budget_s=0.0)
        assert [note.code for note in report.notes] == ["busy"]
        assert run(notebook.search("alpha"), inline=True).hits
    assert found(notebook, "beta") == ["memory/b.md"]


def test_the_words_of_the_fingerprint(tmp_path: Path, workspace: Path) -> None:
    """An index that agrees with the files is told without a lock; another chunking is another index."""

    db = connect(tmp_path / "x.sqlite")
    indexer = WordIndexer(db, Layout(workspace))
    assert indexer.current() is None
    indexer.run()
    assert indexer.current() is not None
    assert WordIndexer(db, Layout(workspace), Chunking(200, 80)).current() is None
    db.close()


def test_a_state_folder_that_cannot_be_made_is_told(opened: Callable, tmp_path: Path) -> None:
    """The remedy is in the message."""
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StoreError, match="LOOSELEAF_STATE_DIR"):
        sync(opened())


def test_segments_do_not_gather(opened: Callable, write: Callable) -> None:
    """However many small syncs there were, a search reads few segments."""
    notebook = opened()
    for number in range(12):
        write(f"memory/{number}.md", f"note {number} with words of its own word{number}")
        sync(notebook)
    db = connect(notebook.settings.database)
    (number, _) = schema.live_generation(db)
    assert db.execute(f"SELECT count(DISTINCT segid) FROM words_{number}_idx").get <= 4
    db.close()
    assert len(found(notebook, "note", limit=20)) == 12


def test_integrity_of_the_words_table(opened: Callable, write: Callable) -> None:
    """FQ-14: after edits and deletions FTS5's own check finds nothing."""
    notebook = opened()
    for turn in range(4):
        for number in range(6):
            write(f"memory/{number}.md", f"turn {turn} note {number} alpha " * (turn + 1) * 50)
        if turn == 2:
            (notebook.settings.workspace / "memory/3.md").unlink()
        sync(notebook)
    db = connect(notebook.settings.database)
    (number, _) = schema.live_generation(db)
    db.execute(f"INSERT INTO words_{number}(words_{number}, rank) VALUES('integrity-check', 0)")
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.close()


def test_what_another_writes_while_one_looks_is_noticed(
    opened: Callable, write: Callable, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two syncs at once: the second does not write again what the first has written between its look and its lock."""
    write("memory/a.md", "one")
    notebook = opened()
    sync(notebook)
    write("memory/b.md", "two")
    db = connect(notebook.settings.database)
    indexer = WordIndexer(db, Layout(workspace))
    true = indexer._difference

    def late(generation: int) -> Any:
        answer = true(generation)
        monkeypatch.setattr(indexer, "_difference", true)
        sync(opened())
        return answer

    monkeypatch.setattr(indexer, "_difference", late)
    assert indexer.current() is None
    assert indexer.run().files == 2
    assert db.execute("SELECT count(*) FROM file_1").get == 2
    db.close()
