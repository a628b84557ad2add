"""What the index keeps of one embedder: its vectors, the texts that it refused, and the limits that its refusals taught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

import apsw

from looseleaf import Limits

from ..store.schema import known_space
from ..store.vectors import checked

if TYPE_CHECKING:
    from looseleaf import Vectors


class Space:
    """The vectors of the embedder with `fingerprint`. For several lanes at once."""

    def __init__(self, db: apsw.Connection, fingerprint: str) -> None:
        self._db = db
        self._fingerprint = fingerprint
        self._writing = Lock()  # one connection, several lanes

    @property
    def number(self) -> int:
        """Its number in the index; 0 before the first vector."""
        return known_space(self._db, self._fingerprint)[0]

    def ensure(self) -> int:
        """Return its number, and make it if it is new."""
        with self._writing, self._db:
            self._made(0)
        return self.number

    @property
    def dimensions(self) -> int:
        """Of its vectors; 0 before the first."""
        return known_space(self._db, self._fingerprint)[1]

    def store(self, identities: Sequence[bytes], vectors: Vectors) -> None:
        """Write a vector for each text; one that cannot be compared is refused with the reason."""
        with self._writing, self._db:
            width = vectors.shape[1] if vectors.ndim == 2 else 0
            number, dimensions = self._made(width)
            unit, faults = checked(vectors, dimensions)
            for identity, row, fault in zip(identities, unit, faults, strict=True):
                if fault:
                    self._db.execute("INSERT OR REPLACE INTO refused VALUES(?, ?, ?)", (number, identity, fault))
                    continue
                self._db.execute(
                    "INSERT OR IGNORE INTO embedding(space, hash, vector) VALUES(?, ?, ?)", (number, identity, row.tobytes())
                )

    def refuse(self, identity: bytes, reason: str) -> None:
        """Remember why a text has no vector and is not sent again."""
        with self._writing, self._db:
            self._db.execute("INSERT OR REPLACE INTO refused VALUES(?, ?, ?)", (self._made(0)[0], identity, reason))

    def limits(self, declared: Limits) -> Limits:
        """Return `declared`, lowered to what was learned."""
        row = self._db.execute("SELECT texts, request_tokens FROM space WHERE fingerprint = ?", (self._fingerprint,)).fetchone()
        texts, tokens = row or (0, 0)
        return replace(
            declared,
            texts=min(declared.texts, texts or declared.texts),
            request_tokens=min(declared.request_tokens, tokens or declared.request_tokens),
        )

    def learn(self, texts: int, request_tokens: int) -> None:
        """Remember that a request should hold no more than this."""
        with self._writing, self._db:
            self._db.execute(
                "UPDATE space SET texts = ?, request_tokens = ? WHERE id = ?", (texts, request_tokens, self._made(0)[0])
            )

    def forget_limits(self) -> None:
        """Go back to what the embedder says of itself."""
        with self._writing, self._db:
            self._db.execute("UPDATE space SET texts = 0, request_tokens = 0 WHERE fingerprint = ?", (self._fingerprint,))

    def _made(self, width: int) -> tuple[int, int]:
        """Return number and dimensions, which the first vector decides."""
        number, dimensions = known_space(self._db, self._fingerprint)
        if not number:
            self._db.execute("INSERT INTO space(fingerprint, dimensions) VALUES(?, ?)", (self._fingerprint, width))
            return self._db.last_insert_rowid(), width
        if width and not dimensions:
            self._db.execute("UPDATE space SET dimensions = ? WHERE id = ?", (width, number))
        return number, dimensions or width
