"""The remote providers, each on a server that speaks its wire: requests as documented, keys where they belong, the laws kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from looseleaf import ConfigError, NotConfigured, ProviderError, TextTooLong
from looseleaf.testing import EmbeddingServer, Law, embedder_laws
from looseleaf_memory_core.embedders.call import Patience
from looseleaf_memory_core.embedders.models import MODELS, Model, known_model
from looseleaf_memory_core.embedders.providers import PROVIDERS, remote_embedder
from looseleaf_memory_core.embedders.remote import Options, RemoteEmbedder, usable

WIRES = {"gemini": "gemini", "ollama": "ollama"}
QUICK = Patience(0.4, 0.25)


def over(name: str) -> Callable[[str, str], RemoteEmbedder]:
    """Return what makes the provider for an address and a key."""

    def make(url: str, key: str) -> RemoteEmbedder:
        base = url if name in WIRES else f"{url}/v1"
        types = dict(zip(("query", "document"), PROVIDERS[name].types, strict=True))
        options = Options(name, "model", base, None, {}, Model(8), types, False, QUICK, QUICK)
        return RemoteEmbedder(PROVIDERS[name].dialect, options, [key])

    return make


HTTP_LAWS = [
    pytest.param(name, law, id=f"{name}-{law.name}")
    for name in ("openai", "gemini", "ollama")
    for law in embedder_laws(over=over(name), wire=WIRES.get(name, "openai"))
    if law.claim == "http"
]


@pytest.mark.parametrize(("name", "law"), HTTP_LAWS)
def test_every_dialect_keeps_the_laws(name: str, law: Law) -> None:
    """Right, busy, failing, cut, silent, out of order, malformed, redirected and cancelled."""
    law(over(name))


@pytest.fixture
def asked(agent: Callable[..., Any]) -> Callable[..., EmbeddingServer]:
    """Embed texts with a provider from config, and return the server with what it was sent."""

    def ask(
        name: str,
        search: dict[str, Any] | None = None,
        *,
        purpose: str = "document",
        texts: tuple[str, ...] = ("one", "two"),
        **env: str,
    ) -> EmbeddingServer:
        search = dict(search or {})
        with EmbeddingServer(wire=WIRES.get(name, "openai")) as server:
            remote = {"baseUrl": server.url + ("" if name in WIRES else "/v1"), "apiKey": "sk-one", **search.pop("remote", {})}
            settings = agent({"provider": name, "remote": remote, **search})

            async def embed() -> np.ndarray:
                embedder = remote_embedder(name, settings, env)
                try:
                    return await embedder.embed(list(texts), purpose)
                finally:
                    await embedder.aclose()

            rows = asyncio.run(embed())
        assert rows.shape == (len(texts), 8)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        return server

    return ask


@pytest.mark.parametrize(
    ("name", "path", "header"),
    [
        ("openai", "/v1/embeddings", "authorization"),
        ("mistral", "/v1/embeddings", "authorization"),
        ("voyage", "/v1/embeddings", "authorization"),
        ("gemini", "/models/gemini-embedding-001:batchEmbedContents", "x-goog-api-key"),
        ("ollama", "/api/embed", "authorization"),
    ],
)
def test_each_is_asked_at_its_path_with_its_key(asked: Callable[..., EmbeddingServer], name: str, path: str, header: str) -> None:
    """behaviour.md §6.1; the key stands in a header and never in the address."""
    (request,) = asked(name).requests
    assert request.path == path
    assert request.headers[header].endswith("sk-one")


def test_ollama_wants_no_key_and_its_prefixes(asked: Callable[..., EmbeddingServer]) -> None:
    """PV-17, PV-21: /api/embed, a `/v1` is taken off, nomic's task prefixes."""
    server = asked("ollama", {"remote": {"apiKey": None}}, purpose="query", texts=("where",))
    assert "authorization" not in server.requests[0].headers
    assert server.requests[0].texts == ["search_query: where"]
    assert asked("ollama", texts=("here",)).requests[0].texts == ["search_document: here"]


def test_voyage_says_what_a_text_is_for(asked: Callable[..., EmbeddingServer]) -> None:
    """PV-16: input_type `query` and `document`, unless config has its own."""
    for purpose in ("query", "document"):
        assert asked("voyage", purpose=purpose).bodies[0]["input_type"] == purpose
    assert asked("voyage", {"queryInputType": "search"}, purpose="query").bodies[0]["input_type"] == "search"
    assert "input_type" not in asked("openai").bodies[0]
    assert asked("openai", {"inputType": "passage"}).bodies[0]["input_type"] == "passage"


