"""Writing on an agent's behalf: at the end of the right file, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from looseleaf import AgentSettings, LooseleafError
from looseleaf.appending import MOST_CHARS, append
from looseleaf.settings import AgentSettings as Settings


def test_lines_come_to_the_end(agent: Callable[..., AgentSettings], workspace: Path) -> None:
    """Made if it is missing, with a line break where the file ends without one; what was there stays to the byte."""
    settings = agent()
    today = settings.now().date()
    done = append(settings, "- one\n- two\n")
    assert done == (f"memory/{today}.md", 1, 2)
    file = workspace / done.path
    file.write_bytes(b"\xff no break at the end")
    assert append(settings, "- three")[1:] == (2, 2)
    assert file.read_bytes() == b"\xff no break at the end\n- three\n"
    assert append(settings, "lasting", "lasting").path == "MEMORY.md"
    assert (workspace / "MEMORY.md").read_text() == "lasting\n"


def test_an_existing_memory_md_in_small_letters_is_kept(agent: Callable[..., AgentSettings], workspace: Path) -> None:
    """No second curated memory is made."""
    (workspace / "memory.md").write_text("old\n")
    assert append(agent(), "new", "lasting").path == "memory.md"


def test_the_day_is_the_user_s(agent: Callable[..., AgentSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    """SE-09: 18:17 in Los Angeles on 14 March is the note of that day."""
    moment = datetime(2026, 3, 15, 1, 17, tzinfo=UTC)
    monkeypatch.setattr(Settings, "now", lambda self: moment.astimezone(self.timezone))
    settings = replace(agent(), timezone=ZoneInfo("America/Los_Angeles"))
    assert append(settings, "x").path == "memory/2026-03-14.md"


@pytest.mark.parametrize(
    ("text", "kind", "key", "says"),
    [
        ("", "day", None, "the text is empty"),
        (" \n ", "day", None, "the text is empty"),
        ("x" * (MOST_CHARS + 1), "day", None, "16,001 characters"),
        ("a\x00b", "day", None, "NUL"),
        ("x", "week", None, "no kind 'week'"),
        ("x", "lasting", "agent:main:telegram:group:5", "owner's own session"),
    ],
)
def test_what_cannot_be_written_is_told(
    text: str, kind: str, key: str | None, says: str, agent: Callable[..., AgentSettings], workspace: Path
) -> None:
    """And nothing is made on the way."""
    with pytest.raises(LooseleafError, match=says):
        append(agent(), text, kind, session_key=key)
    assert list(workspace.iterdir()) == []


def test_a_link_is_not_written_through(agent: Callable[..., AgentSettings], workspace: Path, tmp_path: Path) -> None:
    """Neither the file nor its folder may lead elsewhere."""
    victim = tmp_path / "victim"
    victim.mkdir()
    settings = agent()
    (workspace / "memory").symlink_to(victim)
    with pytest.raises(LooseleafError, match="symbolic link"):
        append(settings, "x")
    (workspace / "memory").unlink()
    (workspace / "memory").mkdir()
    (workspace / "memory" / f"{settings.now().date()}.md").symlink_to(victim / "x.md")
    with pytest.raises(LooseleafError, match="cannot be written"):
        append(settings, "x")
    assert list(victim.iterdir()) == []


_APPENDS = """
import sys
from pathlib import Path
from looseleaf import load_settings
from looseleaf.appending import append
settings = load_settings(environ={"LOOSELEAF_STATE_DIR": sys.argv[1]}, home=Path(sys.argv[1])).for_agent(workspace=Path(sys.argv[2]))
for number in range(20):
    append(settings, f"- {sys.argv[3]} {number}\\n  " + "x" * 5000)
"""


def test_two_processes_append_at_once(agent: Callable[..., AgentSettings], workspace: Path, tmp_path: Path) -> None:
    """SE-12: all lines of both are there, each whole."""
    words = [sys.executable, "-c", _APPENDS, str(tmp_path / "state"), str(workspace)]
    running = [subprocess.Popen([*words, name]) for name in ("one", "two")]
    assert [process.wait(60) for process in running] == [0, 0]
    (file,) = (workspace / "memory").iterdir()
    lines = file.read_text().split("\n")
    assert lines.pop() == ""
    assert lines[1::2] == ["  " + "x" * 5000] * 40
    for name in ("one", "two"):
        assert [line for line in lines if line.startswith(f"- {name} ")] == [f"- {name} {number}" for number in range(20)]
