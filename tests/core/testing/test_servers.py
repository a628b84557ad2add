"""The fake providers are wrong in exactly the way that their name says."""

from __future__ import annotations

import http.client
import json
import math
import urllib.error
import urllib.request

import pytest

from looseleaf.testing import EmbeddingServer
from looseleaf.testing.servers import BEHAVIOURS, WIRES

TEXTS = ["one", "two", "three"]


def ask(server: EmbeddingServer, timeout: float = 5.0):
    """Return status, headers and body."""
    body = json.dumps({"input": TEXTS, "model": "m"}).encode()
    request = urllib.request.Request(server.url + server.wire.path, body, {"Authorization": "Bearer secret"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def rows(behaviour: str) -> list[tuple[int, list[float]]]:
    with EmbeddingServer(behaviour) as server:
        status, _, body = ask(server)
    assert status == 200
    return [(item["index"], item["embedding"]) for item in json.loads(body)["data"]]


def test_right_and_wrong_rows() -> None:
    """Each fault is in the last row, or in the order."""
    right = rows("right")
    assert [index for index, _ in right] == [0, 1, 2]
    assert rows("wrong-order") == right[::-1]
    assert rows("short") == right[:2]
    assert [index for index, _ in rows("duplicate-index")] == [0, 1, 1]
    assert math.isnan(rows("nan")[2][1][0])
    assert rows("zero")[2][1] == [0.0] * 8
    assert rows("empty")[2][1] == []
    assert len(rows("wrong-size")[2][1]) == 9


@pytest.mark.parametrize(
    ("behaviour", "status", "retry_after", "html"),
    [
        ("401", 401, None, False),
        ("413", 413, None, False),
        ("431", 431, None, False),
        ("429", 429, "0", False),
        ("429-bare", 429, None, False),
        ("500", 500, None, True),
        ("html", 200, None, True),
    ],
)
def test_refusals(behaviour: str, status: int, retry_after: str | None, html: bool) -> None:
    """Status, Retry-After and kind of body."""
    with EmbeddingServer(behaviour) as server:
        got, headers, body = ask(server)
    assert (got, headers.get("Retry-After"), body.startswith(b"<html>")) == (status, retry_after, html)


def test_a_cut_answer_ends_early() -> None:
    """The body is shorter than it was said to be."""
    with EmbeddingServer("cut") as server, pytest.raises(http.client.IncompleteRead):
        ask(server)


def test_a_hanging_server_notices_who_hangs_up() -> None:
    """No answer comes, and the end of the connection is seen."""
    with EmbeddingServer("hang") as server:
        with pytest.raises((TimeoutError, urllib.error.URLError)):
            ask(server, timeout=0.05)
        assert server.hung_up.wait(5)


def test_a_redirect_leads_to_another_host() -> None:
    """The other server is known by another name, and shows what it was sent."""
    with EmbeddingServer("redirect") as server:
        status, headers, _ = ask(server)
        assert status == 307
        assert headers["Location"].startswith("http://localhost:")
        assert server.elsewhere is not None
        assert server.elsewhere.requests == []


def test_a_dropped_connection_has_no_answer() -> None:
    """As of a server that dies."""
    with EmbeddingServer("drop") as server, pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(server)


def test_a_plan_decides_by_the_texts() -> None:
    """Every request may be answered in its own way."""
    with EmbeddingServer(plan=lambda texts: "413" if len(texts) > 2 else "right") as server:
        assert ask(server)[0] == 413


def test_it_can_come_to_its_senses() -> None:
    """`times` faults, then right answers; every request is on record."""
    with EmbeddingServer("429", times=2) as server:
        assert [ask(server)[0] for _ in range(3)] == [429, 429, 200]
    assert [request.texts for request in server.requests] == [TEXTS] * 3
    assert server.requests[0].headers["authorization"] == "Bearer secret"


def test_unknown_behaviour_is_refused() -> None:
    """The known ones are named."""
    with pytest.raises(ValueError, match="no server behaves as 'slow'; known: right, wrong-order"):
        EmbeddingServer("slow")
    assert len(BEHAVIOURS) == 19


@pytest.mark.parametrize("name", WIRES)
def test_every_wire_reads_what_it_is_sent(name: str) -> None:
    """Texts are found in the request, rows stand where the provider puts them."""
    wire = WIRES[name]
    body = {"openai": {"input": "one"}, "ollama": {"input": ["one"]}, "gemini": {"content": {"parts": [{"text": "one"}]}}}[name]
    assert wire.texts(body) == ["one"]
    assert "[0.5]" in json.dumps(wire.answer([(0, [0.5])]))