def test_gemini_says_what_a_text_is_for(asked: Callable[..., EmbeddingServer]) -> None:
    """taskType, model and outputDimensionality in each request of the batch."""
    body = asked("gemini", {"outputDimensionality": 768}, purpose="query").bodies[0]
    assert [request["taskType"] for request in body["requests"]] == ["RETRIEVAL_QUERY"] * 2
    assert body["requests"][0]["model"] == "models/gemini-embedding-001"
    assert body["requests"][0]["outputDimensionality"] == 768
    with pytest.raises(ConfigError, match="768, 1536, 3072 numbers, not 512"):
        asked("gemini", {"model": "gemini-embedding-2-preview", "outputDimensionality": 512})


def test_a_router_gets_the_model_as_it_is_written(asked: Callable[..., EmbeddingServer], agent: Callable[..., Any]) -> None:
    """PV-22: `openai/` belongs to the name everywhere but at OpenAI itself."""
    name = "openai/text-embedding-3-small"
    assert asked("openai", {"model": name}).bodies[0]["model"] == name
    at_home = remote_embedder("openai", agent({"provider": "openai", "model": name}), {"OPENAI_API_KEY": "k"})
    assert at_home.model == "text-embedding-3-small"


def test_headers_of_config_win(asked: Callable[..., EmbeddingServer]) -> None:
    """`remote.headers` come last, may replace the key's header, and `${NAME}` in them is resolved."""
    headers = {"Authorization": "Bearer ${MINE}", "X-Team": "notes"}
    (request,) = asked("openai", {"remote": {"headers": headers}}, MINE="own").requests
    assert request.headers["authorization"] == "Bearer own"
    assert request.headers["x-team"] == "notes"


def test_one_text_a_request_where_that_is_wanted(asked: Callable[..., EmbeddingServer]) -> None:
    """PV-14: `nonBatchConcurrency: 1` is one text at a time."""
    server = asked("openai", {"remote": {"nonBatchConcurrency": 1}}, texts=("one", "two", "three"))
    assert [request.texts for request in server.requests] == [["one"], ["two"], ["three"]]


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("remote", "from-remote"),
        ("profiles", "from-profiles"),
        ("environment", "from-environment"),
        ("models", "from-models"),
        ("named", "from-named"),
    ],
)
def test_where_a_key_comes_from(agent: Callable[..., Any], tmp_path: Path, where: str, key: str) -> None:
    """behaviour.md §6.2: remote.apiKey, OpenClaw's profiles, the environment, models.providers: the first that is there."""
    order = ["remote", "profiles", "environment", "models", "named"]
    there = order[order.index(where) :]
    environ = {"OPENCLAW_STATE_DIR": str(tmp_path / "openclaw"), "NAMED": "from-named"}
    search: dict[str, Any] = {"provider": "openai"}
    if "remote" in there:
        search["remote"] = {"apiKey": "from-remote"}
    if "profiles" in there:
        file = tmp_path / "openclaw" / "agents" / "main" / "agent" / "auth-profiles.json"
        file.parent.mkdir(parents=True)
        profiles = {
            "oauth": {"type": "oauth", "provider": "openai", "access": "never"},
            "mine": {"type": "api_key", "provider": "openai", "key": "from-profiles"},
        }
        file.write_text(json.dumps({"profiles": profiles}), "utf-8")
    if "environment" in there:
        environ["OPENAI_API_KEY"] = "from-environment"
    models = {"providers": {"openai": {"apiKey": "from-models" if "models" in there else "NAMED"}}}
    embedder = remote_embedder("openai", agent(search, models=models), environ)
    assert embedder._client._keys == (key,)


def test_no_key_says_where_one_could_be(agent: Callable[..., Any]) -> None:
    """The names of the variable and of the setting; `auto` goes on to the next."""
    with pytest.raises(
        NotConfigured, match=r"No API key found for provider gemini: set GEMINI_API_KEY or GOOGLE_API_KEY, or .*remote"
    ):
        remote_embedder("gemini", agent({"provider": "gemini"}), {})


def test_remote_options_are_for_the_provider_that_was_asked_for(agent: Callable[..., Any]) -> None:
    """Under `auto`, or as a fallback, remote.* and the model belong to somebody else."""
    settings = agent({"provider": "auto", "model": "theirs", "remote": {"apiKey": "theirs", "baseUrl": "http://127.0.0.1:9"}})
    with pytest.raises(NotConfigured):
        remote_embedder("openai", settings, {})
    embedder = remote_embedder("openai", settings, {"OPENAI_API_KEY": "mine"})
    assert (embedder.model, embedder._client.base_url) == ("text-embedding-3-small", "https://api.openai.com/v1")


