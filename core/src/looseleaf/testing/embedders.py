"""The laws of embedders: those of any, and those of one that speaks HTTP, tried on servers that are wrong in every known way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import strategies as st

from ..errors import LooseleafError, ProviderError, TextTooLong
from ..protocols import Embedder
from ..types import Limits, Purpose
from ._law import Factory, Law, chosen
from .servers import EmbeddingServer
from .strategies import texts

if TYPE_CHECKING:
    from ..types import Vectors

#: Makes the embedder for a server's address and a key. Its timeout should be about half a second.
Over: TypeAlias = Callable[[str, str], Embedder]
KEY = "sk-looseleaf-law-6f1d"
_WITHIN_S = 5.0
_NEAR = 1e-3


class _Lent:
    """An embedder and the event loop it lives in, for one run of a law."""

    def __init__(self, make: Factory, runner: asyncio.Runner) -> None:
        self.make = make
        self.runner = runner
        self.embedder: Embedder = make()

    def embed(self, given: Sequence[str], purpose: Purpose = "document", *, within_s: float = _WITHIN_S) -> Vectors:
        """Return the rows; raise what the embedder raises."""
        return self.runner.run(asyncio.wait_for(self.embedder.embed(given, purpose), within_s))


@contextmanager
def _lent(make: Factory) -> Iterator[_Lent]:
    with asyncio.Runner() as runner:
        lent = _Lent(make, runner)
        try:
            yield lent
        finally:
            runner.run(lent.embedder.aclose())


def _shape(lent: _Lent, given: list[str]) -> None:
    import numpy as np

    rows = lent.embed(given)
    assert rows.dtype == np.float32, rows.dtype
    assert rows.ndim == 2, rows.shape
    assert len(rows) == len(given), f"{len(given)} texts gave {len(rows)} rows"
    assert lent.embed(["again"]).shape[1] == rows.shape[1], "rows of another size"


def _usable(lent: _Lent, given: list[str]) -> None:
    import numpy as np

    rows = lent.embed([*given, "something"])
    assert np.isfinite(rows).all(), "NaN or infinity"
    assert (np.linalg.norm(rows, axis=1) > 1e-6).all(), "a zero vector"


def _empty(lent: _Lent) -> None:
    rows = lent.embed([])
    assert rows.shape == (0, lent.embed(["something"]).shape[1]), rows.shape


def _permuted(lent: _Lent, given: list[str], seed: int) -> None:
    import numpy as np

    order = Random(seed).sample(range(len(given)), len(given))
    rows, shuffled = lent.embed(given), lent.embed([given[place] for place in order])
    np.testing.assert_allclose(shuffled, rows[order], atol=_NEAR)


def _split(lent: _Lent, given: list[str]) -> None:
    import numpy as np

    alone = [lent.embed([text])[0] for text in given]
    np.testing.assert_allclose(lent.embed(given), np.stack(alone), atol=_NEAR)


def _odd(lent: _Lent, text: str) -> None:
    import numpy as np

    try:
        rows = lent.embed([text, "something"])
    except ProviderError:
        return
    assert np.isfinite(rows).all()
    assert len(rows) == 2


def _long(lent: _Lent) -> None:
    words = min(20_000, 2 * lent.embedder.limits.tokens)
    try:
        rows = lent.embed(["word " * words], within_s=60)
    except TextTooLong:
        return
    assert len(rows) == 1


def _unit(lent: _Lent, given: list[str]) -> None:
    import numpy as np

    np.testing.assert_allclose(np.linalg.norm(lent.embed([*given, "something"]), axis=1), 1, atol=_NEAR)


def _queries(lent: _Lent) -> None:
    import numpy as np

    row, again, other = (lent.embed([text], "query") for text in ("which router", "which router", "a cake with plums"))
    assert row.shape == (1, lent.embed(["something"]).shape[1])
    np.testing.assert_allclose(row, again, atol=_NEAR)
    assert np.abs(row - other).max() > _NEAR, "two questions that differ have the same vector"


def _identity(make: Factory) -> None:
    first, second = make(), make()
    assert isinstance(first.fingerprint, str)
    assert first.fingerprint.strip()
    assert first.fingerprint == second.fingerprint, "made twice, it has two fingerprints"
    assert isinstance(first.limits, Limits)
    assert min(first.limits.texts, first.limits.tokens, first.limits.request_tokens) >= 1


def _closes(make: Factory) -> None:
    async def twice() -> None:
        embedder = make()
        await embedder.embed(["something"], "query")
        await embedder.aclose()
        await embedder.aclose()

    asyncio.run(asyncio.wait_for(twice(), _WITHIN_S))


def _distinct(others: Sequence[Callable[[], Embedder]], make: Factory) -> None:
    seen = {make().fingerprint}
    for other in others:
        fingerprint = other().fingerprint
        assert fingerprint not in seen, f"another model, endpoint or size has the same fingerprint {fingerprint!r}"
        seen.add(fingerprint)


def _ask(over: Over, server: EmbeddingServer, given: Sequence[str] = ("one router", "two routers", "three")) -> Vectors:
    async def ask() -> Vectors:
        embedder = over(server.url, KEY)
        try:
            return await asyncio.wait_for(embedder.embed(list(given), "document"), _WITHIN_S)
        finally:
            await embedder.aclose()

    return asyncio.run(ask())


def _right(over: Over, make: Factory) -> None:
    import numpy as np

    with EmbeddingServer() as server, EmbeddingServer("wrong-order") as other:
        rows = _ask(over, server)
        assert rows.shape == (3, server.dimensions)
        given = np.array([row for _, row in server.rows(server.requests[0].texts, "right")])
        cosines = (rows[: len(given)] * given).sum(axis=1) / np.linalg.norm(rows[: len(given)], axis=1)
        np.testing.assert_allclose(cosines, 1, atol=_NEAR, err_msg="the rows are not those that the server gave")
        np.testing.assert_allclose(_ask(over, other), rows, atol=_NEAR, err_msg="rows are taken as they come, not by their index")


def _nothing_sent(over: Over, make: Factory) -> None:
    with EmbeddingServer() as server:
        assert len(_ask(over, server, [])) == 0
        assert not server.requests, "a request was sent for no texts"


def _limits(over: Over, make: Factory) -> None:
    with EmbeddingServer() as server:
        most = over(server.url, KEY).limits.texts
        given = [f"text {number}" for number in range(2 * most + 1)] if most < 2000 else ["text"] * 3
        assert len(_ask(over, server, given)) == len(given)
        assert max(len(request.texts) for request in server.requests) <= most
        assert sum(len(request.texts) for request in server.requests) == len(given), "a text was sent twice, or never"


_MALFORMED = ("short", "duplicate-index", "nan", "zero", "empty", "wrong-size", "html")
_RETRYABLE = {"401": False, "413": False, "429": True, "500": True, "cut": True, "hang": True}


def _refused(over: Over, make: Factory) -> None:
    for behaviour in (*_MALFORMED, *_RETRYABLE):
        with EmbeddingServer(behaviour) as server:
            try:
                rows = _ask(over, server)
            except ProviderError as error:
                wanted = _RETRYABLE.get(behaviour)
                assert wanted in (None, error.retryable), f"a server that {behaviour!r}: retryable should be {wanted}"
            except TimeoutError as error:
                raise AssertionError(f"a server that {behaviour!r}: no answer within {_WITHIN_S:g} s") from error
            except Exception as error:
                raise AssertionError(f"a server that {behaviour!r}: {type(error).__name__} is no ProviderError") from error
            else:
                raise AssertionError(f"a server that {behaviour!r}: its answer was taken, {len(rows)} rows")


def _secret(over: Over, make: Factory) -> None:
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
            with EmbeddingServer(behaviour) as server:
                embedder = over(server.url, KEY)
                said += [repr(embedder), str(embedder), embedder.fingerprint]
                try:
                    _ask(over, server)
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


def _bound(over: Over, make: Factory) -> None:
    with EmbeddingServer("redirect") as server:
        with suppress(ProviderError):
            _ask(over, server)
        assert server.elsewhere
        for request in server.elsewhere.requests:
            assert KEY not in str(request.headers) + request.path, "the key followed a redirect to another host"


def _cancelled(over: Over, make: Factory) -> None:
    with EmbeddingServer("hang") as server:

        async def ask() -> None:
            embedder = over(server.url, KEY)
            task = asyncio.ensure_future(embedder.embed(["something"], "query"))
            while not server.requests and not task.done():
                await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            closed = await asyncio.to_thread(server.hung_up.wait, 0.2)  # before the loop ends, which cancels what is left
            await embedder.aclose()
            assert closed, "the request went on after it was cancelled"

        asyncio.run(asyncio.wait_for(ask(), _WITHIN_S))


_TEXTS = st.lists(texts().filter(lambda text: text.isprintable() and text.strip() != ""), max_size=4)
_LAWS = (
    Law(
        "embedder-shape",
        "One float32 row a text, all of one size.",
        "float64 from a list, a single text that gives one dimension less, rows for the batch instead of the texts",
        _shape,
        {"given": _TEXTS},
        around=_lent,
    ),
    Law(
        "embedder-usable",
        "Rows are finite and not zero.",
        "a text without a known word, a division by a length of 0",
        _usable,
        {"given": _TEXTS},
        around=_lent,
    ),
    Law("embedder-empty", "No texts give the shape (0, dimensions).", "np.stack of nothing", _empty, around=_lent),
    Law(
        "embedder-permuted",
        "Texts in another order give the same rows in that order.",
        "an answer that is not sorted by its index, sorting by length without sorting back, batches reordered",
        _permuted,
        {"given": _TEXTS, "seed": st.integers(0, 99)},
        around=_lent,
    ),
    Law(
        "embedder-odd-texts",
        "Any string gives a finite row or a ProviderError: empty, NUL, lone surrogates, emoji, right to left.",
        "text.encode() of a lone surrogate, a C string that ends at NUL, an empty string",
        _odd,
        {"text": texts()},
        around=_lent,
    ),
    Law(
        "embedder-long",
        "A text over the model's limit is cut or refused with TextTooLong.",
        "an error of the model library that passes through",
        _long,
        around=_lent,
    ),
    Law(
        "embedder-queries",
        "A question has a row of the same size, always the same one, and another question another one.",
        "a query prefix that replaces the text, a random start, a cache whose key is not the text",
        _queries,
        around=_lent,
    ),
    Law(
        "embedder-identity",
        "The fingerprint is text and always the same; limits are positive.",
        "a fingerprint with a time, a hash() or an address in it",
        _identity,
    ),
    Law("embedder-closes", "Closing twice is harmless.", "a client closed again, a handle used after it is gone", _closes),
    Law("embedder-unit", "Rows have length 1.", "a missing division by the length", _unit, {"given": _TEXTS}, "unit", _lent),
    Law(
        "embedder-split",
        "A text has the same row alone and among others, within 0.001.",
        "padding that is not masked, a mean taken over the batch",
        _split,
        {"given": _TEXTS.filter(bool)},
        "split",
        _lent,
    ),
)


def embedder_laws(
    *claims: str,
    others: Sequence[Callable[[], Embedder]] = (),
    over: Over | None = None,
    waive: Mapping[str, str] | None = None,
) -> tuple[Law, ...]:
    """Return the laws that an embedder must keep: those of the contract, and those that it claims.

    Args:
        claims: Any of `unit`, `split`.
        others: Make it with another model, endpoint or size each: their fingerprints must differ.
        over: Makes it for an address and a key, for one that speaks OpenAI's wire format; give it short timeouts.
        waive: Reasons by the name of a law that need not hold.
    """
    laws = list(_LAWS)
    if others:
        claims = (*claims, "others")
        laws.append(
            Law(
                "embedder-distinct",
                "Another model, endpoint or size is another fingerprint.",
                "a fingerprint that leaves one of them out: vectors that cannot be compared would be",
                partial(_distinct, others),
                claim="others",
            )
        )
    if over is not None:
        claims = (*claims, "http")
        laws += [Law(name, says, look_at, partial(check, over), claim="http") for name, says, look_at, check in _OVER_HTTP]
    return chosen(laws, claims, waive)


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
