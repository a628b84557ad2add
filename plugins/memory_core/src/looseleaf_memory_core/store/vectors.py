"""Nearest chunks by cosine, on two paths that give the same hits: sqlite-vec's functions in SQL, and NumPy in memory.

Vectors are one table of float32 blobs, unit length. Both paths read that table, so nothing has to be kept in step with it: there
is no second index to repair, no limit on k, and a filter is an ordinary WHERE. SQL scans the table, which is right for a process
that asks once; NumPy holds them in memory, see `held.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from .held import Held, Vector

#: Up to so many vectors are held whole and all compared; beyond, in two bytes a number, and those that share most signs.
ALL = 4_000
_READ_AT_ONCE = 256
_MOST_GONE, _FEW = 10, 64  # a tenth, and some, of the chunks in memory may be gone


class SqlNearest:
    """Nearest chunks by a scan with `vec_distance_cosine`; needs sqlite-vec in the connection."""

    def __init__(self, db: apsw.Connection, generation: int, space: int, within: str = "") -> None:
        self._db = db
        self._space = space
        self._sql = (
            f"SELECT chunk.id, 1 - vec_distance_cosine(embedding.vector, ?) AS cosine FROM embedding "
            f"JOIN chunk_{generation} AS chunk ON chunk.hash = embedding.hash WHERE embedding.space = ?{within} "
            "ORDER BY cosine DESC, chunk.id LIMIT ?"
        )
        self._some = (  # CROSS JOIN keeps the order: a few chunks, then their vectors
            f"SELECT chunk.id, 1 - vec_distance_cosine(embedding.vector, ?) FROM json_each(?) AS wanted "
            f"CROSS JOIN chunk_{generation} AS chunk ON chunk.id = wanted.value "
            "CROSS JOIN embedding ON embedding.space = ? AND embedding.hash = chunk.hash"
        )

    def nearest(self, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Return the `limit` chunks nearest to `vector` with their cosines, best first."""
        return list(self._db.execute(self._sql, (vector.tobytes(), self._space, limit)))

    def cosines(self, vector: Vector, chunks: Iterable[int]) -> dict[int, float]:
        """Return the cosine of each of `chunks` that has a vector."""
        return dict(self._db.execute(self._some, (vector.tobytes(), json.dumps(list(chunks)), self._space)))


