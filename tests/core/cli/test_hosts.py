"""The commands that hosts call, and the one that puts looseleaf into them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Looseleaf = Callable[..., subprocess.CompletedProcess[str]]


def test_connect(looseleaf: Looseleaf, workspace: Path, tmp_path: Path) -> None:
    """Printed, as JSON, written with a difference, and a host that is not known."""
    assert "claude mcp add looseleaf -- " in looseleaf("connect", "claude-code").stdout
    assert json.loads(looseleaf("connect", "cursor", "--json").stdout)["args"] == [
        "mcp",
        "--workspace",
        str(workspace),
    ]
    done = looseleaf("connect", "cursor", "--write")
    assert '+    "looseleaf": {' in done.stdout
    assert (tmp_path / "home" / ".cursor" / "mcp.json").exists()
    assert "has it already" in looseleaf("connect", "cursor", "--write").stderr
    assert looseleaf("connect", "emacs").returncode == 2


def test_context(looseleaf: Looseleaf, write: Callable[[str, str], Path]) -> None:
    """Curated memory for the owner, not for a group; nothing at all says so."""
    assert "nothing to start with" in looseleaf("context").stderr
    write("MEMORY.md", "the gateway\n")
    assert looseleaf("context").stdout == '<memory path="MEMORY.md">\nthe gateway\n</memory>\n'
    assert looseleaf("context", "--session", "agent:main:telegram:group:5").stdout == ""
    assert [part["path"] for part in json.loads(looseleaf("context", "--json").stdout)] == ["MEMORY.md"]
    assert "memory is off" in looseleaf("context", LOOSELEAF_PLUGINS__SLOTS__MEMORY="none").stderr


def test_flush_check(looseleaf: Looseleaf, tmp_path: Path) -> None:
    """JSON for a host of any language; once marked it is not due again in this cycle."""
    table = tmp_path / "sessions.json"
    arguments = ["flush", "check", "--session", "agent:main:main", "--store", str(table)]

    def checked(*more: str) -> dict[str, Any]:
        return json.loads(looseleaf(*arguments, *more).stdout)

    assert not checked("--tokens", "1000")["due"]
    due = checked("--tokens", "190000", "--mark")
    assert due["due"]
    assert due["path"] in due["prompt"]
    assert not checked("--tokens", "190000")["due"]
    assert json.loads(table.read_text())["agent:main:main"]["memoryFlushCompactionCount"] == 0
    assert looseleaf("flush", "check").returncode == 2
