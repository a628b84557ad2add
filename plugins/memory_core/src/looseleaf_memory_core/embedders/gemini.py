"""Google's Gemini: one `batchEmbedContents` for every kind of request."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from looseleaf import Media

from .remote import Row


class GeminiDialect:
    """`POST /models/<model>:batchEmbedContents`; rows in the order of the requests."""

    def path(self, model: str) -> str:
        """Return the endpoint's path."""
        return f"/models/{model}:batchEmbedContents"

    def headers(self, key: str) -> dict[str, str]:
        """Return the key's own header: in an address it would stand in logs."""
        return {"x-goog-api-key": key}

    def body(self, model: str, texts: Sequence[str], kind: str, dimensions: int | None) -> Any:
        """Return a request's body."""
        return {"requests": [request(model, [{"text": text}], kind, dimensions) for text in texts]}

    def media_body(self, model: str, media: Media, kind: str, dimensions: int | None) -> Any:
        """Return the body of a request for one image or sound, after the line about it."""
        data = {"inlineData": {"mimeType": media.mime, "data": b64encode(media.data).decode()}}
        return {"requests": [request(model, [{"text": media.label}, data], kind, dimensions)]}

    def rows(self, answer: Any) -> Sequence[Row]:
        """Return the rows of an answer."""
        return [(None, item["values"]) for item in answer["embeddings"]]


def request(model: str, parts: Sequence[Any], kind: str, dimensions: int | None) -> dict[str, Any]:
    """Return what is asked for one text, image or sound, alone, beside others or as a line of a job."""
    size = {"outputDimensionality": dimensions} if dimensions else {}
    return {"model": f"models/{model}", "content": {"parts": list(parts)}, "taskType": kind, **size}
