"""Ranges of settings. Known to pydantic by its own protocol, so that declaring one does not import pydantic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bounds:
    """Inclusive limits of a number; None is no limit."""

    least: float | None = None
    most: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Add the limits to pydantic's own schema of the number."""
        schema = handler(source)
        if self.least is not None:
            schema["ge"] = self.least
        if self.most is not None:
            schema["le"] = self.most
        return schema
