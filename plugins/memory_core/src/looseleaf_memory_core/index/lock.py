"""One indexing process at a time: a lock of the operating system, which dies with its process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from looseleaf import StoreError

_WAIT_S = 120.0


@contextmanager
def index_lock(database: Path) -> Iterator[None]:
    """Hold the right to write `database`. Searching needs no lock.

    Raises:
        StoreError: another process has been indexing for two minutes.
    """
    from filelock import FileLock, Timeout

    database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with FileLock(f"{database}.lock", timeout=_WAIT_S, mode=0o600, thread_local=False):
            yield
    except Timeout:
        raise StoreError(f"another process is indexing {database}; try again when it is done") from None
    except OSError as error:
        raise StoreError(f"the index {database} cannot be written: {error.strerror}. Set LOOSELEAF_STATE_DIR to a folder you own.") from error
