"""Vectors in memory: the sketch is small, and exact where it decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looseleaf_memory_core.store.held import Sketch, Whole, largest, sign_bits, smallest


def unit(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(1, 90), st.integers(1, 200), st.integers(0, 99), st.integers(0, 90))
@settings(max_examples=50)
def test_two_bytes_give_the_cosine_to_four_decimals(count: int, dimensions: int, seed: int, room: int) -> None:
    """Whatever the rows, and however many were expected, the sketch's cosines are those of the vectors themselves."""
    rows, query = unit(count, dimensions, seed), unit(1, dimensions, seed + 1)[0]
    sketch, whole = Sketch(room, dimensions), Whole(room, dimensions)
    for begin in range(0, count, 40):
        sketch.keep(rows[begin : begin + 40])
        whole.keep(rows[begin : begin + 40])
    places = np.arange(count)[::-1]
    np.testing.assert_allclose(sketch.cosines(places, query), rows[places] @ query, atol=3e-5)
    np.testing.assert_allclose(whole.cosines(places, query), rows[places] @ query, atol=1e-5)


@pytest.mark.parametrize("holder", [Sketch, Whole])
def test_the_nearest_are_among_the_likely(holder: type[Sketch | Whole]) -> None:
    """What is near is offered, and at most twice as many as are wanted."""
    centres = unit(50, 64)
    rows = np.repeat(centres, 30, axis=0) + 0.05 * unit(1500, 64, 1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    held = holder(1000, 64)
    held.keep(rows)
    for centre in (0, 17, 49):
        places = held.likely(rows[30 * centre], 20)
        best = np.argsort(-(rows @ rows[30 * centre]))[:20]
        assert set(best) <= set(places.tolist())
        assert len(places) <= 40


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 70))
def test_the_smallest_are_the_smallest_and_the_first_of_equals(numbers: list[int], count: int) -> None:
    """Exactly as many as are wanted, as a stable sort would give them, in order of place."""
    values = np.array(numbers, np.int16)
    assert smallest(values, count).tolist() == sorted(np.argsort(values, kind="stable")[:count].tolist())


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=60), st.integers(1, 70))
def test_the_largest_are_the_largest(numbers: list[float], count: int) -> None:
    """Exactly as many as are wanted, and none that is left is larger."""
    values = np.array(numbers, np.float32)
    places = largest(values, count)
    assert len(set(places.tolist())) == min(count, len(values))
    np.testing.assert_array_equal(np.sort(values[places]), np.sort(values)[-count:])


def test_sign_bits_fill_whole_words() -> None:
    """A row of any width becomes whole 64-bit words."""
    assert sign_bits(unit(3, 100)).shape == (3, 2)
