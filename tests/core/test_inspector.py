"""The MCP Inspector's command line against the server: a client that is not ours, in another language."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import PROGRAM

INSPECTOR = os.environ.get("TEST_INSPECTOR", "")
WHY = "the MCP Inspector is not here: TEST_INSPECTOR=$(.ci/inspector) installs it and runs these, too"
pytestmark = pytest.mark.skipif(not INSPECTOR, reason=WHY)


@pytest.fixture
def inspected(workspace: Path, tmp_path: Path, write: Callable[[str, str], Path]) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """Call a method through it: its exit code, its JSON, and what it said beside that."""
    write("MEMORY.md", "# Machines\n\nThe gateway runs here.\n网关在书房。\n")

    def call(method: str, *words: str) -> tuple[int, dict[str, Any], str]:
        server = [*PROGRAM, "mcp", "--workspace", str(workspace), "--write"]
        entry = {"command": server[0], "args": server[1:], "env": {"LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "none"}}
        config = tmp_path / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"looseleaf": entry}}))
        done = subprocess.run(
            [INSPECTOR, "--cli", "--config", config, "--server", "looseleaf", "--method", method, *words],
            capture_output=True,
            check=False,
            encoding="utf-8",
            env={**os.environ, "MCP_INSPECTOR_SECRET_STORE": "memory"},
            timeout=60,
        )
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    return call


def test_the_tools_are_portable(inspected: Callable[..., tuple[int, dict[str, Any], str]]) -> None:
    """Its strict check of the schemas finds nothing that a host could not take."""
    code, listed, said = inspected("tools/list", "--strict")
    assert (code, "schema" in said.lower()) == (0, False), said
    tools = {tool["name"]: tool for tool in listed["tools"]}
    assert set(tools) == {"memory_search", "memory_get", "memory_append"}
    assert tools["memory_search"]["inputSchema"]["required"] == ["query"]


def test_each_tool_answers(inspected: Callable[..., tuple[int, dict[str, Any], str]]) -> None:
    """Structured answers that fit their schemas; a refusal is an answer, an unknown tool an error."""
    code, found, _ = inspected(
        "tools/call", "--tool-name", "memory_search", "--tool-arg", "query=网关", "--tool-arg", "maxResults=2"
    )
    assert code == 0
    assert [row["path"] for row in found["structuredContent"]["results"]] == ["MEMORY.md"]
    code, page, _ = inspected("tools/call", "--tool-name", "memory_get", "--tool-arg", "path=MEMORY.md", "--tool-arg", "from=3")
    assert page["structuredContent"]["text"].startswith("The gateway runs here.")
    code, refused, _ = inspected("tools/call", "--tool-name", "memory_get", "--tool-arg", "path=../x.md")
    assert (code, refused["structuredContent"]["disabled"]) == (0, True)
    assert inspected("tools/call", "--tool-name", "nope")[0] != 0


def test_memory_files_are_listed_and_read(inspected: Callable[..., tuple[int, dict[str, Any], str]]) -> None:
    """As resources."""
    assert [one["name"] for one in inspected("resources/list")[1]["resources"]] == ["MEMORY.md"]
    read = inspected("resources/read", "--uri", "memory://notes/MEMORY.md")[1]
    assert read["contents"][0]["text"].startswith("# Machines")
