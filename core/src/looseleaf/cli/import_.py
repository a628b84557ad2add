"""`looseleaf import`: take notes over from another memory."""

from __future__ import annotations

from pathlib import Path

import click

from ._common import common_options, load
from ._output import print_json, printable

_TOLD = {"new": "copy", "same": "is there", "taken": "left: another file has its name", "large": "left: over 10 MB"}


@click.command("import", help=__doc__)
@click.argument("kind", type=click.Choice(["memsearch", "basic-memory", "qmd"]))
@click.argument("place", required=False, metavar="[FOLDER]")
@click.option("-y", "--yes", is_flag=True, help="Copy; without it the plan is only shown.")
@common_options
def command(
    kind: str, place: str | None, yes: bool, agent: str | None, workspace: str | None, config: str | None, as_json: bool
) -> int:
    """Show what would be copied to memory/imported, and copy it with --yes. Nothing is overwritten, theirs stay as they are."""
    from ..importing import carry_out, plan

    _, settings = load(config, agent, workspace)
    copies = plan(kind, place, settings.workspace, Path.home())  # type: ignore[arg-type]  # click has checked it
    written = carry_out(copies, settings.workspace) if yes else []
    if as_json:
        print_json({"copied": written, "plan": [{"path": copy.target, "state": copy.state} for copy in copies]})
        return 0
    for copy in copies:
        print(f"{_TOLD[copy.state]}\t{printable(copy.target)}")
    new = sum(copy.state == "new" for copy in copies)
    said = f"{len(written)} notes copied" if yes else f"{new} notes would be copied: say --yes to copy them"
    click.echo(f"looseleaf: {said if copies else 'no notes were found there'}", err=True)
    return 0
