"""Batch jobs: on three wires, whatever becomes of them, across processes, and nothing is paid for twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from looseleaf import Notebook, Progress, SyncReport, open_notebook
from looseleaf._run import run
from looseleaf.testing import BatchServer

WIRES = ("openai", "voyage", "gemini")
NOTES = 5


def config(server: BatchServer, **batch: Any) -> dict[str, Any]:
    """Return the memorySearch section for a server; jobs are asked after at once."""
    return {
        "provider": server.wire,
        "remote": {"baseUrl": server.url, "apiKey": "sk-secret", "batch": {"enabled": True, "pollIntervalMs": 1, **batch}},
    }


@pytest.fixture
def notes(write: Callable[[str, str], Path]) -> list[str]:
    texts = [f"note number {number}" for number in range(NOTES)]
    for number, text in enumerate(texts):
        write(f"memory/{number}.md", text)
    return texts


@pytest.fixture
def synced(agent: Callable[..., Any]) -> Callable[..., SyncReport]:
    """Sync once, as a new process would, and return the report; `query` returns a search's result instead."""

    def sync(server: BatchServer, *, query: str = "", progress: Any = None, budget_s: float | None = None, **batch: Any) -> Any:
        notebook = open_notebook(agent(config(server, **batch)), environ={}, strict=True)
        return run(_sync(notebook, query, progress, budget_s), inline=False)

    return sync


async def _sync(notebook: Notebook, query: str = "", progress: Any = None, budget_s: float | None = None) -> Any:
    try:
        report = await notebook.sync(progress=progress, budget_s=budget_s)
        return await notebook.search(query) if query else report
    finally:
        await notebook.aclose()


@pytest.mark.parametrize("wire", WIRES)
def test_texts_go_through_a_job(synced: Callable[..., Any], notes: list[str], wire: str) -> None:
    """behaviour.md §7: upload, make, ask until it is done, collect; results belong to their text, whatever their order."""
    seen: list[Progress] = []
    with BatchServer(wire) as server:
        report = synced(server, progress=seen.append)
        assert (report.pending, report.embedded) == (0, NOTES)
        assert sorted(server.texts) == notes
        assert server.direct == []
        assert any(step.stage == "batch" and step.text for step in seen)
        found = synced(server, query="note number 3")
        assert found.hits[0].hit.path == "memory/3.md"
        assert found.hits[0].hit.signals["cosine"] == pytest.approx(1, abs=1e-3)
        assert len(server.jobs) == 1, "the second sync had nothing to do"


def test_each_wire_is_spoken_as_it_is(synced: Callable[..., Any], notes: list[str]) -> None:
    """Paths, lines and the body that makes a job; no key in any of them."""
    made = {}
    paths = {}
    for wire in WIRES:
        with BatchServer(wire) as server:
            synced(server)
            made[wire] = server.jobs[0].made_with
            paths[wire] = [path for _, path in dict.fromkeys(server.asked)][:5]
    assert paths["openai"] == paths["voyage"] == [
        "/v1/files", "/v1/batches", "/v1/batches/batch_0", "/v1/files/result0/content", "/v1/files/fault0/content",
    ]  # fmt: skip
    assert paths["gemini"] == [
        "/upload/v1beta/files", "/v1beta/models/gemini-embedding-001:asyncBatchEmbedContent", "/v1beta/batches/batch_0",
        "/v1beta/files/result0:download",
    ]  # fmt: skip
    line = made["openai"]["line"]
    assert (line["method"], line["url"], set(line["body"])) == ("POST", "/v1/embeddings", {"model", "input"})
    job = made["openai"]["job"]
    assert (job["endpoint"], job["completion_window"]) == ("/v1/embeddings", "24h")
    assert set(made["voyage"]["line"]) == {"custom_id", "body"}
    assert made["voyage"]["job"]["completion_window"] == "12h"
    assert made["voyage"]["job"]["request_params"] == {"model": "voyage-4-large", "input_type": "document"}
    assert made["gemini"]["line"]["request"]["taskType"] == "RETRIEVAL_DOCUMENT"
    assert "sk-secret" not in str(made)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["error", "status", "empty", "nan", "missing", "garbage"])
def test_the_good_lines_of_a_job_are_kept(synced: Callable[..., Any], notes: list[str], wire: str, fault: str) -> None:
    """§7: one bad line does not throw the others away; its text is embedded directly, and the note says why."""
    with BatchServer(wire, plan=lambda text: fault if text.endswith("2") else "right") as server:
        report = synced(server)
        assert report.pending == 0
        assert server.direct == ["note number 2"]
        assert "1 texts of the batch job" in report.notes[0].text
        assert len(server.jobs) == 1
        assert synced(server).embedded == 0
        assert (len(server.jobs), len(server.direct)) == (1, 1)


