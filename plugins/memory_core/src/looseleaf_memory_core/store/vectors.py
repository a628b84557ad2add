"""Nearest chunks by cosine, on two paths that give the same hits: sqlite-vec's functions in SQL, and NumPy in memory.

Vectors are one table of float32 blobs, unit length. Both paths read that table, so nothing has to be kept in step with it: there
is no second index to repair, no limit on k, and a filter is an ordinary WHERE. SQL scans the table, which is right for a process
that asks once; NumPy holds them, or a sketch of each where they are many, and compares the best exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

#: Up to so many vectors all are compared; beyond, those that share most signs with the query.
ALL = 4_000
#: Up to so many are held whole; beyond, as 8-bit numbers.
WHOLE = 20_000
# At least this many of those that share most signs are looked at closer: recall 0.99, see docs/quality.md.
_LIKELY, _LIKELY_SHARE = 600, 50
_READ_AT_ONCE = 4096
_MANY, _SAMPLE = 65_536, 4096


class SqlNearest:
    """Nearest chunks by a scan with `vec_distance_cosine`; needs sqlite-vec in the connection."""

    def __init__(self, db: apsw.Connection, generation: int, space: int) -> None:
        self._db = db
        self._space = space
        self._sql = (
            f"SELECT chunk.id, 1 - vec_distance_cosine(embedding.vector, ?) AS cosine FROM embedding "
            f"JOIN chunk_{generation} AS chunk ON chunk.hash = embedding.hash WHERE embedding.space = ? "
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

    Up to 4,000 vectors each is compared; beyond, those that share most signs with the query. Up to 20,000 they are held whole;
    beyond, as 8-bit numbers, a quarter of their size, and the best by these are compared as they stand in the file.
    """

    def __init__(self, db: apsw.Connection, generation: int, space: int, dimensions: int) -> None:
        import numpy as np

        self._db = db
        # The table is read as it lies in the file (CROSS JOIN, no index on space), so that nothing has to be sorted in memory.
        join = f"FROM embedding CROSS JOIN chunk_{generation} AS chunk ON chunk.hash = embedding.hash WHERE +embedding.space = ?"
        count = int(db.execute(f"SELECT count(*) {join}", (space,)).get)
        self._whole = count <= WHOLE
        self._chunks = np.empty(count, np.int64)
        self._embeddings = np.empty(count, np.int64)
        self._vectors = np.empty((count, dimensions), np.float32 if self._whole else np.int8)
        self._lengths = np.empty(0 if self._whole else count, np.float32)
        self._signs = np.zeros((-(-dimensions // 64) if count > ALL else 0, count), np.uint64)
        rows = db.execute(f"SELECT chunk.id, embedding.id, embedding.vector {join} ORDER BY embedding.id", (space,))
        for begin in range(0, count, _READ_AT_ONCE):
            self._hold(begin, list(islice(rows, _READ_AT_ONCE)))
        self._by_chunk = np.argsort(self._chunks)

    def _hold(self, begin: int, rows: list[tuple[int, int, bytes]]) -> None:
        import numpy as np

        end = begin + len(rows)
        self._chunks[begin:end] = [row[0] for row in rows]
        self._embeddings[begin:end] = [row[1] for row in rows]
        block = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
        if len(self._signs):
            self._signs[:, begin:end] = sign_bits(block).T
        if self._whole:
            self._vectors[begin:end] = block
        else:
            rounded = np.rint(block * (127 / np.abs(block).max(axis=1, keepdims=True)))
            self._vectors[begin:end] = rounded
            self._lengths[begin:end] = np.linalg.norm(rounded, axis=1)  # each row has its own scale

    def nearest(self, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Return the `limit` chunks nearest to `vector` with their cosines, best first."""
        import numpy as np

        if not len(self._chunks):
            return []
        if not len(self._signs):
            places = np.arange(len(self._chunks))
            cosines = np.vecdot(self._vectors, vector)  # on one core quicker than BLAS
        else:
            places = self._likely(vector, max(_LIKELY, len(self._chunks) // _LIKELY_SHARE, 2 * limit))
            if not self._whole:
                near = np.vecdot(self._vectors[places].astype(np.float32), vector) / self._lengths[places]
                places = places[_largest(near, 2 * limit)]
            cosines = self._exact(places, vector)
        best = _largest(cosines, limit)
        places, cosines = places[best], cosines[best]
        order = np.lexsort((self._chunks[places], -cosines))
        return list(zip(self._chunks[places][order].tolist(), cosines[order].tolist(), strict=True))

    def cosines(self, vector: Vector, chunks: Iterable[int]) -> dict[int, float]:
        """Return the cosine of each of `chunks` that has a vector."""
        import numpy as np

        wanted = np.fromiter(chunks, np.int64)
        if not len(wanted) or not len(self._chunks):
            return {}
        found_at = np.searchsorted(self._chunks, wanted, sorter=self._by_chunk)
        places = self._by_chunk[np.minimum(found_at, len(self._chunks) - 1)]
        places = places[self._chunks[places] == wanted]
        found = self._exact(places, vector)
        return dict(zip(self._chunks[places].tolist(), found.tolist(), strict=True))

    def _likely(self, vector: Vector, count: int) -> npt.NDArray[np.intp]:
        """Return the places of the `count` vectors that share most signs with `vector`."""
        import numpy as np

        different = np.zeros(len(self._chunks), np.int16)
        for signs, wanted in zip(self._signs, sign_bits(vector[None])[0], strict=True):
            different += np.bitwise_count(signs ^ wanted)
        return _largest(-different, count)

    def _exact(self, places: npt.NDArray[np.intp], vector: Vector) -> npt.NDArray[np.float32]:
        """Return the cosines of the chunks at `places`, from the vectors themselves."""
        import numpy as np

        if self._whole:
            return np.asarray(np.vecdot(self._vectors[places], vector))
        wanted = self._embeddings[places]
        listed = json.dumps(np.unique(wanted).tolist())
        stored = list(self._db.execute("SELECT id, vector FROM embedding WHERE id IN (SELECT value FROM json_each(?))", (listed,)))
        matrix = np.frombuffer(b"".join(row[1] for row in stored), np.float32).reshape(len(stored), -1)
        ids = np.fromiter((row[0] for row in stored), np.int64, len(stored))
        return np.asarray(np.vecdot(matrix, vector)[np.searchsorted(ids, wanted)])


def _largest(values: npt.NDArray[Any], count: int) -> npt.NDArray[np.intp]:
    """Return where the `count` largest values stand, in no order."""
    import numpy as np

    if len(values) <= count:
        return np.arange(len(values))
    if len(values) > max(_MANY, 64 * count):  # what a sample says is surely not among them need not be sorted
        sample = values[:: len(values) // _SAMPLE]
        few = max(16, 4 * count * len(sample) // len(values))
        places = np.flatnonzero(values >= np.partition(sample, -few)[-few])
        if count <= len(places) < len(values):
            return places[np.argpartition(values[places], -count)[-count:]]
    return np.argpartition(values, -count)[-count:]


def sign_bits(vectors: Vector) -> npt.NDArray[np.uint64]:
    """Return the signs of each row as bits, padded to whole 64-bit words; shape (n, words)."""
    import numpy as np

    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


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
