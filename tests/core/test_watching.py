"""The index follows the files: what is told, what is not told, storms of writing, and nothing but what counts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from looseleaf import Layout, Notebook, SyncReport
from looseleaf.mounts import kind_of, longest
from looseleaf.settings.surface import Sync
from looseleaf.watching import Watch

PATIENCE_S = 20


class Follower:
    """A notebook that is being watched, and what its syncs did."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.reports: list[SyncReport] = []
        self.watch: Watch | None = None
        self._synced = asyncio.Condition()
        self._wakers: set[asyncio.Task[None]] = set()

    def told(self, report: SyncReport) -> None:
        self.reports.append(report)
        self._wakers.add(asyncio.ensure_future(self._wake()))

    async def _wake(self) -> None:
        async with self._synced:
            self._synced.notify_all()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for a sync after which `holds` is true."""
        async with asyncio.timeout(PATIENCE_S), self._synced:
            await self._synced.wait_for(holds)

    async def finds(self, word: str, *paths: str) -> None:
        """Wait until a search for `word` finds `paths` and nothing else."""
        async with asyncio.timeout(PATIENCE_S):
            while {hit.hit.path for hit in (await self.notebook.search(word)).hits} != set(paths):
                count = len(self.reports)
                await self.until(lambda count=count: len(self.reports) > count)


@asynccontextmanager
async def following(notebook: Notebook) -> AsyncIterator[Follower]:
    follower = Follower(notebook)
    async with notebook, notebook.watching(follower.told) as watch:
        follower.watch = watch
        await follower.until(lambda: bool(follower.reports))
        yield follower


QUICK = {"sync": {"watchDebounceMs": 20}}


def test_every_kind_of_change_is_followed(opened: Callable[..., Notebook], write: Callable, workspace: Path) -> None:
    """WS-04: written, appended to, in a folder that is new, renamed, deleted, and a memory folder that was not there before."""

    async def main() -> None:
        async with following(opened(QUICK)) as follower:
            write("memory/a.md", "alphabet")
            await follower.finds("alphabet", "memory/a.md")
            with (workspace / "memory/a.md").open("a") as file:
                file.write("\nzanzibar\n")
            await follower.finds("zanzibar", "memory/a.md")
            write("memory/deep/er/b.md", "quetzal")
            await follower.finds("quetzal", "memory/deep/er/b.md")
            (workspace / "memory/deep").rename(workspace / "memory/other")
            await follower.finds("quetzal", "memory/other/er/b.md")
            write("MEMORY.md", "curated")
            await follower.finds("curated", "MEMORY.md")
            (workspace / "memory/a.md").unlink()
            await follower.finds("alphabet")
            assert follower.watch is not None
            assert follower.watch.polls == ""

    asyncio.run(main())


def test_a_storm_of_writing_is_a_few_syncs(opened: Callable[..., Notebook], write: Callable) -> None:
    """WS-06: while writing goes on there is a sync every four debounces, and one after it."""

    async def main() -> None:
        async with following(opened({"sync": {"watchDebounceMs": 500}})) as follower:
            before, begun = len(follower.reports), monotonic()
            for number in range(80):
                write("memory/a.md", "word\n" * (number + 1))
                await asyncio.sleep(0.02)
            write("memory/b.md", "the end")
            await follower.finds("end", "memory/b.md")
            assert len(follower.reports) - before <= 3 + (monotonic() - begun) / 2

    asyncio.run(main())


def test_what_does_not_count_is_not_followed(opened: Callable[..., Notebook], write: Callable) -> None:
    """WS-01, WS-16: folders of other programs, hidden files, other kinds of files."""

    async def main() -> None:
        async with following(opened(QUICK)) as follower:
            before = len(follower.reports)
            for path in ("notes.txt", "memory/.hidden.md", "memory/a.txt", "memory/node_modules/x/README.md", "app.log"):
                write(path, "noise")
            write("memory/a.md", "signal")
            await follower.finds("signal", "memory/a.md")
            assert len(follower.reports) - before <= 2

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("MEMORY.md", True), ("memory.md", True), ("memory", True), ("memory/a.md", True), ("memory/deep", True), ("memory/deep/b.md", True),
        ("README.md", False), ("memory/a.txt", False), ("memory/.git/x.md", False), ("memory/venv/x.md", False), ("memory/.a.md", False),
        ("../extra", True), ("../extra/c.md", True), ("../extra/c.png", True), ("../extra/c.pdf", False), ("../other/c.md", False),
    ],
)  # fmt: skip
def test_which_changes_concern_the_index(workspace: Path, path: str, counts: bool) -> None:
    """Files that count, and folders, which may bring some."""
    (workspace.parent / "extra").mkdir(exist_ok=True)
    layout = Layout(workspace, [("../extra", "**/*.md")], media=["image"])
    assert layout.concerns(os.path.normpath(workspace / path)) is counts


def test_polling_where_it_is_asked_for(opened: Callable[..., Notebook], write: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sync.watch: poll`: nothing is told, files are looked at."""
    monkeypatch.setattr("looseleaf.watching._POLL_S", 0.02)

    async def main() -> None:
        async with following(opened({"sync": {"watch": "poll"}})) as follower:
            assert follower.watch is not None
            assert follower.watch.polls == "sync.watch is poll"
            write("memory/a.md", "alphabet")
            await follower.finds("alphabet", "memory/a.md")

    asyncio.run(main())


