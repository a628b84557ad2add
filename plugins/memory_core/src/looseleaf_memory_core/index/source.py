"""Read a note from disk for indexing, and chunks of it for answering."""

from __future__ import annotations

import os
from hashlib import blake2b

#: Where the text of a chunk stands: what `Reader.chunk` takes, as columns of a chunk and its file.
PLACE = "file.source, heading, absolute, begin, chunk.size, file.size, mtime_ns, chunk.hash"
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class NotTextError(Exception):
    """A file is not UTF-8 text."""


def digest(data: bytes) -> bytes:
    """Return the 16 bytes that identify `data`."""
    return blake2b(data, digest_size=16).digest()


def read_note(path: str) -> tuple[str, bytes]:
    """Return the text of the file at `path` and its digest. Bytes that are not UTF-8 are kept as lone surrogates.

    Raises:
        NotTextError: the file holds something else.
        OSError: it cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        data = file.readall()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotTextError("it is UTF-16; save it as UTF-8")
    if b"\x00" in data[:8192]:
        raise NotTextError("it holds NUL bytes, so it is no text")
    return data.decode("utf-8", "surrogateescape"), digest(data)


def encode(text: str) -> bytes:
    """Return the bytes of the file that `text` was read from."""
    return text.encode("utf-8", "surrogateescape")


class Reader:
    """Reads chunks from the files they were cut from, and notices when a file has changed since."""

    def __init__(self) -> None:
        self._handles: dict[str, tuple[int, bool]] = {}

    def chunk(
        self, source: str, heading: str, path: str, begin: int, size: int, file_size: int, mtime_ns: int, expected: bytes
    ) -> tuple[str, int | None] | None:
        """Return the text of a chunk, and its first line if the file has changed since; None if the chunk is no longer there.

        That of an image or sound is its heading; that of a transcript is made from its lines.

        A file whose size or time differs from the index still answers with what is unchanged in it, so that a note that is
        being appended to is never missing.
        """
        handle, fresh = self._open(path, file_size, mtime_ns)
        if handle < 0:
            return None
        if begin < 0:
            return (heading, None) if fresh else None
        data = _read_at(handle, size, begin)
        if source == "sessions":
            return _of_session(data, heading, expected)
        if fresh:
            return data.decode("utf-8", "replace"), None
        if digest(data) != expected:
            return None
        return data.decode("utf-8", "replace"), 1 + _read_at(handle, begin, 0).count(b"\n")

    def close(self) -> None:
        """Close the files."""
        for handle, _ in self._handles.values():
            if handle >= 0:
                os.close(handle)
        self._handles.clear()

    def _open(self, path: str, size: int, mtime_ns: int) -> tuple[int, bool]:
        known = self._handles.get(path)
        if known is None:
            try:
                handle = os.open(path, _FLAGS)
                info = os.fstat(handle)
                known = (handle, info.st_size == size and info.st_mtime_ns == mtime_ns)
            except OSError:
                known = (-1, False)
            self._handles[path] = known
        return known


def _of_session(data: bytes, cut_at: str, expected: bytes) -> tuple[str, None] | None:
    from .sessions import session_text

    text = session_text(data, cut_at)
    return (text, None) if digest(text.encode("utf-8", "surrogatepass")) == expected else None


def _read_at(handle: int, size: int, begin: int) -> bytes:
    """Return `size` bytes from `begin` on; fewer where the file ends. Some file systems give less at a time than is asked for."""
    data = _read_some(handle, size, begin)
    while 0 < len(data) < size and (more := _read_some(handle, size - len(data), begin + len(data))):
        data += more
    return data


def _read_some(handle: int, size: int, begin: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, size, begin)
    os.lseek(handle, begin, os.SEEK_SET)
    return os.read(handle, size)
