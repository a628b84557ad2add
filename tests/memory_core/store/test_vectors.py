"""Vectors: two paths, the same hits; nothing unusable is ever stored."""

from __future__ import annotations

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looseleaf_memory_core.store import held, schema, vectors
from looseleaf_memory_core.store.database import load_extension
from looseleaf_memory_core.store.vectors import MemoryNearest, SqlNearest, checked


def store(matrix: np.ndarray, *, spaces: int = 1) -> tuple[apsw.Connection, int]:
    """Return an index whose chunk n has row n of `matrix`, in the last of `spaces`."""
    db = apsw.Connection(":memory:")
    assert load_extension(db).version
    schema.ensure(db, writable=True)
    generation = schema.create_generation(db, "test")
    for space in range(1, spaces + 1):
        db.execute("INSERT INTO space(id, fingerprint, dimensions) VALUES(?, ?, ?)", (space, f"space {space}", matrix.shape[1]))
        for place, row in enumerate(matrix, 1):
            identity = place.to_bytes(16, "big")
            vector = row if space == spaces else -row
            db.execute(
                "INSERT INTO embedding(space, hash, vector) VALUES(?, ?, ?)", (space, identity, vector.astype(np.float32).tobytes())
            )
            if space == 1:
                db.execute(f"INSERT INTO chunk_{generation} VALUES(?, 1, 1, 1, 0, 1, ?, '')", (place, identity))
    return db, generation


def in_memory(db: apsw.Connection, generation: int, space: int, dimensions: int) -> MemoryNearest:
    near = MemoryNearest(db, generation, space, dimensions)
    near.read()
    assert near.whole
    return near


def add(db: apsw.Connection, generation: int, row: np.ndarray, identity: bytes, *, embedded: bool = True) -> None:
    if embedded:
        db.execute("INSERT OR IGNORE INTO embedding(space, hash, vector) VALUES(1, ?, ?)", (identity, row.tobytes()))
    number = schema.number_chunks(db, generation, 1, session=False)
    db.execute(f"INSERT INTO chunk_{generation} VALUES(?, 1, 1, 1, 0, 1, ?, '')", (number, identity))


def unit(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(params=[20_000, 5], ids=["whole", "sketch"])
def every_way_to_hold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "ALL", request.param)


@given(st.integers(1, 60), st.sampled_from([1, 3, 64, 100]), st.integers(0, 99), st.integers(1, 70))
@settings(max_examples=25)
def test_both_paths_give_the_same_hits(count: int, dimensions: int, seed: int, limit: int) -> None:
    """SQL and NumPy agree on chunks and cosines, at any number of dimensions."""
    matrix = unit(count, dimensions, seed)
    db, generation = store(matrix)
    query = unit(1, dimensions, seed + 100)[0]
    by_sql = SqlNearest(db, generation, 1).nearest(query, limit)
    by_numpy = in_memory(db, generation, 1, dimensions).nearest(query, limit)
    assert len(by_sql) == len(by_numpy) == min(count, limit)
    np.testing.assert_allclose([cosine for _, cosine in by_sql], [cosine for _, cosine in by_numpy], atol=1e-5)
    exact = matrix @ query
    np.testing.assert_allclose([exact[chunk - 1] for chunk, _ in by_numpy], np.sort(exact)[::-1][:limit], atol=1e-5)


