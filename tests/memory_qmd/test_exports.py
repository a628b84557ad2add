"""Transcripts as Markdown for QMD: what is written, and what is never touched."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf._run import run
from looseleaf_memory_qmd.slot import QmdSlot
from qmd import ask, row


def turn(role: str, text: str) -> str:
    return json.dumps({"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}})


@pytest.fixture
def talk(tmp_path: Path) -> Callable[..., Path]:
    """Write a transcript of the agent."""

    def write(name: str, *lines: str) -> Path:
        file = tmp_path / "state" / "agents" / "main" / "sessions" / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", "utf-8")
        return file

    return write


@pytest.fixture
def exported(slot: Callable[..., QmdSlot], fake: Any, tmp_path: Path) -> Callable[..., Path]:
    """Sync a slot that exports sessions, and return the folder."""

    def make(**sessions: Any) -> Path:
        made = slot(fake.command, sessions={"enabled": True, **sessions})
        report = run(made.sync(), inline=True)
        assert not [note for note in report.notes if note.code == "export-failed"]
        chosen = sessions.get("exportDir")
        return Path(chosen) if chosen else tmp_path / "state" / "agents" / "main" / "qmd" / "sessions"

    return make


def test_a_session_is_one_file_of_clean_turns(exported: Callable[..., Path], talk: Callable[..., Path]) -> None:
    """Heading and turns; tool calls and secrets are not written. One that says nothing says so."""
    talk("s1", turn("user", "the key is sk-abcdefghijklmnop1234"), turn("tool", "x"), turn("assistant", "noted"))
    talk("s2", turn("tool", "x"))
    folder = exported()
    assert (folder / "s1.md").read_text() == "# Session s1\n\nUser: the key is sk-a***\nAssistant: noted\n"
    assert (folder / "s2.md").read_text() == "# Session s2\n\n(empty)\n"
    assert (folder / "s1.md").stat().st_mode & 0o077 == 0


def test_only_our_own_files_are_replaced_or_deleted(
    exported: Callable[..., Path], talk: Callable[..., Path], tmp_path: Path
) -> None:
    """A folder shared with the user's own notes keeps them, also one with the name of a session."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "mine.md").write_text("mine")
    (shared / "s2.md").write_text("mine, too")
    first = talk("s1", turn("user", "hello"))
    talk("s2", turn("user", "hello"))
    exported(exportDir=str(shared))
    assert (shared / "s1.md").exists()
    first.unlink()
    exported(exportDir=str(shared))
    assert not (shared / "s1.md").exists()
    assert (shared / "mine.md").read_text() == "mine"
    assert (shared / "s2.md").read_text() == "mine, too"


def test_what_changed_is_written_and_what_is_old_goes(exported: Callable[..., Path], talk: Callable[..., Path]) -> None:
    """By size and time; retentionDays goes by the transcript's own."""
    file = talk("s1", turn("user", "hello"))
    folder = exported()
    written = (folder / "s1.md").stat().st_mtime_ns
    exported()
    assert (folder / "s1.md").stat().st_mtime_ns == written
    talk("s1", turn("user", "hello"), turn("user", "again"))
    exported()
    assert "again" in (folder / "s1.md").read_text()
    os.utime(file, (1_000_000_000, 1_000_000_000))
    exported(retentionDays=30)
    assert not (folder / "s1.md").exists()


def test_a_manifest_that_points_outside_deletes_nothing(
    exported: Callable[..., Path], talk: Callable[..., Path], tmp_path: Path
) -> None:
    """What is written in it is a name, never a way."""
    talk("s1", turn("user", "hello"))
    folder = exported()
    victim = tmp_path / "victim.md"
    victim.write_text("x")
    (folder / ".looseleaf-exports.json").write_text(json.dumps({f"../{victim.name}": [1, 1], str(victim): [1, 1]}))
    exported()
    assert victim.exists()


def test_sessions_are_found_as_sessions(slot: Callable[..., QmdSlot], fake: Any, talk: Callable[..., Path]) -> None:
    """Their source is told, and they are read through their collection."""
    talk("s1", turn("user", "hello there"))
    fake.tell(rows=[row("sessions-main/s1.md", snippet="@@ -3,1 @@\nx")])
    made = slot(fake.command, sessions={"enabled": True})
    run(made.sync(), inline=True)
    (hit,) = ask(made, "hello").lists["qmd"]
    assert (hit.path, hit.source, hit.text) == ("qmd/sessions-main/s1.md", "sessions", "User: hello there")
    assert run(made.read(hit.path, 3), inline=True).text == "User: hello there"
