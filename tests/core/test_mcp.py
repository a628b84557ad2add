"""The MCP server, with the official client: over stdio and HTTP, with plugins and clients that misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from conftest import PROGRAM
from looseleaf.testing import EmbeddingServer
from looseleaf.tools import SCHEMAS

SERVER = [*PROGRAM, "mcp"]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Of a server by words alone."""
    return {
        **os.environ,
        "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "none",
        "LOOSELEAF_STATE_DIR": str(tmp_path / "state"),
    }


@pytest.fixture
def served(workspace: Path, environ: dict[str, str]) -> Callable[..., Any]:
    """Connect to a server over stdio."""

    @asynccontextmanager
    async def connect(*options: str, **more: str) -> AsyncIterator[ClientSession]:
        command, *args = SERVER
        words = [*args, "--workspace", str(workspace), *options]
        parameters = StdioServerParameters(command=command, args=words, env={**environ, **more})
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session

    return connect


def run(main: Awaitable[None]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(main, 60)

    asyncio.run(limited())


def installed(folder: Path, kind: str, name: str, code: str) -> Path:
    """Return a folder for PYTHONPATH that holds a package with one plugin."""
    info = folder / f"{name}-1.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text(f"[looseleaf.{kind}]\n{name} = {name}\n")
    (folder / f"{name}.py").write_text(code)
    return folder


def answer(result: Any) -> dict[str, Any]:
    """Return what a tool answered."""
    return json.loads(result.content[0].text)


def schema(tool: Any, name: str) -> dict[str, Any]:
    """Return a schema of a tool, as either major version of the SDK calls it."""
    return tool.model_dump(by_alias=True)[name]


def test_the_tools_and_what_they_answer(served: Any, write: Callable[[str, str], Path]) -> None:
    """Two tools that only read, with schemas for both ways; the third only where the user wants it."""
    write("MEMORY.md", "# Machines\n\nThe gateway runs here.\n")

    async def main() -> None:
        async with served() as session:
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert set(tools) == {"memory_search", "memory_get"}
            for name, tool in tools.items():
                wanted = SCHEMAS[name]["parameters"]
                given = schema(tool, "inputSchema")
                assert (set(given["properties"]), given["required"]) == (set(wanted["properties"]), wanted["required"])
                assert schema(tool, "annotations")["readOnlyHint"]
                assert schema(tool, "outputSchema")["properties"]
            found = answer(await session.call_tool("memory_search", {"query": "gateway", "maxResults": 3}))
            assert [hit["path"] for hit in found["results"]] == ["MEMORY.md"]
            page = answer(await session.call_tool("memory_get", {"path": "MEMORY.md", "from": 3, "lines": 1}))
            assert page["text"].startswith("The gateway runs here.")
            assert answer(await session.call_tool("memory_get", {"path": "../secret.md"}))["error"]
            assert answer(await session.call_tool("memory_search", {"query": "gateway", "path": "memory"}))["results"] == []
            assert "YYYY-MM-DD" in answer(await session.call_tool("memory_search", {"query": "x", "after": "soon"}))["error"]

    run(main())


def test_writing_is_opt_in_and_is_found_at_once(served: Any, workspace: Path) -> None:
    """memory_append, then memory_search."""

    async def main() -> None:
        async with served("--write") as session:
            assert "memory_append" in [tool.name for tool in (await session.list_tools()).tools]
            done = answer(await session.call_tool("memory_append", {"text": "- the zanzibar key"}))
            assert (workspace / done["path"]).read_text() == "- the zanzibar key\n"
            assert "empty" in answer(await session.call_tool("memory_append", {"text": " "}))["error"]
            assert answer(await session.call_tool("memory_search", {"query": "zanzibar"}))["results"]
            for number in range(3):
                await session.call_tool("memory_append", {"text": f"- the needle{number}x"})
                found = answer(await session.call_tool("memory_search", {"query": f"needle{number}x"}))
                assert f"needle{number}x" in found["results"][0]["snippet"]

    run(main())


def test_memory_files_are_resources(served: Any, write: Callable[[str, str], Path]) -> None:
    """Those of the moment, the newest first, and nothing else; in a group without curated memory."""
    write("MEMORY.md", "lasting\n")
    for number in range(600):
        os.utime(write(f"memory/{number}.md", "old\n"), (1_000_000 + number, 1_000_000 + number))
    write("memory/网络 a.md", "alpha\n")

    async def main() -> None:
        async with served() as session:
            listed = {resource.name: str(resource.uri) for resource in (await session.list_resources()).resources}
            assert list(listed)[:3] == ["MEMORY.md", "memory/网络 a.md", "memory/599.md"]
            assert len(listed) == 500
            assert (await session.read_resource("memory://notes/memory/0.md")).contents[0].text == "old"  # type: ignore[arg-type]
            read = await session.read_resource(listed["memory/网络 a.md"])  # type: ignore[arg-type]  # 1.x wants another type
            assert read.contents[0].text == "alpha"
            for path in ("secret.md", "../secret.md", "memory/none.md"):
                with pytest.raises(Exception, match="cannot be read"):
                    await session.read_resource(f"memory://notes/{path}")  # type: ignore[arg-type]
        async with served("--session", "agent:main:telegram:group:5") as session:
            assert "MEMORY.md" not in [resource.name for resource in (await session.list_resources()).resources]
            assert answer(await session.call_tool("memory_search", {"query": "lasting"}))["results"] == []
            assert "error" in answer(await session.call_tool("memory_get", {"path": "MEMORY.md"}))

    run(main())


def test_many_calls_at_once(served: Any, write: Callable[[str, str], Path]) -> None:
    """MC-04: fifty in parallel, all answered."""
    for number in range(20):
        write(f"memory/{number}.md", f"needle{number}x alpha\n")

    async def main() -> None:
        async with served() as session:
            calls = [session.call_tool("memory_search", {"query": f"needle{number % 20}x"}) for number in range(50)]
            for number, result in enumerate(await asyncio.gather(*calls)):
                assert [hit["path"] for hit in answer(result)["results"]] == [f"memory/{number % 20}.md"]

    run(main())


def test_odd_arguments_are_told_and_the_server_goes_on(served: Any, write: Callable[[str, str], Path]) -> None:
    """A wrong type, an unknown tool, ten megabytes."""
    write("MEMORY.md", "alpha\n")

    async def main() -> None:
        async with served() as session:
            for arguments in ({}, {"query": 5}, {"query": "x", "maxResults": 0}, {"query": "x", "minScore": "high"}):
                assert (await session.call_tool("memory_search", arguments)).model_dump(by_alias=True)["isError"]
            long = answer(await session.call_tool("memory_search", {"query": "alpha " * 1_700_000}))
            assert [note["code"] for note in long["notes"]][-1] == "long-query"
            assert answer(await session.call_tool("memory_search", {"query": "alpha"}))["results"]

    run(main())


_LOUD = """
import os, sys
print("import: not the protocol")
from looseleaf import hookimpl

@hookimpl
def looseleaf_ranker(name):
    print("hook: not the protocol")
    if name == "loud":
        return rank

def rank(lists, query):
    print("search: not the protocol", flush=True)
    sys.__stdout__.write("the old stdout\\n")
    os.write(1, b"the descriptor\\n")
    os.system("echo a child")
    return [hit.scored(1.0) for hit in {hit.id: hit for hits in lists.values() for hit in hits}.values()]
"""


def test_a_plugin_that_prints_does_not_break_the_protocol(served: Any, write: Callable[[str, str], Path], tmp_path: Path) -> None:
    """MC-01: at import, in its hook, in a search: to Python's stdout, to the descriptor, by a child."""
    site = installed(tmp_path / "site", "ranker", "loud", _LOUD)
    write("MEMORY.md", "alpha\n")

    async def main() -> None:
        ranker = {"LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__QUERY__RANKER": "loud"}
        async with served(PYTHONPATH=str(site), **ranker) as session:
            for _ in range(3):
                found = answer(await session.call_tool("memory_search", {"query": "alpha"}))
                assert [hit["path"] for hit in found["results"]] == ["MEMORY.md"]
                assert not found["notes"]

    run(main())


_SLOW = """
import time
from pathlib import Path
from looseleaf import Hit, Layout, Page, Retrieval, Status, SyncReport, hookimpl, read_page
from looseleaf._run import in_thread
from looseleaf.reports import Progress

class Slow:
    def __init__(self, settings):
        self.go = settings.workspace / "go"

    async def retrieve(self, query):
        return Retrieval({"all": [Hit("1", "MEMORY.md", 1, 1, "alpha", 1.0)]}, mode="keyword")

    async def read(self, path, start=1, lines=None):
        return Page(path)

    async def sync(self, *, force=False, progress=None, budget_s=None):
        def work():
            if progress:
                progress(Progress("index", 3, 7))
            while not self.go.exists():
                time.sleep(0.01)
        await in_thread(work)
        return SyncReport()

    async def status(self):
        return Status("slow")

    async def aclose(self):
        pass

@hookimpl
def looseleaf_memory(name, settings, embedder):
    if name == "slow":
        return Slow(settings)
"""


def test_a_first_index_is_told(served: Any, workspace: Path, tmp_path: Path) -> None:
    """The handshake and the search do not wait for its end; who asks for progress is told each step once."""
    site = installed(tmp_path / "site", "memory", "slow", _SLOW)
    steps: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        steps.append((done, total, message))

    async def main() -> None:
        async with served(PYTHONPATH=str(site), LOOSELEAF_PLUGINS__SLOTS__MEMORY="slow") as session:
            found = answer(await session.call_tool("memory_search", {"query": "alpha"}, progress_callback=note))
            assert found["results"]
            assert steps == [(3, 7, "index: 3 of 7")]
            (workspace / "go").touch()
            await session.call_tool("memory_search", {"query": "alpha"}, progress_callback=note)

    run(main())


def test_words_answer_until_there_are_vectors(served: Any, write: Callable[[str, str], Path]) -> None:
    """A provider that does not answer holds neither the handshake nor a search up, nor the end."""
    write("MEMORY.md", "alpha\n")

    async def main() -> None:
        with EmbeddingServer("hang") as provider:
            key = "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__"
            remote = {f"{key}PROVIDER": "openai", f"{key}REMOTE__BASEURL": f"{provider.url}/v1", f"{key}REMOTE__APIKEY": "k"}
            async with served(**remote) as session:
                found = answer(await session.call_tool("memory_search", {"query": "alpha"}))
                assert [hit["path"] for hit in found["results"]] == ["MEMORY.md"]
                assert found["mode"] == "keyword"

    run(main())


def test_it_ends_with_its_input(workspace: Path, environ: dict[str, str]) -> None:
    """MC-02: no input, a client that goes away in the middle, a line that is no message."""
    for given in ("", "no json\n" + json.dumps(INITIALIZE) + "\n", "{}\n"):
        done = subprocess.run(
            [*SERVER, "-w", str(workspace)],
            input=given,
            capture_output=True,
            check=True,
            encoding="utf-8",
            env=environ,
            timeout=30,
        )
        for line in done.stdout.splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"


_PARENT = """
import os, subprocess, sys
read, write = os.pipe()
child = subprocess.Popen(sys.argv[1:], stdin=read, stdout=subprocess.PIPE, pass_fds=[write])
print(child.pid, flush=True)
os.write(write, sys.stdin.buffer.readline())
child.stdout.readline()
"""


def test_it_ends_with_its_parent(workspace: Path, environ: dict[str, str]) -> None:
    """MC-02: also where somebody else keeps the pipe open."""
    words = [sys.executable, "-c", _PARENT, *SERVER, "-w", str(workspace)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, encoding="utf-8") as parent:
        out, _ = parent.communicate(json.dumps(INITIALIZE) + "\n", timeout=30)
    child = Path(f"/proc/{int(out.split()[0])}/stat")

    async def main() -> None:
        while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
            await asyncio.sleep(0.05)

    run(main())


def test_over_http_on_this_machine_alone(workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]) -> None:
    """The same tools; what a web page could send is refused by its Origin or Host, and other users by the token, which is kept."""
    write("MEMORY.md", "alpha\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*SERVER, "--http", "--port", str(port), "-w", str(workspace)]
    url = f"http://127.0.0.1:{port}/mcp"
    headers = {"Accept": "application/json, text/event-stream"}
    token = Path(environ["LOOSELEAF_STATE_DIR"]) / "mcp-token"

    async def main() -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                try:
                    await client.get(url)
                    break
                except httpx.ConnectError:
                    await asyncio.sleep(0.05)
            for wrong in ("", "Bearer x", token.read_text()):
                refused = await client.post(url, json=INITIALIZE, headers={**headers, "Authorization": wrong})
                assert (refused.status_code, "token" in refused.text) == (401, True)
            assert token.stat().st_mode & 0o077 == 0
            headers["Authorization"] = f"Bearer {token.read_text()}"
            for name, value in (("Origin", "http://evil.example"), ("Host", f"evil.example:{port}")):
                refused = await client.post(url, json=INITIALIZE, headers={**headers, name: value})
                assert refused.status_code in (403, 421)
        async with (
            httpx.AsyncClient(trust_env=False, headers=headers) as client,
            streamable_http_client(url, http_client=client) as streams,
            ClientSession(*streams[:2]) as session,
        ):
            await session.initialize()
            assert answer(await session.call_tool("memory_search", {"query": "alpha"}))["results"]

    with subprocess.Popen(words, env=environ, stderr=subprocess.DEVNULL) as server:
        try:
            run(main())
        finally:
            server.terminate()
