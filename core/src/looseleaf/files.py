"""Write files of our own, and those of hosts, as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import LooseleafError

_LOCK_S = 10.0
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def make_folder(path: Path, *, private: bool = True) -> None:
    """Make a folder, and those above it that are missing, for their owner alone if they are `private`; one that is there keeps its rights.

    Raises:
        OSError: it cannot be made.
    """
    for folder in reversed((path, *path.parents)):
        if not folder.is_dir():
            folder.mkdir(0o700 if private else 0o777, exist_ok=True)


@contextmanager
def in_turns(lock: Path, what: str) -> Iterator[None]:
    """Let one process at a time into the block. The lock is the system's, so it dies with its process.

    Args:
        lock: The file that stands for it, in a folder that is made if it is missing.
        what: What is written meanwhile, for the message.

    Raises:
        LooseleafError: another process is at it for too long.
        OSError: the lock cannot be made.
    """
    from filelock import FileLock, Timeout

    make_folder(lock.parent)
    held = FileLock(lock, timeout=_LOCK_S)
    try:
        held.acquire()
    except Timeout:
        raise LooseleafError(f"{what} is being written by another process for too long: try again") from None
    try:
        yield
    finally:
        held.release()


def write_whole(path: Path, data: bytes, *, private: bool = True, durable: bool = False) -> None:
    """Write a file in its folder, which is made if it is missing: whoever reads it finds the old one or the new one.

    A link stays, and what it leads to is written; a file that is there keeps its rights.

    Args:
        path: Of the file.
        data: All of it.
        private: Whether a new file is for its owner alone.
        durable: Whether it is on the disk before the old one is gone.

    Raises:
        OSError: it cannot be written; then it is as it was.
    """
    target = Path(os.path.realpath(path))
    make_folder(target.parent, private=private)
    beside = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        with open(os.open(beside, _NEW, 0o600 if private else 0o666), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
