"""OpenAI, and every endpoint that speaks as it does: Mistral and Voyage nearly do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .remote import Row


class OpenAIDialect:
    """`POST /embeddings {model, input}`; rows with their index.

    Args:
        dimensions: The key under which another size is asked for.
    """

    def __init__(self, dimensions: str = "dimensions") -> None:
        self._dimensions = dimensions

    def path(self, model: str) -> str:
        """Return the endpoint's path."""
        return "/embeddings"

    def headers(self, key: str) -> dict[str, str]:
        """Return the bearer's header; none for a server without keys."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, texts: Sequence[str], kind: str, dimensions: int | None) -> Any:
        """Return a request's body."""
        body: dict[str, Any] = {"model": model, "input": list(texts)}
        if kind:
            body["input_type"] = kind
        if dimensions:
            body[self._dimensions] = dimensions
        return body

    def rows(self, answer: Any) -> Sequence[Row]:
        """Return the rows of an answer."""
        return [(item.get("index"), item["embedding"]) for item in answer["data"]]
