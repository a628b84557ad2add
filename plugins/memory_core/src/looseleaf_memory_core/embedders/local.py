"""`local`: a GGUF model in this process, through llama-cpp-python (the extra `local`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ctypes import create_string_buffer
from hashlib import blake2b
from logging import CRITICAL, getLogger
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from looseleaf import AgentSettings, NotConfigured, ProviderError, TextTooLong
from looseleaf.types import Purpose

from .in_process import InProcess
from .models import known_model, overridden
from .weights import Weights

if TYPE_CHECKING:
    from looseleaf import Vectors

#: The seeds' own.
MODEL = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"

_USUAL_CONTEXT = 512


class LocalEmbedder(InProcess):
    """One GGUF model; it is fetched, if it has to be, when the first notes are embedded, never by a search.

    Raises:
        NotConfigured: llama-cpp-python is missing, the file is, or `auto` was not given a file.
    """

    provider = "local"
    _package, _install = "llama_cpp", '"looseleaf[local]"'

    def __init__(self, settings: AgentSettings, environ: Mapping[str, str]) -> None:
        search = settings.search
        source = search.local.model_path or (search.model if search.provider == "local" else None) or MODEL
        folder = Path(search.local.model_cache_dir).expanduser() if search.local.model_cache_dir else settings.state_dir / "models"
        self._weights = Weights(source, folder, environ)
        if search.provider == "auto" and self._weights.is_fetched:
            raise NotConfigured("local.modelPath names no file that is here; set memorySearch.provider to local to have it fetched")
        super().__init__()
        known = known_model("local", self._weights.name)
        known = overridden(known, search) if search.provider == "local" else known
        self.model = self._weights.name
        self.limits = known.limits
        self._before: dict[Purpose, str] = {"query": known.query, "document": known.document}
        self._most = search.local.context_size
        self.fingerprint = self._identity()
        self._one_at_a_time = Lock()  # a llama.cpp context is not for two threads

    def __repr__(self) -> str:
        return f"LocalEmbedder({self._weights.source})"

    async def aclose(self) -> None:
        """Let go of the model."""
        with self._one_at_a_time:
            model = self.__dict__.pop("_loaded", None)
            if model is not None:
                model.close()

    def _width(self) -> int:
        with self._one_at_a_time:
            return int(self._loaded.n_embd())

    def _identity(self) -> str:
        """Return what these vectors can be compared with: which file, and what is put before a text."""
        path = None if self._weights.is_fetched else self._weights.here()
        file = f"{path.name}:{path.stat().st_size}" if path else self._weights.source
        prefixes = blake2b("\0".join(self._before.values()).encode(), digest_size=4).hexdigest()
        return f"local|{file}|{prefixes}"

    def _load(self) -> Any:
        path = self._weights.get()
        try:
            return self._open(path)
        except ValueError:
            if not self._weights.is_fetched:
                raise
        return self._open(self._weights.get(again=True))  # it may have been cut on its way

    def _open(self, path: Path) -> Any:
        from llama_cpp import Llama

        trained = _context_length(path)
        size = trained if self._most == "auto" else min(trained, self._most)
        return Llama(str(path), embedding=True, n_ctx=size, n_batch=size, n_ubatch=size, verbose=False)

    def _encode(self, texts: list[str], purpose: Purpose) -> Vectors:
        import numpy as np

        from .remote import usable

        with self._one_at_a_time:
            if purpose == "query" and "_loaded" not in self.__dict__ and self._weights.here() is None:
                raise ProviderError(f"the model {self._weights.source} is not here: `looseleaf index` fetches it", retryable=True)
            model = self._loaded
            sent = [self._before[purpose] + text for text in texts]
            for text in sent:
                count = len(model.tokenize(text.encode(), special=False))
                if count > model.n_batch:
                    raise TextTooLong(f"the text has {count} tokens, {self.model} takes {model.n_batch}")
            found = model.embed(sent, normalize=False)
        rows = [(None, row if not row or not isinstance(row[0], list) else np.mean(row, axis=0).tolist()) for row in found]
        return usable(rows, len(texts), self.provider)


def _context_length(path: Path) -> int:
    """Return how many tokens the model at `path` was trained on, without loading its weights.

    Raises:
        ValueError: it is no model.
    """
    import llama_cpp

    getLogger("llama-cpp-python").setLevel(CRITICAL)  # else it writes pages to stderr
    options = llama_cpp.llama_model_default_params()
    options.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), options)
    if not model:
        raise ValueError(f"{path} is no GGUF model, or not a whole one")

    def value(key: str) -> str:
        found = create_string_buffer(256)
        llama_cpp.llama_model_meta_val_str(model, key.encode(), found, len(found))
        return found.value.decode()

    try:
        return int(value(f"{value('general.architecture')}.context_length") or _USUAL_CONTEXT)
    finally:
        llama_cpp.llama_model_free(model)
