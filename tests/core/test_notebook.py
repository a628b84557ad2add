"""Opening a notebook, searching it, and what it says when something is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import found
from looseleaf import Notebook, PluginError, ReadRefused
from looseleaf._run import run
from looseleaf.opening import stage_names


def codes(notes) -> list[str]:
    return [note.code for note in notes]


def test_the_default_slot_finds_a_note(opened: Callable[..., Notebook], write: Callable) -> None:
    """memory-core is the default."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.")
    notebook = opened()
    assert found(notebook, "gateway") == ["MEMORY.md"]
    result = run(notebook.search("gateway"), inline=True)
    assert (result.backend, result.mode) == ("memory-core", "keyword")


def test_none_turns_memory_off(opened: Callable[..., Notebook], write: Callable) -> None:
    """`plugins.slots.memory = none`: no hits, no refusal, and the reason."""
    write("MEMORY.md", "gateway")
    for name in ("none", "None", " NONE "):
        notebook = opened(plugins={"slots": {"memory": name}})
        result = run(notebook.search("gateway"), inline=True)
        assert (result.hits, codes(result.notes)) == ((), ["memory-off"])
        assert codes(run(notebook.sync(), inline=True).notes) == ["memory-off"]
        assert run(notebook.status(), inline=True).backend == "none"
        with pytest.raises(ReadRefused, match="memory is off"):
            run(notebook.read("MEMORY.md"), inline=True)


@pytest.mark.parametrize(
    "plugins", [{"enabled": False}, {"deny": ["memory-core"]}, {"entries": {"memory-core": {"enabled": False}}}], ids=str
)
def test_a_denied_slot_is_off(opened: Callable[..., Notebook], plugins: dict) -> None:
    """Deny and `enabled: false` beat the slot: memory is simply off, with the reason."""
    result = run(opened(plugins=plugins).search("gateway"), inline=True)
    assert codes(result.notes) == ["memory-off"]


def test_memory_search_disabled_is_off(opened: Callable[..., Notebook]) -> None:
    """`memorySearch.enabled: false` turns the tools off."""
    assert "enabled is false" in run(opened({"enabled": False}).search("x"), inline=True).notes[0].text


def test_somebody_else_s_slot_answers(opened: Callable[..., Notebook], site: Path) -> None:
    """A third party's slot is chosen by name, and ranked like any other."""
    notebook = opened(plugins={"slots": {"memory": "fake-slot"}})
    result = run(notebook.search("anything", min_score=0.0), inline=True)
    assert [hit.hit.path for hit in result.hits] == ["fake.md", "fake.md"]
    assert [hit.hit.score for hit in result.hits] == [0.5, 0.4]
    assert run(notebook.read("x.md"), inline=True).text == "fake text"


def test_a_missing_slot_names_the_installed(opened: Callable[..., Notebook]) -> None:
    """PL-06: the start fails with a message, not a traceback."""
    with pytest.raises(PluginError, match=r"no memory slot called 'nope'.*memory-core, memory-qmd"):
        opened(plugins={"slots": {"memory": "nope"}})


def test_a_broken_slot_is_named(opened: Callable[..., Notebook], site: Path) -> None:
    """PL-01: distribution, version and value are in the message."""
    with pytest.raises(PluginError, match=r"fake-broken 0\.3 \(fake_broken\) cannot be imported"):
        opened(plugins={"slots": {"memory": "broken-slot"}})


def test_the_qmd_backend_means_the_qmd_slot(agent: Callable) -> None:
    """`memory.backend = qmd` under memory-core is memory-qmd; another slot is left alone."""
    assert agent(memory={"backend": "qmd"}).slot == "memory-qmd"
    assert agent(memory={"backend": "qmd"}, plugins={"slots": {"memory": "other"}}).slot == "other"


@pytest.mark.parametrize(
    ("provider", "says"),
    [("siliconflow", "no embedder called 'siliconflow'"), ("broken", "fake-broken"), ("keyless", "ACME_KEY is not set")],
)
def test_a_provider_that_fails_leaves_words(opened: Callable, write: Callable, site: Path, provider: str, says: str) -> None:
    """PV-25, PV-26: search works by words, and says so with the reason."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.")
    notebook = opened({"provider": provider})
    assert found(notebook, "gateway") == ["MEMORY.md"]
    result = run(notebook.search("gateway"), inline=True)
    assert result.mode == "keyword"
    assert says in result.notes[0].text


def test_a_chosen_embedder_is_used(opened: Callable, write: Callable, site: Path) -> None:
    """A third party's embedder is found, selected and asked."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.")
    notebook = opened({"provider": "fake"})
    assert found(notebook, "gateway") == ["MEMORY.md"]
    result = run(notebook.search("gateway"), inline=True)
    assert (result.mode, result.provider, result.model) == ("hybrid", "fake", "one")
    assert "cosine" in result.hits[0].hit.signals


def test_an_unknown_ranker_or_stage_is_told(opened: Callable, write: Callable) -> None:
    """The search goes on without it; strict raises."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.")
    search = {"query": {"ranker": "balancd", "stages": ["sharpen"]}}
    notebook = opened(search, strict=False)
    assert found(notebook, "gateway") == ["MEMORY.md"]
    assert codes(run(notebook.search("gateway"), inline=True).notes) == ["stage-missing", "ranker-missing"]
    with pytest.raises(PluginError):
        opened(search, strict=True)


def test_stages_come_from_flags_or_from_their_list(agent: Callable) -> None:
    """The order is written in config, never left to registration."""
    flags = {"query": {"hybrid": {"mmr": {"enabled": True}, "temporalDecay": {"enabled": True}}}}
    assert stage_names(agent()) == ()
    assert stage_names(agent(flags)) == ("temporal-decay", "mmr")
    assert stage_names(agent({"query": {"stages": ["mmr", "x"]}})) == ("mmr", "x")


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_an_empty_query_says_so(opened: Callable, query: str) -> None:
    """An empty query is answered, not refused."""
    assert codes(run(opened().search(query), inline=True).notes) == ["empty-query"]


def test_an_empty_workspace_says_where_it_looked(opened: Callable, workspace: Path) -> None:
    """CJ-10: no notes is no error, and the roots are named."""
    notebook = opened()
    for query in ("交互", "gateway"):
        assert found(notebook, query) == []
        (note,) = run(notebook.search(query), inline=True).notes
        assert note.code == "no-files"
        assert str(workspace) in note.text


def test_a_query_that_matches_nothing_says_so(opened: Callable, write: Callable) -> None:
    """UX-06: no least bad note."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.")
    notebook = opened()
    assert found(notebook, "ZXQ_NO_MATCH") == []
    assert codes(run(notebook.search("ZXQ_NO_MATCH"), inline=True).notes) == ["no-match"]


def test_closing_twice_is_harmless(opened: Callable) -> None:
    """A second close does nothing."""
    notebook = opened()
    run(notebook.aclose(), inline=True)
    run(notebook.aclose(), inline=True)


def test_it_works_inside_an_event_loop(opened: Callable, write: Callable) -> None:
    """The same under asyncio: blocking work goes to a thread."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.")

    async def main() -> list[str]:
        async with opened() as notebook:
            await notebook.sync()
            return [hit.hit.path for hit in (await notebook.search("gateway")).hits]

    assert run(main(), inline=False) == ["MEMORY.md"]
