"""Drive coroutines with an event loop or, where nothing ever waits, without one.

A command that only computes (words, a bundled model) has no use for asyncio, whose import alone takes as long as the search.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_INLINE: ContextVar[bool] = ContextVar("looseleaf_inline", default=False)


def is_inline() -> bool:
    """Tell whether this runs without an event loop."""
    return _INLINE.get()


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `function(*args, **kwargs)`, run on a worker thread so that the event loop stays free.

    Slots and embedders call it for whatever blocks. Without an event loop it is a plain call.
    """
    if _INLINE.get():
        return function(*args, **kwargs)
    from functools import partial

    from anyio.to_thread import run_sync

    return await run_sync(partial(function, *args, **kwargs))


def run(main: Coroutine[Any, Any, T], *, inline: bool) -> T:
    """Return what `main` returns; `inline` promises that it awaits nothing but `in_thread`."""
    if not inline:
        import asyncio

        return asyncio.run(main)
    token = _INLINE.set(True)
    try:
        main.send(None)
    except StopIteration as finished:
        value: T = finished.value
        return value
    finally:
        _INLINE.reset(token)
        main.close()
    raise RuntimeError("a coroutine that was promised never to wait asked for an event loop")
