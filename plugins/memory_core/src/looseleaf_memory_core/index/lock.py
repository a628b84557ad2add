"""One indexing process at a time: a lock of the operating system, which dies with its process."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from looseleaf import StoreError

_WAIT_S = 120.0


def enter_index_lock(stack: ExitStack, database: Path, wait_s: float | None = None) -> bool:
    """Hold the right to write `database` until `stack` ends. Searching needs no lock.

    Args:
        stack: Lets go of the lock.
        database: The index file.
        wait_s: How long to wait; False is returned after that. None waits two minutes, and then it is an error.

    Raises:
        StoreError: another process has been indexing for two minutes, or the lock cannot be made.
    """
    from filelock import FileLock, Timeout

    try:
        stack.enter_context(
            FileLock(f"{database}.lock", timeout=_WAIT_S if wait_s is None else wait_s, mode=0o600, thread_local=False)
        )
    except Timeout:
        if wait_s is None:
            raise StoreError(f"another process is indexing {database}; try again when it is done") from None
        return False
    except OSError as error:
        raise StoreError(
            f"the index {database} cannot be written: {error.strerror}. Set LOOSELEAF_STATE_DIR to a folder you own."
        ) from error
    return True
