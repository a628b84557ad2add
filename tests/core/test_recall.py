"""Recall without being asked: in time, sure of itself, and never a disturbance."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Notebook, Query, Retrieval
from looseleaf._run import run
from looseleaf.recall import Recalled


@pytest.fixture
def recalled(opened: Callable[..., Notebook], write: Callable[[str, str], Path]) -> Callable[..., Recalled]:
    """Recall from two notes."""
    write("MEMORY.md", "# Machines\n\nThe gateway runs on the Mac Studio.\n")
    write("memory/2026-02-10.md", "The walnut tree was planted.\n")

    def call(turn: str, *, slot: Any = None, session_key: str | None = None, **options: Any) -> Recalled:
        notebook = opened({"recall": {"enabled": True, "budgetMs": 5000, **options}})
        run(notebook.sync(), inline=True)
        if slot is not None:
            notebook = replace(notebook, slot=slot)
        return run(notebook.recall(turn, session_key=session_key), inline=True)

    return call


def codes(found: Recalled) -> list[str]:
    return [note.code for note in found.notes]


def test_what_is_surely_meant_comes_to_mind(recalled: Callable[..., Recalled]) -> None:
    """Delimited as data, with its source."""
    found = recalled('where does the "gateway" run')
    assert [hit.hit.path for hit in found.hits] == ["MEMORY.md"]
    assert found.text.startswith("<recalled-memory")
    assert '<memory path="MEMORY.md#L1-L3">' in found.text
    assert found.text.endswith("</memory>\n</recalled-memory>")


def test_what_is_not_sure_does_not(recalled: Callable[..., Recalled]) -> None:
    """Each hit is above the bar, not only the first; an empty turn brings nothing."""
    assert recalled("please write a poem about autumn leaves falling on the gateway of a quiet temple").text == ""
    assert recalled("   ").hits == ()
    assert recalled("", minScore=0.1).notes[0].code == "empty-query"


def test_it_is_off_by_default(opened: Callable[..., Notebook], write: Callable) -> None:
    """And says how to turn it on."""
    write("MEMORY.md", "the gateway")
    found = run(opened().recall("gateway"), inline=True)
    assert codes(found) == ["recall-off"]
    assert found.text == ""


class Slow:
    """A slot that does not answer before it is let go."""

    blocking = True

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def retrieve(self, query: Query) -> Retrieval:
        self.gate.wait(30)
        return Retrieval({})


def test_a_slow_search_is_not_waited_for(recalled: Callable[..., Recalled]) -> None:
    """The turn goes on without it."""
    slow = Slow()
    try:
        found = recalled("gateway", slot=slow, budgetMs=30)
    finally:
        slow.gate.set()
    assert codes(found) == ["late"]


class Broken:
    """A slot that fails."""

    blocking = True

    async def retrieve(self, query: Query) -> Retrieval:
        raise RuntimeError("no disk")


def test_a_failure_is_a_note(recalled: Callable[..., Recalled]) -> None:
    """Nothing is raised into the turn."""
    found = recalled("gateway", slot=Broken())
    assert codes(found) == ["recall-failed"]
    assert "no disk" in found.notes[0].text


def test_a_group_recalls_no_curated_memory(recalled: Callable[..., Recalled]) -> None:
    """The same walls as a search."""
    assert recalled("gateway Mac Studio", session_key="agent:main:telegram:group:5").hits == ()


def test_the_budget_of_characters_holds(recalled: Callable[..., Recalled]) -> None:
    """A hit is given whole or not at all."""
    assert recalled("gateway Mac Studio", maxChars=20).text == ""
