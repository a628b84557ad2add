"""`looseleaf index`: bring the index up to date."""

from __future__ import annotations

import sys
from dataclasses import asdict
from time import monotonic

import click

from ..reports import SyncReport
from ._common import common_options, load, run_with
from ._output import print_json, print_notes, progress


@click.command("index", help=__doc__)
@click.option("--force", is_flag=True, help="Build it anew from the files; vectors of unchanged text are kept.")
@common_options
def command(force: bool, agent: str | None, workspace: str | None, config: str | None, as_json: bool) -> int:
    """Index words, then vectors. Exits with 1 if a file or the embedding provider failed."""
    from ..notebook import Notebook
    from ..opening import open_notebook
    from ..tools import notes_json

    _, settings = load(config, agent, workspace)
    notebook = open_notebook(settings)
    begun = monotonic()

    async def sync(notebook: Notebook) -> SyncReport:
        with progress(quiet=as_json) as show:
            return await notebook.sync(force=force, progress=show)

    report = run_with(notebook, sync)
    failed = bool(report.failed) or any(note.code in ("provider-failed", "busy") for note in report.notes)
    if as_json:
        print_json({**asdict(report), "notes": notes_json(report.notes), "agent": settings.agent, "ok": not failed})
        return int(failed)
    print_notes(report.notes)
    if notebook.slot is not None:
        took = monotonic() - begun
        print(
            f"{settings.agent}: {report.files:,} files ({report.indexed:,} indexed, {report.removed:,} removed, "
            f"{report.skipped:,} skipped, {report.failed:,} failed), {report.chunks:,} chunks, {report.embedded:,} embedded, "
            f"{report.pending:,} without a vector, {took:.1f} s",
            file=sys.stdout,
        )
    return int(failed)
