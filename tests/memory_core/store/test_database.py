"""The index file: private, repaired, and honest about its extension."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw
import pytest

from looseleaf import StoreError
from looseleaf_memory_core.store import schema
from looseleaf_memory_core.store.database import connect, load_extension


def test_files_are_the_owner_s_alone(tmp_path: Path) -> None:
    """The index and its side files are 0600, their folder 0700."""
    path = tmp_path / "state" / "memory" / "main.sqlite"
    db = connect(path)
    schema.create_generation(db, "x")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"main.sqlite": 0o600, "main.sqlite-wal": 0o600, "main.sqlite-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    db.close()


def test_extension_loading_works_on_every_python() -> None:
    """VS-01: apsw loads sqlite-vec also where sqlite3 cannot, and the load is probed."""
    extension = load_extension(apsw.Connection(":memory:"))
    assert extension.version.startswith("v")
    assert extension.error == ""


@pytest.mark.parametrize("kind", ["missing", "not a library", "without functions"])
def test_an_extension_that_does_not_load_says_why(tmp_path: Path, kind: str) -> None:
    """VS-09, VS-10: the loader's own words, once, and no exception."""
    path = tmp_path / "vec0.so"
    if kind == "not a library":
        path.write_text("text")
    if kind == "without functions":
        from ctypes.util import find_library

        path = Path(find_library("m") or "libm.so.6")
    extension = load_extension(apsw.Connection(":memory:"), str(path))
    assert extension.version == ""
    assert "Error" in extension.error


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    """Everything in it can be derived again."""
    path = tmp_path / "main.sqlite"
    path.write_bytes(b"this is not a database" * 500)
    db = connect(path)
    assert schema.live_generation(db) is None
    db.close()


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    """Old tables are dropped, not misread."""
    path = tmp_path / "main.sqlite"
    db = connect(path)
    schema.make_live(db, schema.create_generation(db, "x"))
    db.execute("PRAGMA user_version = 999")
    db.close()
    db = connect(path)
    assert schema.live_generation(db) is None
    assert db.execute("PRAGMA user_version").get == schema.VERSION
    db.close()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The message names the file and what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="LOOSELEAF_STATE_DIR"):
        connect(tmp_path / "file" / "memory" / "main.sqlite")


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    """In WAL mode a search answers while another connection is in the middle of writing."""
    writer, reader = connect(tmp_path / "main.sqlite"), connect(tmp_path / "main.sqlite")
    assert writer.execute("PRAGMA journal_mode").get == "wal"
    with writer:
        schema.create_generation(writer, "x")
        assert schema.live_generation(reader) is None
    writer.close()
    reader.close()


def test_switching_generations_drops_the_old_one(tmp_path: Path) -> None:
    """One transaction switches; no table of the old generation stays."""
    db = connect(tmp_path / "main.sqlite")
    first = schema.create_generation(db, "one")
    schema.make_live(db, first)
    second = schema.create_generation(db, "two")
    assert schema.live_generation(db) == (first, "one")
    schema.make_live(db, second)
    assert schema.live_generation(db) == (second, "two")
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    assert f"chunk_{second}" in names
    assert not {f"file_{first}", f"chunk_{first}", f"words_{first}", f"words_{first}_data", f"words_{first}_vocab"} & names
    db.close()
    assert os.path.exists(tmp_path / "main.sqlite")


def test_the_log_is_written_back_early_and_not_forced_to_disk_at_each_commit(tmp_path: Path) -> None:
    """Every setting of a connection takes effect: the first answers with a row, which must not keep the others from it."""
    db = connect(tmp_path / "index.sqlite")
    settings = {
        name: db.execute(f"PRAGMA {name}").get for name in ("journal_mode", "synchronous", "wal_autocheckpoint", "auto_vacuum")
    }
    assert settings == {"journal_mode": "wal", "synchronous": 1, "wal_autocheckpoint": 250, "auto_vacuum": 2}
