"""The laws of an embedder that speaks HTTP, tried on servers that are wrong in every known way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..errors import LooseleafError, ProviderError
from ..protocols import Embedder
from ._law import Factory, Law
from .servers import WIRES, EmbeddingServer

if TYPE_CHECKING:
    from ..types import Vectors

#: Makes the embedder for a server's address and a key. Its timeout should be about half a second.
Over: TypeAlias = Callable[[str, str], Embedder]
KEY = "sk-looseleaf-law-6f1d"
WITHIN_S = 5.0
NEAR = 1e-3


class Made(NamedTuple):
    """How the embedder is made, and the wire format it speaks."""

    over: Over
    wire: str

    def server(self, behaviour: str = "right") -> EmbeddingServer:
        """Return a server that speaks it."""
        return EmbeddingServer(behaviour, wire=self.wire)


def _ask(made: Made, server: EmbeddingServer, given: Sequence[str] = ("one router", "two routers", "three")) -> Vectors:
    async def ask() -> Vectors:
        embedder = made.over(server.url, KEY)
        try:
            return await asyncio.wait_for(embedder.embed(list(given), "document"), WITHIN_S)
        finally:
            await embedder.aclose()

    return asyncio.run(ask())


def _right(made: Made, make: Factory) -> None:
    import numpy as np

    with made.server() as server, made.server("wrong-order" if WIRES[made.wire].indexed else "right") as other:
        rows = _ask(made, server)
        assert rows.shape == (3, server.dimensions)
        given = np.array([row for _, row in server.rows(server.requests[0].texts, "right")])
        cosines = (rows[: len(given)] * given).sum(axis=1) / np.linalg.norm(rows[: len(given)], axis=1)
        np.testing.assert_allclose(cosines, 1, atol=NEAR, err_msg="the rows are not those that the server gave")
        np.testing.assert_allclose(_ask(made, other), rows, atol=NEAR, err_msg="rows are taken as they come, not by their index")


def _nothing_sent(made: Made, make: Factory) -> None:
    with made.server() as server:
        assert len(_ask(made, server, [])) == 0
        assert not server.requests, "a request was sent for no texts"


def _limits(made: Made, make: Factory) -> None:
    with made.server() as server:
        most = made.over(server.url, KEY).limits.texts
        given = [f"text {number}" for number in range(2 * most + 1)] if most < 2000 else ["text"] * 3
        assert len(_ask(made, server, given)) == len(given)
        assert max(len(request.texts) for request in server.requests) <= most
        assert sum(len(request.texts) for request in server.requests) == len(given), "a text was sent twice, or never"


_MALFORMED = ("short", "duplicate-index", "nan", "zero", "empty", "wrong-size", "html")
_RETRYABLE = {"401": False, "413": False, "429": True, "500": True, "cut": True, "drop": True, "hang": True}


def _refused(made: Made, make: Factory) -> None:
    indexed = WIRES[made.wire].indexed
    for behaviour in (*(name for name in _MALFORMED if indexed or name != "duplicate-index"), *_RETRYABLE):
        with made.server(behaviour) as server:
            try:
                rows = _ask(made, server)
            except ProviderError as error:
                wanted = _RETRYABLE.get(behaviour)
                assert wanted in (None, error.retryable), f"a server that {behaviour!r}: retryable should be {wanted}"
            except TimeoutError as error:
                raise AssertionError(f"a server that {behaviour!r}: no answer within {WITHIN_S:g} s") from error
            except Exception as error:
                raise AssertionError(f"a server that {behaviour!r}: {type(error).__name__} is no ProviderError") from error
            else:
                raise AssertionError(f"a server that {behaviour!r}: its answer was taken, {len(rows)} rows")


def _secret(made: Made, make: Factory) -> None:
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    listener, root = Listener(), logging.getLogger()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    try:
        for behaviour in ("401", "500", "nan", "cut", "right"):
            with made.server(behaviour) as server:
                embedder = made.over(server.url, KEY)
                said += [repr(embedder), str(embedder), embedder.fingerprint]
                try:
                    _ask(made, server)
                except LooseleafError as error:
                    said += _told(error)
    finally:
        root.removeHandler(listener)
        root.setLevel(level)
    shown = [text for text in said if KEY in text]
    assert not shown, f"the key is shown: {shown[0][:200]!r}"


def _told(error: BaseException) -> list[str]:
    told: list[str] = []
    link: BaseException | None = error
    while link is not None:
        told += [str(link), repr(link), *getattr(link, "__notes__", ())]
        link = link.__cause__ or link.__context__
    return told


def _bound(made: Made, make: Factory) -> None:
    with made.server("redirect") as server:
        with suppress(ProviderError):
            _ask(made, server)
        assert server.elsewhere
        for request in server.elsewhere.requests:
            assert KEY not in str(request.headers) + request.path, "the key followed a redirect to another host"


def _cancelled(made: Made, make: Factory) -> None:
    with made.server("hang") as server:

        async def ask() -> None:
            embedder = made.over(server.url, KEY)
            task = asyncio.ensure_future(embedder.embed(["something"], "query"))
            while not server.requests and not task.done():
                await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            closed = await asyncio.to_thread(server.hung_up.wait, 0.2)  # before the loop ends, which cancels what is left
            await embedder.aclose()
            assert closed, "the request went on after it was cancelled"

        asyncio.run(asyncio.wait_for(ask(), WITHIN_S))


_OVER_HTTP = (
    ("embedder-http-right", "Rows are those of the server, by their index.", "the field `index` of the answer", _right),
    ("embedder-http-nothing", "No texts send no request.", "a request for an empty batch", _nothing_sent),
    ("embedder-http-limits", "No request holds more texts than the limit, and each text is sent once.", "batching", _limits),
    (
        "embedder-http-refuses",
        "A wrong answer is a ProviderError, with `retryable` right: busy, failing, cut and silent may be tried again.",
        "counts, indexes, NaN, zeros and sizes that are not checked; errors of the HTTP library that pass through",
        _refused,
    ),
    (
        "embedder-http-secret",
        "The key is in no repr, message, fingerprint, chained exception or log.",
        "a dataclass with the key as a field, an error that quotes the request's headers",
        _secret,
    ),
    (
        "embedder-http-bound",
        "The key does not follow a redirect to another host.",
        "follow_redirects with a header of your own: only Authorization is dropped by HTTP libraries",
        _bound,
    ),
    (
        "embedder-http-cancelled",
        "Cancelling closes the connection.",
        "a request on a thread that goes on, an except that swallows CancelledError",
        _cancelled,
    ),
)


def wire_laws(over: Over, wire: str) -> list[Law]:
    """Return the laws for what `over` makes."""
    made = Made(over, wire)
    return [Law(name, says, look_at, partial(check, made), claim="http") for name, says, look_at, check in _OVER_HTTP]
