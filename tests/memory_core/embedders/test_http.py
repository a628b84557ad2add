"""The client behind every provider: waits as it is told, turns to the next key, gives up with the reason."""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import monotonic
from typing import Any

import pytest

from looseleaf import ProviderError, TextTooLong
from looseleaf.testing import EmbeddingServer
from looseleaf_memory_core.embedders._http import Client, _retry_after
from looseleaf_memory_core.embedders.call import Patience

LONG = Patience(5.0, 5.0)
Answer = tuple[int, dict[str, str], str]


@contextmanager
def scripted(*answers: Answer) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Give the address of a server with these answers, the last for ever, and the headers of what it is sent."""
    seen: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = answers[min(len(seen), len(answers) - 1)]
            seen.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def post(url: str, *keys: str, patience: Patience = LONG, path: str = "/v1") -> Any:
    async def ask() -> Any:
        client = Client("acme", url, keys, lambda key: {"Authorization": f"Bearer {key}"} if key else {})
        try:
            return await client.post(path, {"input": ["one"]}, patience)
        finally:
            await client.aclose()

    return asyncio.run(ask())


FINE: Answer = (200, {}, '{"fine": true}')


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 529])
def test_what_may_succeed_later_is_tried_again(status: int) -> None:
    """PV-10: busy, failing, overloaded."""
    with scripted((status, {"Retry-After": "0"}, "{}"), FINE) as (url, seen):
        assert post(url) == {"fine": True}
        assert len(seen) == 2


@pytest.mark.parametrize(
    ("status", "remedy"), [(400, ""), (401, "Check the key"), (403, "Check the key"), (404, "Check the model's name")]
)
def test_what_cannot_is_not(status: int, remedy: str) -> None:
    """One request, and what to do."""
    with scripted((status, {}, '{"error": {"message": "no such thing"}}')) as (url, seen):
        with pytest.raises(ProviderError, match=f"acme answered {status}: no such thing.*{remedy}") as failure:
            post(url)
        assert len(seen) == 1
        assert (failure.value.status, failure.value.retryable) == (status, False)


def test_a_closed_connection_is_tried_again_and_then_told() -> None:
    """PV-10: nobody listens there; the message says where."""
    with scripted(FINE) as (url, _):
        pass
    with pytest.raises(ProviderError, match=r"acme at 127.0.0.1:\d+ cannot be reached: ConnectError") as failure:
        post(url, patience=Patience(0.2, 0.3))
    assert failure.value.retryable


def test_a_rate_limit_is_waited_for_as_told() -> None:
    """PV-06: Retry-After, and no earlier."""
    with scripted((429, {"Retry-After": "0.2"}, "{}"), FINE) as (url, seen):
        begun = monotonic()
        post(url)
        assert monotonic() - begun >= 0.2
        assert len(seen) == 2


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    """PV-06: a minute is more than a search has; the answer comes at once and says so."""
    with scripted((429, {"Retry-After": "60"}, "slow down")) as (url, seen):
        with pytest.raises(ProviderError, match="acme answered 429: slow down"):
            post(url, patience=Patience(1.0, 1.0))
        assert len(seen) == 1


def test_a_rate_limit_is_shared() -> None:
    """PV-06: what one request was told holds for those beside it."""
    with scripted((429, {"Retry-After": "0.3"}, "{}"), FINE) as (url, seen):

        async def both() -> None:
            client = Client("acme", url, (), lambda key: {})
            first = asyncio.ensure_future(client.post("/v1", {}, LONG))
            while not client._quiet_until:
                await asyncio.sleep(0.005)
            begun = monotonic()
            await client.post("/v1", {}, LONG)
            assert monotonic() - begun > 0.1
            await first
            await client.aclose()

        asyncio.run(both())
        assert len(seen) == 3


def test_keys_take_turns_on_a_rate_limit_only() -> None:
    """429 turns to the next key at once; a refused key does not."""
    with scripted((429, {"Retry-After": "60"}, "{}"), FINE) as (url, seen):
        assert post(url, "one", "two") == {"fine": True}
        assert [request["authorization"] for request in seen] == ["Bearer one", "Bearer two"]
    with scripted((401, {}, "{}")) as (url, seen):
        with pytest.raises(ProviderError):
            post(url, "one", "two")
        assert len(seen) == 1


def test_a_redirect_on_the_same_host_is_followed() -> None:
    """With the key: it is the same host."""
    with scripted((308, {"Location": "/v2"}, ""), FINE) as (url, seen):
        assert post(url, "one") == {"fine": True}
        assert [request["path"] for request in seen] == ["/v1", "/v2"]
        assert seen[1]["authorization"] == "Bearer one"


def test_a_redirect_to_another_host_is_told() -> None:
    """The key stays; the message says where it would have gone, and how to allow that."""
    with EmbeddingServer("redirect") as server:
        with pytest.raises(ProviderError, match=r"redirects to another host, localhost:\d+.*Set remote.baseUrl"):
            post(server.url, "one")
        assert server.elsewhere is not None
        assert server.elsewhere.requests == []


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens",
        "Invalid 'input[29]': maximum input length is 8192 tokens.",
        "the input length exceeds the context length",
        "Requested 378000 tokens, max 300000 tokens per request",
        "input is too long",
    ],
)
def test_refusals_of_length_are_known_by_their_words(said: str) -> None:
    """PV-02, PV-18: 400 is used for them, too."""
    with scripted((400, {}, json.dumps({"error": {"message": said}}))) as (url, _), pytest.raises(TextTooLong):
        post(url)


def test_a_page_of_html_is_no_answer() -> None:
    """A captive portal, a wrong address: the content type and the address are named."""
    page: Answer = (200, {"Content-Type": "text/html"}, "<html>hello</html>")
    with scripted(page) as (url, _), pytest.raises(ProviderError, match="acme answered with text/html that is no JSON; is http"):
        post(url)
    failure: Answer = (500, {"Content-Type": "text/html"}, "<h1>Bad <b>gateway</b></h1>")
    with scripted(failure) as (url, _), pytest.raises(ProviderError, match="acme answered 500: Bad gateway"):
        post(url, patience=Patience(0.5, 0.1))


def test_a_text_that_becomes_nan_is_not_tried_again() -> None:
    """PV-20: it will be NaN the next time, too; the index finds out which it is."""
    with scripted((500, {}, '{"error": "failed to encode response: json: unsupported value: NaN"}')) as (url, seen):
        with pytest.raises(ProviderError, match="unsupported value: NaN") as error:
            post(url)
        assert not error.value.retryable
        assert len(seen) == 1


def test_a_key_that_is_echoed_is_hidden() -> None:
    """Some servers quote what they were sent."""
    with scripted((401, {}, '{"error": "bad key sk-very-secret"}')) as (url, _):
        with pytest.raises(ProviderError, match=r"bad key \*\*\*") as failure:
            post(url, "sk-very-secret")
        assert "sk-very-secret" not in repr(failure.value) + repr(failure.value.__cause__)


def test_retry_after_is_seconds_or_a_date() -> None:
    """Both forms of RFC 9110; nonsense is none."""
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < (_retry_after({"retry-after": later}) or 0) <= 90
    assert _retry_after({"retry-after": "2.5"}) == 2.5
    assert _retry_after({"retry-after": "soon"}) is None
    assert _retry_after({}) is None


def test_a_client_outlives_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two event loops one after the other: connections of the first are not used in the second."""
    with scripted(FINE) as (url, seen):
        client = Client("acme", url, (), lambda key: {})
        ask: Callable[[], Any] = lambda: client.post("/v1", {}, LONG)  # noqa: E731 - a coroutine for each loop
        for _ in range(2):
            with asyncio.Runner() as runner:
                runner.run(ask())
                runner.run(client.aclose())
        assert len(seen) == 2
