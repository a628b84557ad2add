"""Keep to a rate: requests, tokens and texts a minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

from looseleaf import Limits

_MINUTE_S = 60.0


class Pace:
    """What was sent in the last minute, and when more may follow.

    In no minute is more sent than the limits say. A request that is over a limit by itself is sent when a minute was quiet.

    Args:
        limits: What may be sent in a minute.
        strict: Whether to keep to it from the start; else once `slow_down` was called, so that nobody who may do more is held up.
        now: Seconds.
    """

    def __init__(self, limits: Limits, *, strict: bool = True, now: Callable[[], float] = monotonic) -> None:
        self._keeps = strict
        self._most = (limits.requests_per_minute, limits.tokens_per_minute, limits.texts_per_minute)
        self._now = now
        self._sent: deque[tuple[float, tuple[int, int, int]]] = deque()  # when, and what; also what is planned
        self._used: tuple[int, ...] = (0, 0, 0)

    def book(self, texts: int, tokens: int, within_s: float = inf) -> float:
        """Take a place for a request, and return the seconds until it may be sent; beyond `within_s` none is taken."""
        if not any(self._most):
            return 0.0
        now = self._now()
        asked = (1, tokens, texts)
        while self._sent and self._sent[0][0] <= now - _MINUTE_S:
            self._used = _minus(self._used, self._sent.popleft()[1])
        at = self._free_at(now, asked) if self._keeps else now
        if at - now <= within_s:
            self._sent.append((at, asked))
            self._used = tuple(map(sum, zip(self._used, asked, strict=True)))
        return at - now

    def slow_down(self) -> None:
        """Keep to the rate from now on: somebody has said that it is there."""
        self._keeps = True

    def _free_at(self, now: float, asked: Sequence[int]) -> float:
        """Return when `asked` fits: after all that wait already, when enough of what was sent is a minute old."""
        at = max(now, self._sent[-1][0]) if self._sent else now
        used = self._used
        for then, gone in self._sent:
            if then > at - _MINUTE_S and all(not most or u + a <= most for u, a, most in zip(used, asked, self._most, strict=True)):
                break
            at = max(at, then + _MINUTE_S)
            used = _minus(used, gone)
        return at


def _minus(used: Sequence[int], gone: Sequence[int]) -> tuple[int, ...]:
    return tuple(u - g for u, g in zip(used, gone, strict=True))
