"""For the tests of those who build on looseleaf."""

from __future__ import annotations

from .fakes import DictSlot, FixedClock, HashEmbedder

__all__ = ["DictSlot", "FixedClock", "HashEmbedder"]
