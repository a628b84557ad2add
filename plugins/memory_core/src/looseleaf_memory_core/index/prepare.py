"""Read, cut and segment one note: all that is done to it before it is written."""

from __future__ import annotations

from dataclasses import dataclass

from looseleaf.workspace import Found

from .. import chunk as chunking
from ..text import segment
from .source import NotTextError, digest, encode, read_note


@dataclass(frozen=True, slots=True)
class Prepared:
    """One note, ready to be written.

    Attributes:
        found: The file.
        identity: Digest of its bytes.
        size: Its bytes.
        reason: Why it cannot be indexed, or an empty string.
        gone: Whether it vanished since its folder was listed.
        chunks: Rows of the chunk table, without their numbers.
        words: Segmented text and heading of each chunk.
    """

    found: Found
    identity: bytes = b""
    size: int = 0
    reason: str = ""
    gone: bool = False
    chunks: tuple[tuple[int, int, int, int, bytes, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()


def read_whole(found: Found) -> bytes | Prepared:
    """Return the bytes of a file that is not read as a note, or why there are none."""
    try:
        with open(found.absolute, "rb", buffering=0) as file:
            return file.readall()
    except FileNotFoundError:
        return Prepared(found, gone=True)
    except OSError as error:
        return Prepared(found, reason=f"it cannot be read: {error.strerror}", size=found.size)


def prepare(found: Found, known: bytes, *, tokens: int, overlap: int) -> Prepared:
    """Return the note at `found`, cut into chunks unless its digest is the `known` one."""
    try:
        text, identity = read_note(found.absolute)
    except FileNotFoundError:
        return Prepared(found, gone=True)
    except NotTextError as error:
        return Prepared(found, reason=str(error), size=found.size)
    except OSError as error:
        return Prepared(found, reason=f"it cannot be read: {error.strerror}", size=found.size)
    size = len(text) if text.isascii() else len(encode(text))
    if identity == known:
        return Prepared(found, identity, size)
    plain = size == len(text)
    place = offset = 0  # the same spot in characters and in bytes
    chunks, words = [], []
    for piece in chunking.chunk(text, tokens=tokens, overlap=overlap):
        if plain:
            offset = piece.begin
        elif piece.begin >= place:
            offset += len(encode(text[place : piece.begin]))
        else:
            offset -= len(encode(text[piece.begin : place]))
        place = piece.begin
        if piece.text.isspace():
            continue
        data = encode(piece.text)
        chunks.append((piece.start, piece.end, offset, len(data), digest(data), piece.heading))
        words.append((segment(piece.text), segment(piece.heading)))
    return Prepared(found, identity, size, chunks=tuple(chunks), words=tuple(words))
