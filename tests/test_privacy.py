"""What a chat may see of the memory, by every way in and whatever the slot: search, reads, session start, recall, appends."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import found
from looseleaf import Hit, LooseleafError, Notebook, Page, ReadRefused, Retrieval, SyncReport, read_page
from looseleaf._run import run
from looseleaf.appending import append
from looseleaf.workspace import Layout

GROUP, CHANNEL, UNKNOWN = "agent:main:telegram:group:5", "agent:main:discord:channel:9", "agent:main:matrix:room:7"
SHARED = (GROUP, CHANNEL, UNKNOWN)


def shown(notebook: Notebook, key: str | None) -> list[str]:
    """Return what a search for the gateway finds in a session."""
    return found(notebook, "gateway", session_key=key, min_score=0.0)


@pytest.fixture
def aliases(workspace: Path, write: Callable[[str, str], Path], tmp_path: Path) -> list[str]:
    """Other names of MEMORY.md: a hard link, one among the extra paths, and names of other folders."""
    secret = write("MEMORY.md", "The gateway is private.\n")
    write("memory/a.md", "The gateway is shared.\n")
    extra = tmp_path / "extra"
    extra.mkdir()
    os.link(secret, extra / "copy.md")
    os.link(secret, workspace / "memory" / "link.md")
    (extra / "Memory.md").write_text("The gateway of another agent is private, too.\n")
    return ["MEMORY.md", "memory/link.md", "../extra/copy.md", "../extra/Memory.md", "./memory/../MEMORY.md", str(secret)]


@pytest.mark.parametrize("key", SHARED)
def test_no_alias_leads_to_curated_memory(opened: Callable[..., Notebook], aliases: list[str], key: str) -> None:
    """By name or by being the same file: neither found nor read in chats that others share. The owner has both."""
    notebook = opened({"extraPaths": ["../extra"]})
    assert shown(notebook, key) == ["memory/a.md"]
    assert set(shown(notebook, None)) == {"MEMORY.md", "memory/a.md", "../extra/Memory.md"}
    for path in aliases:
        with pytest.raises(ReadRefused, match="not shown"):
            run(notebook.read(path, session_key=key), inline=True)
        assert "private" in run(notebook.read(path), inline=True).text


def test_where_curated_memory_is_a_link_its_target_is_private(
    opened: Callable[..., Notebook], workspace: Path, write: Callable[[str, str], Path]
) -> None:
    """MEMORY.md -> memory/real.md: the target is what the link names."""
    target = write("memory/real.md", "The gateway is private.\n")
    write("memory/a.md", "The gateway is shared.\n")
    (workspace / "MEMORY.md").symlink_to(target)
    notebook = opened()
    assert shown(notebook, GROUP) == ["memory/a.md"]
    with pytest.raises(ReadRefused, match="not shown"):
        run(notebook.read("memory/real.md", session_key=GROUP), inline=True)


class Leaky:
    """A slot that knows nothing of privacy and has names of its own for files."""

    blocking = True

    def __init__(self, workspace: Path) -> None:
        self.layout = Layout(workspace)

    async def sync(self, **options: object) -> SyncReport:
        return SyncReport()

    async def retrieve(self, query: object) -> Retrieval:
        hits = [
            Hit("1", "MEMORY.md", 1, 1, "gateway 1", 0.9),
            Hit("2", "memory/a.md", 1, 1, "gateway 2", 0.8),
            Hit("3", "memory/link.md", 1, 1, "gateway 3", 0.7),
            Hit("4", "sessions/one.jsonl", 1, 1, "gateway 4", 0.6, source="sessions"),
        ]
        return Retrieval({"all": hits}, mode="keyword")

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        return replace(read_page(self.layout, "MEMORY.md", start, lines), path=path)


def test_a_slot_that_knows_no_privacy_keeps_it(opened: Callable[..., Notebook], workspace: Path, aliases: list[str]) -> None:
    """The host takes out what a chat may not see, and explain says why without the text."""
    notebook = replace(opened(), slot=Leaky(workspace))
    assert set(shown(notebook, None)) == {"MEMORY.md", "memory/a.md", "memory/link.md", "sessions/one.jsonl"}
    assert shown(notebook, GROUP) == ["memory/a.md"]
    result = run(notebook.search("gateway", session_key=GROUP, explain=True), inline=True)
    dropped = {trace.hit.path: (trace.hit.text, trace.steps[0].reason) for trace in result.explain if trace.dropped}
    assert set(dropped) == {"MEMORY.md", "memory/link.md", "sessions/one.jsonl"}
    assert all(text == "" and "not shown" in reason for text, reason in dropped.values())
    with pytest.raises(ReadRefused, match="not shown"):
        run(notebook.read("alias/of/it.md", session_key=GROUP), inline=True)


RULES = {"default": "deny", "rules": [{"action": "allow", "match": {"channel": "discord"}}]}


def test_the_rules_of_scope_hold_in_every_slot(
    opened: Callable[..., Notebook], write: Callable[[str, str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    """Once `memory.qmd.scope` is written: search, reads, session start and appends are refused alike, and say so."""
    write("memory/a.md", "The gateway is shared.\n")
    notebook = opened({"recall": {"enabled": True}}, memory={"qmd": {"scope": RULES}})
    write(f"memory/{notebook.settings.now().date()}.md", "today\n")
    assert shown(notebook, CHANNEL) == ["memory/a.md"]
    assert run(notebook.read("memory/a.md", session_key=CHANNEL), inline=True).text
    assert notebook.session_context(CHANNEL)
    assert shown(notebook, None) == ["memory/a.md"]
    caplog.clear()
    (note,) = run(notebook.search("gateway", session_key=GROUP), inline=True).notes
    assert (note.code, "telegram, group" in note.text) == ("scope", True)
    assert "memory.qmd.scope" in caplog.text
    with pytest.raises(ReadRefused, match="telegram, group"):
        run(notebook.read("memory/a.md", session_key=GROUP), inline=True)
    assert notebook.session_context(GROUP) == []
    with pytest.raises(LooseleafError, match="telegram, group"):
        append(notebook.settings, "x", session_key=GROUP)
    assert run(notebook.recall("gateway", session_key=GROUP), inline=True).hits == ()


def test_unwritten_rules_leave_groups_their_part(opened: Callable[..., Notebook], write: Callable[[str, str], Path]) -> None:
    """Without rules memory-core answers groups from the daily notes, as it always did."""
    write("memory/a.md", "The gateway is shared.\n")
    notebook = opened()
    assert [shown(notebook, key) for key in SHARED] == [["memory/a.md"]] * 3


def test_a_day_that_is_curated_memory_is_neither_given_nor_written(opened: Callable[..., Notebook], workspace: Path) -> None:
    """Session start and appends know it by identity, too."""
    settings = opened().settings
    today = workspace / "memory" / f"{settings.now().date()}.md"
    today.parent.mkdir()
    today.write_text("private\n")
    os.link(today, workspace / "MEMORY.md")
    assert opened().session_context(GROUP) == []
    with pytest.raises(LooseleafError, match="owner's own"):
        append(settings, "x", session_key=GROUP)
    append(settings, "x")
    assert today.read_text() == "private\nx\n"
