"""`looseleaf connect`: put the memory into a host."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from ..connecting import HOSTS
from ._common import load
from ._output import print_json


@click.command("connect", help=__doc__)
@click.argument("host", type=click.Choice(list(HOSTS)))
@click.option("--write", is_flag=True, help="Merge it into the host's file, which is copied first, and show the difference.")
@click.option("--json", "as_json", is_flag=True, help="Print the server's entry as one JSON value.")
@click.option("--config", metavar="FILE", help="Serve with this config file.")
@click.option("-w", "--workspace", metavar="DIR", help="Serve this folder.")
@click.option("-a", "--agent", metavar="ID", help="Serve this agent's notes.")
def command(host: str, write: bool, as_json: bool, config: str | None, workspace: str | None, agent: str | None) -> int:
    """Print the exact configuration that puts looseleaf into HOST."""
    from .. import connecting

    load(config, agent, workspace)  # what does not work here would not work there
    chosen = HOSTS[host]
    words = [_program(), "mcp"]
    for option, value in (("--config", config), ("--workspace", workspace)):
        words += [option, str(Path(value).resolve())] if value else []
    words += ["--agent", agent] if agent else []
    if as_json:
        print_json(connecting.entry(chosen, words))
        return 0
    if not write:
        if chosen.command:
            click.echo(f"# {chosen.title}, on the command line:\n{shlex.join(connecting.told(chosen, words))}\n")
        click.echo(f"# or in {chosen.file}:" if chosen.command else f"# {chosen.title}, in {chosen.file}:")
        click.echo(connecting.snippet(chosen, words), nl=False)
        return 0
    made = connecting.change(chosen, words, Path.cwd(), Path.home())
    if made.before == made.after:
        click.echo(f"{made.path} has it already", err=True)
        return 0
    click.echo(made.diff(), nl=False)
    backup = connecting.write(made)
    click.echo(f"written to {made.path}" + (f"; what was there is kept as {backup}" if backup else ""), err=True)
    return 0


def _program() -> str:
    """Return the command as the host will find it: a host started from a menu has not the PATH of a terminal."""
    own = Path(sys.argv[0])
    return shutil.which("looseleaf") or (str(own.resolve()) if own.name.startswith("looseleaf") else "looseleaf")
