"""The command line: one file a command, each loaded when it is called."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from keyword import iskeyword

import click

from .. import __version__
from ._errors import shown_errors

_COMMANDS = {
    "search": "Find notes by meaning and by word.",
    "get": "Print lines of a memory file.",
    "index": "Bring the index up to date.",
    "forget": "Keep nothing of what was deleted.",
    "watch": "Keep the index up with the files.",
    "mcp": "Serve the memory to an agent that speaks MCP.",
    "connect": "Put the memory into a host: Claude Code, Codex, Gemini and others.",
    "context": "Print what a session starts with.",
    "import": "Take notes over from another memory.",
    "recall": "Print what a turn brings to mind.",
    "flush": "Say whether to write things down before compaction.",
    "status": "Show what is indexed, and how.",
    "doctor": "Look the whole set-up over and say what to do.",
    "eval": "Measure recall on questions of your own.",
    "plugins": "List what is installed and why it is used or not.",
    "config": "Show, check and explain the settings.",
    "completion": "Print the completion script for a shell.",
}


class _Commands(click.Group):
    """Loads a command's module when it is needed, and knows the nearest name to a misspelt one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f".{module}", __name__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"To search, type: looseleaf search {args[0]!r}"
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="looseleaf")
@click.option("--config", metavar="FILE", help="Read this config file; the same as after the command.")
def cli(config: str | None) -> None:
    """Plain Markdown memory for agents: searched by meaning and by word, in your language, with no key."""
    if config:
        os.environ["LOOSELEAF_CONFIG"] = config


def main() -> None:
    """Run the command line."""
    sys.exit(shown_errors(cli))
