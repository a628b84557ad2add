"""For the tests of those who build on looseleaf: laws, what they are tried on, fake servers and small true implementations.

import pytest
from looseleaf.testing import ranker_laws

@pytest.mark.parametrize("law", ranker_laws("unit"))
def test_my_ranker(law): law(MyRanker)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._law import Law
    from .batches import BatchServer
    from .embedders import embedder_laws
    from .fakes import DictSlot, FixedClock, HashEmbedder
    from .memory import memory_laws
    from .plugins import plugin_laws
    from .postprocessors import postprocessor_laws
    from .rankers import ranker_laws
    from .servers import EmbeddingServer

_HOMES = {
    "BatchServer": "batches",
    "DictSlot": "fakes",
    "EmbeddingServer": "servers",
    "FixedClock": "fakes",
    "HashEmbedder": "fakes",
    "Law": "_law",
    "embedder_laws": "embedders",
    "memory_laws": "memory",
    "plugin_laws": "plugins",
    "postprocessor_laws": "postprocessors",
    "ranker_laws": "rankers",
}

__all__ = [
    "BatchServer",
    "DictSlot",
    "EmbeddingServer",
    "FixedClock",
    "HashEmbedder",
    "Law",
    "embedder_laws",
    "memory_laws",
    "plugin_laws",
    "postprocessor_laws",
    "ranker_laws",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the fakes need neither Hypothesis nor pytest."""
    module = _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{module}", __name__), name)
