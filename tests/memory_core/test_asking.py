"""PV-08: a provider that fails is left alone for growing pauses; another one steps in, or words answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from looseleaf import Notebook, ProviderError, SearchResult
from looseleaf._run import run
from looseleaf.fallback import Rest
from looseleaf.testing import EmbeddingServer, HashEmbedder
from looseleaf.tools import result_json
from looseleaf_memory_core.slot import CoreSlot


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


class Pair:
    """OpenAI with Ollama behind it, each a server on loopback, and a clock for the pauses."""

    def __init__(self, opened: Callable[..., Notebook], first: EmbeddingServer, second: EmbeddingServer) -> None:
        self.first, self.second = first, second
        self.notebook = opened(
            {
                "provider": "openai",
                "fallback": "ollama",
                "model": "only-the-first-knows-it",
                "remote": {"baseUrl": f"{first.url}/v1", "apiKey": "sk-of-the-first", "headers": {"X-Team": "first"}},
            },
            models={"providers": {"ollama": {"baseUrl": second.url}}},
        )
        self.now = 0.0
        slot = self.notebook.slot
        assert isinstance(slot, CoreSlot)
        for asker in slot._askers:
            asker.rest = Rest(lambda: self.now)

    def run(self, *, sync: bool = True, query: str = "gateway") -> SearchResult:
        """Sync, search, and close the connections, on one event loop."""

        async def both() -> SearchResult:
            if sync:
                await self.notebook.sync()
            try:
                return await self.notebook.search(query)
            finally:
                await self.notebook.aclose()

        return run(both(), inline=False)


@pytest.fixture
def pair(opened: Callable[..., Notebook]) -> Iterator[Pair]:
    with EmbeddingServer() as first, EmbeddingServer(wire="ollama", dimensions=4) as second:
        yield Pair(opened, first, second)


def test_the_second_steps_in_with_its_own_vectors_and_its_own_keys(pair: Pair, write: Callable) -> None:
    """It embeds all chunks once, answers with the reason, and sees neither key, model nor headers of the first."""
    for number in range(3):
        write(f"memory/{number}.md", f"the gateway {number}")
    found = pair.run()
    assert (found.provider, found.mode, found.fallback) == ("openai", "hybrid", None)
    assert not pair.second.requests

    pair.first.behaviour = "401"
    write("memory/3.md", "another gateway")
    found = pair.run(query="which gateway")
    assert (found.provider, found.model, found.mode) == ("ollama", "nomic-embed-text", "hybrid")
    assert found.fallback is not None
    assert found.fallback.provider == "openai"
    assert "openai answered 401" in found.fallback.reason
    assert len(found.hits) == 4
    assert sum(len(request.texts) for request in pair.second.requests) == 4 + 1
    assert not any("sk-of-the-first" in str(request) or "x-team" in request.headers for request in pair.second.requests)
    assert result_json(found)["fallbackFrom"] == "openai"


def test_the_first_is_asked_again_after_the_pause(pair: Pair, write: Callable) -> None:
    """Meanwhile not once; its vectors are still there, so that nothing but what is new is paid for."""
    write("memory/a.md", "the gateway")
    pair.run()
    pair.first.behaviour = "401"
    write("memory/b.md", "a new gateway")
    pair.run()
    asked = len(pair.first.requests)
    assert pair.run(query="once more").provider == "ollama"
    assert len(pair.first.requests) == asked

    pair.first.behaviour = "right"
    pair.now += 5
    found = pair.run(query="and now")
    assert (found.provider, found.fallback) == ("openai", None)
    assert [request.texts for request in pair.first.requests[asked:]] == [["a new gateway"], ["and now"]]
    assert pair.notebook.slot is not None
    status = run(pair.notebook.status(), inline=True)
    assert status.details["fallback"] == {"provider": "ollama", "model": "nomic-embed-text", "embedded": 2}


def test_a_second_without_vectors_is_not_asked(pair: Pair, write: Callable) -> None:
    """Words answer until the next sync has made them."""
    write("memory/a.md", "the gateway")
    pair.run()
    pair.first.behaviour = "401"
    found = pair.run(sync=False, query="which gateway")
    assert (found.mode, found.fallback) == ("keyword", None)
    assert "searched by words only: openai answered 401" in found.notes[0].text
    assert not pair.second.requests


def test_both_may_fail(pair: Pair, write: Callable) -> None:
    """Words answer, and both reasons are told."""
    write("memory/a.md", "the gateway")
    pair.first.behaviour = pair.second.behaviour = "401"
    found = pair.run()
    assert [found.hit.path for found in found.hits] == ["memory/a.md"]
    assert (found.mode, found.fallback) == ("keyword", None)
    report = run(pair.notebook.sync(), inline=True)
    assert report.pending == 1
    assert [note.text.split(" answered")[0] for note in report.notes] == ["openai", "ollama"]


def test_a_cache_limit_spares_the_vectors_of_both(pair: Pair, agent: Callable[..., Any], write: Callable) -> None:
    """CA-01: what steps in is not thrown away and paid for at each failure."""
    write("memory/a.md", "the gateway")
    slot = pair.notebook.slot
    assert isinstance(slot, CoreSlot)
    slot._settings = agent({"cache": {"maxEntries": 1}})
    pair.run()
    pair.first.behaviour = "401"
    write("memory/b.md", "a new gateway")
    pair.run()
    sent = len(pair.second.requests)
    pair.run(query="gateway")
    assert len(pair.second.requests) == sent


def test_one_without_a_key_is_stood_in_for_from_the_start(opened: Callable[..., Notebook], write: Callable) -> None:
    """The answer says for whom, as it does when it fails later."""
    write("memory/a.md", "the gateway")
    notebook = opened({"provider": "gemini", "fallback": "bundled"})
    run(notebook.sync(), inline=True)
    found = run(notebook.search("gateway"), inline=True)
    assert found.provider == "bundled"
    assert found.fallback is not None
    assert found.fallback.provider == "gemini"
    assert "No API key found for provider gemini" in found.fallback.reason
