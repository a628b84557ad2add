"""Updates: what they do, when they run by themselves, and that agents do not do them all at once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from looseleaf import SyncReport
from looseleaf._run import run
from looseleaf_memory_qmd import refresh
from looseleaf_memory_qmd.refresh import seconds
from looseleaf_memory_qmd.slot import QmdSlot
from qmd import Make, ask, codes, paths, row


def sync(slot: QmdSlot, **options: Any) -> SyncReport:
    return run(slot.sync(**options), inline=True)


@pytest.mark.parametrize(
    ("written", "meant"), [("5m", 300), ("90s", 90), ("1h", 3600), ("250ms", 0.25), ("7", 420), (1500, 1.5), ("0", 0), ("soon", 0)]
)
def test_durations(written: str | int, meant: float) -> None:
    """As config writes them; a bare number in text is minutes, a whole number milliseconds."""
    assert seconds(written) == meant


def test_nothing_is_run_where_nothing_has_changed(slot: Make, fake: Any, write: Callable) -> None:
    """A sync looks at names, sizes and times; qmd is started when they differ, when config does, or when it is forced."""
    note = write("memory/a.md", "one")
    made = slot(fake.command)
    sync(made)
    calls = len(fake.calls)
    assert sync(made).files == 1
    assert len(fake.calls) == calls
    note.write_text("one and two")
    sync(made)
    assert len(fake.called("update")) == 2
    sync(made, force=True)
    assert len(fake.called("update")) == 3
    sync(slot(fake.command, paths=[{"path": str(note.parent), "name": "again", "pattern": "*.markdown"}]))
    assert len(fake.called("update")) == 4


def test_collections_follow_config(slot: Make, fake: Any, write: Callable, tmp_path: Path) -> None:
    """Added, changed in folder or pattern, removed: ours only. Two of one name get numbers; a file is its folder and name."""
    write("memory/a.md", "one")
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "x.md").write_text("x")

    def names() -> dict[str, tuple[str, str]]:
        config = next(Path(fake.calls[-1]["environ"]["XDG_CONFIG_HOME"]).rglob("index.yml"))
        rows = json.loads(config.read_text())["collections"]
        return {name: (row["path"], row["pattern"]) for name, row in rows.items()}

    sync(slot(fake.command, paths=[{"path": str(one), "name": "Team Notes"}, {"path": str(two), "name": "team notes"}]))
    assert names()["team-notes-main"] == (str(one), "**/*.md")
    assert names()["team-notes-2-main"] == (str(two), "**/*.md")
    config = next(Path(fake.calls[-1]["environ"]["XDG_CONFIG_HOME"]).rglob("index.yml"))
    rows = json.loads(config.read_text())["collections"]
    config.write_text(json.dumps({"collections": {**rows, "theirs": {"path": "/elsewhere", "pattern": "*.md"}}}))
    sync(slot(fake.command, paths=[{"path": str(two / "x.md"), "name": "team notes"}]))
    assert names()["team-notes-main"] == (str(two), "x.md")
    assert "team-notes-2-main" not in names()
    assert "theirs" in names()


def test_the_first_search_does_not_wait_for_long(slot: Make, fake: Any, write: Callable) -> None:
    """The update at the start runs in the background: half a second is waited for it, then another slot may answer."""
    write("memory/a.md", "one")
    fake.tell(
        update={"sleep": 3, "stdout": "Indexed: 1 new, 0 updated, 0 unchanged, 0 removed"}, rows=[row("memory-dir-main/a.md")]
    )
    made = slot(fake.command)
    found = ask(made, "one")  # the collection is there; what it holds is said by the update
    assert paths(found) == ["memory/a.md"]
    assert len(fake.called("update")) <= 1


def test_config_may_ask_to_wait(slot: Make, fake: Any, write: Callable) -> None:
    """`waitForBootSync`: the first search comes after the update."""
    write("memory/a.md", "one")
    fake.tell(rows=[row("memory-dir-main/a.md")])
    made = slot(fake.command, update={"waitForBootSync": True})
    assert paths(ask(made, "one")) == ["memory/a.md"]
    assert len(fake.called("update")) == 1


@pytest.mark.parametrize("update", [{"onBoot": False, "interval": "0"}, {"startup": "off", "interval": "0"}])
def test_config_may_forbid_it(update: dict[str, Any], slot: Make, fake: Any, write: Callable) -> None:
    """Then nothing runs by itself."""
    write("memory/a.md", "one")
    made = slot(fake.command, update=update)
    sync(made)
    ask(made, "one")
    assert len(fake.called("update")) == 1


def test_the_interval_finds_changes(slot: Make, fake: Any, write: Callable) -> None:
    """A timer updates while the slot is open, and ends with it."""
    write("memory/a.md", "one")
    made = slot(fake.command, update={"interval": 50, "debounceMs": 0})
    sync(made)
    ask(made, "one")
    write("memory/b.md", "two")
    done = threading.Event()
    threading.Thread(target=lambda: (_until(lambda: len(fake.called("update")) == 2), done.set()), daemon=True).start()
    assert done.wait(10)
    thread = made._refresh._thread
    run(made.aclose(), inline=True)
    assert thread is not None
    assert not thread.is_alive()


def _until(true: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not true():
        pause.wait(0.02)


def test_a_busy_database_is_tried_again(slot: Make, fake: Any, write: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start, three times with pauses; what remains is said by the search."""
    monkeypatch.setattr(refresh, "_FIRST_PAUSE_S", 0.001)
    write("memory/a.md", "one")
    fake.tell(update={"code": 1, "stderr": "SqliteError: database is locked"}, rows=[row("memory-dir-main/a.md")])
    made = slot(fake.command, update={"waitForBootSync": True, "interval": "0"})
    found = ask(made, "one")
    assert len(fake.called("update")) == 3
    assert codes(found) == ["qmd-update"]