class MemoryNearest:
    """Nearest chunks by NumPy, over what has been read of one space.

    Up to 4,000 vectors each is compared; beyond, those that share most signs with the query.

    Attributes:
        whole: Whether all that there is has been read; whoever knows that there may be more says so.
    """

    def __init__(self, db: apsw.Connection, generation: int, space: int, dimensions: int, within: str = "") -> None:
        self._db = db
        self._space = space
        self._dimensions = dimensions
        chunks = f"FROM chunk_{generation} AS chunk" + (f" WHERE 1{within}" if within else "")
        self._there = (
            f"SELECT (SELECT count(*) {chunks}), (SELECT coalesce(max(id), 0) {chunks})"  # apart, SQLite knows a short way
        )
        # CROSS JOIN keeps the order: embeddings as they lie in the file, so that nothing has to be sorted; a few chunks, then theirs.
        select = "SELECT embedding.id, chunk.id, embedding.vector FROM"
        self._new_vectors = (
            f"{select} embedding CROSS JOIN chunk_{generation} AS chunk ON chunk.hash = embedding.hash "
            f"WHERE +embedding.space = ? AND embedding.id > ?{within} ORDER BY embedding.id"
        )
        self._new_chunks = (
            f"{select} chunk_{generation} AS chunk CROSS JOIN embedding ON embedding.hash = chunk.hash "
            f"WHERE embedding.space = ? AND embedding.id <= ? AND chunk.id > ?{within}"
        )
        self._forget()

    def _forget(self) -> None:
        import numpy as np

        from .held import Whole

        self.whole = False
        self._chunks = np.empty(0, np.int64)
        self._by_chunk = np.empty(0, np.intp)
        self._held: Held = Whole(0, self._dimensions)
        self._last_vector = self._last_chunk = 0  # of those with at most these numbers all are held

    def read(self, until: float | None = None) -> None:
        """Take in what has come since the last time, until the clock of `monotonic` says `until`; then the rest is for the next time.

        Chunks that are gone stay until they are a tenth: who asks for their text does not get it.
        """
        ((count, last_chunk),) = self._db.execute(self._there)
        if len(self._chunks) > count + count // _MOST_GONE + _FEW:
            self._forget()
        if not len(self._chunks):
            self._hold(count)
        if self._last_vector:
            self._take(list(self._db.execute(self._new_chunks, (self._space, self._last_vector, self._last_chunk))))
        self._last_chunk = last_chunk
        last_vector = int(self._db.execute("SELECT coalesce(max(id), 0) FROM embedding").get)
        rows = self._db.execute(self._new_vectors, (self._space, self._last_vector))
        self.whole = False
        while block := list(islice(rows, _READ_AT_ONCE)):
            if until is not None and monotonic() > until and block[0][0] != self._last_vector:  # all chunks of a vector, or none
                break
            self._take(block)
            self._last_vector = block[-1][0]
        else:
            self.whole, self._last_vector = True, last_vector
        self._sort()

    def _hold(self, room: int) -> None:
        from .held import Sketch, Whole

        self._held = Whole(room, self._dimensions) if room <= ALL else Sketch(room, self._dimensions)

    def _take(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        import numpy as np

        from .held import Sketch, Whole

        if not rows:
            return
        self._chunks = np.concatenate((self._chunks, [row[1] for row in rows]))
        if isinstance(self._held, Whole) and len(self._chunks) > ALL:
            few, self._held = self._held, Sketch(len(self._chunks), self._dimensions)
            self._held.keep(few.rows)
        self._held.keep(np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1))

    def _sort(self) -> None:
        import numpy as np

        if (sorted_before := len(self._by_chunk)) == len(self._chunks):
            return
        places = np.concatenate((self._by_chunk, np.arange(sorted_before, len(self._chunks))))
        self._by_chunk = places[np.argsort(self._chunks[places], kind="stable")]  # quick where most of it is in order

    def nearest(self, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Return the `limit` chunks nearest to `vector` with their cosines, best first."""
        import numpy as np

        if not len(self._chunks):
            return []
        places = self._held.likely(vector, limit)
        cosines = self._held.cosines(places, vector)
        chunks = self._chunks[places]
        order = np.lexsort((chunks, -cosines))[:limit]
        return list(zip(chunks[order].tolist(), cosines[order].tolist(), strict=True))

    def cosines(self, vector: Vector, chunks: Iterable[int]) -> dict[int, float]:
        """Return the cosine of each of `chunks` that has a vector."""
        import numpy as np

        wanted = np.fromiter(chunks, np.int64)
        if not len(wanted) or not len(self._chunks):
            return {}
        found_at = np.searchsorted(self._chunks, wanted, sorter=self._by_chunk)
        places = self._by_chunk[np.minimum(found_at, len(self._chunks) - 1)]
        places = places[self._chunks[places] == wanted]
        found = self._held.cosines(places, vector)
        return dict(zip(self._chunks[places].tolist(), found.tolist(), strict=True))


def checked(vectors: Vector, dimensions: int | None) -> tuple[Vector, list[str]]:
    """Return `vectors` at unit length, and for each row why it cannot be stored, or an empty string.

    Zero, non-finite and wrong-size vectors are refused here, at the border, so that no search ever meets one.
    """
    import numpy as np

    rows = np.ascontiguousarray(vectors, dtype="<f4")
    if rows.ndim != 2 or (dimensions and rows.shape[1] != dimensions):
        reason = f"the vectors have the shape {rows.shape}, not (n, {dimensions or 'dimensions'})"
        return np.zeros((len(rows), dimensions or 0), np.float32), [reason] * len(rows)
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        finite = np.isfinite(rows).all(axis=1)
        unit = (rows / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32)
    faults = ["" if fine and length > 1e-12 else "the vector is zero" if fine else "the vector holds NaN or infinity"
              for fine, length in zip(finite, lengths, strict=True)]  # fmt: skip
    return unit, faults