def test_fingerprints_tell_vectors_apart_and_hold_no_key(agent: Callable[..., Any]) -> None:
    """Model, endpoint, size and headers change it, another key does not."""

    def of(key: str = "k", **search: Any) -> str:
        return remote_embedder("openai", agent({"provider": "openai", **search}), {"OPENAI_API_KEY": key}).fingerprint

    usual = of()
    assert usual == of("another-key")
    assert "another-key" not in of("another-key")
    changed = [
        of(model="text-embedding-3-large"),
        of(outputDimensionality=256),
        of(remote={"baseUrl": "http://127.0.0.1:9/v1"}),
        of(remote={"headers": {"X-A": "b"}}),
    ]
    assert len({usual, *changed}) == 5


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([(None, [1.0])], "1 vectors for 2 texts"),
        ([(0, [1.0]), (0, [1.0])], r"indexes \[0, 0\], not each of 0 to 1 once"),
        ([(0, [1.0]), (None, [1.0])], "not each of 0 to 1 once"),
        ([(0, [1.0]), (1, [])], "a vector without numbers"),
        ([(0, [1.0]), (1, [1.0, 2.0])], "different sizes: 1, 2"),
        ([(0, [1.0]), (1, ["x"])], "does not hold numbers"),
        ([(0, [1.0]), (1, [float("nan")])], "NaN or infinity"),
        ([(0, [1.0]), (1, [0.0])], "a vector of zeros"),
    ],
)
def test_each_wrong_answer_has_its_own_message(rows: list, says: str) -> None:
    """PV-05: what was wrong, with the provider's name."""
    with pytest.raises(ProviderError, match=f"acme gave .*{says}"):
        usable(rows, 2, "acme")


def test_rows_are_sorted_by_index_and_made_unit() -> None:
    """PV-04, PV-12: order by index, no index at all is the order of the request, length 1."""
    np.testing.assert_allclose(usable([(1, [0.0, 2.0]), (0, [3.0, 4.0])], 2, "acme"), [[0.6, 0.8], [0, 1]], atol=1e-6)
    np.testing.assert_allclose(usable([(None, [0.0, 2.0]), (None, [5.0, 0.0])], 2, "acme"), [[0, 1], [1, 0]], atol=1e-6)


def test_models_are_known_by_their_plain_name() -> None:
    """A tag or a path before it changes nothing; an unknown model gets careful limits."""
    assert known_model("ollama", "library/nomic-embed-text:latest").query == "search_query: "
    assert known_model("openai", "somebody/else").limits.texts == 32
    assert known_model("voyage", "voyage-4-lite").limits.request_tokens == 1_000_000
    assert all(model.limits.request_tokens >= model.limits.tokens for models in MODELS.values() for model in models.values())


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("text-embedding-nomic-embed-text-v1.5", "search_query: "),
        ("intfloat/multilingual-e5-large", "query: "),
        ("google/embeddinggemma-300m", "task: search result | query: "),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: "),
        ("BAAI/bge-m3", ""),
        ("text-embedding-3-small", ""),
    ],
)
def test_open_models_keep_their_prefixes_whoever_serves_them(name: str, query: str) -> None:
    """PV-17: LM Studio, vLLM and others speak as OpenAI does, the model does not."""
    assert known_model("openai", name).query == query


def test_config_knows_better(asked: Callable[..., EmbeddingServer], agent: Callable[..., Any]) -> None:
    """Limits and prefixes of config replace those of the table, one by one; another prefix is another space."""
    search = {"remote": {"limits": {"texts": 1, "requestsPerMinute": 500}}, "queryPrefix": "Q: ", "documentPrefix": ""}
    assert [request.texts for request in asked("openai", search).requests] == [["one"], ["two"]]
    assert asked("openai", search, purpose="query", texts=("one",)).requests[0].texts == ["Q: one"]
    plain, changed = (
        remote_embedder("openai", agent({"provider": "openai", **more}), {"OPENAI_API_KEY": "k"}) for more in ({}, search)
    )
    assert (changed.limits.texts, changed.limits.requests_per_minute) == (1, 500)
    assert changed.limits.request_tokens == plain.limits.request_tokens
    assert changed.fingerprint != plain.fingerprint


@pytest.mark.parametrize("behaviour", ["413", "431"])
def test_too_large_a_request_is_a_text_too_long(behaviour: str) -> None:
    """PV-09: the index halves it."""
    with EmbeddingServer(behaviour) as server:

        async def ask() -> None:
            embedder = over("openai")(server.url, "k")
            try:
                await embedder.embed(["one"], "document")
            finally:
                await embedder.aclose()

        with pytest.raises(TextTooLong):
            asyncio.run(ask())
        assert len(server.requests) == 1
