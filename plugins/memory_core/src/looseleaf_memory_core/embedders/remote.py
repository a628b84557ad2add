"""An embedder behind HTTP: packs texts into requests, checks every answer, and knows which provider's dialect it speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from looseleaf import Limits, Media, ProviderError
from looseleaf.types import Purpose

from ..packing import packed, tokens_of
from ..text import outgoing
from ._http import Client
from .batch import BatchDialect, Jobs
from .call import INDEXING, SEARCHING, Patience
from .models import Model
from .pace import Pace

if TYPE_CHECKING:
    from looseleaf import Vectors

#: A row of an answer, and the text that it belongs to if the provider says so.
Row = tuple[int | None, Sequence[float]]


class Dialect(Protocol):
    """How one provider is asked and answers."""

    def path(self, model: str) -> str:
        """Return the endpoint's path, below the base URL."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""

    def body(self, model: str, texts: Sequence[str], kind: str, dimensions: int | None) -> Any:
        """Return a request's body; `kind` is what the provider calls a question or a text, empty where it need not know."""

    def rows(self, answer: Any) -> Sequence[Row]:
        """Return the rows of an answer; may raise what reading a dict or list raises."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a remote embedder is made from.

    Attributes:
        provider: Its name.
        model: As it is sent.
        base_url: Where the provider is.
        dimensions: Asked for; None is the model's own.
        headers: More headers; they win.
        known: What is known of the model.
        types: What the provider calls a question and a text; empty where it need not know.
        rated: Whether its rates are known for certain, so that they are kept from the start.
        searching: How long a search waits for it.
        indexing: How long a sync waits for it.
    """

    provider: str
    model: str
    base_url: str
    dimensions: int | None
    headers: Mapping[str, str]
    known: Model
    types: Mapping[Purpose, str]
    rated: bool = False
    searching: Patience = SEARCHING
    indexing: Patience = INDEXING


class RemoteEmbedder:
    """One model of one provider."""

    def __init__(self, dialect: Dialect, options: Options, keys: Sequence[str], batch: BatchDialect | None = None) -> None:
        self.provider = options.provider
        self.model = options.model
        self.limits: Limits = options.known.limits
        self.fingerprint = _fingerprint(options)
        self._dialect = dialect
        self._options = options
        self._client = Client(
            options.provider,
            options.base_url,
            keys,
            lambda key: {**dialect.headers(key), **options.headers},
            Pace(self.limits, strict=options.rated),
        )
        self.jobs = Jobs(self._client, batch) if batch else None
        self._width = options.dimensions or options.known.dimensions
        self.paid = urlsplit(options.base_url).hostname not in ("127.0.0.1", "localhost", "::1")

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self.provider}, {self.model}, {self._options.base_url})"

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return one unit row a text.

        Raises:
            TextTooLong: a request is over the model's limit.
            ProviderError: the provider refused, failed, or gave rows that cannot be used.
        """
        import numpy as np

        parts = [await self._ask(part, purpose) for part in packed(texts, lambda: self.limits, str)]
        return np.concatenate(parts) if parts else np.zeros((0, self._width), np.float32)

    async def embed_media(self, items: Sequence[Media]) -> Vectors:
        """Return one unit row for each image or sound; a request each, for they are large.

        Raises:
            TextTooLong: one of them is too large.
            ProviderError: the provider takes none, refused, failed, or gave rows that cannot be used.
        """
        import numpy as np

        make = getattr(self._dialect, "media_body", None)
        if make is None:
            raise ProviderError(f"{self.provider} takes no images and no sound")
        options = self._options
        parts = []
        for item in items:
            body = make(options.model, item, options.types["document"], options.dimensions)
            parts.append(self._usable(await self._post(body, options.indexing, 1, tokens_of(item.label)), 1))
        return np.concatenate(parts) if parts else np.zeros((0, self._width), np.float32)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        options = self._options
        prefix = options.known.query if purpose == "query" else options.known.document
        sent = [prefix + outgoing(text) for text in texts]
        body = self._dialect.body(options.model, sent, options.types[purpose], options.dimensions)
        patience = options.searching if purpose == "query" else options.indexing
        return self._usable(await self._post(body, patience, len(sent), sum(map(tokens_of, sent))), len(sent))

    async def _post(self, body: Any, patience: Patience, texts: int, tokens: int) -> Any:
        return await self._client.post(self._dialect.path(self._options.model), body, patience, texts=texts, tokens=tokens)

    def _usable(self, answer: Any, count: int) -> Vectors:
        try:
            rows = self._dialect.rows(answer)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ProviderError(f"{self.provider} gave an answer without vectors ({type(error).__name__}: {error})") from None
        vectors = usable(rows, count, self.provider)
        self._width = vectors.shape[1]
        return vectors


def usable(rows: Sequence[Row], count: int, provider: str) -> Vectors:
    """Return the rows of an answer in the order of the texts, at unit length.

    Raises:
        ProviderError: one for each way in which they cannot be used; says how many were wanted and given.
    """
    import numpy as np

    if len(rows) != count:
        raise ProviderError(f"{provider} gave {len(rows)} vectors for {count} texts")
    if any(index is not None for index, _ in rows):
        indexes = [index for index, _ in rows]
        if sorted(index if index is not None else -1 for index in indexes) != list(range(count)):
            raise ProviderError(f"{provider} gave vectors with the indexes {indexes[:8]}, not each of 0 to {count - 1} once")
        rows = sorted(rows, key=lambda row: row[0] or 0)
    sizes = {len(row) for _, row in rows}
    if 0 in sizes:
        raise ProviderError(f"{provider} gave a vector without numbers")
    if len(sizes) > 1:
        raise ProviderError(f"{provider} gave vectors of different sizes: {', '.join(map(str, sorted(sizes)))}")
    try:
        matrix = np.array([row for _, row in rows], np.float32)
    except (TypeError, ValueError):
        raise ProviderError(f"{provider} gave a vector that does not hold numbers") from None
    if not np.isfinite(matrix).all():
        raise ProviderError(f"{provider} gave a vector with NaN or infinity")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise ProviderError(f"{provider} gave a vector of zeros")
    unit: Vectors = matrix / lengths
    return unit


def _fingerprint(options: Options) -> str:
    """Return what these vectors can be compared with: everything but the keys."""
    before = "\0".join((options.known.query, options.known.document, *options.types.values()))
    prefixes = blake2b(before.encode(), digest_size=4).hexdigest()
    extra = blake2b(repr(sorted(options.headers.items())).encode(), digest_size=4).hexdigest() if options.headers else ""
    parts = (options.provider, options.base_url, options.model, str(options.dimensions or ""), prefixes, extra)
    return "|".join(parts)
