"""OpenClaw's own config, workspace and transcripts, as they lie there."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from conftest import PROGRAM
from openclaw import openclaw_home

Looseleaf = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The config of a home of real size."""
    made = openclaw_home(tmp_path / "home")
    assert made.stat().st_size > 80_000
    return made


def state_of(folder: Path) -> dict[str, str]:
    """Return what every file below a folder holds."""
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("named", ["before", "after", "not"])
def test_it_works_unchanged(looseleaf: Looseleaf, config: Path, named: str) -> None:
    """`status`, `search`, `get`, `context`, `plugins` and `doctor`, with `--config` before or after the command, and without; nothing of theirs is touched or warned of."""
    before = state_of(config.parent)
    where = ["--config", str(config)]

    def called(*words: str) -> str:
        done = looseleaf(*({"before": [*where, *words], "after": [*words, *where]}.get(named, words)), at=None)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr.lower(), done.stderr
        return done.stdout

    assert str(config.parent / "workspace") in called("status")
    assert called("search", "gateway").startswith("1.000 MEMORY.md:1-3")
    assert "sessions/s2.jsonl:2-3" in called("search", "what did the dentist say")
    assert "walnut" in called("get", "memory/2026-02-10.md")
    assert "Mac Studio" in called("context")
    assert json.loads(called("status", "--json"))[0]["files"] == 14
    assert "memory-core" in called("plugins")
    called("doctor")
    assert state_of(config.parent) == before


def test_the_server_serves_it(config: Path, tmp_path: Path) -> None:
    """`looseleaf --config … mcp`: found, read, and the limits of that config hold."""

    async def main() -> None:
        program, *words = [*PROGRAM, "--config", str(config), "mcp"]
        parameters = StdioServerParameters(command=program, args=words, env=dict(os.environ), cwd=str(tmp_path))
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            found = json.loads((await session.call_tool("memory_search", {"query": "walnut"})).content[0].text)
            assert len(found["results"]) == 8
            said = json.loads(
                (await session.call_tool("memory_search", {"query": "dentist", "sources": ["sessions"]})).content[0].text
            )
            assert {row["source"] for row in said["results"]} == {"sessions"}
            page = json.loads((await session.call_tool("memory_get", {"path": "AGENTS.md"})).content[0].text)
            assert "not a memory file" in page["error"]

    asyncio.run(asyncio.wait_for(main(), 60))


def test_its_table_of_sessions_is_used(looseleaf: Looseleaf, config: Path) -> None:
    """`flush check` reads OpenClaw's limits and its sessions.json, and with `--mark` changes one row of that alone."""
    table = config.parent / "agents" / "main" / "sessions" / "sessions.json"
    words = ["flush", "check", "--session", "agent:main:main", "--config", str(config)]
    assert not json.loads(looseleaf(*words, "--tokens", "169999", at=None).stdout)["due"]
    assert json.loads(looseleaf(*words, "--tokens", "170000", "--mark", at=None).stdout)["due"]  # 200,000 - 24,000 - 6,000
    row = json.loads(table.read_text())["agent:main:main"]
    assert (row["sessionId"], row["updatedAt"], row["memoryFlushCompactionCount"]) == ("s2", 1770714764120, 0)
