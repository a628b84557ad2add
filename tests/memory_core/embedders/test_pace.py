"""A rate is kept in every minute, and nobody waits longer than it asks for."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Limits, ProviderError
from looseleaf.testing import EmbeddingServer
from looseleaf_memory_core.embedders._http import Client
from looseleaf_memory_core.embedders.call import Patience
from looseleaf_memory_core.embedders.pace import Pace


@given(
    st.lists(st.tuples(st.floats(0, 40), st.integers(1, 5), st.integers(1, 50)), max_size=40),
    st.integers(0, 6),
    st.integers(0, 120),
    st.integers(0, 12),
)
def test_no_minute_holds_more_than_the_rate(asked: list[tuple[float, int, int]], requests: int, tokens: int, texts: int) -> None:
    """PV-13: requests, tokens and texts; one that is over the rate by itself stands alone in its minute."""
    now = 0.0
    pace = Pace(Limits(requests_per_minute=requests, tokens_per_minute=tokens, texts_per_minute=texts), now=lambda: now)
    sent: list[tuple[float, int, int, int]] = []
    for pause, count, cost in asked:
        now += pause
        wait = pace.book(count, cost)
        assert wait >= 0
        sent.append((now + wait, 1, cost, count))
    assert all(before[0] <= after[0] + 1e-6 for before, after in pairwise(sent))
    for begin, *_ in sent:
        minute = [row for row in sent if begin <= row[0] < begin + 59.999]
        for place, most in ((1, requests), (2, tokens), (3, texts)):
            assert not most or len(minute) == 1 or sum(row[place] for row in minute) <= most


def test_what_fits_is_not_held_up() -> None:
    """The first requests of a minute go at once, the next one when the oldest is a minute old; a refused one takes none."""
    now = 0.0
    pace = Pace(Limits(requests_per_minute=2), now=lambda: now)
    assert [pace.book(1, 1), pace.book(1, 1)] == [0, 0]
    now = 20.0
    assert pace.book(1, 1, 30) == 40
    assert pace.book(1, 1) == 40
    assert pace.book(1, 1) == 40


def test_a_rate_from_our_table_is_kept_once_the_provider_is_busy() -> None:
    """Who may do more than the first step allows is not held up; what was sent before counts all the same."""
    now = 0.0
    pace = Pace(Limits(requests_per_minute=2), strict=False, now=lambda: now)
    assert [pace.book(1, 1) for _ in range(5)] == [0] * 5
    pace.slow_down()
    assert pace.book(1, 1) == 60


def test_a_search_does_not_wait_a_minute_for_its_turn() -> None:
    """It says that the rate is used up, and when it may ask again."""
    with EmbeddingServer() as server:

        async def ask() -> None:
            client = Client("acme", server.url, (), lambda key: {}, Pace(Limits(requests_per_minute=1)))
            patience = Patience(1.0, 1.0, turn_s=5.0)
            try:
                await client.post("/v1/embeddings", {"input": ["one"]}, patience)
                await client.post("/v1/embeddings", {"input": ["two"]}, patience)
            finally:
                await client.aclose()

        begun = monotonic()
        with pytest.raises(ProviderError, match=r"rate of remote\.limits is used up; it may be asked again in (60|59) s"):
            asyncio.run(ask())
        assert monotonic() - begun < 5
        assert len(server.requests) == 1
