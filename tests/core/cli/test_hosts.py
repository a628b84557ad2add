"""The commands that hosts call, and the one that puts looseleaf into them."""

from __future__ import annotations

import json
import re
import shlex
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


def test_the_hooks_of_the_docs(looseleaf: Looseleaf, workspace: Path) -> None:
    """Each command of Claude Code's hooks in docs/hosts.md says what it should to the event that it is for."""
    text = (Path(__file__).parents[3] / "docs" / "hosts.md").read_text("utf-8")
    blocks = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    hooks = {event: entries for block in blocks for event, entries in json.loads(block)["hooks"].items()}

    def said(event: str, matcher: str | None, **given: str) -> str:
        (entry,) = [entry for entry in hooks[event] if entry.get("matcher") == matcher]
        program, *words = shlex.split(entry["hooks"][0]["command"].replace("~/notes", str(workspace)))
        assert program == "looseleaf"
        done = looseleaf(*words, at=None, stdin=json.dumps({"hook_event_name": event, **given}))
        assert done.returncode == 0, done.stderr
        return done.stdout

    (workspace / "MEMORY.md").write_text("the gateway\n")
    looseleaf("index")
    recalled = said("UserPromptSubmit", None, prompt="gateway")
    assert recalled.startswith("<recalled-memory")
    assert "the gateway" in recalled
    assert said("UserPromptSubmit", None, prompt="something else") == ""
    assert "the gateway" in said("SessionStart", None, source="startup")
    assert 'a section "To remember"' in said("PreCompact", None, trigger="auto")
    after = said("SessionStart", "compact", source="compact")
    assert f"append those points now to {workspace}/memory/20" in after
    assert "never rewrite" in after
    assert said("SessionStart", "compact", source="resume") == ""


def test_a_hook_is_silent_where_there_is_nothing_to_do(looseleaf: Looseleaf) -> None:
    """Memory or flush off, no event; what is wrong is an error that blocks nothing (2 would)."""
    event = json.dumps({"hook_event_name": "PreCompact"})
    assert looseleaf("flush", "hook", stdin=event, LOOSELEAF_PLUGINS__SLOTS__MEMORY="none").stdout == ""
    off = "LOOSELEAF_AGENTS__DEFAULTS__COMPACTION__MEMORYFLUSH__ENABLED"
    assert looseleaf("flush", "hook", stdin=event, **{off: "false"}).stdout == ""
    assert looseleaf("flush", "hook", stdin="").stdout == ""
    for stdin, words, why in (
        ("{", (), "no JSON"),
        (event, ("--config", "nowhere.json5"), "cannot be read"),
        (event, ("--confg", "x"), "No such option"),
        (event, ("--workspace", "nowhere"), "does not exist"),
    ):
        for command in (("flush", "hook"), ("recall",)):
            broken = looseleaf(*command, *words, stdin=stdin, at=None)
            assert (broken.returncode, why in broken.stderr) == (1, True), broken.stderr


def test_import(looseleaf: Looseleaf, workspace: Path, tmp_path: Path) -> None:
    """The plan, then the copies, which the next search finds."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a.md").write_text("zanzibar\n")
    done = looseleaf("import", "basic-memory", str(theirs))
    assert done.stdout == "copy\tmemory/imported/basic-memory/a.md\n"
    assert not (workspace / "memory").exists()
    assert json.loads(looseleaf("import", "basic-memory", str(theirs), "--yes", "--json").stdout)["copied"]
    found = json.loads(looseleaf("search", "zanzibar", "--json").stdout)["results"]
    assert [hit["path"] for hit in found] == ["memory/imported/basic-memory/a.md"]


def test_recall(looseleaf: Looseleaf, write: Callable[[str, str], Path]) -> None:
    """JSON for a host, text for a prompt, or nothing."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.\n")
    looseleaf("index")
    found = json.loads(looseleaf("recall", "where does the gateway run", "--json").stdout)
    assert [hit["path"] for hit in found["results"]] == ["MEMORY.md"]
    assert found["text"].startswith("<recalled-memory")
    assert looseleaf("recall", "something", "else").stdout == ""
