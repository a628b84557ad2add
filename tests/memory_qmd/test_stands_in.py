"""Where QMD cannot answer memory-core does, with the reason; and QMD is asked again."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from looseleaf import LooseleafError, Notebook, ReadRefused, SearchResult, open_notebook
from looseleaf._run import run
from looseleaf.fallback import Rest
from qmd import is_running, row


def search(notebook: Notebook, text: str, **options: Any) -> SearchResult:
    return run(notebook.search(text, **options), inline=True)


def shown(result: SearchResult) -> list[str]:
    return [found.hit.path for found in result.hits]


def codes(result: Any) -> list[str]:
    return [note.code for note in result.notes]


@pytest.fixture
def opened_qmd(qmd_settings: Callable[..., Any], write: Callable[[str, str], Any]) -> Iterator[Callable[..., Notebook]]:
    """Open notebooks whose memory is QMD, over two notes."""
    write("MEMORY.md", "# Long-term\n\nthe gateway runs here\n")
    write("memory/2026-02-10.md", "the gateway was moved\n")
    made: list[Notebook] = []

    def make(command: object, **options: Any) -> Notebook:
        made.append(open_notebook(qmd_settings(command, **options), environ={}))
        return made[-1]

    yield make
    for notebook in made:
        run(notebook.aclose(), inline=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock for pauses that is set by hand."""
    now = [0.0]
    monkeypatch.setattr("looseleaf.fallback.Rest", lambda: Rest(lambda: now[0]))
    return now


def test_without_qmd_memory_core_answers(opened_qmd: Callable[..., Notebook]) -> None:
    """QM-04: with the reason and what to do; `status` says the same; no key and no embedder is missed (QM-16)."""
    notebook = opened_qmd("/old/path/qmd")
    result = search(notebook, "gateway")
    assert sorted(shown(result)) == ["MEMORY.md", "memory/2026-02-10.md"]
    assert result.backend == "memory-core"
    assert codes(result) == ["fallback"]
    assert "'/old/path/qmd' is not on the PATH" in result.notes[0].text
    status = run(notebook.status(), inline=True)
    assert status.backend == "memory-core"
    assert status.details["fallback"] == {"from": "memory-qmd", "reason": status.notes[0].text.partition(": ")[2]}


def test_qmd_answers_again_without_a_restart(opened_qmd: Callable[..., Notebook], fake: Any, clock: list[float]) -> None:
    """After a failure it rests, then it is asked again; what it finds then is its own."""
    fake.tell(rows=[row("memory-root-main/MEMORY.md", snippet="@@ -3,1 @@")], search={"code": 1, "stderr": "Error: broken"})
    notebook = opened_qmd(fake.command)
    run(notebook.sync(), inline=True)
    assert search(notebook, "gateway").backend == "memory-core"
    asked = len(fake.called("search"))
    again = search(notebook, "gateway")
    assert "It is asked again in 5 s" in again.notes[0].text
    assert len(fake.called("search")) == asked
    fake.tell(search=None)
    clock[0] += 5.0
    result = search(notebook, "gateway")
    assert (result.backend, shown(result), codes(result)) == ("memory-qmd", ["MEMORY.md"], [])
    assert run(notebook.status(), inline=True).backend == "memory-qmd"


def test_a_timeout_is_of_one_query(opened_qmd: Callable[..., Notebook], fake: Any, clock: list[float]) -> None:
    """QM-05: the next one is asked of QMD at once, unless it was the third in a row."""
    fake.tell(search={"sleep": 30})
    notebook = opened_qmd(fake.command, limits={"timeoutMs": 300})
    run(notebook.sync(), inline=True)
    for count in (1, 2, 3):
        result = search(notebook, "gateway")
        assert result.backend == "memory-core"
        assert "took longer than" in result.notes[0].text
        assert len(fake.called("search")) == count
    search(notebook, "gateway")
    assert len(fake.called("search")) == 3


