"""The real qmd, by words, from end to end: what it finds, what it is called like, and what is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from looseleaf import open_notebook
from looseleaf._run import run
from looseleaf_memory_qmd.command import Command, TimeoutStoreError
from looseleaf_memory_qmd.daemon import Daemon
from looseleaf_memory_qmd.slot import QmdSlot
from qmd import Make, ask, codes, paths

PATIENT = {"limits": {"timeoutMs": 20_000}}  # this machine may be busy


@pytest.fixture(params=[False, True], ids=["command", "daemon"])
def real(request: pytest.FixtureRequest, slot: Make, real_qmd: str, write: Callable[[str, str], Path]) -> Callable[..., QmdSlot]:
    """Make a slot with the real qmd, synced: by the command line and by the daemon."""
    write("MEMORY.md", "# Long-term\n\nThe gateway runs on the Mac Studio.\n")

    def make(**options: Any) -> QmdSlot:
        made = slot(real_qmd, daemon=request.param, **PATIENT, **options)
        run(made.sync(), inline=True)
        return made

    return make


def test_names_that_used_to_stop_it_or_become_one(real: Make, write: Callable[[str, str], Path]) -> None:
    """QM-12, QM-13: each is a note of its own, is found under its name, and opens with memory_get."""
    names = ["my_file", "my-file", "my file", "🐘", "[", "网络", "UPPER case", "a#b", "50% off"]
    for number, name in enumerate(names):
        write(f"memory/{name}.md", f"needle{number}x in {name}\n")
    made = real()
    for number, name in enumerate(names):
        assert paths(ask(made, f"needle{number}x")) == [f"memory/{name}.md"]
        assert run(made.read(f"memory/{name}.md"), inline=True).text == f"needle{number}x in {name}"


@pytest.mark.parametrize(
    "query", ["-n 99 gateway", "--help gateway", "-gateway", '"gateway', "gateway\nruns", "gateway -", "-c nope"]
)
def test_no_query_is_an_option(query: str, real: Make) -> None:
    """Whatever it begins with, it is looked for, and nothing fails."""
    found = ask(real(), query)
    if "gateway" in query:
        assert paths(found) == ["MEMORY.md"]


def test_what_people_ask(real: Make, write: Callable[[str, str], Path]) -> None:
    """A question of which no note has all words, Chinese, an identifier, nothing at all."""
    write("memory/2026-02-05.md", "网关运行在书房的电脑上\n")
    write("memory/2026-02-06.md", "Ticket DEC-0054 closed\n")
    made = real()
    found = ask(made, "which machine runs the gateway")
    assert paths(found)[0] == "MEMORY.md"
    assert codes(found) == ["fewer-words"]
    assert paths(ask(made, "网关在哪里运行"))[0] == "memory/2026-02-05.md"
    assert paths(ask(made, "DEC-0054")) == ["memory/2026-02-06.md"]
    assert paths(ask(made, "zebra")) == []


def test_changes_are_followed(real: Make, write: Callable[[str, str], Path], workspace: Path) -> None:
    """A new note, another word, a note that is gone, a folder that was not there: the daemon sees them, too."""
    made = real()
    write("memory/new.md", "alpha\n")
    assert run(made.sync(), inline=True).indexed == 1
    assert paths(ask(made, "alpha")) == ["memory/new.md"]
    write("memory/new.md", "beta\n")
    run(made.sync(), inline=True)
    assert paths(ask(made, "alpha")) == []
    assert paths(ask(made, "beta")) == ["memory/new.md"]
    (workspace / "memory" / "new.md").unlink()
    run(made.sync(), inline=True)
    assert paths(ask(made, "beta")) == []


def test_a_project_s_own_index_does_not_take_over(real: Make, write: Callable[[str, str], Path], workspace: Path) -> None:
    """A `.qmd` folder in the workspace is somebody else's."""
    write(".qmd/index.yml", "collections: {}\n")
    assert paths(ask(real(), "gateway")) == ["MEMORY.md"]
    assert [path.name for path in (workspace / ".qmd").iterdir()] == ["index.yml"]


def test_forgetting_leaves_nothing(slot: Make, real_qmd: str, write: Callable[[str, str], Path], tmp_path: Path) -> None:
    """Neither in QMD's index nor in its log."""
    note = write("memory/a.md", "topsecretword\n")
    made = slot(real_qmd, **PATIENT)
    run(made.sync(), inline=True)
    files = list((tmp_path / "state").rglob("index.sqlite*"))
    assert any(b"topsecretword" in file.read_bytes() for file in files)
    note.unlink()
    run(made.forget(), inline=True)
    assert not any(b"topsecretword" in file.read_bytes() for file in (tmp_path / "state").rglob("*") if file.is_file())


