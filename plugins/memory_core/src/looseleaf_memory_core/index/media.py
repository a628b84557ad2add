"""Images and sound: one chunk a file, with a line about it for its words, and its bytes for its vector."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from looseleaf import Media
from looseleaf.workspace import Found, modality

from ..text import segment
from .prepare import Prepared, read_whole
from .source import digest

_KINDS = {"audio/x-wav": "audio/wav", "audio/x-flac": "audio/flac"}
_BEGIN = -1  # where a chunk stands that is a whole file


class MediaPlace(NamedTuple):
    """Where the bytes of a chunk are, and what they were when it was indexed."""

    label: str
    path: str
    identity: bytes


def prepare_media(found: Found, known: bytes, most_bytes: int) -> Prepared:
    """Return the file at `found` as one chunk, unless its digest is the `known` one."""
    kind = modality(found.path)
    if found.size > most_bytes:
        return Prepared(
            found, reason=f"it has {found.size:,} bytes, and multimodal.maxFileBytes is {most_bytes:,}", size=found.size
        )
    data = read_whole(found)
    if isinstance(data, Prepared):
        return data
    identity = digest(data)
    if identity == known:
        return Prepared(found, identity, len(data))
    mime = sniffed(data)
    if not mime.startswith(f"{kind}/"):
        return Prepared(found, reason=f"its content is {mime or 'of no known kind'}, not {kind}", size=found.size)
    label = f"{kind.title()} file: {found.path}"
    chunk = (1, 1, _BEGIN, 0, _identity(label, mime, data), label)
    return Prepared(found, identity, len(data), chunks=(chunk,), words=((segment(label), ""),))


def read_media(place: MediaPlace) -> Media | None:
    """Return what an embedder takes; None if the file has changed since it was indexed, or is gone."""
    try:
        with open(place.path, "rb", buffering=0, opener=_no_link) as file:
            data = file.readall()
    except OSError:
        return None
    mime = sniffed(data)
    return Media(place.label, mime, data) if _identity(place.label, mime, data) == place.identity else None


def sniffed(data: bytes) -> str:
    """Return the MIME type that the first bytes tell, or an empty string."""
    from filetype import guess_mime

    mime = guess_mime(data[:512]) or ""
    return _KINDS.get(mime, mime)


def _identity(label: str, mime: str, data: bytes) -> bytes:
    return digest(json.dumps([label, mime, digest(data).hex()], ensure_ascii=False).encode("utf-8", "surrogateescape"))


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
