"""Run a stage so that whatever it does, the search goes on: it may raise, hang, or hand back what it was not given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from threading import Thread
from typing import Any

from .types import Hit


class OverdueError(Exception):
    """A stage took longer than it may, or is still busy with an earlier search."""


class Watch:
    """Calls a function on a thread of its own and waits for at most so long.

    Python cannot end a thread. So one that is overdue is left alone, and until it comes back the function is not called again:
    a stage that hangs for ever costs one thread, not one a search.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._overdue: Thread | None = None

    def call(self, timeout_s: float, *args: object) -> Any:
        """Return what the function returns, or raise what it raises.

        Raises:
            OverdueError: it did not come back within `timeout_s` seconds.
        """
        if self._overdue is not None and self._overdue.is_alive():
            raise OverdueError("it is still busy with an earlier search")
        outcome: list[tuple[Any, BaseException | None]] = []

        def work() -> None:
            try:
                outcome.append((self._function(*args), None))
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                outcome.append((None, error))

        thread = Thread(target=work, name="looseleaf-stage", daemon=True)
        thread.start()
        thread.join(timeout_s)
        if not outcome:
            self._overdue = thread
            raise OverdueError(f"it took longer than {timeout_s:g} s")
        result, error = outcome[0]
        if error is not None:
            raise error
        return result


def fault(hits: object, given: Mapping[str, Hit]) -> str:
    """Return what is wrong with the hits that a stage made of those it was `given`, or an empty string."""
    if not isinstance(hits, list):
        return f"it returned {type(hits).__name__}, not a list of hits"
    seen: set[str] = set()
    for hit in hits:
        known = given.get(hit.id) if isinstance(hit, Hit) else None
        if known is None:
            return f"it returned a hit that it was not given: {getattr(hit, 'id', hit)!r}"
        if hit.id in seen:
            return f"it returned the hit {hit.id!r} twice"
        if not isfinite(hit.score):
            return f"it gave the hit {hit.id!r} the score {hit.score}"
        if hit is not known and hit[:5] != known[:5]:
            return f"it changed the path, lines or text of the hit {hit.id!r}"
        seen.add(hit.id)
    return ""
