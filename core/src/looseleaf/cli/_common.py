"""What the commands share: their options, opening a notebook, and running it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ..notebook import Notebook
    from ..settings import AgentSettings, Settings

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def common_options(function: F) -> F:
    """Add `--agent`, `--workspace`, `--config` and `--json`."""
    return place_options(click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")(function))


def place_options(function: F) -> F:
    """Add `--agent`, `--workspace` and `--config`."""
    for option in (
        click.option("--config", metavar="FILE", help="Read this config file."),
        click.option("-w", "--workspace", metavar="DIR", help="Folder that holds MEMORY.md and memory/."),
        click.option("-a", "--agent", metavar="ID", help="Agent whose settings and notes are meant."),
    ):
        function = option(function)
    return function


def load(config: str | None, agent: str | None, workspace: str | None) -> tuple[Settings, AgentSettings]:
    """Return the settings, and what they mean for the agent."""
    from ..settings import load_settings

    if workspace is not None and not Path(workspace).is_dir():
        problem = "is a file, not a folder" if Path(workspace).exists() else "does not exist"
        raise click.BadParameter(f"the folder {workspace!r} {problem}", param_hint="--workspace")
    settings = load_settings(config)
    for warning in settings.warnings:
        click.echo(f"looseleaf: warning: {warning}", err=True)
    return settings, settings.for_agent(agent, workspace=Path(workspace) if workspace else None)


def run_with(notebook: Notebook, main: Callable[[Notebook], Coroutine[Any, Any, T]]) -> T:
    """Return what `main` gives, and close the notebook; an event loop is made only if some part may have to wait."""
    from .._run import run

    async def opened() -> T:
        try:
            return await main(notebook)
        finally:
            await notebook.aclose()

    return run(opened(), inline=notebook.slot is None or bool(getattr(notebook.slot, "blocking", False)))
