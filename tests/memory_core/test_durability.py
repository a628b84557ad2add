"""What can happen to a disk: full, read-only, damaged, a rebuild that is broken off. The index is whole or made anew, and it is said."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from looseleaf import Notebook, StoreError, open_notebook
from looseleaf._run import run
from looseleaf.testing import HashEmbedder
from looseleaf_memory_core.slot import CoreSlot
from looseleaf_memory_core.store import schema
from looseleaf_memory_core.store.database import connect


def sync(notebook: Notebook, **options: Any) -> Any:
    return run(notebook.sync(**options), inline=True)


def found(notebook: Notebook, query: str) -> list[str]:
    return [hit.hit.path for hit in run(notebook.search(query), inline=True).hits]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Write a file until no byte is left, and return it."""
    path = disk / "filler"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(handle, bytes(4096)):
            pass
    except OSError:
        return path
    finally:
        os.close(handle)
    raise AssertionError("a disk without an end")


def on(disk: Path, agent: Callable[..., Any]) -> Notebook:
    """Return a notebook whose index is on `disk`."""
    settings = agent({"store": {"path": str(disk / "index" / "main.sqlite")}})
    return open_notebook(settings, environ={}, strict=True)


def test_a_full_disk_is_told_and_costs_nothing(small_disk: Path, agent: Callable[..., Any], write: Callable) -> None:
    """What was indexed before is whole and answers; with room again the next sync goes on."""
    write("memory/a.md", "the first note")
    notebook = on(small_disk, agent)
    sync(notebook)
    filler = fill(small_disk)
    for number in range(40):
        write(f"memory/big{number}.md", " ".join(f"word{number * 1000 + place}" for place in range(1000)))
    with pytest.raises(StoreError, match=r"the disk is full at .*make room and try again"):
        sync(notebook)
    run(notebook.aclose(), inline=True)
    again = on(small_disk, agent)
    assert found(again, '"the first note"') == ["memory/a.md"]
    filler.unlink()
    assert sync(again).files == 41
    assert found(again, "word39999") == ["memory/big39.md"]
    db = connect(again.settings.database)
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.close()
    run(again.aclose(), inline=True)


def test_a_read_only_disk_is_searched_as_it_is(small_disk: Path, agent: Callable[..., Any], write: Callable) -> None:
    """CD-09: one message, whether or not the log was folded in; what is new is not there, and nothing is lost."""
    write("memory/a.md", "the first note")
    notebook = on(small_disk, agent)
    sync(notebook)
    run(notebook.aclose(), inline=True)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    write("memory/b.md", "another note")
    again = on(small_disk, agent)
    assert [note.code for note in sync(again).notes] == ["read-only"]
    assert found(again, "first") == ["memory/a.md"]
    assert found(again, "another") == []
    assert run(again.status(), inline=True).dirty
    run(again.aclose(), inline=True)
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert found_after_sync(on(small_disk, agent)) == ["memory/b.md"]


def found_after_sync(notebook: Notebook) -> list[str]:
    sync(notebook)
    paths = found(notebook, "another")
    run(notebook.aclose(), inline=True)
    return paths


