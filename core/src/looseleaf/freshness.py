"""When a tool's search looks for changes first: not while files are watched, and for a twentieth of the time at most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

_LEAST_S = 1.0
_SHARE = 20  # a look that took 0.1 s is not repeated within 2 s


class Freshness:
    """How well the index of one notebook is known to be up with the files."""

    def __init__(self) -> None:
        self._watches = 0
        self._fresh_until = 0.0
        self._was_written = False

    def is_due(self, *, is_busy: bool = False) -> bool:
        """Tell whether to look for changes now; a sync that `is_busy` already has not seen what was just written."""
        return self._was_written or not (is_busy or self._watches or monotonic() < self._fresh_until)

    def mark_stale(self) -> None:
        """Look before the next search, also while files are watched: that takes its time to notice what was just written."""
        self._was_written = True

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Measure a look for changes, which is enough for a while, however it ends."""
        begun = monotonic()
        self._was_written = False
        try:
            yield
        finally:
            now = monotonic()
            self._fresh_until = now + max(_LEAST_S, _SHARE * (now - begun))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Hold that changes are noticed without looking."""
        self._watches += 1
        try:
            yield
        finally:
            self._watches -= 1
