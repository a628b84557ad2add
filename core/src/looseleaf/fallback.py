"""What is needed to let another step in: a pause after a failure, longer each time, after which the first is asked again."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from .errors import ProviderError, told

_FIRST_S, _LONGEST_S = 5.0, 120.0


class RestingError(ProviderError):
    """The provider is not asked for the time being."""


class Rest:
    """Whether a provider rests, and for how long."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._until = 0.0
        self._length_s = 0.0
        self._reason = ""

    def check(self) -> None:
        """Pass, or say that the provider rests.

        Raises:
            RestingError: with what went wrong, and when it is asked again.
        """
        left = self._until - self._now()
        if left > 0:
            raise RestingError(f"{self._reason}. It is asked again in {left:.0f} s", retryable=True)

    def begin(self, error: Exception) -> None:
        """Rest after `error`: twice as long as the last time. To be told that it rests is no failure."""
        if isinstance(error, RestingError):
            return
        self._length_s = min(_LONGEST_S, max(_FIRST_S, 2 * self._length_s))
        self._until = self._now() + self._length_s
        self._reason = told(error).rstrip(".")

    def over(self) -> None:
        """It has answered: the next failure rests briefly."""
        self._until = self._length_s = 0.0