@pytest.mark.parametrize("wire", WIRES)
def test_an_expired_job_gives_what_it_has(synced: Callable[..., Any], notes: list[str], wire: str) -> None:
    """It failed, but half of its lines are there and paid for."""
    state = "BATCH_STATE_EXPIRED" if wire == "gemini" else "expired"
    with BatchServer(wire, states=[state], plan=lambda text: "missing" if text < "note number 2" else "right") as server:
        report = synced(server)
        assert report.pending == 0
        assert sorted(server.direct) == notes[:2]
        assert f"came to nothing: {state}. 2 texts are embedded directly" in report.notes[0].text


def test_a_failed_job_says_why(synced: Callable[..., Any], notes: list[str]) -> None:
    """BA-05: with the provider's own words; its texts are embedded directly in the same sync."""
    with BatchServer(states=["validating", "failed"]) as server:
        report = synced(server)
        assert report.pending == 0
        assert sorted(server.direct) == notes
        assert "the file is not what it should be. 5 texts are embedded directly" in report.notes[0].text


@pytest.mark.parametrize("status", [400, 404])
def test_a_server_without_jobs(synced: Callable[..., Any], notes: list[str], status: int) -> None:
    """A router that speaks as OpenAI does but has no batches: embedded directly, with the reason."""
    with BatchServer(refuse=status) as server:
        report = synced(server)
        assert report.pending == 0
        assert sorted(server.direct) == notes
        assert "no batch job could be made: openai answered 4" in report.notes[0].text


def test_two_failures_turn_jobs_off_and_say_so(agent: Callable[..., Any], notes: list[str], write: Callable) -> None:
    """BA-05: in this process, until the next start; the reason stands in every report and in the status."""
    with BatchServer(states=["failed"]) as server:
        notebook = open_notebook(agent(config(server)), environ={}, strict=True)

        async def thrice() -> list[SyncReport]:
            reports = []
            for number in range(3):
                write("memory/more.md", f"more {number}")
                reports.append(await _sync(notebook))
            return reports

        reports = run(thrice(), inline=False)
        assert [report.pending for report in reports] == [0, 0, 0]
        assert len(server.jobs) == 2
        assert "batch jobs are off until the next start, after 2 failures" in reports[2].notes[0].text
        batch = run(notebook.status(), inline=True).details["batch"]
        assert isinstance(batch, dict)
        assert (batch["failures"], batch["lastError"]) == (2, "the file is not what it should be")


@pytest.mark.parametrize("wire", WIRES)
def test_a_job_that_is_not_waited_for_is_collected_later(synced: Callable[..., Any], notes: list[str], wire: str) -> None:
    """`wait: false`, and a new process: the job stands in the database, no text is sent again, words answer meanwhile."""
    running = "BATCH_STATE_RUNNING" if wire == "gemini" else "in_progress"
    with BatchServer(wire, states=[running, running, "BATCH_STATE_SUCCEEDED" if wire == "gemini" else "completed"]) as server:
        first = synced(server, wait=False)
        assert (first.pending, first.embedded) == (NOTES, 0)
        assert "5 texts are in 1 batch jobs" in first.notes[0].text
        assert "batch_0" in first.notes[0].text
        assert synced(server, wait=False).pending == NOTES
        assert [found.hit.path for found in synced(server, query='"number 4"', wait=False).hits] == ["memory/4.md"]
        assert synced(server, wait=False).pending == 0
        assert (len(server.jobs), server.direct) == (1, [])


def test_what_is_new_meanwhile_goes_into_another_job(synced: Callable[..., Any], notes: list[str], write: Callable) -> None:
    """Each text is in one job."""
    with BatchServer(states=["in_progress", "in_progress", "completed"]) as server:
        synced(server, wait=False)
        write("memory/new.md", "a new one")
        synced(server, wait=False)
        assert [sorted(job.texts.values()) for job in server.jobs] == [notes, ["a new one"]]
        assert synced(server).pending == 0
        assert Counter(server.texts + server.direct) == Counter([*notes, "a new one"])


def test_jobs_are_collected_when_they_are_off_in_config(synced: Callable[..., Any], notes: list[str]) -> None:
    """What was paid for is not thrown away because a setting was changed."""
    with BatchServer(states=["in_progress", "completed"]) as server:
        synced(server, wait=False)
        assert synced(server, enabled=False).pending == 0
        assert server.direct == []


def test_a_job_that_nobody_knows_any_more(synced: Callable[..., Any], notes: list[str]) -> None:
    """Another project's key, or deleted by hand: its texts are embedded directly."""
    with BatchServer(states=["in_progress"]) as server:
        synced(server, wait=False)
        server.jobs.clear()
        report = synced(server, wait=False)
        assert report.pending == 0
        assert sorted(server.direct) == notes
        assert "no such job" in report.notes[0].text


