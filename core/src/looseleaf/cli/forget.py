"""`looseleaf forget`: keep nothing of what was deleted."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..reports import Forgotten
from ._common import common_options, load, run_with
from ._output import print_json, printable

if TYPE_CHECKING:
    from ..settings import AgentSettings


@click.command("forget", help=__doc__)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--text", metavar="TEXT", help="Say where the notes still hold this text, and forget it only when none does.")
@click.option("-y", "--yes", is_flag=True, help="Delete the files without asking.")
@common_options
def command(
    paths: tuple[str, ...],
    text: str | None,
    yes: bool,
    agent: str | None,
    workspace: str | None,
    config: str | None,
    as_json: bool,
) -> int:
    """Delete the memory files PATH, then take what stands in no note any more out of the index, the cache, jobs under way and the disk.

    Without PATH: what you have deleted or cut out of your notes yourself.
    """
    from ..opening import open_notebook

    _, settings = load(config, agent, workspace)
    doomed = _files(settings, paths)
    if doomed and not yes:
        shown = ", ".join(doomed)
        click.confirm(f"Delete {shown}? It cannot be undone.", abort=True, err=True)
    for file in doomed.values():
        file.unlink(missing_ok=True)
    if text and (places := _places(settings, text)):
        return _still_there(places, as_json=as_json)
    forgotten = run_with(open_notebook(settings), lambda notebook: notebook.forget())
    if as_json:
        print_json({"deleted": list(doomed), **forgotten._asdict()})
    else:
        print(_told(list(doomed), forgotten))
    return 0


def _files(settings: AgentSettings, paths: tuple[str, ...]) -> dict[str, Path]:
    """Return the files that are to be deleted, by the path they are shown with; those that are gone already are fine.

    Raises:
        ReadRefused: one of them is no memory file, or lies below a link; then nothing is deleted.
    """
    from ..reading import locate, open_below
    from ..workspace import Layout

    layout = Layout.of(settings)
    found: dict[str, Path] = {}
    for path in paths:
        root, relative = locate(layout, path)
        full = Path(os.path.join(root.path, *relative))
        with suppress(FileNotFoundError), open_below(root, relative, path):
            found[layout.shown(str(full))] = full
    return found


def _places(settings: AgentSettings, text: str) -> list[str]:
    """Return where the notes hold `text`, as path:line."""
    from ..workspace import Found, Layout

    places: list[str] = []
    wanted = text.casefold()
    for item in Layout.of(settings).walk():
        if isinstance(item, Found):
            try:
                lines = Path(item.absolute).read_text("utf-8", errors="replace").splitlines()
            except OSError:
                continue
            places += [f"{item.path}:{number}" for number, line in enumerate(lines, 1) if wanted in line.casefold()]
    return places


def _still_there(places: list[str], *, as_json: bool) -> int:
    if as_json:
        print_json({"forgotten": False, "places": places})
    else:
        print("\n".join(printable(place) for place in places))
        click.echo(
            f"looseleaf: {len(places)} lines still hold it. The notes are yours: cut it out there, then run this again.", err=True
        )
    return 1


def _told(deleted: list[str], forgotten: Forgotten) -> str:
    parts = [f"deleted {', '.join(map(printable, deleted))}"] if deleted else []
    parts.append(f"{forgotten.vectors:,} vectors of what stands in no note are gone; the index holds nothing of it")
    if forgotten.under_way:
        parts.append(f"{forgotten.under_way:,} texts are in batch jobs at the provider, whose results will not be stored")
    if not forgotten.complete:
        parts.append("another process is reading, so the disk may hold traces: run this again when it is done")
    return "; ".join(parts)
