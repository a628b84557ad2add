"""What a tool's search knows of changes, without anybody having called `sync`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from looseleaf import Notebook
from looseleaf.freshness import Freshness
from looseleaf.tools import memory_append, memory_search


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of freshness."""
    made = Clock()
    monkeypatch.setattr("looseleaf.freshness.monotonic", made)
    return made


async def found(notebook: Notebook, query: str) -> list[str]:
    return [row["path"] for row in (await memory_search(notebook, query))["results"]]


def test_what_is_written_is_found(opened: Callable[..., Notebook], write: Callable[[str, str], Path], clock: Clock) -> None:
    """Also in a workspace that was never indexed; the next look is a second later, and at once after a memory_append."""

    async def main() -> None:
        async with opened() as notebook:
            write("memory/a.md", "alpha\n")
            assert await found(notebook, "alpha") == ["memory/a.md"]
            write("memory/b.md", "beta\n")
            assert await found(notebook, "beta") == []
            clock.now += 1.1
            assert await found(notebook, "beta") == ["memory/b.md"]
            written = await memory_append(notebook, "gamma")
            assert await found(notebook, "gamma") == [written["path"]]

    asyncio.run(main())


def test_not_where_config_says_so(opened: Callable[..., Notebook], write: Callable[[str, str], Path], clock: Clock) -> None:
    """`sync.onSearch: false`: the host syncs when it likes."""

    async def main() -> None:
        async with opened({"sync": {"onSearch": False}}) as notebook:
            write("memory/a.md", "alpha\n")
            await notebook.sync()
            write("memory/b.md", "beta\n")
            clock.now += 1000
            assert await found(notebook, "beta") == []

    asyncio.run(main())


def test_a_look_that_takes_long_is_made_rarely(clock: Clock) -> None:
    """A twentieth of the time, also where it fails; not while files are watched, and at once where something was written."""
    freshness = Freshness()
    assert freshness.is_due()
    assert not freshness.is_due(is_busy=True)
    with suppress(OSError), freshness.looking():
        clock.now += 0.5
        raise OSError
    assert not freshness.is_due()
    clock.now += 9.9
    assert not freshness.is_due()
    clock.now += 0.2
    assert freshness.is_due()
    with freshness.watched():
        assert not freshness.is_due()
        freshness.mark_stale()
        assert freshness.is_due(is_busy=True)
        with freshness.looking():
            pass
        clock.now += 100
        assert not freshness.is_due()
    assert freshness.is_due()
    with freshness.looking():
        pass
    assert not freshness.is_due()
    freshness.mark_stale()
    assert freshness.is_due()


def test_an_index_that_cannot_be_made_answers_as_it_can(
    opened: Callable[..., Notebook], write: Callable[[str, str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    """A failing look is logged, and tried again later; the search says itself what is wrong with it."""
    write("memory/a.md", "alpha\n")

    async def main() -> None:
        async with opened() as notebook:
            database = notebook.settings.database
            database.parent.write_text("a file where the folder should be")
            answer = await memory_search(notebook, "alpha")
            assert answer["results"] == []
            assert "error" in answer

    asyncio.run(main())
    assert "the index may be old" in caplog.text
