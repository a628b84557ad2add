"""The laws of embedders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from ..errors import ProviderError, TextTooLong
from ..protocols import Embedder
from ..types import Limits, Purpose
from ._law import Factory, Law, chosen
from .strategies import texts
from .wire import NEAR, WITHIN_S, Over, wire_laws

if TYPE_CHECKING:
    from ..types import Vectors


class _Lent:
    """An embedder and the event loop it lives in, for one run of a law."""

    def __init__(self, make: Factory, runner: asyncio.Runner) -> None:
        self.make = make
        self.runner = runner
        self.embedder: Embedder = make()

    def embed(self, given: Sequence[str], purpose: Purpose = "document", *, within_s: float = WITHIN_S) -> Vectors:
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
    np.testing.assert_allclose(shuffled, rows[order], atol=NEAR)


def _split(lent: _Lent, given: list[str]) -> None:
    import numpy as np

    alone = [lent.embed([text])[0] for text in given]
    np.testing.assert_allclose(lent.embed(given), np.stack(alone), atol=NEAR)


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

    np.testing.assert_allclose(np.linalg.norm(lent.embed([*given, "something"]), axis=1), 1, atol=NEAR)


def _queries(lent: _Lent) -> None:
    import numpy as np

    row, again, other = (lent.embed([text], "query") for text in ("which router", "which router", "a cake with plums"))
    assert row.shape == (1, lent.embed(["something"]).shape[1])
    np.testing.assert_allclose(row, again, atol=NEAR)
    assert np.abs(row - other).max() > NEAR, "two questions that differ have the same vector"


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

    asyncio.run(asyncio.wait_for(twice(), WITHIN_S))


def _distinct(others: Sequence[Callable[[], Embedder]], make: Factory) -> None:
    seen = {make().fingerprint}
    for other in others:
        fingerprint = other().fingerprint
        assert fingerprint not in seen, f"another model, endpoint or size has the same fingerprint {fingerprint!r}"
        seen.add(fingerprint)


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
    wire: str = "openai",
    waive: Mapping[str, str] | None = None,
) -> tuple[Law, ...]:
    """Return the laws that an embedder must keep: those of the contract, and those that it claims.

    Args:
        claims: Any of `unit`, `split`.
        others: Make it with another model, endpoint or size each: their fingerprints must differ.
        over: Makes it for an address and a key, for one that speaks HTTP; give it short timeouts.
        wire: The wire format it speaks: `openai`, `gemini` or `ollama`.
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
        laws += wire_laws(over, wire)
    return chosen(laws, claims, waive)
