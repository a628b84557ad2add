"""Open the index file: through apsw, whose SQLite is current and loads extensions on every platform."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import apsw

from looseleaf import StoreError

from . import schema

# 15 vectors of 512 dimensions fit into a page of this size, one into a page of the usual 4096 bytes.
_PAGE_BYTES = 32_768
_BUSY_MS = 10_000


class Extension(NamedTuple):
    """Whether sqlite-vec's functions are there, and if not why."""

    version: str
    error: str = ""


def connect(path: Path, *, write: bool = True) -> apsw.Connection:
    """Return a connection to the index at `path`, made if it is missing and, where it may be written, made anew if it is damaged or of another version.

    Files are readable by their owner only. In WAL mode readers never wait for a writer; where the disk cannot do that
    (network mounts), SQLite's own journal is used.

    Raises:
        StoreError: the file cannot be opened or made.
    """
    try:
        return _open(path, write=write)
    except (apsw.NotADBError, apsw.CorruptError) as error:
        if not write:
            raise StoreError(f"the index {path} is damaged: {error}") from error
        remove(path)  # everything in it can be derived again from the notes
    except apsw.Error as error:
        raise StoreError(f"the index {path} cannot be opened: {error}. Check who owns it, or set LOOSELEAF_STATE_DIR.") from error
    except OSError as error:
        raise StoreError(
            f"the index {path} cannot be made: {error.strerror}. Set LOOSELEAF_STATE_DIR to a folder you own."
        ) from error
    try:
        return _open(path, write=write)
    except apsw.Error as error:
        raise StoreError(f"the index {path} is damaged and cannot be made anew: {error}") from error


def remove(path: Path) -> None:
    """Delete the index file and its side files."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def load_extension(db: apsw.Connection, path: str | None = None) -> Extension:
    """Load sqlite-vec into `db` from `path`, else from its package, and probe it: a load alone proves nothing."""
    try:
        db.enable_load_extension(True)
        db.load_extension(path or _packaged_extension())
        return Extension(str(db.execute("SELECT vec_version()").get))
    except (apsw.Error, OSError, ImportError, AttributeError) as error:
        return Extension("", f"{type(error).__name__}: {error}")
    finally:
        if hasattr(db, "enable_load_extension"):
            db.enable_load_extension(False)


def _packaged_extension() -> str:
    # `import sqlite_vec` takes longer than a search; the library's place is all that is needed.
    from importlib.util import find_spec

    spec = find_spec("sqlite_vec")
    if spec is None or not spec.origin:
        raise ImportError("the package sqlite-vec is not installed")
    return str(Path(spec.origin).with_name("vec0"))


def _open(path: Path, *, write: bool) -> apsw.Connection:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its side files the same rights
    writable = write and os.access(path, os.W_OK)
    db = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
    try:
        db.set_busy_timeout(_BUSY_MS)
        if writable:
            if db.execute("PRAGMA page_count").get == 0:
                db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY")
        schema.ensure(db, writable=writable)
    except BaseException:
        db.close()
        raise
    return db
