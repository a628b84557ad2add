"""`looseleaf doctor`: each part that can be wrong is found, with what to do, and nothing is changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Check, open_notebook
from looseleaf._run import run
from looseleaf.cli import cli
from looseleaf.cli._errors import shown_errors
from looseleaf.doctor import examine
from looseleaf.testing import EmbeddingServer

ORDER = ["workspace", "database", "extension", "provider", "index", "disk", "clock"]


@pytest.fixture
def found(agent: Callable[..., Any]) -> Callable[..., dict[str, Check]]:
    def look(search: dict[str, Any] | None = None, **roots: Any) -> dict[str, Check]:
        checks = run(examine(agent(search, **roots), environ={}), inline=False)
        return {check.name: check for check in checks}

    return look


def indexed(settings: Any) -> Path:
    """Index the notes, and return the index file."""
    notebook = open_notebook(settings, environ={})
    run(notebook.sync(), inline=True)
    run(notebook.aclose(), inline=True)
    path: Path = settings.database
    return path


def test_all_is_well(found: Callable[..., dict[str, Check]], agent: Callable[..., Any], write: Callable) -> None:
    """In the order in which one part needs another, and each says what it looked at."""
    write("memory/2026-02-05.md", "one")
    indexed(agent({"provider": "bundled"}))
    checks = found({"provider": "bundled"})
    assert list(checks) == ORDER
    assert {check.state for check in checks.values()} == {"ok"}
    assert "1 notes" in checks["workspace"].text
    assert "512 dimensions" in checks["provider"].text
    assert "1 files, 1 chunks, 0 without a vector; up to date" in checks["index"].text


def test_an_empty_or_missing_workspace(found: Callable[..., dict[str, Check]], workspace: Path) -> None:
    """With where notes are written."""
    assert "memory/YYYY-MM-DD.md" in found()["workspace"].remedy
    workspace.rmdir()
    assert found()["workspace"].state == "failure"


def test_a_provider_that_fails(found: Callable[..., dict[str, Check]], write: Callable) -> None:
    """The remedy is the provider's own; the one that steps in is tried, too."""
    write("memory/a.md", "one")
    with EmbeddingServer("401") as first, EmbeddingServer(wire="ollama") as second:
        checks = found(
            {"provider": "openai", "fallback": "ollama", "remote": {"baseUrl": f"{first.url}/v1", "apiKey": "sk-secret"}},
            models={"providers": {"ollama": {"baseUrl": second.url}}},
        )
    assert checks["provider"].state == "failure"
    assert "openai answered 401" in checks["provider"].text
    assert "Check the key" in checks["provider"].text
    assert checks["fallback"].state == "ok"
    assert "sk-secret" not in str(checks)
    assert [name for name in checks if name != "fallback"] == ORDER


def test_a_provider_without_a_key(found: Callable[..., dict[str, Check]]) -> None:
    """It says where one could be put; with a fallback it is a warning."""
    check = found({"provider": "gemini"})["provider"]
    assert check.state == "failure"
    assert "set GEMINI_API_KEY" in check.text
    assert found({"provider": "gemini", "fallback": "bundled"})["provider"].state == "warning"
    assert "set GEMINI_API_KEY" in found({"provider": "bundled", "fallback": "gemini"})["fallback"].text
    assert found({"provider": "none"})["provider"].state == "ok"


def test_a_damaged_index_is_told_and_left(
    found: Callable[..., dict[str, Check]], agent: Callable[..., Any], write: Callable
) -> None:
    """Doctor looks; `looseleaf index` mends."""
    write("memory/a.md", "one")
    path = indexed(agent())
    path.write_bytes(b"this is no database " * 500)
    check = found()["database"]
    assert (check.state, "is damaged" in check.text) == ("failure", True)
    assert "looseleaf index" in check.remedy
    assert path.read_bytes().startswith(b"this is no")


def test_an_index_that_others_may_read(found: Callable[..., dict[str, Check]], agent: Callable[..., Any], write: Callable) -> None:
    """Notes are private; the command that mends it is printed."""
    write("memory/a.md", "one")
    path = indexed(agent())
    path.chmod(0o644)
    assert found()["database"].remedy == f"chmod 600 {path}"


def test_an_extension_that_does_not_load(found: Callable[..., dict[str, Check]]) -> None:
    """A warning: vectors are found all the same."""
    check = found({"store": {"vector": {"extensionPath": "/no/such/vec0"}}})["extension"]
    assert (check.state, check.remedy) == ("warning", "Unset store.vector.extensionPath.")


def test_what_is_not_indexed_yet(found: Callable[..., dict[str, Check]], write: Callable) -> None:
    """With the command that does it."""
    write("memory/a.md", "one")
    assert found()["index"].remedy == "Run `looseleaf index`."


def test_a_note_of_a_day_to_come(found: Callable[..., dict[str, Check]], write: Callable) -> None:
    """The clock or the time zone is wrong, or the file's name."""
    write("memory/2999-01-01.md", "one")
    check = found()["clock"]
    assert check.state == "warning"
    assert "memory/2999-01-01.md is a note of a day to come" in check.text


def test_too_little_room(found: Callable[..., dict[str, Check]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild needs as much again."""
    monkeypatch.setattr("looseleaf.doctor._LEAST_FREE", 1 << 62)
    assert found()["disk"].state == "warning"


def test_a_slot_that_is_not_installed(found: Callable[..., dict[str, Check]]) -> None:
    """The rest is looked at all the same."""
    checks = found(plugins={"slots": {"memory": "memory-lost"}})
    assert checks["memory"].state == "failure"
    assert list(checks) == ["workspace", "memory", "disk", "clock"]


def test_memory_that_is_off(found: Callable[..., dict[str, Check]]) -> None:
    """It says which setting turns it off."""
    assert "plugins.slots.memory" in found(plugins={"slots": {"memory": "none"}})["memory"].text


def test_the_command(
    agent: Callable[..., Any], workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """One JSON value, exit code 1 on a failure; a config that is wrong is the first thing told."""
    agent()
    config = tmp_path / "looseleaf.json5"

    def doctor() -> tuple[int, list[dict[str, str]]]:
        monkeypatch.setattr(
            "sys.argv", ["looseleaf", "doctor", "--json", "-w", os.fspath(workspace), "--config", os.fspath(config)]
        )
        code = shown_errors(cli)
        return code, json.loads(capsys.readouterr().out)

    code, checks = doctor()
    assert (code, [check["name"] for check in checks]) == (0, ["config", *ORDER])
    config.write_text("{agents: {defaults: {memorySearch: {provder: 1}}}}", "utf-8")
    code, checks = doctor()
    assert code == 1
    assert "did you mean" in checks[0]["text"]