def test_the_sketch_gives_the_same_hits_as_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit a sketch is held: what its signs and bytes find is what a full scan finds."""
    monkeypatch.setattr(vectors, "ALL", 100)
    centres = unit(20, 64, 1)
    noise = np.random.default_rng(2).standard_normal((2000, 64)).astype(np.float32) * 0.05
    matrix = np.repeat(centres, 100, axis=0) + noise
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    db, generation = store(matrix)
    sketch = in_memory(db, generation, 1, 64)
    assert isinstance(sketch._held, held.Sketch)
    scan = SqlNearest(db, generation, 1)
    for seed in range(10):
        query = matrix[seed * 190] + unit(1, 64, seed)[0] * 0.1
        query = (query / np.linalg.norm(query)).astype(np.float32)
        found, true = sketch.nearest(query, 10), scan.nearest(query, 10)
        assert {chunk for chunk, _ in found} == {chunk for chunk, _ in true}
        np.testing.assert_allclose([cosine for _, cosine in found], [cosine for _, cosine in true], atol=3e-5)


@pytest.mark.usefixtures("every_way_to_hold")
def test_cosines_of_given_chunks() -> None:
    """The missing half of a keyword hit is filled in exactly; chunks without a vector are left out."""
    matrix = unit(30, 16)
    db, generation = store(matrix)
    for near in (SqlNearest(db, generation, 1), in_memory(db, generation, 1, 16)):
        found = near.cosines(matrix[3], [4, 9, 999])
        assert found.keys() == {4, 9}
        assert found[4] == pytest.approx(1.0, abs=1e-5)
        assert found[9] == pytest.approx(float(matrix[8] @ matrix[3]), abs=1e-5)
        assert near.cosines(matrix[3], []) == {}


def test_more_vectors_than_sqlite_vec_s_own_limit() -> None:
    """VS-02, VS-04: an ordinary LIMIT, no `k =`, and no cap at 4,096; asking for all gives all."""
    matrix = unit(5000, 8)
    db, generation = store(matrix)
    assert len(SqlNearest(db, generation, 1).nearest(matrix[0], 5000)) == 5000


def test_spaces_are_never_mixed() -> None:
    """VS-08: two models of the same width are two spaces."""
    matrix = unit(10, 8)
    db, generation = store(matrix, spaces=2)
    for near in (SqlNearest(db, generation, 2), in_memory(db, generation, 2, 8)):
        assert near.nearest(matrix[0], 1)[0][0] == 1
    assert SqlNearest(db, generation, 1).nearest(matrix[0], 10)[-1][0] == 1


def test_deleted_chunks_leave_no_holes() -> None:
    """VS-05, VS-06, VS-12: a chunk that is gone is gone at once, and what is asked for is filled from the rest."""
    matrix = unit(50, 8)
    db, generation = store(matrix)
    db.execute(f"DELETE FROM chunk_{generation} WHERE id <= 45")
    for near in (SqlNearest(db, generation, 1), in_memory(db, generation, 1, 8)):
        assert {chunk for chunk, _ in near.nearest(matrix[0], 5)} == {46, 47, 48, 49, 50}


@pytest.mark.usefixtures("every_way_to_hold")
def test_equal_texts_share_a_vector() -> None:
    """Two chunks with one text are both found by its one vector, and vectors of texts that are gone are passed over."""
    matrix = unit(20, 16)
    db, generation = store(matrix)
    db.execute(f"INSERT INTO chunk_{generation} SELECT 99, 1, 1, 1, 0, 1, hash, '' FROM chunk_{generation} WHERE id = 7")
    db.execute(f"DELETE FROM chunk_{generation} WHERE id IN (1, 5, 20)")
    for near in (SqlNearest(db, generation, 1), in_memory(db, generation, 1, 16)):
        assert [chunk for chunk, _ in near.nearest(matrix[6], 2)] == [7, 99]
        assert near.cosines(matrix[6], [7, 99, 5]).keys() == {7, 99}


@pytest.mark.usefixtures("every_way_to_hold")
@given(st.data())
@settings(max_examples=40)
def test_what_changes_is_read_as_if_all_were_read_anew(data: st.DataObject) -> None:
    """New chunks with new, old and late vectors, in pieces or at once: in the end the nearest are those of a fresh reading."""
    matrix = unit(40, 16)
    db, generation = store(np.zeros((0, 16), np.float32))
    near = MemoryNearest(db, generation, 1, 16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_READ_AT_ONCE", 3)
        for step in data.draw(st.lists(st.sampled_from(["new", "again", "late", "vector", "gone", "bit", "all"]), max_size=40)):
            text = data.draw(st.integers(0, 39))
            if step in ("new", "again", "late"):
                add(db, generation, matrix[text], bytes([text]), embedded=step != "late")
            elif step == "vector":
                sql = "INSERT OR IGNORE INTO embedding(space, hash, vector) VALUES(1, ?, ?)"
                db.execute(sql, (bytes([text]), matrix[text].tobytes()))
            elif step == "gone":
                db.execute(f"DELETE FROM chunk_{generation} WHERE hash = ?", (bytes([text]),))
            else:
                near.read(0.0 if step == "bit" else None)
        near.read()
    there = {chunk for (chunk,) in db.execute(f"SELECT id FROM chunk_{generation}")}
    query = unit(1, 16, 7)[0]
    found = [(chunk, cosine) for chunk, cosine in near.nearest(query, 200) if chunk in there]
    expected = SqlNearest(db, generation, 1).nearest(query, 200)
    assert {chunk for chunk, _ in found} == {chunk for chunk, _ in expected}
    assert near.cosines(query, there) == pytest.approx(dict(expected), abs=1e-4)
    assert len({chunk for chunk, _ in found}) == len(found)


def test_chunks_that_are_gone_are_given_up_when_they_are_many() -> None:
    """Memory does not grow with every change: what is gone is a tenth at most, and some."""
    matrix = unit(300, 8)
    db, generation = store(matrix)
    near = in_memory(db, generation, 1, 8)
    db.execute(f"DELETE FROM chunk_{generation} WHERE id > 100")
    near.read()
    assert len(near.nearest(matrix[0], 300)) == 100


def test_an_empty_space_is_empty() -> None:
    """Nothing embedded is nothing found."""
    db, generation = store(np.zeros((0, 4), np.float32))
    assert in_memory(db, generation, 1, 4).nearest(unit(1, 4)[0], 3) == []


def test_unusable_vectors_are_refused_at_the_border() -> None:
    """PV-05: zero, NaN, infinite and wrong-size vectors each say what they are; the others are stored at unit length."""
    rows = np.array([[3, 4], [0, 0], [np.nan, 1], [np.inf, 1], [1e-30, 1e-30]], np.float32)
    clean, faults = checked(rows, 2)
    np.testing.assert_allclose(clean[0], [0.6, 0.8])
    assert faults == [
        "",
        "the vector is zero",
        "the vector holds NaN or infinity",
        "the vector holds NaN or infinity",
        "the vector is zero",
    ]
    assert all("shape (5, 2)" in fault for fault in checked(rows, 3)[1])


def test_vectors_are_stored_as_float32() -> None:
    """VS-13: four bytes a number, never text."""
    matrix = unit(1, 512)
    db, _ = store(matrix)
    assert db.execute("SELECT typeof(vector), length(vector) FROM embedding").fetchone() == ("blob", 2048)
