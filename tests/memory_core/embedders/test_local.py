"""A GGUF model in this process: a real one, made on the spot, through llama-cpp-python where it is installed (`.ci/local` does)."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import found
from hub import hub
from looseleaf import NotConfigured, Notebook, ProviderError, TextTooLong
from looseleaf._run import run
from looseleaf.testing import Law, embedder_laws
from looseleaf_memory_core.embedders.local import LocalEmbedder

real = pytest.mark.skipif(not find_spec("llama_cpp"), reason="llama-cpp-python takes minutes to build: .ci/local installs it")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if llama-cpp-python were installed: for what happens before a model is loaded."""
    monkeypatch.setattr("looseleaf_memory_core.embedders.in_process.find_spec", lambda name: True)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of our own making."""
    from tiny_gguf import write_model

    return write_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


def local(agent: Callable[..., Any], path: object, environ: dict[str, str] | None = None, **search: Any) -> LocalEmbedder:
    settings = agent({"provider": "local", "local": {"modelPath": str(path)}, **search})
    return LocalEmbedder(settings, environ or {})


def test_without_the_package_the_message_says_what_to_install(
    agent: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` goes on, `local` says so."""
    monkeypatch.setattr("looseleaf_memory_core.embedders.in_process.find_spec", lambda name: None)
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(NotConfigured, match=r'local is not installed: pip install "looseleaf\[local\]"'):
        local(agent, tmp_path / "a.gguf")


@pytest.mark.usefixtures("installed")
def test_auto_takes_a_file_that_is_here_and_fetches_nothing(agent: Callable[..., Any], tmp_path: Path) -> None:
    """behaviour.md §6.3: hf: and http do not count for `auto`; neither does a path that leads nowhere."""
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    for path in (None, "hf:acme/tiny/a.gguf", "https://example.org/a.gguf", str(tmp_path / "b.gguf")):
        with pytest.raises(NotConfigured):
            LocalEmbedder(agent({"provider": "auto", "local": {"modelPath": path}}), {})
    embedder = LocalEmbedder(agent({"provider": "auto", "local": {"modelPath": str(tmp_path / "a.gguf")}}), {})
    assert embedder.model == "a.gguf"


@pytest.mark.usefixtures("installed")
def test_the_usual_model_is_the_seeds_own(agent: Callable[..., Any]) -> None:
    """embeddinggemma, with the prefixes that it was trained with."""
    embedder = LocalEmbedder(agent({"provider": "local"}), {})
    assert embedder.model == "embeddinggemma-300m-qat-Q8_0.gguf"
    assert embedder._before == {"query": "task: search result | query: ", "document": "title: none | text: "}


@pytest.mark.usefixtures("installed")
def test_another_file_or_prefix_is_another_space(agent: Callable[..., Any], tmp_path: Path) -> None:
    """Also another file of the same name; the folder that it lies in does not count."""
    for folder, size in (("one", 8), ("two", 8), ("three", 9)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.gguf").write_bytes(b"x" * size)
    one, two, three = (local(agent, tmp_path / folder / "a.gguf").fingerprint for folder in ("one", "two", "three"))
    assert one == two != three
    assert local(agent, tmp_path / "one" / "a.gguf", queryPrefix="Q: ").fingerprint != one


@pytest.mark.usefixtures("installed")
def test_a_search_never_fetches_a_model(agent: Callable[..., Any]) -> None:
    """PV-28: a lost model is told, `looseleaf index` fetches it; words answer meanwhile."""
    with hub(b"GGUF") as shop:
        embedder = local(agent, "hf:acme/tiny-GGUF/tiny.gguf", {"HF_ENDPOINT": shop.url})
        with pytest.raises(ProviderError, match=r"hf:acme/tiny-GGUF/tiny\.gguf is not here: `looseleaf index` fetches it"):
            run(embedder.embed(["where"], "query"), inline=True)
    assert not shop.asked


@real
@pytest.mark.parametrize("law", embedder_laws("unit"), ids=lambda law: law.name)
def test_it_keeps_the_laws(agent: Callable[..., Any], model: Path, law: Law) -> None:
    """Like every embedder."""
    law(lambda: local(agent, model))


@real
def test_what_is_too_long_is_said_before_it_is_cut_in_silence(agent: Callable[..., Any], model: Path) -> None:
    """The index then embeds it in pieces; contextSize lowers what the model takes, and never raises it."""
    embedder = local(agent, model)
    with pytest.raises(TextTooLong, match=r"\d+ tokens, tiny\.gguf takes 64"):
        run(embedder.embed(["word " * 100], "document"), inline=True)
    smaller = local(agent, model, local={"modelPath": str(model), "contextSize": 32})
    with pytest.raises(TextTooLong, match="takes 32"):
        run(smaller.embed(["gateway " * 40], "document"), inline=True)
    for one in (embedder, smaller):
        run(one.aclose(), inline=True)


@real
def test_notes_are_found_with_it(opened: Callable[..., Notebook], write: Callable[[str, str], Path], model: Path) -> None:
    """From config to hit, long notes in pieces."""
    write("memory/a.md", "the gateway runs on the router " * 20)
    write("memory/b.md", "bread")
    notebook = opened({"provider": "local", "local": {"modelPath": str(model)}})
    assert found(notebook, "gateway")[0] == "memory/a.md"
    result = run(notebook.search("the router"), inline=True)
    assert (result.mode, result.provider, result.model) == ("hybrid", "local", "tiny.gguf")
    assert run(notebook.status(), inline=True).pending == 0


@real
def test_a_model_that_was_damaged_is_fetched_once_more(agent: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    """PV-28: it has its size, but cannot be loaded."""
    content = model.read_bytes()
    with hub(content) as shop:
        source, environ = "hf:acme/tiny-GGUF/tiny.gguf", {"HF_ENDPOINT": shop.url}
        embedder = local(agent, source, environ)
        embedder._weights.get().resolve().write_bytes(bytes(len(content)))
        rows = run(embedder.embed(["the gateway"], "document"), inline=True)
        run(embedder.aclose(), inline=True)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
        assert shop.downloads == [0, 0]


@real
def test_what_is_no_model_is_told(agent: Callable[..., Any], tmp_path: Path) -> None:
    """With its file, and not as a missing key."""
    (tmp_path / "a.gguf").write_bytes(b"GGUF" + b"x" * 1020)
    with pytest.raises(ProviderError, match="the model of local cannot be loaded: ValueError"):
        run(local(agent, tmp_path / "a.gguf").embed(["one"], "document"), inline=True)
