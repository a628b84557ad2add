"""What `looseleaf doctor` finds of memory-core's own parts: the index file, and SQLite's extension. Nothing is changed."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from looseleaf import Check
from looseleaf.settings.surface import VectorStore

from .store import schema
from .store.database import load_extension

_STATE_DIR = "Set LOOSELEAF_STATE_DIR to a folder of your own on a local disk."


def core_checks(path: Path, vector: VectorStore) -> list[Check]:
    """Return what is found."""
    return [_database(path), _extension(vector)]


def _database(path: Path) -> Check:
    name = "database"
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.exists())
        if not os.access(folder, os.W_OK):
            return Check(name, "failure", f"{path} cannot be made: {folder} is not writable", _STATE_DIR)
        return Check(name, "ok", f"{path} is not there yet; the first search makes it")
    try:
        db = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            fault = db.execute("PRAGMA quick_check(1)").get
            version, journal = db.execute("PRAGMA user_version").get, db.execute("PRAGMA journal_mode").get
            live = schema.live_generation(db) if version == schema.VERSION else None
            chunks = schema.count_chunks(db, live[0]) if live else 0
        finally:
            db.close()
    except (apsw.NotADBError, apsw.CorruptError) as error:
        return Check(
            name,
            "failure",
            f"{path} is damaged: {error}",
            "Nothing to do: the next `looseleaf index` makes it anew from the notes.",
        )
    except apsw.Error as error:
        return Check(name, "failure", f"{path} cannot be read: {error}", f"Check who owns it. {_STATE_DIR}")
    found = f"{path}, {path.stat().st_size / 1e6:,.1f} MB, {chunks:,} chunks"
    if fault != "ok":
        return Check(
            name, "failure", f"{path} is damaged: {fault}", "Delete it; the next `looseleaf index` makes it anew from the notes."
        )
    if version != schema.VERSION:
        return Check(name, "warning", f"{found}: made by another version", "Run `looseleaf index`: it is made anew.")
    if not os.access(path, os.W_OK):
        return Check(name, "warning", f"{found}: read-only, so it is searched as it is", f"Check who owns it. {_STATE_DIR}")
    if path.stat().st_mode & 0o077:
        return Check(name, "warning", f"{found}: others on this machine may read it", f"chmod 600 {path}")
    if journal != "wal":
        text = f"{found}: its disk has no write-ahead log (journal mode {journal}), so a search waits while notes are indexed"
        return Check(name, "warning", text, _STATE_DIR)
    return Check(name, "ok", found)


def _extension(vector: VectorStore) -> Check:
    name = "extension"
    if not vector.enabled:
        return Check(name, "ok", "vectors are searched in-process (store.vector.enabled is false)")
    db = apsw.Connection(":memory:")
    try:
        extension = load_extension(db, vector.extension_path)
    finally:
        db.close()
    if extension.error:
        remedy = "Unset store.vector.extensionPath." if vector.extension_path else "pip install --force-reinstall sqlite-vec"
        return Check(name, "warning", f"sqlite-vec did not load ({extension.error}); vectors are searched in-process", remedy)
    return Check(name, "ok", f"sqlite-vec {extension.version}, SQLite {apsw.sqlite_lib_version()}")
