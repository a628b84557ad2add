"""The flush before compaction: when, how often, with which words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import AgentSettings, LooseleafError
from looseleaf.flush import FlushPlan, flush_plan, flush_threshold, reply_to_show
from looseleaf.sessions import read_entry, update_entry
from looseleaf.settings import AgentSettings as Settings

WINDOW = 200_000


def plan(settings: AgentSettings, tokens: int | None = 190_000, **options: Any) -> FlushPlan:
    return flush_plan(settings, tokens=tokens, context_window=options.pop("window", WINDOW), **options)


def test_the_threshold_is_the_seeds(agent: Callable[..., AgentSettings]) -> None:
    """Window less the reserve of 20,000 and the soft 4,000; due from there on."""
    settings = agent()
    assert flush_threshold(settings, WINDOW) == 176_000
    assert not plan(settings, 175_999).due
    assert plan(settings, 176_000).due
    assert not plan(settings, None).due


@given(st.integers(1, 2_000_000))
def test_every_window_has_a_threshold(agent: Callable[..., AgentSettings], window: int) -> None:
    """Also a small one, where the usual reserve would leave nothing."""
    assert 0 <= flush_threshold(agent(), window) <= window
    if window >= 100:
        assert window // 2 < flush_threshold(agent(), window) < window


def test_three_compactions_are_three_flushes(agent: Callable[..., AgentSettings], tmp_path: Path) -> None:
    """SE-13: once a cycle, in each: what is stored is the count at the time of the decision, also 0."""
    settings, table, key = agent(), tmp_path / "sessions.json", "agent:main:main"
    asked = []
    for count in range(3):
        if count:
            update_entry(table, key, {"compactionCount": count})
        for _ in range(3):
            now = plan(settings, entry=read_entry(table, key))
            if now.due:
                asked.append(now.cycle)
                update_entry(table, key, {"memoryFlushCompactionCount": now.cycle})
    assert asked == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"workspace_access": "ro"}, "sandbox"),
        ({"workspace_access": "none"}, "sandbox"),
        ({"heartbeat": True}, "heartbeat"),
        ({"tokens": None}, "not known"),
    ],
)
def test_when_it_is_left_out(options: dict[str, Any], says: str, agent: Callable[..., AgentSettings]) -> None:
    """With the reason."""
    found = plan(agent(), **options)
    assert not found.due
    assert says in found.reason


def test_config_turns_it_off(agent: Callable[..., AgentSettings]) -> None:
    """By its own switch, or with the memory."""
    off = agent(defaults={"compaction": {"memoryFlush": {"enabled": False}}})
    assert "memoryFlush.enabled" in plan(off).reason
    assert "memory is off" in plan(agent(plugins={"slots": {"memory": "none"}})).reason


def test_a_large_transcript_is_due(agent: Callable[..., AgentSettings]) -> None:
    """From forceFlushTranscriptBytes on, whatever the tokens are."""
    assert plan(agent(), None, transcript_bytes=2_097_152).due
    small = agent(defaults={"compaction": {"memoryFlush": {"forceFlushTranscriptBytes": "1kb"}}})
    assert plan(small, 5, transcript_bytes=1024).due
    assert not plan(small, 5, transcript_bytes=1023).due


def test_the_prompt_names_the_real_day_of_the_user(agent: Callable[..., AgentSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    """SE-09, SE-10: no placeholder is left, and the day is that of the user's zone; what may be written is said in any prompt."""
    moment = datetime(2026, 3, 15, 1, 17, tzinfo=UTC)
    monkeypatch.setattr(Settings, "now", lambda self: moment.astimezone(self.timezone))
    for written in ({}, {"prompt": "Save to memory/YYYY-MM-DD.md now.", "systemPrompt": "It is YYYY-MM-DD."}):
        settings = replace(agent(defaults={"compaction": {"memoryFlush": written}}), timezone=ZoneInfo("America/Los_Angeles"))
        found = plan(settings)
        assert found.path == "memory/2026-03-14.md"
        for text in (found.prompt, found.system_prompt):
            assert "YYYY" not in text
        assert "memory/2026-03-14.md" in found.prompt
        assert "NO_REPLY" in found.prompt
        assert "append if the file exists" in found.prompt
        assert "18:17" in found.prompt


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("NO_REPLY", ""),
        ("  NO_REPLY\n", ""),
        ("Saved two notes.\n\nNO_REPLY", "Saved two notes."),
        ("NO_REPLY is what I would say", "NO_REPLY is what I would say"),
        ("no_reply", "no_reply"),
        ("", ""),
    ],
)
def test_what_the_user_sees(reply: str, shown: str) -> None:
    """Nothing of a reply that is NO_REPLY; of another all but a NO_REPLY at its end."""
    assert reply_to_show(reply) == shown


def test_a_row_is_changed_and_nothing_else(tmp_path: Path) -> None:
    """Fields of others, other rows and the file's rights stay; a table that cannot be read is left alone."""
    table = tmp_path / "sessions.json"
    table.write_text(json.dumps({"a": {"x": 1, "deep": {"y": [1, "é"]}}, "b": "odd"}, ensure_ascii=False))
    table.chmod(0o600)
    update_entry(table, "a", {"memoryFlushAt": 5})
    update_entry(table, "b", {"memoryFlushAt": 6})
    assert json.loads(table.read_text()) == {"a": {"x": 1, "deep": {"y": [1, "é"]}, "memoryFlushAt": 5}, "b": {"memoryFlushAt": 6}}
    assert table.stat().st_mode & 0o777 == 0o600
    for broken in ("{", "[]"):
        table.write_text(broken)
        with pytest.raises(LooseleafError, match="left as it is"):
            update_entry(table, "a", {"x": 1})
        assert table.read_text() == broken


def test_two_hosts_mark_at_once(tmp_path: Path) -> None:
    """No update of a row is lost."""
    table = tmp_path / "sessions.json"
    code = (
        "import sys\nfrom pathlib import Path\nfrom looseleaf.sessions import update_entry\n"
        "for number in range(25): update_entry(Path(sys.argv[1]), f'{sys.argv[2]}{number}', {'x': number})"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(table), name]) for name in "ab"]
    assert [process.wait(60) for process in running] == [0, 0]
    assert len(json.loads(table.read_text())) == 50


def test_half_a_pair_stays_as_it_is(tmp_path: Path) -> None:
    """JavaScript writes lone surrogates into its JSON: they are neither lost nor an error."""
    table = tmp_path / "sessions.json"
    table.write_text('{"other": {"title": "half \\ud83d of \\u9ea6", "n": 1}}', "utf-8")
    update_entry(table, "agent:main:main", {"compactionCount": 2})
    after = json.loads(table.read_text("utf-8"))
    assert after == {"other": {"title": "half \ud83d of 麦", "n": 1}, "agent:main:main": {"compactionCount": 2}}
