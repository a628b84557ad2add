"""`looseleaf context`: what an agent is given at the start of a session."""

from __future__ import annotations

import click

from ._common import common_options, load
from ._output import print_json, printable


@click.command("context", help=__doc__)
@click.option("--session", metavar="KEY", help="Session key; the owner's own if left out.")
@click.option("--chars", type=click.IntRange(200), metavar="N", help="Most characters of a file; `bootstrapMaxChars` if left out.")
@common_options
def command(
    session: str | None, chars: int | None, agent: str | None, workspace: str | None, config: str | None, as_json: bool
) -> int:
    """Print today's and yesterday's notes, and curated memory in the owner's own session."""
    from ..context import as_text, session_context

    _, settings = load(config, agent, workspace)
    parts = session_context(settings, session, chars=chars) if settings.slot else []
    if as_json:
        print_json([{"path": part.path, "text": part.text, "from": part.start, "truncated": part.cut} for part in parts])
    elif parts:
        print(printable(as_text(parts)))
    else:
        why = f"no note of today or yesterday in {settings.workspace}" if settings.slot else "memory is off"
        click.echo(f"looseleaf: nothing to start with: {why}", err=True)
    return 0
