"""What the tools answer, as types from which a server makes its output schemas."""

from __future__ import annotations

from typing import Required  # pydantic wants this one before Python 3.12

from typing_extensions import TypedDict


class Row(TypedDict, total=False):
    """One hit of `memory_search`."""

    path: str
    startLine: int
    endLine: int
    score: float
    snippet: str
    source: str
    trust: str
    heading: str
    citation: str


class SearchAnswer(TypedDict, total=False):
    """What `memory_search` answers; `error` says why there is nothing.

    None stands for what is not there: version 1 of the SDK writes it so.
    """

    results: Required[list[Row]]
    backend: str | None
    mode: str | None
    provider: str | None
    model: str | None
    citations: str | None
    notes: list[dict[str, str]] | None
    fallbackFrom: str | None
    fallbackReason: str | None
    disabled: bool | None
    unavailable: bool | None
    error: str | None


GetAnswer = TypedDict(
    "GetAnswer",
    {
        "path": Required[str],
        "text": Required[str],
        "from": int | None,
        "lines": int | None,
        "status": str | None,
        "truncated": bool | None,
        "nextFrom": int | None,
        "disabled": bool | None,
        "error": str | None,
    },
    total=False,
)
"""What `memory_get` answers; `error` says why a path is refused."""