def test_polling_where_nothing_is_told(opened: Callable[..., Notebook], write: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """WS-05, WS-10: an event source that stays silent is found out by a file of our own, which does not stay."""

    async def deaf(*args: Any, **kwargs: Any) -> AsyncIterator[set[Any]]:
        await asyncio.Event().wait()
        yield set()

    monkeypatch.setattr("watchfiles.awatch", deaf)
    monkeypatch.setattr("looseleaf.watching._PROBE_S", 0.1)
    monkeypatch.setattr("looseleaf.watching._POLL_S", 0.02)

    async def main() -> None:
        async with following(opened(QUICK)) as follower:
            watch = follower.watch
            assert watch is not None
            await follower.until(lambda: "does not tell of changes in this folder" in watch.polls)
            write("memory/a.md", "alphabet")
            await follower.until(lambda: follower.reports[-1].files == 1)
            assert not list(follower.notebook.settings.workspace.glob(".looseleaf*"))

    asyncio.run(main())


def test_polling_where_the_system_has_nothing_left(
    opened: Callable[..., Notebook], write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WS-02: no more watches or descriptors is no end of it."""

    def full(*args: Any, **kwargs: Any) -> AsyncIterator[set[Any]]:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("watchfiles.awatch", full)
    monkeypatch.setattr("looseleaf.watching._POLL_S", 0.02)

    async def main() -> None:
        async with following(opened(QUICK)) as follower:
            watch = follower.watch
            assert watch is not None
            await follower.until(lambda: "watch limit reached" in watch.polls)
            write("memory/a.md", "alphabet")
            await follower.until(lambda: follower.reports[-1].files == 1)

    asyncio.run(main())


def test_a_look_now_and_then_finds_what_was_missed(
    opened: Callable[..., Notebook], write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WS-05: a listener that has died in silence costs minutes, not days."""
    monkeypatch.setattr("looseleaf.watching._RECONCILE_S", 0.05)
    monkeypatch.setattr("looseleaf.workspace.Layout.concerns", lambda self, path: False)

    async def main() -> None:
        async with following(opened(QUICK)) as follower:
            write("memory/a.md", "alphabet")
            await follower.until(lambda: follower.reports[-1].files == 1)

    asyncio.run(main())


def test_a_sync_that_fails_does_not_end_it(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full now, and not later; the reason is told."""
    monkeypatch.setattr("looseleaf.watching._AFTER_ERROR_S", 0.01)
    reports: list[SyncReport] = []

    async def main() -> None:
        enough = asyncio.Event()

        async def sync() -> SyncReport:
            if len(reports) < 2:
                raise OSError("no space left on the device")
            return SyncReport(files=1)

        def told(report: SyncReport) -> None:
            reports.append(report)
            if report.files:
                enough.set()

        running = asyncio.ensure_future(Watch(Layout(workspace), Sync(watch="poll"), sync, told).run())
        await asyncio.wait_for(enough.wait(), PATIENCE_S)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
    assert [report.notes[0].text for report in reports[:2]] == ["OSError: no space left on the device"] * 2


def test_file_systems_that_do_not_tell_are_known() -> None:
    """WS-10: Windows mounts, Docker bind mounts, network shares: the longest mount point counts."""
    kinds = {"/": "ext4", "/mnt/c": "9p", "/mnt/c/fast": "ext4", "/srv/share": "cifs"}
    assert longest("/mnt/c/notes", kinds) == "9p"
    assert longest("/mnt/c/fast/notes", kinds) == "ext4"
    assert longest("/mnt/cc", kinds) == "ext4"
    assert longest("/srv/share", kinds) == "cifs"
    assert longest("/x", {}) == ""
    assert kind_of("/proc") in ("proc", "")


def test_a_share_is_looked_at(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """WS-10: without being asked to."""
    monkeypatch.setattr("looseleaf.watching.kind_of", lambda folder: "nfs4")

    async def sync() -> SyncReport:
        return SyncReport()

    assert "is on nfs4, where changes are not told" in Watch(Layout(workspace), Sync(), sync, lambda report: None).polls


def test_descriptors_do_not_grow_with_the_files(opened: Callable[..., Notebook], workspace: Path) -> None:
    """WS-01, WS-02: one for a tree."""
    for folder in range(20):
        (workspace / "memory" / str(folder)).mkdir(parents=True)
        for number in range(50):
            (workspace / "memory" / str(folder) / f"{number}.md").write_text("x")

    async def main() -> None:
        before = len(os.listdir("/proc/self/fd"))
        async with following(opened(QUICK)) as follower:
            await follower.finds("x", *{hit.hit.path for hit in (await follower.notebook.search("x")).hits})
            assert len(os.listdir("/proc/self/fd")) - before < 30
        assert len(os.listdir("/proc/self/fd")) - before < 10

    asyncio.run(main())
