"""A large index against a provider in bad weather: complete but for the text that cannot be embedded, and nothing paid twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock
from typing import Any

import pytest

from looseleaf import open_notebook
from looseleaf._run import run
from looseleaf.testing import EmbeddingServer

FILES, LINES = 100, 100
POISON = "poison 5000 of the whole index"
LONG = [f"long {number} " + " ".join(f"{number}{letter}" for letter in "abcdefghijklmnopqr") for number in (20, 70)]


class Weather:
    """Answers 429 at random, NaN for one text, 413 where one is long, and dies twice for three requests."""

    def __init__(self, *, bad: bool) -> None:
        self.bad = bad
        self.requests = 0
        self.texts: Counter[str] = Counter()
        self.halfway = Event()
        self._random = random.Random(7)
        self._lock = Lock()

    def __call__(self, texts: list[str]) -> str:
        texts = [text.strip() for text in texts]
        with self._lock:
            self.requests += 1
            if self.requests == 120:
                self.halfway.set()
            if not self.bad:
                self.texts.update(texts)
                return "right"
            if self.requests % 150 in (60, 61, 62) and self.requests < 300:
                return "drop"
            if self._random.random() < 0.04:
                return "429"
            if not {*LONG}.isdisjoint(texts):
                return "413"
            if POISON in texts:
                return "nan"
            self.texts.update(texts)
            return "right"


@pytest.fixture
def notes(write: Callable[[str, str], Path]) -> int:
    """Ten thousand chunks of a line each, one of them poison and two too long; return how many."""
    for file in range(FILES):
        lines = [f"line {line} of the note {file} says a thing of its own {file * line}" for line in range(LINES)]
        lines[0] = {20: LONG[0], 50: POISON, 70: LONG[1]}.get(file, lines[0])
        write(f"memory/{file:03}.md", "\n\n".join(lines))
    return FILES * LINES


def settings_of(agent: Callable[..., Any], server: EmbeddingServer) -> Any:
    remote = {"baseUrl": f"{server.url}/v1", "apiKey": "sk-secret-of-the-test"}
    return agent({"provider": "openai", "model": "unknown", "remote": remote, "chunking": {"tokens": 20, "overlap": 0}})


def indexed(settings: Any) -> Any:
    """Sync once, as a new process would."""
    notebook = open_notebook(settings, environ={}, strict=True)

    async def index() -> Any:
        try:
            return await notebook.sync()
        finally:
            await notebook.aclose()

    return run(index(), inline=False)


def ledger(settings: Any) -> Any:
    """Return what is known of every file."""
    notebook = open_notebook(settings, environ={}, strict=True)
    return run(notebook.status(), inline=True).ledger


@pytest.mark.long
def test_ten_thousand_chunks_in_bad_weather(agent: Callable[..., Any], notes: int, tmp_path: Path) -> None:
    """Everything but the named texts has a vector, for at most 1.3 times the requests of a fair day; a second run sends nothing."""
    today = fair = Weather(bad=False)
    with EmbeddingServer(plan=lambda texts: today(texts)) as server:
        settings = settings_of(agent, server)
        report = indexed(settings)
        assert report.chunks >= notes
        assert report.pending == 0
        assert {POISON, *LONG} <= set(fair.texts)
        for file in (tmp_path / "state" / "memory").glob("*.sqlite*"):
            file.unlink()

        today = weather = Weather(bad=True)
        report = indexed(settings)
        assert report.pending == 0, report.notes
        del weather.texts["ping"]  # asked once, to tell a bad text from a bad server
        left, pieces = set(fair.texts) - set(weather.texts), set(weather.texts) - set(fair.texts)
        assert left == {POISON, *LONG}
        assert {word for piece in pieces for word in piece.split()} == {word for text in LONG for word in text.split()}
        assert set(weather.texts.values()) == {1}, "a text was paid for twice"
        assert weather.requests <= 1.3 * fair.requests

        today = again = Weather(bad=True)
        assert indexed(settings).pending == 0
        assert again.requests == 0
        reasons = {entry.path: entry.reason for entry in ledger(settings) if entry.reason}
        assert set(reasons) == {"memory/050.md"}
        assert "NaN" in reasons["memory/050.md"]


@pytest.mark.long
def test_killed_in_the_middle(agent: Callable[..., Any], notes: int, workspace: Path, tmp_path: Path) -> None:
    """SIGKILL: the next run goes on where it was, and pays again for no more than the requests that were under way."""
    weather = Weather(bad=True)
    code = "from looseleaf.cli import main; main()"
    with EmbeddingServer(plan=weather) as server:
        settings_of(agent, server)
        command = [sys.executable, "-c", code, "index", "-w", str(workspace), "--config", str(tmp_path / "looseleaf.json5")]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        assert weather.halfway.wait(60)
        first.send_signal(signal.SIGKILL)
        first.wait()
        done = subprocess.run([*command, "--json"], capture_output=True, check=True, encoding="utf-8", env=os.environ)
    assert json.loads(done.stdout)["pending"] == 0
    del weather.texts["ping"]
    twice = sum(count - 1 for count in weather.texts.values())
    assert twice <= 4 * 32, "more than four requests were under way"
    assert len(weather.texts) >= notes - 3


def test_a_silent_provider_does_not_hold_up_a_search(agent: Callable[..., Any], write: Callable[[str, str], Path]) -> None:
    """A sync with a budget leaves a provider that never answers, says so, and words answer."""
    write("memory/a.md", "one note")
    with EmbeddingServer("hang") as server:
        notebook = open_notebook(settings_of(agent, server), environ={}, strict=True)

        async def index() -> Any:
            try:
                return await notebook.sync(budget_s=0.1)
            finally:
                await notebook.aclose()

        report = run(index(), inline=False)
    assert report.pending == 1
    assert "openai did not answer in the time that there was. What is embedded so far is kept" in report.notes[0].text