def test_a_broken_index_is_made_anew_once(slot: Make, fake: Any, write: Callable) -> None:
    """A null byte or a double row: all of ours are removed and added, then it is tried again."""
    write("memory/a.md", "one")
    fake.tell(update={"code": 1, "stderr": "Error: UNIQUE constraint failed: documents.collection"})
    with pytest.raises(Exception, match="qmd update failed: Error: UNIQUE"):
        sync(slot(fake.command))
    assert len(fake.called("update")) == 2
    assert len(fake.called("collection", "remove")) == 2


_EIGHT = """
import sys, json
from pathlib import Path
from looseleaf import load_settings
from looseleaf._run import run
from looseleaf_memory_qmd.command import Command
from looseleaf_memory_qmd.slot import QmdSlot
config, workspace, state, agent = sys.argv[1:]
settings = load_settings(Path(config), environ={"LOOSELEAF_STATE_DIR": state}).for_agent(agent, workspace=Path(workspace))
slot = QmdSlot(settings, Command(settings.memory.qmd.command, settings.state_dir / "agents" / agent / "qmd"))
run(slot.sync(), inline=True)
run(slot.aclose(), inline=True)
"""


def test_agents_embed_one_after_the_other(
    fake: Any, write: Callable, qmd_settings: Callable, tmp_path: Path, workspace: Path
) -> None:
    """QM-09: a lock of the machine's; each waits for its turn. An agent whose memory is off has no slot, so no timer."""
    write("memory/a.md", "one")
    models = tmp_path / "home" / ".cache" / "qmd" / "models"
    models.mkdir(parents=True)
    (models / "m.gguf").write_bytes(b"GGUF")
    fake.tell(embed={"stdout": "", "sleep": 0.2})
    qmd_settings(fake.command, searchMode="query")
    agents = [f"agent{number}" for number in range(4)]
    config = tmp_path / "qmd-main.json5"
    data = json.loads(config.read_text())
    data["agents"]["list"] = [{"id": agent} for agent in agents]
    config.write_text(json.dumps(data))
    words = [sys.executable, "-c", _EIGHT, str(config), str(workspace), str(tmp_path / "state")]
    running = [subprocess.Popen([*words, agent]) for agent in agents]
    assert [process.wait(60) for process in running] == [0] * len(agents)
    embeds = [call for call in fake.calls if call["argv"][2:3] == ["embed"]]
    assert len(embeds) == len(agents)
    spans = sorted((call["began"], call["began"] + 0.2) for call in embeds)
    assert all(before[1] <= after[0] + 0.01 for before, after in pairwise(spans))
