"""No key is kept or shown: whatever a provider does, wherever one looks."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Notebook, open_notebook
from looseleaf._run import run
from looseleaf.doctor import examine
from looseleaf.testing import EmbeddingServer
from looseleaf.testing.servers import BEHAVIOURS
from looseleaf.tools import result_json

KEYS = ("sk-first-secret-of-the-test", "sk-second-secret-of-the-test")
WIRES = {"openai": "openai", "gemini": "gemini", "voyage": "openai", "mistral": "openai", "ollama": "ollama"}
CASES = [("openai", behaviour) for behaviour in BEHAVIOURS if behaviour != "hang"]
CASES += [(name, behaviour) for name in ("gemini", "voyage", "mistral", "ollama") for behaviour in ("right", "401", "nan")]

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("name", "behaviour"), CASES)
def test_no_key_is_kept_or_shown(
    agent: Callable[..., Any],
    write: Callable[[str, str], Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    name: str,
    behaviour: str,
) -> None:
    """Reports, results, explanations, status, probes, doctor, reprs, errors, logs at their loudest, output, and every file of the state."""
    caplog.set_level(logging.DEBUG)
    write("memory/a.md", "one note")
    with EmbeddingServer(behaviour, wire=WIRES[name]) as server:
        base = server.url if name in ("gemini", "ollama") else f"{server.url}/v1"
        remote = {"baseUrl": base, "apiKey": ",".join(KEYS), "headers": {"X-Other": KEYS[1]}}
        settings = agent({"provider": name, "remote": remote})
        notebook = open_notebook(settings, environ={}, strict=True)
        said = run(_everything(notebook), inline=False)
        said += [repr(settings), *map(repr, run(examine(settings, {}), inline=False))]
        if name != "ollama" or behaviour != "right":
            assert any(KEYS[0] in str(request.headers) for request in server.requests), "the key was never sent: this shows nothing"
    output = capfd.readouterr()
    text = "\n".join([*said, caplog.text, output.out, output.err])
    assert "one note" in text
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert files
    for key in KEYS:
        assert key not in text
        assert not [path for path in files if key.encode() in path.read_bytes()]


async def _everything(notebook: Notebook) -> list[str]:
    """Return all that a notebook says, as text."""
    try:
        said: list[Any] = [await notebook.sync(budget_s=0.2)]
        said.append(await notebook.search("note", explain=True))
        said += [json.dumps(result_json(said[-1])), await notebook.status(), await notebook.probe()]
        said += [notebook, notebook.slot, notebook.settings.search]
        try:
            asker = notebook.slot._askers[0]  # type: ignore[union-attr]
            said += [asker.embedder, asker.embedder.fingerprint, asker.embedder._client]
            await asker.embedder.embed(["one"], "query")
        except Exception as error:
            while error is not None:
                said += [error, vars(error)]
                error = error.__cause__ or error.__context__  # type: ignore[assignment]
        return [f"{one} {one!r}" for one in said]
    finally:
        await notebook.aclose()
