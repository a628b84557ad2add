"""Vectors in memory: whole where they are few, else as a sketch of which only the likely ones are looked at closer.

Rows are unit vectors; a place is a row's number, in the order in which they came. Cosines are those of the vectors as they are stored, within 0.00003.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    Places = npt.NDArray[np.intp]

# At least this many of those that share most signs are looked at closer: recall 0.99, see docs/quality.md.
_LIKELY, _LIKELY_SHARE = 400, 50
_BYTEWISE = 3  # words whose differing bits can be counted in one byte
_FINE = 254  # steps of the second byte within one of the first
_SPARE = 4  # room that is not there is made for a quarter more, so that rows can come one by one


class Held(Protocol):
    """A way to hold vectors."""

    def keep(self, block: Vector) -> None:
        """Take more rows."""

    def likely(self, vector: Vector, count: int) -> Places:
        """Return places among which the `count` nearest to `vector` are, in no order."""

    def cosines(self, places: Places, vector: Vector) -> Vector:
        """Return the cosine of `vector` with the rows at `places`."""


class Whole:
    """Four bytes a number; every row is compared. `room` is how many rows are expected."""

    def __init__(self, room: int, dimensions: int) -> None:
        self._count = 0
        self._rows = np.empty((room, dimensions), np.float32)

    @property
    def rows(self) -> Vector:
        """All of them."""
        return self._rows[: self._count]

    def keep(self, block: Vector) -> None:
        """Take more rows."""
        begin, self._count = self._count, self._count + len(block)
        self._rows = with_room(self._rows, self._count)
        self._rows[begin : self._count] = block

    def likely(self, vector: Vector, count: int) -> Places:
        """Return the places of the `count` nearest."""
        return largest(np.vecdot(self.rows, vector), count)

    def cosines(self, places: Places, vector: Vector) -> Vector:
        """Return the cosine of `vector` with the rows at `places`."""
        return np.asarray(np.vecdot(self._rows.take(places, axis=0), vector))  # on one core quicker than BLAS


class Sketch:
    """One bit, one byte and one byte more a number: signs choose the likely, the first byte the likeliest, both bytes decide.

    `room` is how many rows are expected.
    """

    def __init__(self, room: int, dimensions: int) -> None:
        self._count = 0
        self._signs = np.empty((-(-dimensions // 64), room), np.uint64)
        self._coarse = np.empty((room, dimensions), np.int8)
        self._fine = np.empty((room, dimensions), np.int8)
        self._scale = np.empty(room, np.float32)  # each row has its own

    def keep(self, block: Vector) -> None:
        """Take more rows."""
        begin, end = self._count, self._count + len(block)
        self._count = end
        self._signs = with_room(self._signs, end, axis=1)
        self._coarse, self._fine, self._scale = (with_room(table, end) for table in (self._coarse, self._fine, self._scale))
        scale = np.abs(block).max(axis=1, keepdims=True) / 127
        steps = block / scale
        coarse = np.rint(steps)
        self._signs[:, begin:end] = sign_bits(block).T
        self._coarse[begin:end] = coarse
        self._fine[begin:end] = np.rint(_FINE * (steps - coarse))
        self._scale[begin:end] = scale[:, 0]

    def likely(self, vector: Vector, count: int) -> Places:
        """Return 2 x `count` places, which hold 0.99 of the `count` nearest with real models."""
        wanted = sign_bits(vector[None]).T
        different = np.zeros(self._count, np.int16)
        for begin in range(0, len(wanted), _BYTEWISE):
            part = slice(begin, begin + _BYTEWISE)
            different += np.bitwise_count(self._signs[part, : self._count] ^ wanted[part]).sum(axis=0, dtype=np.uint8)
        places = smallest(different, max(_LIKELY, len(different) // _LIKELY_SHARE, 2 * count))
        return places[largest(self._dot(self._coarse, places, vector) * self._scale[places], 2 * count)]

    def cosines(self, places: Places, vector: Vector) -> Vector:
        """Return the cosine of `vector` with the rows at `places`."""
        steps = self._dot(self._coarse, places, vector) + self._dot(self._fine, places, vector) / _FINE
        return np.asarray(steps * self._scale[places])

    @staticmethod
    def _dot(table: npt.NDArray[np.int8], places: Places, vector: Vector) -> Vector:
        return np.asarray(np.vecdot(table.take(places, axis=0).astype(np.float32), vector))


def with_room(table: npt.NDArray[Any], count: int, axis: int = 0) -> npt.NDArray[Any]:
    """Return `table`, with what it holds, if it has room for `count` rows along `axis`, else a larger one."""
    room = table.shape[axis]
    if count <= room:
        return table
    shape = list(table.shape)
    shape[axis] = count + count // _SPARE
    larger = np.empty(shape, table.dtype)
    larger[(slice(None),) * axis + (slice(room),)] = table
    return larger


def sign_bits(vectors: Vector) -> npt.NDArray[np.uint64]:
    """Return the signs of each row as bits, padded to whole 64-bit words; shape (n, words)."""
    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def smallest(values: npt.NDArray[np.int16], count: int) -> Places:
    """Return where the `count` smallest of small numbers stand, in order of place; of equal ones the first.

    Counting is quicker than sorting for numbers with so few values, and ties, which these have many of, do not slow it.
    """
    if len(values) <= count:
        return np.arange(len(values))
    last = int(np.searchsorted(np.cumsum(np.bincount(values)), count))  # the largest value that is among them
    places = np.flatnonzero(values <= last)
    among = values[places]
    chosen = among < last
    ties = np.flatnonzero(~chosen)
    chosen[ties[: len(ties) + count - len(places)]] = True
    return places[chosen]


def largest(values: npt.NDArray[np.float32], count: int) -> Places:
    """Return where the `count` largest values stand, in no order."""
    return np.arange(len(values)) if len(values) <= count else np.argpartition(values, -count)[-count:]
