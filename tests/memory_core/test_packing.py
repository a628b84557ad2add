"""Requests are packed by number and by tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Limits
from looseleaf_memory_core.embedders.models import known_model
from looseleaf_memory_core.packing import packed


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(1, 5), st.integers(1, 20))
def test_nothing_is_lost_and_no_limit_is_passed(texts: list[str], most: int, tokens: int) -> None:
    """Every text once and in order; a part over the tokens is one text alone."""
    parts = list(packed(texts, lambda: Limits(texts=most, request_tokens=tokens), str))
    assert [text for part in parts for text in part] == texts
    assert all(1 <= len(part) <= most for part in parts)
    assert all(len(part) == 1 or sum(1 + len(text) // 4 for text in part) <= tokens for part in parts)


def test_openai_s_limits() -> None:
    """PV-01: neither 2,048 texts nor 300,000 tokens are passed."""
    limits = known_model("openai", "text-embedding-3-small").limits
    parts = list(packed(["x" * 2800] * 540 + ["y"] * 5000, lambda: limits, str))
    assert sum(map(len, parts)) == 5540
    assert all(len(part) <= 2048 and sum(1 + len(text) // 4 for text in part) <= 300_000 for part in parts)
