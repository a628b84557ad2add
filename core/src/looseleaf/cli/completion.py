"""`looseleaf completion`: print the completion script for a shell."""

from __future__ import annotations

import click


@click.command("completion", help=__doc__)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a script; `eval "$(looseleaf completion bash)"` turns completion on."""
    from click.shell_completion import get_completion_class

    from . import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(kind(cli, {}, "looseleaf", "_LOOSELEAF_COMPLETE").source())
    return 0
