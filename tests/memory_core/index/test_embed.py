"""Vectors for chunks: once each, in requests within the limits, and one bad text costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from looseleaf import Limits, Notebook, ProviderError, TextTooLong
from looseleaf._run import run
from looseleaf_memory_core.slot import CoreSlot


class Recorder:
    """An embedder that writes down what it was asked, and can be made to fail."""

    provider, model, fingerprint, blocking = "recorder", "one", "recorder:one", True

    def __init__(self, **limits: int) -> None:
        self.limits = Limits(**{"texts": 4, **limits})
        self.requests: list[list[str]] = []
        self.spoil: Callable[[list[str], np.ndarray], np.ndarray] = lambda texts, rows: rows
        self.queries = 0

    async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
        if purpose == "query":
            self.queries += 1
        else:
            self.requests.append(list(texts))
        rows = np.array([[len(text), text.count("e"), text.count("a"), 1] for text in texts], np.float32).reshape(-1, 4)
        return self.spoil(list(texts), rows)

    async def aclose(self) -> None:
        pass

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request]


@pytest.fixture
def embedded(opened: Callable[..., Notebook]) -> Callable[[Recorder], Notebook]:
    def make(embedder: Recorder) -> Notebook:
        notebook = opened()
        return replace(notebook, slot=CoreSlot(notebook.settings, embedder))

    return make


def sync(notebook: Notebook, **options):
    return run(notebook.sync(**options), inline=True)


def test_each_text_is_embedded_once(embedded, write) -> None:
    """PV-14: within the limits of a request, equal texts once, and a second run sends nothing."""
    for number in range(10):
        write(f"memory/{number}.md", f"note {number % 8}")
    embedder = Recorder()
    notebook = embedded(embedder)
    report = sync(notebook)
    assert (report.embedded, report.pending, len(embedder.texts)) == (8, 0, 8)
    assert max(map(len, embedder.requests)) <= 4
    assert sync(notebook).embedded == 0
    assert len(embedder.texts) == 8


def test_unchanged_text_is_never_paid_for_twice(embedded, write) -> None:
    """A renamed file, a forced rebuild and an edit elsewhere send only what is new."""
    write("memory/a.md", "alpha")
    write("memory/b.md", "beta")
    embedder = Recorder()
    notebook = embedded(embedder)
    sync(notebook)
    (notebook.settings.workspace / "memory/a.md").rename(notebook.settings.workspace / "memory/c.md")
    sync(notebook)
    sync(notebook, force=True)
    assert len(embedder.texts) == 2
    write("memory/b.md", "gamma")
    sync(notebook)
    assert embedder.texts[2:] == ["gamma"]


def test_requests_stay_within_their_tokens(embedded, write) -> None:
    """PV-01: a request is bounded by estimated tokens as well as by texts."""
    for number in range(6):
        write(f"memory/{number}.md", f"{number} " + "word " * 100)
    embedder = Recorder(texts=100, request_tokens=300)
    sync(embedded(embedder))
    assert all(sum(len(text) / 4 for text in request) <= 300 for request in embedder.requests)
    assert len(embedder.requests) == 3


def most_tokens(most: int) -> Callable[[list[str], np.ndarray], np.ndarray]:
    """Refuse a request with a text over `most` characters."""

    def refuse(texts: list[str], rows: np.ndarray) -> np.ndarray:
        if any(len(text) > most for text in texts):
            raise TextTooLong(f"Invalid 'input': the model takes {most}")
        return rows

    return refuse


def test_a_text_that_is_too_long_is_embedded_in_pieces(embedded, write) -> None:
    """PV-02: the batch is halved until it stands alone, then it is cut; all of it can be found by meaning."""
    long = " ".join(f"word{number}" for number in range(60))
    for number in range(4):
        write(f"memory/{number}.md", long if number == 2 else f"fine {number}")
    embedder = Recorder()
    embedder.spoil = most_tokens(200)
    notebook = embedded(embedder)
    report = sync(notebook)
    assert (report.embedded, report.pending) == (4, 0)
    taken = [request for request in embedder.requests if max(map(len, request)) <= 200]
    pieces = [text for request in taken for text in request if len(text) > 20]
    assert " ".join(" ".join(pieces).split()) == long
    assert not any(entry.reason for entry in run(notebook.status(), inline=True).ledger)
    sent = len(embedder.requests)
    write("memory/9.md", "fine 9")
    sync(notebook)
    assert embedder.requests[sent:] == [["fine 9"]]


def test_a_text_over_the_declared_limit_is_never_sent_whole(embedded, write) -> None:
    """CH-06: chunks are cut by our estimate, models of 256 tokens take them in pieces."""
    write("memory/a.md", " ".join(f"word{number}" for number in range(200)))
    embedder = Recorder(tokens=64)
    assert sync(embedded(embedder)).pending == 0
    assert max(map(len, embedder.texts)) <= 4 * 64
    assert max(map(len, embedder.requests)) <= 4


def test_a_provider_that_refuses_every_text_is_a_failure(embedded, write) -> None:
    """PV-24: a proxy that answers 413 to everything leaves no text marked as bad."""
    for number in range(8):
        write(f"memory/{number}.md", f"note {number} " + "word " * 60)
    embedder = Recorder()
    embedder.spoil = most_tokens(0)
    report = sync(embedded(embedder))
    assert report.pending == 8
    assert any(note.code == "provider-failed" for note in report.notes)
    assert len(embedder.requests) < 8


def test_too_large_a_request_teaches_its_limit(embedded, write) -> None:
    """PV-09: five are refused, three and two are taken in order; from then on no more are sent, in a new process either."""
    for number in range(20):
        write(f"memory/{number}.md", f"note number {number:02}")

    def refuse(texts: list[str], rows: np.ndarray) -> np.ndarray:
        if len(texts) > 3:
            raise TextTooLong("431", status=431)
        return rows

    embedder = Recorder(texts=5)
    embedder.spoil = refuse
    notebook = embedded(embedder)
    assert sync(notebook).pending == 0
    assert list(map(len, embedder.requests)).count(5) == 1
    write("memory/more.md", "\n\n".join(f"# Part {number}\n\n" + "text " * 200 for number in range(7)))
    embedder = Recorder(texts=5)
    embedder.spoil = refuse
    notebook = replace(notebook, slot=CoreSlot(notebook.settings, embedder))
    assert sync(notebook).pending == 0
    assert max(map(len, embedder.requests)) <= 3
    assert run(notebook.slot.probe(), inline=True).limits.texts == 3
    write("memory/more.md", "\n\n".join(f"# Piece {number}\n\n" + "text " * 200 for number in range(7)))
    sync(notebook, force=True)
    assert max(map(len, embedder.requests)) == 5, "a rebuild tries again what the embedder says of itself"


def test_a_text_that_is_always_too_long_costs_only_itself(embedded, write) -> None:
    """PV-02, CH-05: what is refused even in pieces is remembered and not sent again."""
    for number in range(4):
        write(f"memory/{number}.md", "too long" if number == 2 else f"fine {number}")

    def refuse(texts: list[str], rows: np.ndarray) -> np.ndarray:
        if any("too long" in text for text in texts):
            raise TextTooLong("the text has 9000 tokens, the model takes 8192")
        return rows

    embedder = Recorder()
    embedder.spoil = refuse
    notebook = embedded(embedder)
    report = sync(notebook)
    assert (report.embedded, report.pending) == (3, 0)
    sent = len(embedder.requests)
    assert sync(notebook).embedded == 0
    assert len(embedder.requests) == sent
    ledger = {entry.path: entry.reason for entry in run(notebook.status(), inline=True).ledger}
    assert "8192" in ledger["memory/2.md"]


def test_a_vector_that_is_no_number_costs_only_its_chunk(embedded, write) -> None:
    """PV-20: NaN for one text leaves that chunk to its words, with the reason in the ledger."""
    for number in range(3):
        write(f"memory/{number}.md", f"note {number}")

    def nan(texts: list[str], rows: np.ndarray) -> np.ndarray:
        rows[[text == "note 1" for text in texts]] = np.nan
        return rows

    embedder = Recorder()
    embedder.spoil = nan
    notebook = embedded(embedder)
    assert sync(notebook).pending == 0
    assert "NaN" in {entry.path: entry.reason for entry in run(notebook.status(), inline=True).ledger}["memory/1.md"]
    assert run(notebook.search('"note 1"'), inline=True).hits[0].hit.path == "memory/1.md"


@pytest.mark.parametrize("fault", ["short", "raises"])
def test_a_failing_provider_leaves_words(embedded, write, fault: str) -> None:
    """PV-05, PV-24, UX-01: words are indexed all the same, the reason is told, and the next run goes on."""
    write("memory/a.md", "alpha")

    def fail(texts: list[str], rows: np.ndarray) -> np.ndarray:
        if fault == "raises":
            raise ProviderError("recorder answered 401: wrong key", status=401)
        return rows[:0]

    embedder = Recorder()
    embedder.spoil = fail
    notebook = embedded(embedder)
    report = sync(notebook)
    assert (report.pending, [note.code for note in report.notes]) == (1, ["provider-failed"])
    result = run(notebook.search("alpha"), inline=True)
    assert [hit.hit.path for hit in result.hits] == ["memory/a.md"]
    embedder.spoil = lambda texts, rows: rows
    sent = len(embedder.requests)
    assert "It is asked again in 5 s" in sync(notebook).notes[0].text
    assert len(embedder.requests) == sent, "PV-08: a provider that has just failed is left alone"
    assert sync(embedded(embedder)).pending == 0


def test_a_query_that_cannot_be_embedded_is_searched_by_words(embedded, write) -> None:
    """A failing provider is a note on the result, never an exception."""
    write("memory/a.md", "alpha")
    embedder = Recorder()
    notebook = embedded(embedder)
    sync(notebook)

    def fail(texts: list[str], rows: np.ndarray) -> np.ndarray:
        raise ProviderError("recorder is down", retryable=True)

    embedder.spoil = fail
    result = run(notebook.search("alpha"), inline=True)
    assert (result.mode, len(result.hits)) == ("keyword", 1)
    assert "recorder is down" in result.notes[0].text


def test_a_provider_that_breaks_its_contract_is_a_note(embedded, write) -> None:
    """An embedder that raises what it should not still leaves words."""
    write("memory/a.md", "alpha")
    embedder = Recorder()
    notebook = embedded(embedder)
    sync(notebook)
    embedder.spoil = lambda texts, rows: 1 / 0
    result = run(notebook.search("alpha"), inline=True)
    assert len(result.hits) == 1
    assert "ZeroDivisionError" in result.notes[0].text
    write("memory/b.md", "beta")
    assert "ZeroDivisionError" in sync(notebook).notes[0].text


def test_a_query_is_embedded_once(embedded, write) -> None:
    """The same question again costs nothing."""
    write("memory/a.md", "alpha")
    embedder = Recorder()
    notebook = embedded(embedder)
    sync(notebook)
    for _ in range(3):
        run(notebook.search("alpha"), inline=True)
    assert embedder.queries == 1


def test_a_budget_leaves_the_rest_pending(embedded, write) -> None:
    """After the time that was given, what is left waits, and is counted."""
    for number in range(8):
        write(f"memory/{number}.md", f"note {number}")
    notebook = embedded(Recorder())
    report = sync(notebook, budget_s=0.0)
    assert (report.embedded, report.pending, report.chunks) == (0, 8, 8)
    states = {entry.state for entry in run(notebook.status(), inline=True).ledger}
    assert states == {"pending"}
    assert run(notebook.search("note"), inline=True).hits


def test_another_model_of_the_same_width_is_another_space(embedded, write) -> None:
    """VS-08: vectors are compared within one fingerprint, never by width."""
    write("memory/a.md", "alpha")
    first = Recorder()
    sync(embedded(first))
    second = Recorder()
    second.fingerprint = "recorder:two"
    notebook = embedded(second)
    result = run(notebook.search("alpha"), inline=True)
    assert result.mode == "keyword"
    sync(notebook)
    assert second.texts == ["alpha"]


def test_odd_text_reaches_the_embedder_clean(embedded, write) -> None:
    """FQ-12: no lone surrogate and no NUL."""
    write("memory/a.md", "bad \udce9 byte")
    embedder = Recorder()
    sync(embedded(embedder))
    assert embedder.texts == ["bad ? byte"] or embedder.texts == ["bad \ufffd byte"]


def test_searching_a_clean_index_embeds_no_note(embedded, write) -> None:
    """WS-18: three searches, each with a sync before it, ask for three questions and nothing else."""
    write("memory/a.md", "alpha")
    embedder = Recorder()
    notebook = embedded(embedder)
    sync(notebook)
    sent = len(embedder.requests)
    for number in range(3):
        sync(notebook)
        run(notebook.search(f"alpha {number}"), inline=True)
    assert (len(embedder.requests), embedder.queries) == (sent, 3)


def test_what_was_embedded_before_a_failure_is_kept(embedded, write) -> None:
    """WS-20: a local provider that dies after two of five; the next run asks for three."""
    for number in range(5):
        write(f"memory/{number}.md", f"note {number}")
    embedder = Recorder(texts=1)

    def die(texts: list[str], rows: np.ndarray) -> np.ndarray:
        if len(embedder.requests) > 2:
            raise ProviderError("the model ended", retryable=True)
        return rows

    embedder.spoil = die
    report = sync(embedded(embedder))
    assert (report.embedded, report.pending, report.chunks) == (2, 3, 5)
    again = Recorder(texts=1)
    assert sync(embedded(again)).pending == 0
    assert len(again.texts) == 3
