"""Print: rich on a terminal, plain lines in a pipe, one JSON value where that is asked for."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..reports import Progress, ProgressCallback
from ..types import Note

if TYPE_CHECKING:
    from rich.console import Console

# Escape sequences and other controls in a note must not reach the terminal.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SHOWN_AFTER_S = 0.3


def printable(text: str) -> str:
    """Return `text` without characters that would steer a terminal."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON value; without an indent on a line of its own."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    sys.stdout.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")


def is_terminal() -> bool:
    """Tell whether a person is looking at stdout."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def console(*, err: bool = False) -> Console:
    """Return rich's console; it keeps to NO_COLOR by itself."""
    from rich.console import Console

    return Console(stderr=err, highlight=False, soft_wrap=False)


def print_notes(notes: Sequence[Note]) -> None:
    """Print notes to stderr, a line each."""
    for note in notes:
        print(f"note: {printable(note.text)}", file=sys.stderr)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table; in a pipe, a line a row with tabs between its cells."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    if not is_terminal():
        for row in cells:
            print("\t".join(row).rstrip())
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, title=title or None, box=None, header_style="bold", pad_edge=False, show_header=any(columns))
    for row in cells:
        table.add_row(*map(Text, row))
    console().print(table)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[ProgressCallback]:
    """Give a callback that shows how far a sync is: a bar with rate and time left on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    bar: Any = None
    tasks: dict[str, Any] = {}
    begun = monotonic()
    titles = {"index": "indexing words", "embed": "embedding", "batch": "batch jobs"}

    def show(step: Progress) -> None:
        nonlocal bar
        if bar is None:
            if monotonic() - begun < _SHOWN_AFTER_S:
                return
            bar = _bar()
            bar.start()
        if step.stage not in tasks:
            tasks[step.stage] = bar.add_task(titles.get(step.stage, step.stage), total=step.total)
        title = " ".join(filter(None, (titles.get(step.stage, step.stage), step.text)))
        bar.update(tasks[step.stage], completed=step.done, total=step.total, description=title)

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    return Bar(*columns, console=console(err=True), transient=True)
