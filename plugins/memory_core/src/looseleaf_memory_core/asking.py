"""Turn a question into a vector by one embedder: recent ones are remembered, and one that fails is left alone for a while."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from looseleaf import Embedder, ProviderError
from looseleaf.fallback import Rest

if TYPE_CHECKING:
    from looseleaf import Vectors

_REMEMBERED = 256


class Asker:
    """Asks one embedder.

    Attributes:
        embedder: Whom.
        provider: Its name.
        model: Its model's.
        rest: Whether it is left alone for the time being.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.provider: str = getattr(embedder, "provider", type(embedder).__name__)
        self.model: str = getattr(embedder, "model", "")
        self.rest = Rest()
        self._known: OrderedDict[str, Vectors] = OrderedDict()

    def knows(self, text: str) -> bool:
        """Tell whether the vector of `text` is at hand."""
        return text in self._known

    async def vector(self, text: str) -> Vectors:
        """Return the vector of a question, shape (dimensions,).

        Raises:
            Exception: whatever the embedder raises; it then rests.
            RestingError: it rests.
        """
        known = self._known.get(text)
        if known is not None:
            self._known.move_to_end(text)
            return known
        self.rest.check()
        try:
            vector = await self._embed(text)
        except Exception as error:
            self.rest.begin(error)
            raise
        self.rest.over()
        if len(self._known) >= _REMEMBERED:
            self._known.popitem(last=False)
        self._known[text] = vector
        return vector

    async def _embed(self, text: str) -> Vectors:
        from .store.vectors import checked

        vectors, faults = checked(await self.embedder.embed([text], "query"), None)
        if len(vectors) != 1 or faults[0]:
            raise ProviderError(f"the embedder gave no usable vector for the query: {faults[0] if faults else 'none at all'}")
        vector: Vectors = vectors[0]
        return vector
