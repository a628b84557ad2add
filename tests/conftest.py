"""Fixtures: a workspace of notes, settings that touch nothing of the machine's own, and fake distributions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from looseleaf import AgentSettings, Notebook, load_settings, open_notebook
from looseleaf._catalog import Catalog, scan
from looseleaf._run import run

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
settings.register_profile("brief", settings.get_profile("default"), max_examples=20)  # where the same was tried in full before
settings.load_profile(os.environ.get("TEST_EXAMPLES", "default"))

#: The command line, as a process of its own.
PROGRAM = [sys.executable, "-c", "from looseleaf.cli import main; main()"]
SITE = Path(__file__).parent / "fixtures" / "site"
SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the home, the config or the variables of whoever runs it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("LOOSELEAF_CONFIG", "OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOOSELEAF_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace."""
    root = tmp_path / "workspace"
    root.mkdir()
    return root


@pytest.fixture
def write(workspace: Path) -> Callable[[str, str], Path]:
    """Write a note into the workspace."""

    def write_note(path: str, text: str) -> Path:
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return file

    return write_note


@pytest.fixture
def agent(tmp_path: Path, workspace: Path) -> Callable[..., AgentSettings]:
    """Settings of an agent on the workspace: words only, unless `memorySearch` says otherwise."""

    def make(search: dict[str, Any] | None = None, **roots: Any) -> AgentSettings:
        import json

        defaults = {"memorySearch": {"provider": "none", **(search or {})}, **roots.pop("defaults", {})}
        config = tmp_path / "looseleaf.json5"
        config.write_text(json.dumps({"agents": {"defaults": defaults}, **roots}), "utf-8")
        environ = {"LOOSELEAF_STATE_DIR": str(tmp_path / "state")}
        return load_settings(config, environ=environ).for_agent(workspace=workspace)

    return make


@pytest.fixture
def opened(agent: Callable[..., AgentSettings]) -> Iterator[Callable[..., Notebook]]:
    """Open notebooks on the workspace; they are closed in the end."""
    notebooks: list[Notebook] = []

    def make(
        search: dict[str, Any] | None = None, *, catalog: Catalog | None = None, strict: bool | None = True, **roots: Any
    ) -> Notebook:
        notebook = open_notebook(agent(search, **roots), catalog=catalog or scan(), environ={}, strict=strict)
        notebooks.append(notebook)
        return notebook

    yield make
    for notebook in notebooks:
        run(notebook.aclose(), inline=True)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the fake distributions on sys.path, and forget their modules afterwards."""
    monkeypatch.syspath_prepend(str(SITE))
    before = set(sys.modules)
    yield SITE
    for name in set(sys.modules) - before:
        if name.startswith("fake_"):
            del sys.modules[name]


def found(notebook: Notebook, query: str, **options: Any) -> list[str]:
    """Return the paths that a search finds, after a sync."""
    run(notebook.sync(), inline=True)
    result = run(notebook.search(query, **options), inline=True)
    return [hit.hit.path for hit in result.hits]