def spoil(path: Path) -> None:
    """Write nonsense into the middle of the index, as a failing disk does."""
    db = connect(path)
    list(db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    db.close()
    data = bytearray(path.read_bytes())
    for place in range(32768, len(data), 4096):
        data[place : place + 512] = os.urandom(512)
    path.write_bytes(data)


@pytest.mark.parametrize("first", ["sync", "search"])
def test_a_damaged_index_is_made_anew_and_said_once(opened: Callable[..., Notebook], write: Callable, first: str) -> None:
    """CD-01: by whoever meets it first; what it was is kept beside it."""
    for number in range(60):
        write(f"memory/{number}.md", f"note {number} " + " ".join(f"w{number}x{place}" for place in range(200)))
    notebook = opened()
    sync(notebook)
    run(notebook.aclose(), inline=True)
    path = notebook.settings.database
    spoil(path)
    write("memory/new.md", "something new")
    if first == "search":
        run(notebook.search("note 7"), inline=True)
    report = sync(notebook)
    assert report.files == 61
    said = [note.text for note in report.notes if note.code == "damaged"]
    assert len(said) == 1
    assert f"kept as {path}.damaged" in said[0]
    assert Path(f"{path}.damaged").stat().st_mode & 0o077 == 0
    assert found(notebook, "w7x3") == ["memory/7.md"]
    write("memory/more.md", "more")
    assert sync(notebook).notes == ()


def test_what_is_no_database_is_kept(opened: Callable[..., Notebook], write: Callable) -> None:
    """store.path that leads to somebody else's file: it is moved, not deleted."""
    write("memory/a.md", "one")
    notebook = opened()
    path = notebook.settings.database
    path.parent.mkdir(parents=True)
    path.write_text("my diary " * 100)
    assert [note.code for note in sync(notebook).notes] == ["damaged"]
    assert Path(f"{path}.damaged").read_text() == "my diary " * 100


def test_a_rebuild_that_was_broken_off_leaves_nothing(opened: Callable[..., Notebook], write: Callable) -> None:
    """CD-04: the next sync sweeps it away, and the index that answered goes on answering."""
    write("memory/a.md", "one")
    notebook = opened()
    sync(notebook)
    db = connect(notebook.settings.database)
    for _ in range(3):
        schema.create_generation(db, "half built")
    write("memory/b.md", "two")
    sync(notebook)
    tables = {
        name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'chunk\\_%' ESCAPE '\\' AND type = 'table'")
    }
    assert len(tables) == 1
    db.close()


def test_a_lock_file_without_a_process_holds_nobody_up(opened: Callable[..., Notebook], write: Callable) -> None:
    """CD-05: the lock is the system's, the file means nothing."""
    write("memory/a.md", "one")
    notebook = opened()
    notebook.settings.database.parent.mkdir(parents=True)
    Path(f"{notebook.settings.database}.lock").touch()
    assert sync(notebook).files == 1


def test_a_rebuild_ends_while_notes_are_written(opened: Callable[..., Notebook], write: Callable) -> None:
    """CD-06: what is appended meanwhile is caught up by the next sync."""
    for number in range(120):
        write(f"memory/{number}.md", f"note {number}")
    notebook = opened()
    sync(notebook)
    sync(notebook, force=True, progress=lambda step: write("memory/0.md", f"late word {step.done}"))
    sync(notebook)
    assert found(notebook, '"late word"') == ["memory/0.md"]


def test_a_note_that_changes_while_it_is_read_is_read_again(
    opened: Callable[..., Notebook], write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WS-08: it does not end the pass for the others, and the next one has it as it is."""
    from looseleaf_memory_core.index import prepare

    for name in "abc":
        write(f"memory/{name}.md", name)
    true = prepare.read_note

    def late(path: str) -> tuple[str, bytes]:
        answer = true(path)
        if path.endswith("b.md"):
            monkeypatch.setattr(prepare, "read_note", true)
            write("memory/b.md", "changed meanwhile")
        return answer

    monkeypatch.setattr(prepare, "read_note", late)
    notebook = opened()
    assert sync(notebook).indexed == 3
    assert sync(notebook).indexed == 1
    assert found(notebook, "meanwhile") == ["memory/b.md"]


@pytest.mark.long
def test_a_rebuild_gives_the_disk_back(opened: Callable[..., Notebook], write: Callable) -> None:
    """Under another chunking nearly every text is another one: what was is not kept for ever."""
    for number in range(60):
        write(f"memory/{number}.md", "\n\n".join(f"part {number} {part} " + "word " * 150 for part in range(20)))

    def size(tokens: int) -> int:
        settings = opened({"chunking": {"tokens": tokens, "overlap": 0}}).settings
        slot = CoreSlot(settings, HashEmbedder(64))
        run(slot.sync(), inline=True)
        run(slot.aclose(), inline=True)
        return sum(
            Path(f"{settings.database}{side}").stat().st_size
            for side in ("", "-wal")
            if Path(f"{settings.database}{side}").exists()
        )

    first = size(400)
    size(200)
    assert size(400) <= 1.1 * first


def test_a_share_gets_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CD-10: on a network file system SQLite's own journal is used, which it can share."""
    monkeypatch.setattr("looseleaf_memory_core.store.database.kind_of", lambda folder: "nfs4")
    db = connect(tmp_path / "main.sqlite")
    assert db.execute("PRAGMA journal_mode").get == "delete"
    db.close()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (apsw.FullError("x"), "the disk is full"),
        (apsw.ReadOnlyError("x"), "read-only"),
        (apsw.BusyError("x"), "another process"),
        (apsw.SQLError("x"), "cannot be used"),
    ],
)
def test_errors_of_the_disk_say_what_to_do(error: apsw.Error, says: str) -> None:
    """In words, with the file."""
    from looseleaf_memory_core.store.database import store_error

    told = store_error(error, Path("/state/main.sqlite"))
    assert "/state/main.sqlite" in str(told)
    with pytest.raises(StoreError, match=says):
        raise told


@pytest.mark.parametrize("by", ["another process", "nobody yet"])
def test_an_index_that_was_replaced_is_opened_anew(opened: Callable[..., Notebook], write: Callable, by: str) -> None:
    """CD-02: whoever has the old file open does not stay on it, and no empty file is made in its place."""
    write("memory/a.md", "the first note")
    notebook = opened()
    sync(notebook)
    assert found(notebook, "first") == ["memory/a.md"]
    path = notebook.settings.database
    for side in ("", "-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    write("memory/b.md", "another note")
    if by == "another process":
        sync(opened())
    assert found(notebook, "another") == ["memory/b.md"]
    assert path.stat().st_size > 0


class Short(io.RawIOBase):
    """A file that gives at most 65,512 bytes at a time, as a Windows folder under WSL does."""

    def __init__(self, path: str, *args: object, **kwargs: object) -> None:
        self._file = io.FileIO(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(memoryview(buffer)[:65_512]) or 0

    def close(self) -> None:
        self._file.close()
        super().close()


def test_short_reads_lose_nothing(opened: Callable[..., Notebook], write: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """WS-09: a note of 70,000 bytes is read to its end, when it is indexed and when it is shown."""
    write("memory/a.md", "\n".join(f"line {number} of the note" for number in range(4000)))
    monkeypatch.setattr("looseleaf_memory_core.index.source.open", Short, raising=False)
    notebook = opened({"chunking": {"tokens": 20_000, "overlap": 0}})
    assert sync(notebook).failed == 0
    true = os.pread
    monkeypatch.setattr(os, "pread", lambda handle, size, begin: true(handle, min(size, 65_512), begin))
    hit = run(notebook.search('"line 3999"'), inline=True).hits[0].hit
    assert hit.text.endswith("line 3999 of the note")
    assert sync(notebook).indexed == 0
