"""Ollama: `/api/embed`, which takes many texts; the older `/api/embeddings` answers some models with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .remote import Row


class OllamaDialect:
    """`POST /api/embed {model, input}`; rows in the order of the texts."""

    def path(self, model: str) -> str:
        """Return the endpoint's path."""
        return "/api/embed"

    def headers(self, key: str) -> dict[str, str]:
        """Return the bearer's header if there is a key: a server of one's own wants none."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, texts: Sequence[str], kind: str, dimensions: int | None) -> Any:
        """Return a request's body. Too long a text is an error, not cut in silence: the index splits it."""
        return {"model": model, "input": list(texts), "truncate": False, **({"dimensions": dimensions} if dimensions else {})}

    def rows(self, answer: Any) -> Sequence[Row]:
        """Return the rows of an answer."""
        return [(None, row) for row in answer["embeddings"]]
