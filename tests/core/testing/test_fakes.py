"""The fakes keep the contracts that they stand in for."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from looseleaf import Embedder, MemorySlot, Query
from looseleaf._run import run
from looseleaf.testing import DictSlot, FixedClock, HashEmbedder


def test_the_embedder_is_one() -> None:
    """Unit rows in order, none for nothing, the same each time; shared words bring texts near."""
    embedder = HashEmbedder()
    assert isinstance(embedder, Embedder)
    rows = run(embedder.embed(["a b", "b a", "c", ""], "document"), inline=True)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)
    assert rows[0] @ rows[2] < 0.9
    assert run(embedder.embed([], "document"), inline=True).shape == (0, 64)
    assert embedder.requests == [["a b", "b a", "c", ""]]


def test_the_slot_is_one() -> None:
    """Lines are found by their words and read by their numbers."""
    slot = DictSlot({"a.md": "one\ntwo words\nthree"})
    assert isinstance(slot, MemorySlot)
    (hit,) = run(slot.retrieve(Query("words")), inline=True).lists["lines"]
    assert (hit.path, hit.start, hit.text) == ("a.md", 2, "two words")
    assert run(slot.read("a.md", 2, 1), inline=True).text == "two words"
    assert run(slot.read("a.md", 9), inline=True).status == "past_end"
    assert run(slot.read("b.md"), inline=True).status == "not_found"


def test_the_clock_stands_still() -> None:
    """Always the moment it was given."""
    moment = datetime(2026, 2, 10, tzinfo=UTC)
    assert FixedClock(moment)() == moment