def test_status_and_doctor_ask_the_program(slot: Make, real_qmd: str, write: Callable[[str, str], Path]) -> None:
    """Its version, its collections, when it was updated."""
    write("memory/a.md", "x")
    made = slot(real_qmd, **PATIENT)
    assert run(made.status(), inline=True).dirty
    run(made.sync(), inline=True)
    status = run(made.status(), inline=True)
    assert (status.backend, status.files, status.dirty) == ("memory-qmd", 1, False)
    assert str(status.details["qmd"]).startswith("qmd 2.")
    assert status.details["collections"] == ["memory-dir-main", "memory-root-main"]
    assert [check.state for check in run(made.diagnose(), inline=True)] == ["ok", "ok", "ok"]


@pytest.fixture
def daemon(real_qmd: str, tmp_path: Path) -> Iterator[Daemon]:
    """A daemon, ended afterwards."""
    made = Daemon(Command(real_qmd, tmp_path / "home of qmd"))
    yield made
    made.stop()


def test_the_daemon_is_ended_with_the_slot(daemon: Daemon) -> None:
    """It listens on this machine only, and is gone when it is stopped."""
    daemon.ask([{"type": "lex", "query": "x"}], [], 3, rerank=False, timeout_s=20)
    address = daemon.address
    assert address.startswith("http://127.0.0.1:")
    assert httpx.get(f"{address}/health", trust_env=False).status_code == 200
    daemon.stop()
    daemon.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/health", trust_env=False)


def test_a_daemon_that_does_not_start_in_time_is_told(daemon: Daemon) -> None:
    """It goes on starting, and the next question is answered."""
    with pytest.raises(TimeoutStoreError, match="still starting"):
        daemon.ask([{"type": "lex", "query": "x"}], [], 3, rerank=False, timeout_s=0.01)
    assert daemon.ask([{"type": "lex", "query": "x"}], [], 3, rerank=False, timeout_s=20) == []


def _listener(address: str) -> int:
    """Return the process that listens at `address`: what people would kill."""
    port = address.rpartition(":")[2]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if port.encode() in words and words[0].endswith(b"node") and any(word.endswith(b"dist/cli/qmd.js") for word in words):
            return int(folder.name)
    raise AssertionError("nobody listens")


def test_a_killed_daemon_costs_one_answer_of_qmd_s(
    real_qmd: str, qmd_settings: Callable[..., Any], write: Callable[[str, str], Path]
) -> None:
    """Killed in the middle: that query is answered by memory-core, the next one by a new daemon."""
    write("memory/a.md", "the gateway\n")
    notebook = open_notebook(qmd_settings(real_qmd, daemon=True, **PATIENT), environ={})
    try:
        run(notebook.sync(), inline=True)
        assert run(notebook.search("gateway"), inline=True).backend == "memory-qmd"
        inner: Daemon = notebook.slot._slot._daemon  # type: ignore[union-attr]  # what is looked at is inside
        assert inner._process is not None
        group = inner._process.pid
        os.kill(_listener(inner.address), signal.SIGKILL)
        result = run(notebook.search("gateway"), inline=True)
        assert (result.backend, [note.code for note in result.notes]) == ("memory-core", ["fallback"])
        assert "daemon died" in result.notes[0].text
        result = run(notebook.search("gateway"), inline=True)
        assert (result.backend, [note.code for note in result.notes]) == ("memory-qmd", [])
        assert inner._process.pid != group
    finally:
        run(notebook.aclose(), inline=True)


_DIES = """
import sys, time
from pathlib import Path
from looseleaf_memory_qmd.command import Command
from looseleaf_memory_qmd.daemon import Daemon
daemon = Daemon(Command(sys.argv[1], Path(sys.argv[2])))
daemon.ask([{"type": "lex", "query": "x"}], [], 3, rerank=False, timeout_s=20)
print(daemon.address, flush=True)
time.sleep(60)
"""


def test_a_daemon_dies_with_its_process(real_qmd: str, tmp_path: Path) -> None:
    """Also where we are killed and cannot end it."""
    words = [sys.executable, "-c", _DIES, real_qmd, str(tmp_path / "qmd")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert httpx.get(f"{address}/health", trust_env=False).status_code == 200
        process.kill()
    ends = time.monotonic() + 10
    while time.monotonic() < ends:
        try:
            httpx.get(f"{address}/health", trust_env=False)
        except httpx.HTTPError:
            return
    raise AssertionError("the daemon goes on without its process")


def test_two_processes_index_at_once(real_qmd: str, qmd_settings: Callable[..., Any], write: Callable[[str, str], Path]) -> None:
    """One after the other: the collections are there once, and both find the note."""
    write("memory/a.md", "the gateway\n")
    settings = qmd_settings(real_qmd, **PATIENT)
    config = next(settings.state_dir.parent.glob("qmd-main.json5"))
    words = [str(Path(sys.executable).with_name("looseleaf")), "search", "gateway", "--json", "--config", str(config)]
    environ = {**os.environ, "LOOSELEAF_STATE_DIR": str(settings.state_dir)}
    running = [
        subprocess.Popen([*words, "--workspace", str(settings.workspace)], stdout=subprocess.PIPE, env=environ, encoding="utf-8")
        for _ in range(2)
    ]
    for process in running:
        out, _ = process.communicate(timeout=60)
        assert [hit["path"] for hit in json.loads(out)["results"]] == ["memory/a.md"]
