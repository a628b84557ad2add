"""A request, and how long is waited for its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited.

    Attributes:
        request_s: Seconds for one request, until its answer is read.
        total_s: Seconds for a request with all its retries.
        attempts: How often it is tried.
        turn_s: Seconds that it may wait for its turn where there is a rate to keep to.
    """

    request_s: float
    total_s: float
    attempts: int = 8
    turn_s: float = 3600.0


SEARCHING = Patience(20.0, 8.0, 3, 8.0)  # somebody is waiting
INDEXING = Patience(120.0, 60.0)


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        method: `GET` or `POST`.
        path: Below the base URL, or a whole address on the same host.
        json: A body to be written as JSON, or None.
        content: A body as it is, or None.
        content_type: What `content` is.
        once: Whether it must not be sent again when it is unknown what became of it: it makes something that is paid for.
    """

    method: str
    path: str
    json: Any = None
    content: bytes | None = None
    content_type: str = ""
    once: bool = False
