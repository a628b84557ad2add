"""`looseleaf get`: print lines of a memory file."""

from __future__ import annotations

import re

import click

from ._common import common_options, load, run_with
from ._output import print_json, print_notes, printable

_CITED = re.compile(r"^(?P<path>.+?)(?:#L(?P<a>\d+)(?:-L?(?P<b>\d+))?|:(?P<c>\d+)(?:-(?P<d>\d+))?)$")


@click.command("get", help=__doc__)
@click.argument("path")
@click.option("--from", "start", type=click.IntRange(1), metavar="N", help="First line.")
@click.option("--lines", type=click.IntRange(1), metavar="N", help="How many lines; 120 if left out.")
@common_options
def command(
    path: str, start: int | None, lines: int | None, agent: str | None, workspace: str | None, config: str | None, as_json: bool
) -> int:
    """Print a page of a file; PATH may be a citation such as memory/2026-02-10.md#L5-L9."""
    from ..notebook import Notebook
    from ..opening import open_notebook
    from ..types import Note, Page

    cited = _CITED.match(path)
    if cited and start is None:
        path = cited["path"]
        start = int(cited["a"] or cited["c"])
        last = cited["b"] or cited["d"]
        lines = lines or (int(last) - start + 1 if last and int(last) >= start else 1 if not last else None)
    _, settings = load(config, agent, workspace)
    notebook = open_notebook(settings)
    if notebook.slot is None:
        if as_json:
            print_json(
                {"path": path, "text": "", "disabled": True, "error": notebook.notes[0].text if notebook.notes else "memory is off"}
            )
        else:
            from ..notebook import OFF

            print((notebook.notes or (OFF,))[0].text)
        return 0

    async def read(notebook: Notebook) -> Page:
        return await notebook.read(path, start or 1, lines)

    page = run_with(notebook, read)
    if as_json:
        print_json({
            "path": page.path, "text": page.text, "from": page.start, "lines": page.lines,
            "truncated": page.truncated, "nextFrom": page.next_start, "status": page.status,
        })  # fmt: skip
        return 0
    if page.text:
        print(printable(page.text))
    reasons = {
        "not_found": f"{page.path} does not exist",
        "empty": f"{page.path} is empty",
        "past_end": f"{page.path} ends before line {page.start}",
    }
    if page.status in reasons:
        print_notes([Note(page.status, reasons[page.status])])
    elif page.next_start:
        print_notes([Note("more", f"there is more: looseleaf get {page.path} --from {page.next_start}")])
    elif page.truncated:
        print_notes([Note("more", "the last line is cut: it is longer than a page")])
    return 0
