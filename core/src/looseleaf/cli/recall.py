"""`looseleaf recall`: what the notes hold on a turn, if anything surely does."""

from __future__ import annotations

from dataclasses import replace

import click

from ._common import common_options, load
from ._hook import HookCommand, read_event
from ._output import print_json, print_notes, printable


@click.command("recall", cls=HookCommand, help=__doc__)
@click.argument("turn", nargs=-1)
@click.option("--session", metavar="KEY", help="Session key; the owner's own if left out.")
@common_options
def command(
    turn: tuple[str, ...], session: str | None, agent: str | None, workspace: str | None, config: str | None, as_json: bool
) -> int:
    """Print what a prompt may be given before TURN is answered: by words alone, for a model takes longer to load than there is time.

    Without TURN it is the `prompt` of the event on stdin, as Claude Code gives it to a hook. The index is taken as it is.
    """
    from .._run import run
    from ..opening import open_notebook
    from ..recall import recall
    from ..results import SearchResult
    from ..tools import notes_json, result_json

    _, settings = load(config, agent, workspace)
    said = " ".join(turn) or str(read_event().get("prompt") or "")
    search = replace(settings.search, provider="none", recall=replace(settings.search.recall, enabled=True))
    notebook = open_notebook(replace(settings, search=search))
    try:
        recalled = recall(notebook, said, session_key=session)
    finally:
        run(notebook.aclose(), inline=True)
    if as_json:
        rows = result_json(SearchResult(recalled.hits))["results"]
        print_json(
            {
                "results": rows,
                "text": recalled.text,
                "milliseconds": round(recalled.milliseconds, 1),
                "notes": notes_json(recalled.notes),
            }
        )
        return 0
    if recalled.text:
        print(printable(recalled.text))
    print_notes(recalled.notes)
    return 0
