"""`looseleaf watch`: keep the index up with the files until it is stopped."""

from __future__ import annotations

import os
import signal
import stat
import sys
from typing import TYPE_CHECKING

import click

from ..reports import SyncReport
from ._common import common_options, load
from ._output import print_json, print_notes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..notebook import Notebook
    from ..watching import Watch


@click.command("watch", help=__doc__)
@common_options
def command(agent: str | None, workspace: str | None, config: str | None, as_json: bool) -> int:
    """Index what changes, as it changes. Stops at Ctrl-C, SIGTERM, or when whoever started it closes its input."""
    import asyncio

    from ..opening import open_notebook

    _, settings = load(config, agent, workspace)
    notebook = open_notebook(settings)
    if notebook.slot is None:
        print_notes(notebook.notes)
        return 1
    asyncio.run(_watch(notebook, as_json=as_json))
    return 0


async def _watch(notebook: Notebook, *, as_json: bool) -> None:
    from anyio import create_task_group

    said: set[str] = set()

    def told(report: SyncReport) -> None:
        if as_json:
            print_json(_row(report), indent=None)
            sys.stdout.flush()
            return
        if report.indexed or report.removed or report.embedded or report.failed:
            print(
                f"{notebook.settings.now():%H:%M:%S} {report.indexed:,} indexed, {report.removed:,} removed, {report.embedded:,} embedded",
                flush=True,
            )
        print_notes([note for note in report.notes if note.text not in said])  # once each
        said.update(note.text for note in report.notes)

    async with notebook, notebook.watching(told) as watch, create_task_group() as group:
        _greet(notebook, watch)
        group.start_soon(_until_signal, group.cancel_scope.cancel)
        if _is_pipe():
            group.start_soon(_until_closed, group.cancel_scope.cancel)


def _greet(notebook: Notebook, watch: Watch) -> None:
    how = f"by looking every few seconds: {watch.polls}" if watch.polls else "as the system tells of changes"
    click.echo(f"watching {notebook.settings.workspace} {how}", err=True)


async def _until_signal(stop: Callable[[], None]) -> None:
    from anyio import open_signal_receiver

    with open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            stop()


async def _until_closed(stop: Callable[[], None]) -> None:
    """Read what nobody should write, until the other end is closed."""
    from anyio import wait_readable

    while True:
        await wait_readable(sys.stdin)
        if not os.read(sys.stdin.fileno(), 4096):
            stop()
            return


def _is_pipe() -> bool:
    """Tell whether somebody's end of a pipe is our input: not a terminal, a file or /dev/null."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _row(report: SyncReport) -> dict[str, object]:
    from dataclasses import asdict

    from ..tools import notes_json

    return {**asdict(report), "notes": notes_json(report.notes)}
