"""What embedders have in common that compute in this process: a package that may be missing, and a model that is loaded late."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from looseleaf import Limits, LooseleafError, NotConfigured, ProviderError, in_thread
from looseleaf.types import Purpose

from ..text import clean

if TYPE_CHECKING:
    from looseleaf import Vectors


class InProcess(ABC):
    """Batches on a worker thread, so that others have the processor between two of them."""

    provider: str
    model: str
    fingerprint: str
    limits: Limits
    blocking = True
    _package: str
    _install: str
    _dimensions: int

    def __init__(self) -> None:
        if find_spec(self._package) is None:
            raise NotConfigured(f"the embedder {self.provider} is not installed: pip install {self._install}")

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return one unit row a text."""
        import numpy as np

        size = self.limits.texts
        parts = [await in_thread(self._batch, texts[begin : begin + size], purpose) for begin in range(0, len(texts), size)]
        return np.concatenate(parts) if parts else np.zeros((0, await in_thread(self._width)), np.float32)

    async def aclose(self) -> None:
        """Let go of the model."""
        self.__dict__.pop("_loaded", None)

    def _width(self) -> int:
        return self._dimensions

    def _batch(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        return self._encode([text if text.strip() else "." for text in map(clean, texts)], purpose)

    @cached_property
    def _loaded(self) -> Any:
        try:
            return self._load()
        except LooseleafError:
            raise
        except Exception as error:  # a broken install, no build for this platform, a processor without AVX2
            text = f"the model of {self.provider} cannot be loaded: {type(error).__name__}: {error}"
            raise ProviderError(text) from error

    @abstractmethod
    def _load(self) -> Any: ...

    @abstractmethod
    def _encode(self, texts: list[str], purpose: Purpose) -> Vectors: ...