def test_a_first_index_in_the_making_is_not_waited_for(opened_qmd: Callable[..., Notebook], fake: Any) -> None:
    """The update at the start runs in the background; whoever asks meanwhile gets memory-core's answer."""
    fake.tell(collection={"sleep": 2})
    result = search(opened_qmd(fake.command), "gateway")
    assert result.backend == "memory-core"
    assert "has not read the notes yet" in result.notes[0].text
    assert len(result.hits) == 2


def test_where_nobody_can_step_in_the_error_is_qmd_s(opened_qmd: Callable[..., Notebook], fake: Any, tmp_path: Any) -> None:
    """memory-core is forbidden by config: what QMD says is what is told."""
    notebook = opened_qmd("/old/path/qmd")
    settings = replace(notebook.settings, plugins=replace(notebook.settings.plugins, deny=("memory-core",)))
    alone = open_notebook(settings, environ={})
    with pytest.raises(LooseleafError, match="'/old/path/qmd' is not on the PATH"):
        search(alone, "gateway")


def test_where_both_fail_the_error_is_qmd_s(opened_qmd: Callable[..., Notebook], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the one that was asked for is what has to be mended."""
    notebook = opened_qmd("/old/path/qmd")
    folder = notebook.settings.database.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file where the index should be")
    with pytest.raises(LooseleafError, match="'/old/path/qmd' is not on the PATH") as error:
        search(notebook, "gateway")
    assert "memory-core cannot step in" in error.value.__notes__[0]


def test_rankers_and_post_processors_work_on_what_qmd_finds(opened_qmd: Callable[..., Notebook], fake: Any) -> None:
    """Decay of memory-core's lowers an old note that QMD found first; every step is explained."""
    fake.tell(rows=[row("memory-dir-main/2020-01-01.md"), row("memory-root-main/MEMORY.md", snippet="@@ -3,1 @@")])
    hybrid = {"temporalDecay": {"enabled": True}, "mmr": {"enabled": True}}
    defaults = {"memorySearch": {"provider": "none", "query": {"ranker": "rrf", "hybrid": hybrid}}}
    notebook = opened_qmd(fake.command, defaults=defaults)
    (notebook.settings.workspace / "memory" / "2020-01-01.md").write_text("the gateway of old\n")
    run(notebook.sync(), inline=True)
    result = search(notebook, "gateway", explain=True)
    assert shown(result)[0] == "MEMORY.md"
    assert [step.stage for step in result.explain[0].steps] == ["rrf", "temporal-decay", "mmr"]


def test_the_scope_of_config_decides_by_session(
    opened_qmd: Callable[..., Notebook], fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A denied chat is neither searched nor read, QMD is not asked, and the denial is logged with channel and kind of chat."""
    fake.tell(rows=[row("memory-dir-main/2026-02-10.md")])
    notebook = opened_qmd(fake.command)
    run(notebook.sync(), inline=True)
    with caplog.at_level(logging.WARNING):
        result = search(notebook, "gateway", session_key="agent:main:discord:channel:9")
    assert (shown(result), codes(result)) == ([], ["scope"])
    assert "(channel discord, channel)" in caplog.text
    assert fake.called("search") == []
    with pytest.raises(ReadRefused, match="channel discord"):
        run(notebook.read("memory/2026-02-10.md", session_key="agent:main:discord:channel:9"), inline=True)
    assert shown(search(notebook, "gateway", session_key="agent:main:discord:direct:9")) == ["memory/2026-02-10.md"]


def test_exported_sessions_are_not_read_in_groups(opened_qmd: Callable[..., Notebook], fake: Any) -> None:
    """Also where the scope of config lets the group ask."""
    notebook = opened_qmd(fake.command, scope={"default": "allow"}, sessions={"enabled": True})
    for path in ("qmd/sessions-main/s1.md", "sessions/s1.jsonl", "MEMORY.md", "qmd/memory-root-main/MEMORY.md"):
        with pytest.raises(ReadRefused):
            run(notebook.read(path, session_key="agent:main:telegram:group:5"), inline=True)


def test_a_disabled_agent_has_no_slot_and_so_no_timer(opened_qmd: Callable[..., Notebook], fake: Any) -> None:
    """QM-09: nothing is run for it."""
    notebook = opened_qmd(fake.command, defaults={"memorySearch": {"enabled": False}})
    assert notebook.slot is None
    assert search(notebook, "gateway").hits == ()
    assert fake.calls == []


_ENDS = """
import sys
from pathlib import Path
from looseleaf import load_settings, open_notebook
from looseleaf._run import run
settings = load_settings(Path(sys.argv[1]), environ={"LOOSELEAF_STATE_DIR": sys.argv[2]}).for_agent(workspace=Path(sys.argv[3]))
print(run(open_notebook(settings, environ={}).search("gateway"), inline=True).backend)
"""


def test_nothing_keeps_the_process_alive(qmd_settings: Callable[..., Any], fake: Any, write: Callable, tmp_path: Any) -> None:
    """A host that ends without closing ends: the timers are no reason to stay."""
    write("memory/a.md", "the gateway")
    fake.tell(rows=[row("memory-dir-main/a.md")])
    settings = qmd_settings(fake.command, update={"interval": "1h", "waitForBootSync": True})
    words = [sys.executable, "-c", _ENDS, str(tmp_path / "qmd-main.json5"), str(settings.state_dir), str(settings.workspace)]
    done = subprocess.run(words, capture_output=True, check=True, encoding="utf-8", timeout=30)
    assert done.stdout.strip() == "memory-qmd"


def test_an_interrupted_search_ends_what_it_started(
    qmd_settings: Callable[..., Any], fake: Any, write: Callable, tmp_path: Any
) -> None:
    """Ctrl-C: at once, without a traceback, and no qmd is left."""
    write("memory/a.md", "the gateway")
    fake.tell(search={"sleep": 60, "child": True})
    settings = qmd_settings(fake.command, limits={"timeoutMs": 60_000})
    looseleaf = Path(sys.executable).with_name("looseleaf")
    words = [str(looseleaf), "search", "gateway", "--config", str(tmp_path / "qmd-main.json5"), "-w", str(settings.workspace)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=_heeds_interrupts) as process:
        child = fake.command.parent / "child"
        pause = threading.Event()
        while not (child.exists() and child.read_text()):
            pause.wait(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in said
    for _ in range(100):
        if not is_running(int(child.read_text())):
            return
        pause.wait(0.02)
    raise AssertionError("qmd goes on")


def _heeds_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it


def test_no_more_hits_than_config_says(opened_qmd: Callable[..., Notebook], fake: Any) -> None:
    """`limits.maxResults` of QMD holds, and its minScore of 0: the order is QMD's, and no hit is cut for its score."""
    notebook = opened_qmd(fake.command, limits={"maxResults": 3})
    names = [f"2026-01-0{number}.md" for number in range(1, 6)]
    for name in names:
        (notebook.settings.workspace / "memory" / name).write_text(f"{name} has the gateway\n")
    fake.tell(rows=[row(f"memory-dir-main/{name}") for name in names])
    run(notebook.sync(), inline=True)
    assert shown(search(notebook, "gateway", limit=20)) == [f"memory/{name}" for name in names[:3]]


def test_forgetting_reaches_both(opened_qmd: Callable[..., Notebook], fake: Any) -> None:
    """What memory-core has read while it stood in is forgotten, too, and QMD cleans up."""
    fake.tell(search={"code": 1, "stderr": "Error: broken"})
    notebook = opened_qmd(fake.command)
    run(notebook.sync(), inline=True)
    assert len(search(notebook, "moved").hits) == 1
    (notebook.settings.workspace / "memory" / "2026-02-10.md").unlink()
    assert run(notebook.forget(), inline=True).complete
    assert len(fake.called("cleanup")) == 1
    assert b"moved" not in notebook.settings.database.read_bytes()
    assert json.loads((notebook.settings.state_dir / "agents" / "main" / "qmd" / "state.json").read_text())["files"] == 1