@pytest.mark.parametrize("wire", WIRES)
def test_a_state_that_means_nothing_is_not_asked_for_ever(synced: Callable[..., Any], notes: list[str], wire: str) -> None:
    """BA-02: given up after five times, cancelled, embedded directly."""
    with BatchServer(wire, states=["UNKNOWN"]) as server:
        report = synced(server)
        assert report.pending == 0
        assert sorted(server.direct) == notes
        assert len(server.cancelled) == 1
        assert "UNKNOWN" in " ".join(note.text for note in report.notes).upper()


def test_one_deadline_for_all_of_it(synced: Callable[..., Any], notes: list[str]) -> None:
    """BA-01, BA-04: a server that never says how far a job is, and a pause longer than what is left, hold nobody up past it."""
    for options in ({"hang": True}, {"states": ["in_progress"]}):
        with BatchServer(**options) as server:
            begun = monotonic()
            report = synced(server, budget_s=0.5, pollIntervalMs=1 if "hang" in options else 60_000)
            assert monotonic() - begun < 10
            assert report.pending == NOTES
            assert any("a later sync collects them" in note.text for note in report.notes)
            assert server.direct == []


@pytest.mark.parametrize("wire", WIRES)
def test_results_that_are_cut_are_read_again(synced: Callable[..., Any], notes: list[str], wire: str) -> None:
    """What came before the cut counts; nothing is embedded directly because of it."""
    with BatchServer(wire, cut=1) as server:
        first = synced(server)
        assert first.pending > 0
        assert "cannot be had yet" in first.notes[0].text
        assert synced(server).pending == 0
        assert (len(server.jobs), server.direct) == (1, [])


def test_many_texts_are_many_jobs_and_few_run_at_once(
    synced: Callable[..., Any], notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No job is over the provider's limit, and no more than `concurrency` are under way."""
    monkeypatch.setattr("looseleaf_memory_core.embedders.batch_openai.OpenAIBatch.most_lines", 2)
    with BatchServer() as server:
        assert synced(server, concurrency=1).pending == 0
        assert [len(job.texts) for job in server.jobs] == [2, 2, 1]
        makes = [place for place, (method, path) in enumerate(server.asked) if (method, path) == ("POST", "/v1/batches")]
        reads = [place for place, (_, path) in enumerate(server.asked) if path.startswith("/v1/files/result")]
        assert makes[0] < reads[0] < makes[1] < reads[1] < makes[2] < reads[2]


def test_a_text_that_is_too_long_is_in_no_job(synced: Callable[..., Any], write: Callable, agent: Callable[..., Any]) -> None:
    """It is embedded in pieces, directly."""
    write("memory/a.md", "short")
    write("memory/b.md", " ".join(f"word{number}" for number in range(100)))
    with BatchServer() as server:
        settings = config(server)
        settings["remote"]["limits"] = {"tokens": 50}
        report = run(_sync(open_notebook(agent(settings), environ={}, strict=True)), inline=False)
        assert report.pending == 0
        assert server.texts == ["short"]
        assert len(server.direct) > 1


@pytest.mark.parametrize("moment", ["/v1/batches", "/v1/batches/batch_0", "/v1/files/result0/content"])
def test_killed_while_a_job_is_under_way(
    agent: Callable[..., Any], notes: list[str], workspace: Path, tmp_path: Path, moment: str
) -> None:
    """SIGKILL when the job runs or is being collected: the next process collects it, and nothing is sent again."""
    with BatchServer(states=["in_progress"]) as server:
        agent(config(server))
        file = tmp_path / "looseleaf.json5"
        command = [
            sys.executable,
            "-c",
            "from looseleaf.cli import main; main()",
            "index",
            "-w",
            str(workspace),
            "--config",
            str(file),
        ]
        if moment.startswith("/v1/files"):
            server.states = ["completed"]
            server.hang_at = moment
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        target = "/v1/batches/batch_0" if moment == "/v1/batches" else moment
        assert server.wait_for(target, 60)
        first.send_signal(signal.SIGKILL)
        first.wait()
        server.states, server.hang_at = ["completed"], ""
        done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", env=os.environ)
        assert "0 chunks without" in done.stdout or "pending" not in done.stdout
        assert (len(server.jobs), server.direct) == (1, [])


def test_no_key_is_shown(agent: Callable[..., Any], notes: list[str], tmp_path: Path) -> None:
    """Neither in notes, status nor the database, whatever happens."""
    for options in ({}, {"refuse": 401}, {"states": ["failed"]}, {"cut": 9}):
        with BatchServer(**options) as server:
            notebook = open_notebook(agent(config(server)), environ={}, strict=True)
            told = f"{run(_sync(notebook), inline=False)}{run(notebook.status(), inline=True)}{notebook!r}"
            assert "sk-secret" not in told
    for path in (tmp_path / "state").rglob("*"):
        assert not path.is_file() or b"sk-secret" not in path.read_bytes()
