"""PV-08: a provider that fails is left alone for growing pauses, and words answer meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from looseleaf import ProviderError
from looseleaf._run import run
from looseleaf.testing import HashEmbedder
from looseleaf_memory_core.rest import Rest, RestingError
from looseleaf_memory_core.slot import CoreSlot


def test_pauses_grow_and_end() -> None:
    """5, 10, 20 … 120 seconds; an answer starts anew; asking meanwhile is no failure."""
    now = [0.0]
    rest = Rest(lambda: now[0])
    for length in (5, 10, 20, 40, 80, 120, 120):
        rest.check()
        rest.begin(ProviderError("acme is down."))
        with pytest.raises(RestingError, match=rf"acme is down\. It is asked again in {length} s") as error:
            rest.check()
        rest.begin(error.value)
        now[0] += length
    rest.over()
    rest.begin(ProviderError("acme is down"))
    now[0] += 5
    rest.check()


class Down(HashEmbedder):
    """Fails for questions, and counts how often it is asked."""

    asked = 0

    async def embed(self, texts, purpose):
        if purpose == "document":
            return await super().embed(texts, purpose)
        self.asked += 1
        raise ProviderError("acme is down", retryable=True)


def test_a_search_does_not_ask_a_provider_that_has_just_failed(opened: Callable, write: Callable) -> None:
    """The second search answers by words at once, and says when the provider is asked again."""
    write("memory/a.md", "the gateway")
    notebook, down = opened(), Down()
    slot = CoreSlot(notebook.settings, down)
    run(slot.sync(), inline=True)
    notebook = replace(notebook, slot=slot)
    first, second = (run(notebook.search(query), inline=True) for query in ("gateway", "the gateway"))
    assert down.asked == 1
    assert "searched by words only: acme is down" in first.notes[0].text
    assert "acme is down. It is asked again in 5 s" in second.notes[0].text
    assert [found.hit.path for found in second.hits] == ["memory/a.md"]
