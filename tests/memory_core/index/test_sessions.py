"""Session transcripts as a source: found by what was said, cited by their lines, private, and never instead of the notes."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looseleaf import Notebook, ReadRefused, SyncReport
from looseleaf._run import run
from looseleaf.testing import HashEmbedder
from looseleaf.tools import memory_search
from looseleaf.transcripts import turns
from looseleaf_memory_core.index.sessions import _parts, session_text
from looseleaf_memory_core.slot import CoreSlot

ON: dict[str, Any] = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}


def message(role: str, text: str) -> str:
    return json.dumps({"type": "message", "message": {"role": role, "content": text}}) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "state" / "agents" / "main" / "sessions"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def on(opened: Callable[..., Notebook]) -> Callable[..., Notebook]:
    """Open a notebook with transcripts, and a small embedder."""

    def make(**more: Any) -> Notebook:
        notebook = opened({**ON, **more})
        return replace(notebook, slot=CoreSlot(notebook.settings, HashEmbedder()))

    return make


def sync(notebook: Notebook, **options: Any) -> SyncReport:
    return run(notebook.sync(**options), inline=True)


def found(notebook: Notebook, query: str, **options: Any) -> list[str]:
    return [hit.hit.path for hit in run(notebook.search(query, **options), inline=True).hits]


def test_what_was_said_is_found_and_cited_by_its_lines(on: Callable[..., Notebook], folder: Path, write: Callable) -> None:
    """The text has none of the JSON, the lines are those of the transcript, and memory_get shows the turns."""
    noise = json.dumps({"type": "message", "message": {"role": "toolResult", "content": "zanzibar in a tool"}}) + "\n"
    (folder / "a.jsonl").write_text(
        json.dumps({"type": "session"})
        + "\n"
        + noise
        + message("user", "Where is zanzibar?")
        + noise
        + message("assistant", "An island.")
    )
    write("memory/a.md", "another thing")
    notebook = on()
    assert sync(notebook).pending == 0
    result = run(notebook.search("zanzibar"), inline=True)
    hit = result.hits[0]
    assert (hit.hit.path, hit.hit.source, hit.start, hit.end) == ("sessions/a.jsonl", "sessions", 3, 5)
    assert hit.snippet == "User: Where is zanzibar?\nAssistant: An island."
    assert hit.citation == "sessions/a.jsonl#L3-L5"
    page = run(notebook.read("sessions/a.jsonl", 3, 1), inline=True)
    assert (page.text, page.start, page.lines, page.truncated, page.next_start) == ("User: Where is zanzibar?", 3, 1, True, 4)
    assert run(notebook.read("sessions/none.jsonl"), inline=True).status == "not_found"
    assert run(notebook.read("sessions/../../../main/sessions/a.jsonl"), inline=True).status == "not_found"


def test_they_are_off_unless_both_switches_are_on(opened: Callable[..., Notebook], folder: Path, write: Callable) -> None:
    """SE-08: sources without the experiment, or the experiment alone, give no rows; turned off again they go."""
    (folder / "a.jsonl").write_text(message("user", "zanzibar"))
    write("memory/a.md", "another thing")
    for search in ({}, {"sources": ["memory", "sessions"]}, {"experimental": {"sessionMemory": True}}):
        notebook = opened(search)
        assert sync(notebook).files == 1
        assert found(notebook, "zanzibar") == []
    notebook = opened(ON)
    assert sync(notebook).files == 2
    assert found(notebook, "zanzibar") == ["sessions/a.jsonl"]
    notebook = opened()
    sync(notebook)
    assert found(notebook, "zanzibar") == []


def test_a_group_sees_none_of_it(on: Callable[..., Notebook], folder: Path) -> None:
    """They are as private as MEMORY.md."""
    (folder / "a.jsonl").write_text(message("user", "zanzibar"))
    notebook = on()
    sync(notebook)
    for key in ("agent:main:telegram:group:5", "agent:main:discord:channel:9"):
        assert found(notebook, "zanzibar", session_key=key) == []
        with pytest.raises(ReadRefused, match="transcripts are not shown in groups"):
            run(notebook.read("sessions/a.jsonl", session_key=key), inline=True)
    assert found(notebook, "zanzibar", session_key="agent:main:main") == ["sessions/a.jsonl"]


def test_the_tool_finds_what_the_command_line_finds(on: Callable[..., Notebook], folder: Path) -> None:
    """SE-05: one way in, for both."""
    (folder / "a.jsonl").write_text(message("user", "zanzibar"))
    notebook = on()
    sync(notebook)
    answer = run(memory_search(notebook, "zanzibar", session_key="agent:main:main"), inline=True)
    assert [row["path"] for row in answer["results"]] == found(notebook, "zanzibar") == ["sessions/a.jsonl"]
    assert answer["results"][0]["source"] == "sessions"


def test_many_transcripts_do_not_drown_a_note(on: Callable[..., Notebook], folder: Path, write: Callable) -> None:
    """SE-04: 550 transcripts on the same words, and the one note that has them is in the answer."""
    for number in range(550):
        (folder / f"{number}.jsonl").write_text(message("user", f"the test entry of {number}: test entry, test entry"))
    write("memory/a.md", "## Test Entry\n\nsomething that is written once")
    notebook = on()
    sync(notebook)
    assert "memory/a.md" in found(notebook, "test entry")
    assert any(path.startswith("sessions/") for path in found(notebook, "test entry"))


def test_force_takes_all_of_them(on: Callable[..., Notebook], folder: Path) -> None:
    """SE-01: those from before it was turned on, whatever the thresholds."""
    for number in range(119):
        (folder / f"{number}.jsonl").write_text(message("user", f"entry {number}"))
    assert sync(on(), force=True).files == 119


def test_one_that_is_gone_is_forgotten(on: Callable[..., Notebook], folder: Path) -> None:
    """SE-06."""
    (folder / "a.jsonl").write_text(message("user", "zanzibar"))
    notebook = on()
    sync(notebook)
    (folder / "a.jsonl").unlink()
    sync(notebook)
    assert found(notebook, "zanzibar") == []


def test_archives_are_a_choice_and_the_deleted_never_come_back(on: Callable[..., Notebook], folder: Path) -> None:
    """SE-02: a reset sets a transcript aside; `.deleted.`, `.bak` and lock files are none."""
    for name in (
        "a.jsonl.reset.2026-03-01T04-00-00Z",
        "b.jsonl.deleted.2026-03-01T04-00-00Z",
        "c.jsonl.bak",
        "d.jsonl.lock",
        "sessions.json",
    ):
        (folder / name).write_text(message("user", f"zanzibar {name}"))
    notebook = on()
    assert sync(notebook).files == 0
    notebook = on(sync={"sessions": {"archives": True}})
    sync(notebook)
    assert found(notebook, "zanzibar") == ["sessions/a.jsonl.reset.2026-03-01T04-00-00Z"]


@pytest.mark.parametrize(
    ("limits", "lines", "again"),
    [
        ({"deltaBytes": 10_000, "deltaMessages": 3}, 2, False),
        ({"deltaBytes": 10_000, "deltaMessages": 3}, 3, True),
        ({"deltaBytes": 100, "deltaMessages": 99}, 2, True),
        ({"deltaBytes": 0, "deltaMessages": 99}, 1, True),
    ],
)
def test_a_transcript_is_read_again_when_it_has_grown_enough(
    on: Callable[..., Notebook], folder: Path, limits: dict[str, int], lines: int, again: bool
) -> None:
    """By bytes or by lines; what was said before is found meanwhile, as it stands in the longer file."""
    path = folder / "a.jsonl"
    path.write_text(message("user", "zanzibar"))
    notebook = on(sync={"sessions": limits})
    sync(notebook)
    with path.open("a") as file:
        file.writelines(message("assistant", f"quetzal {number}") for number in range(lines))
    assert sync(notebook).indexed == int(again)
    assert found(notebook, "zanzibar") == ["sessions/a.jsonl"]
    assert found(notebook, "quetzal", min_score=0.6) == (["sessions/a.jsonl"] if again else [])
    assert sync(notebook, force=True).files == 1
    assert found(notebook, "quetzal", min_score=0.6) == ["sessions/a.jsonl"]


def test_one_that_was_written_anew_is_read_again(on: Callable[..., Notebook], folder: Path) -> None:
    """Shorter than it was: it is another one."""
    path = folder / "a.jsonl"
    path.write_text(message("user", "zanzibar " * 50))
    notebook = on()
    sync(notebook)
    path.write_text(message("user", "quetzal"))
    sync(notebook)
    assert found(notebook, "quetzal") == ["sessions/a.jsonl"]
    assert found(notebook, "zanzibar") == []


def test_a_secret_reaches_neither_index_nor_embedder_nor_answer(
    opened: Callable[..., Notebook], folder: Path, tmp_path: Path
) -> None:
    """Redacted before anything is made of it; the transcript itself is left as it is."""
    secret = "sk-proj-abcdefghijklmnop1234"
    (folder / "a.jsonl").write_text(message("user", f"the key {secret} opens zanzibar"))
    notebook = opened(ON)
    embedder = HashEmbedder()
    notebook = replace(notebook, slot=CoreSlot(notebook.settings, embedder))
    sync(notebook)
    result = run(notebook.search("zanzibar", explain=True), inline=True)
    assert "sk-p*** opens" in result.hits[0].snippet
    assert secret[8:] not in f"{result}{embedder.requests}{run(notebook.read('sessions/a.jsonl'), inline=True)}"
    for path in (tmp_path / "state" / "memory").rglob("*"):
        assert secret[8:].encode() not in path.read_bytes()
    assert secret in (folder / "a.jsonl").read_text()


def test_openclaw_s_own_transcripts_count(
    on: Callable[..., Notebook], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Those of its state folder, and of this agent alone."""
    theirs = tmp_path / "openclaw"
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(theirs))
    for agent, word in (("main", "zanzibar"), ("other", "quetzal")):
        (theirs / "agents" / agent / "sessions").mkdir(parents=True)
        (theirs / "agents" / agent / "sessions" / "a.jsonl").write_text(message("user", word))
    notebook = on()
    sync(notebook)
    assert found(notebook, "zanzibar") == ["sessions/a.jsonl"]
    assert found(notebook, "quetzal", min_score=0.6) == []
    shutil.rmtree(theirs)
    sync(notebook)
    assert found(notebook, "zanzibar") == []


