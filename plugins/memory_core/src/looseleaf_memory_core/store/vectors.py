"""Nearest chunks by cosine, on two paths that give the same hits: sqlite-vec's functions in SQL, and NumPy in memory.

Vectors are one table of float32 blobs, unit length. Both paths read that table, so nothing has to be kept in step with it: there
is no second index to repair, no limit on k, and a filter is an ordinary WHERE. SQL scans the table, which is right for a process
that asks once; NumPy holds them in memory, see `held.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from .held import Held, Vector

#: Up to so many vectors are held whole and all compared; beyond, in two bytes a number, and those that share most signs.
ALL = 4_000
_READ_AT_ONCE = 4096


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
    """Nearest chunks by NumPy, over what one space held when this was made.

    Up to 4,000 vectors each is compared; beyond, those that share most signs with the query.
    """

    def __init__(self, db: apsw.Connection, generation: int, space: int, dimensions: int, within: str = "") -> None:
        import numpy as np

        from .held import Sketch, Whole

        # The table is read as it lies in the file (CROSS JOIN, no index on space), so that nothing has to be sorted in memory.
        join = f"FROM embedding CROSS JOIN chunk_{generation} AS chunk ON chunk.hash = embedding.hash WHERE +embedding.space = ?{within}"
        count = int(db.execute(f"SELECT count(*) {join}", (space,)).get)
        self._chunks = np.empty(count, np.int64)
        self._held: Held = Whole(count, dimensions) if count <= ALL else Sketch(count, dimensions)
        rows = db.execute(f"SELECT chunk.id, embedding.vector {join} ORDER BY embedding.id", (space,))
        for begin in range(0, count, _READ_AT_ONCE):
            self._keep(begin, list(islice(rows, _READ_AT_ONCE)))
        self._by_chunk = np.argsort(self._chunks)

    def _keep(self, begin: int, rows: list[tuple[int, bytes]]) -> None:
        import numpy as np

        self._chunks[begin : begin + len(rows)] = [row[0] for row in rows]
        block = np.frombuffer(b"".join(row[1] for row in rows), np.float32).reshape(len(rows), -1)
        self._held.keep(begin, block)

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
