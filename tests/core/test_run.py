"""Coroutines with and without an event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from looseleaf import in_thread
from looseleaf._run import run


async def where() -> int:
    return await in_thread(threading.get_ident)


def test_without_a_loop_it_is_a_plain_call() -> None:
    """An inline run stays on its thread."""
    assert run(where(), inline=True) == threading.get_ident()


def test_with_a_loop_it_is_another_thread() -> None:
    """The event loop stays free."""
    assert run(where(), inline=False) != threading.get_ident()


def test_a_coroutine_that_waits_after_all_is_told() -> None:
    """A broken promise is an error, not a hang."""

    async def waits() -> None:
        future: asyncio.Future[None] = asyncio.Future(loop=loop)
        await future

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(RuntimeError, match="promised never to wait"):
            run(waits(), inline=True)
    finally:
        loop.close()


def test_an_inline_run_inside_a_thread_leaves_the_loop_s_own_mode() -> None:
    """Driving inline on a worker thread does not leak to the loop."""

    async def both() -> tuple[int, int]:
        inner = await in_thread(lambda: run(where(), inline=True))
        return inner, await where()

    inner, outer = run(both(), inline=False)
    assert threading.get_ident() not in (inner, outer)
