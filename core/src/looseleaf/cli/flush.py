"""`looseleaf flush`: whether the agent should write down what matters before its session is compacted."""

from __future__ import annotations

from pathlib import Path

import click

from ._common import common_options, load, place_options
from ._hook import HookCommand, read_event
from ._output import print_json, printable


@click.group("flush", help=__doc__)
def command() -> None:
    """Hold the subcommands."""


@command.command("hook", cls=HookCommand)
@place_options
def hook(config: str | None, workspace: str | None, agent: str | None) -> int:
    """Print what a host's hook should say before and after a compaction; the event is read from stdin, as Claude Code gives it."""
    from ..compaction_hook import hook_text

    _, settings = load(config, agent, workspace)
    if text := hook_text(settings, read_event()):
        click.echo(printable(text))
    return 0


@command.command("check")
@click.option("--session", required=True, metavar="KEY", help="Session key, as in sessions.json.")
@click.option("--tokens", type=click.IntRange(0), metavar="N", help="What the next prompt will hold.")
@click.option("--context-window", type=click.IntRange(1), default=200_000, show_default=True, metavar="N", help="Of the model.")
@click.option("--transcript", type=click.Path(dir_okay=False), metavar="FILE", help="Its transcript; a large one is due.")
@click.option("--workspace-access", type=click.Choice(["rw", "ro", "none"]), default="rw", help="What the sandbox allows.")
@click.option("--store", type=click.Path(dir_okay=False), metavar="FILE", help="sessions.json; the agent's own if left out.")
@click.option("--mark", is_flag=True, help="Record that it was asked, so that it is not again in this compaction cycle.")
@common_options
def check(
    session: str,
    tokens: int | None,
    context_window: int,
    transcript: str | None,
    workspace_access: str,
    store: str | None,
    mark: bool,
    agent: str | None,
    workspace: str | None,
    config: str | None,
    as_json: bool,
) -> int:
    """Print as JSON whether a flush is due, why, and the prompts. For a host of any language."""
    from ..flush import flush_plan
    from ..sessions import read_entry, store_path, update_entry

    _, settings = load(config, agent, workspace)
    table = Path(store) if store else store_path(settings)
    plan = flush_plan(
        settings,
        tokens=tokens,
        context_window=context_window,
        entry=read_entry(table, session),
        transcript_bytes=Path(transcript).stat().st_size if transcript and Path(transcript).exists() else 0,
        workspace_access=workspace_access,  # type: ignore[arg-type]  # click has checked it
    )
    if mark and plan.due:
        at_ms = int(settings.now().timestamp() * 1000)
        update_entry(table, session, {"memoryFlushAt": at_ms, "memoryFlushCompactionCount": plan.cycle})
    print_json({
        "due": plan.due, "reason": plan.reason, "threshold": plan.threshold, "path": plan.path, "prompt": plan.prompt,
        "systemPrompt": plan.system_prompt, "model": plan.model, "compactionCount": plan.cycle,
    })  # fmt: skip
    return 0
