"""Explain: every candidate, its raw signals, the score after each stage, and why it is not shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from looseleaf import Hit, Retrieval, Trace
from looseleaf._run import run


def traces(notebook, query: str, **options) -> dict[str, Trace]:
    run(notebook.sync(), inline=True)
    result = run(notebook.search(query, explain=True, **options), inline=True)
    return {trace.hit.path: trace for trace in result.explain}


def test_every_reason_is_told(opened: Callable, write: Callable) -> None:
    """budget, duplicate, scope, stale and minScore, each by its name and in words."""
    write("MEMORY.md", "the gateway is curated")
    write("memory/a.md", "the gateway of the gateway")
    write("memory/b.md", "the gateway is at home")
    write("memory/copy.md", "the gateway is at home")
    gone = write("memory/gone.md", "the gateway gateway gateway is gone")
    write("memory/far.md", "the toaster")
    notebook = opened()
    run(notebook.sync(), inline=True)
    gone.unlink()
    result = run(notebook.search("gateway toaster", explain=True, limit=2, session_key="agent:main:slack:channel:1"), inline=True)
    ways = {trace.hit.path: trace for trace in result.explain}
    shown = [found.hit.path for found in result.hits]
    assert all(ways[path].dropped == "" for path in shown)
    assert ways["MEMORY.md"].dropped == "scope"
    assert ways["memory/gone.md"].dropped == "stale"
    copies = {"memory/b.md", "memory/copy.md"}
    assert "duplicate" in {ways[path].dropped for path in copies} or "budget" in {ways[path].dropped for path in copies}
    assert "its file has changed or gone" in ways["memory/gone.md"].steps[-1].reason


def test_copies_are_told_apart_by_their_text(opened: Callable, write: Callable) -> None:
    """The better of two hits with one text is shown, the other is a duplicate."""
    write("memory/a.md", "the gateway is at home")
    write("memory/b.md", "the gateway is at home")
    ways = traces(opened(), "gateway")
    assert {path: trace.dropped for path, trace in ways.items()} == {"memory/a.md": "", "memory/b.md": "duplicate"}


def test_the_gate_is_told(opened: Callable, write: Callable) -> None:
    """minScore, with the figure."""
    write("memory/a.md", "one two three four five six seven eight")
    write("memory/b.md", "one")
    notebook = opened({"query": {"minScore": 0.9}})
    steps = traces(notebook, "one two three four five six seven eight")["memory/b.md"].steps
    assert steps[-1].stage == "minScore"
    assert steps[-1].reason == "evidence is below 0.9"


def test_scores_after_each_stage(opened: Callable, write: Callable) -> None:
    """Ranker, decay and MMR each leave their score."""
    write("memory/2020-01-01.md", "the gateway")
    write("memory/b.md", "the gateway, too")
    flags = {"temporalDecay": {"enabled": True}, "mmr": {"enabled": True}}
    trace = traces(opened({"query": {"hybrid": flags}}), "gateway")["memory/2020-01-01.md"]
    assert [step.stage for step in trace.steps] == ["balanced", "temporal-decay", "mmr"]
    assert trace.steps[0].score is not None
    assert trace.steps[1].score == trace.steps[2].score < 1e-6 < trace.steps[0].score
    assert {"bm25", "coverage", "matched", "exact"} <= trace.hit.signals.keys()


def test_without_explain_nothing_is_kept(opened: Callable, write: Callable) -> None:
    """It costs only those who ask."""
    write("memory/a.md", "the gateway")
    notebook = opened()
    run(notebook.sync(), inline=True)
    assert run(notebook.search("gateway"), inline=True).explain == ()


def test_a_search_calls_no_hook(opened: Callable, write: Callable) -> None:
    """Hooks build, objects work: pluggy is out of the way once a notebook is open."""
    write("memory/a.md", "the gateway")
    flags = {"temporalDecay": {"enabled": True}, "mmr": {"enabled": True}}
    notebook = opened({"query": {"hybrid": flags}})
    calls: list[str] = []
    notebook.plugins._manager.add_hookcall_monitoring(lambda name, impls, kwargs: calls.append(name), lambda *_: None)
    notebook.plugins.ranker("balanced")
    assert calls == ["looseleaf_ranker"]
    run(notebook.sync(), inline=True)
    assert run(notebook.search("gateway"), inline=True).hits
    assert calls == ["looseleaf_ranker"]


def test_a_hanging_stage_of_config_is_a_note(opened: Callable, write: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """`query.stageTimeoutMs` reaches the stages, and the search answers without the one that passes it."""
    from threading import Event

    from looseleaf.pipeline import Pipeline

    gate = Event()
    write("memory/a.md", "the gateway")
    notebook = opened({"query": {"stageTimeoutMs": 10}}, strict=False)
    slow = Pipeline(notebook.pipeline.ranker, (("slow", lambda hits, query: gate.wait() and list(hits)),))
    object.__setattr__(notebook, "pipeline", slow)
    run(notebook.sync(), inline=True)
    result = run(notebook.search("gateway"), inline=True)
    gate.set()
    assert [found.hit.path for found in result.hits] == ["memory/a.md"]
    assert "'slow' was skipped: it took longer than 0.01 s" in result.notes[0].text


def test_withheld_candidates_are_for_explain_alone() -> None:
    """They have a place of their own, so no ranker can let one out."""
    assert Retrieval({}, withheld=(Hit("1", "MEMORY.md", 1, 1, ""),)).lists == {}