def test_a_page_of_a_transcript_ends_where_memory_get_does(on: Callable[..., Notebook], folder: Path) -> None:
    """By lines and by characters, and says where to go on."""
    (folder / "a.jsonl").write_text("".join(message("user", f"{number} " + "word " * 30) for number in range(300)))
    notebook = on()
    page = run(notebook.read("sessions/a.jsonl"), inline=True)
    assert page.truncated
    assert page.next_start is not None
    assert len(page.text) <= 12_000
    assert run(notebook.read("sessions/a.jsonl", page.next_start, 1), inline=True).text.startswith(
        f"User: {page.next_start - 1} word"
    )
    assert run(notebook.read("sessions/a.jsonl", 999), inline=True).status == "past_end"


def test_watching_follows_them(on: Callable[..., Notebook], folder: Path) -> None:
    """A turn that is written is found, as a note is."""
    notebook = on(sync={"watchDebounceMs": 20, "sessions": {"deltaBytes": 0}})

    async def main() -> None:
        synced = asyncio.Event()

        def told(report: SyncReport) -> None:
            if report.indexed:
                synced.set()

        async with notebook, notebook.watching(told) as watch:
            while not watch.syncs:
                await asyncio.sleep(0.01)
            (folder / "a.jsonl").write_text(message("user", "zanzibar"))
            await asyncio.wait_for(synced.wait(), 20)
            assert [hit.hit.path for hit in (await notebook.search("zanzibar")).hits] == ["sessions/a.jsonl"]

    asyncio.run(main())


TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=120), max_size=12)


@settings(max_examples=60)
@given(TEXTS, st.integers(8, 60))
def test_every_chunk_can_be_made_again_from_its_lines(texts: list[str], tokens: int) -> None:
    """All that was said is in some chunk once, none is too long, and its text comes from the bytes of its lines."""
    data = "".join(message("user", text) for text in texts).encode()
    lines = data.split(b"\n")
    said = []
    for part, cut_at in _parts(turns(data), tokens):
        text = "\n".join(turn.text for turn in part)
        raw = b"\n".join(lines[part[0].line - 1 : part[-1].line])
        assert session_text(raw, cut_at) == text
        said.append(text)
    whole = "".join(turn.text for turn in turns(data))
    assert "".join(said).replace("\n", "") == whole.replace("\n", "")
