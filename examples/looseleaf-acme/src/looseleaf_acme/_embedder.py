"""A deterministic embedder: each word has a direction, a text is the sum of its words. No model, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from zlib import crc32

import numpy as np

from looseleaf import AgentSettings, Limits
from looseleaf.settings import parse

if TYPE_CHECKING:
    from looseleaf import Vectors


@dataclass(frozen=True)
class Options:
    """What `plugins.entries.acme.config` may hold."""

    dimensions: int = 256

    @classmethod
    def of(cls, settings: AgentSettings) -> Options:
        """Return the options in `settings`; unknown keys are refused with their dotted path."""
        return parse(cls, settings.plugin("acme"), plugin="acme") if settings.plugin("acme") else cls()


class Acme:
    """Texts that share words are near each other."""

    provider = "acme"
    blocking = True
    limits = Limits(texts=32)
    levels = (0.0, 0.5)

    def __init__(self, options: Options) -> None:
        self.model = f"words-{options.dimensions}"
        self.fingerprint = f"acme:{self.model}"
        self._dimensions = options.dimensions

    async def embed(self, texts: Sequence[str], purpose: Literal["query", "document"]) -> Vectors:
        """Return one unit row a text."""
        rows = [self._row(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self._dimensions), np.float32)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _row(self, text: str) -> Vectors:
        words = re.findall(r"\w+", text.lower()) or ["(empty)"]
        row = np.sum(
            [np.random.default_rng(crc32(word.encode("utf-8", "replace"))).standard_normal(self._dimensions) for word in words], 0
        )
        unit: Vectors = (row / np.linalg.norm(row)).astype(np.float32)
        return unit
