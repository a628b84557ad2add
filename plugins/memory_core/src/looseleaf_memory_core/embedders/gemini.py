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
        size = {"outputDimensionality": dimensions} if dimensions else {}
        return {
            "requests": [
                {"model": f"models/{model}", "content": {"parts": [{"text": text}]}, "taskType": kind, **size} for text in texts
            ]
        }

    def media_body(self, model: str, media: Media, dimensions: int | None) -> Any:
        """Return the body of a request for one image or sound, after the line about it."""
        data = {"inlineData": {"mimeType": media.mime, "data": b64encode(media.data).decode()}}
        size = {"outputDimensionality": dimensions} if dimensions else {}
        content = {"parts": [{"text": media.label}, data]}
        return {"requests": [{"model": f"models/{model}", "content": content, "taskType": "RETRIEVAL_DOCUMENT", **size}]}

    def rows(self, answer: Any) -> Sequence[Row]:
        """Return the rows of an answer."""
        return [(None, item["values"]) for item in answer["embeddings"]]
