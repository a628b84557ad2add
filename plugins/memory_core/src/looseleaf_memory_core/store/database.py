"""Open the index file: through apsw, whose SQLite is current and loads extensions on every platform."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from looseleaf import StoreError
from looseleaf.files import make_folder
from looseleaf.mounts import NETWORK, kind_of

from . import schema

# 15 vectors of 512 dimensions fit into a page of this size, one into a page of the usual 4096 bytes.
_PAGE_BYTES = 32_768
_BUSY_MS = 10_000
_PATIENCE_MS = 250
_FEW_PAGES, _AT_ONCE = 8, 128
_HOLES = 0.1
_CACHE_KB = 32_768
_LOG_PAGES = 250  # 8 MB of log are written back
_NO_ROOM = 1 << 20
_MEANINGS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "the disk is full at {path}: make room and try again; what was indexed before is whole and is searched"),
    (apsw.ReadOnlyError, "the index {path} is read-only: check who owns it, or set LOOSELEAF_STATE_DIR"),
    (apsw.BusyError, "the index {path} is being written by another process for too long: try again"),
    (apsw.IOError, "the disk of {path} failed: what was indexed before is whole; look at the disk and try again"),
    (apsw.CantOpenError, "the index {path} cannot be opened: check who owns it, or set LOOSELEAF_STATE_DIR"),
)


class Extension(NamedTuple):
    """Whether sqlite-vec's functions are there, and if not why."""

    version: str
    error: str = ""


def connect(path: Path, *, write: bool = True) -> apsw.Connection:
    """Return a connection to the index at `path`, made if it is missing and, where it may be written, made anew if it is damaged or of another version.

    Files are readable by their owner only. In WAL mode readers never wait for a writer; where the disk cannot do that
    (network mounts), SQLite's own journal is used. A damaged file is kept beside the new one.

    Raises:
        StoreError: the file cannot be opened or made.
    """
    try:
        return _open(path, write=write)
    except (apsw.NotADBError, apsw.CorruptError) as error:
        if not write:
            raise StoreError(f"the index {path} is damaged: {error}") from error
    except apsw.Error as error:
        raise store_error(error, path) from error
    except OSError as error:
        raise StoreError(
            f"the index {path} cannot be made: {error.strerror}. Set LOOSELEAF_STATE_DIR to a folder you own."
        ) from error
    return renewed(path)  # everything in it can be derived again from the notes


def renewed(path: Path) -> apsw.Connection:
    """Return a connection to a new index in place of a damaged one, which is kept beside it, and leave a note that says so.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        if path.exists():
            path.replace(f"{path}.damaged")
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        db = _open(path, write=True)
    except (apsw.Error, OSError) as error:
        raise StoreError(f"the index {path} is damaged and cannot be made anew: {error}") from error
    schema.say(db, "damaged", f"the index was damaged, and is made anew from the notes; what it was is kept as {path}.damaged")
    return db


def is_damaged(path: Path) -> bool:
    """Tell whether the file at `path` is no whole database."""
    try:
        db = _open(path, write=False)
        try:
            return bool(db.execute("PRAGMA quick_check(1)").get != "ok")
        finally:
            db.close()
    except (apsw.NotADBError, apsw.CorruptError):
        return True
    except apsw.Error:
        return False


def has_room(path: Path) -> bool:
    """Tell whether the disk of `path` has a megabyte left; one that cannot be asked has."""
    try:
        return shutil.disk_usage(path.parent).free >= _NO_ROOM
    except OSError:
        return True


def store_error(error: apsw.Error, path: Path) -> StoreError:
    """Return what an error of SQLite means for people, with what to do."""
    if isinstance(error, apsw.IOError) and not has_room(path):
        error = apsw.FullError(str(error))  # what SQLite calls it where its log cannot grow
    for kind, text in _MEANINGS:
        if isinstance(error, kind):
            return StoreError(f"{text.format(path=path)} ({error})")
    return StoreError(f"the index {path} cannot be used: {error}")


def repack(db: apsw.Connection, *, all_holes: bool = False) -> None:
    """Give the disk back what has been deleted, a few megabytes at a time, if it is more than a tenth of the file, or `all_holes`."""
    least = 0.0 if all_holes else _HOLES
    while True:
        free, pages = db.execute("PRAGMA freelist_count").get, db.execute("PRAGMA page_count").get
        if free < _FEW_PAGES or free < least * pages:
            break
        list(db.execute(f"PRAGMA incremental_vacuum({_AT_ONCE})"))
        if db.execute("PRAGMA freelist_count").get >= free:
            return  # an index that was made without it
        write_back(db)
    write_back(db)


def write_back(db: apsw.Connection) -> None:
    """Write the log back and cut it, unless somebody reads in it for long: SQLite by itself lets it grow while anybody does."""
    db.set_busy_timeout(_PATIENCE_MS)
    try:
        with suppress(apsw.FullError):  # all of it is committed, and is written back when there is room
            list(db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    finally:
        db.set_busy_timeout(_BUSY_MS)


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
        make_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its side files the same rights
    writable = write and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    try:
        return _prepared(_connection(path, writable=writable), path, writable=writable)
    except (apsw.IOError, apsw.FullError):
        if not writable or has_room(path) or not path.stat().st_size or _has_log(path):
            raise
    return _prepared(_as_it_is(path), path, writable=False)  # no room for a log: it can be searched all the same


def _prepared(db: apsw.Connection, path: Path, *, writable: bool) -> apsw.Connection:
    try:
        db.set_busy_timeout(_BUSY_MS)
        if writable:
            if db.execute("PRAGMA page_count").get == 0:
                _set(db, page_size=_PAGE_BYTES, auto_vacuum="INCREMENTAL")
            mode = "DELETE" if kind_of(str(path.parent)) in NETWORK else "WAL"
            _set(db, journal_mode=mode, synchronous="NORMAL", wal_autocheckpoint=_LOG_PAGES)
        _set(db, cache_size=-_CACHE_KB, temp_store="MEMORY")
        schema.ensure(db, writable=writable)
    except BaseException:
        db.close()
        raise
    return db


def _set(db: apsw.Connection, **pragmas: int | str) -> None:
    for name, value in pragmas.items():  # one by one: after a row, which some of them answer with, the rest would not be executed
        db.execute(f"PRAGMA {name} = {value}")


def _connection(path: Path, *, writable: bool) -> apsw.Connection:
    if writable:
        return apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE)
    db = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        db.execute("SELECT 1 FROM sqlite_schema")
    except (apsw.CantOpenError, apsw.ReadOnlyError):  # a log cannot be shared on a disk that is read-only: nobody writes
        db.close()
        return _as_it_is(path)
    return db


def _as_it_is(path: Path) -> apsw.Connection:
    return apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0
