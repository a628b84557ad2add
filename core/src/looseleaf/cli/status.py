"""`looseleaf status`: show what is indexed, and how."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from ..reports import Probe, Status
from ..settings.surface import key_of
from ._common import common_options, load, run_with
from ._output import is_terminal, print_json, print_notes, print_table


@click.command("status", help=__doc__)
@click.option("--files", is_flag=True, help="List every file under the roots, with its state and the reason.")
@click.option("--deep", is_flag=True, help="Ask the embedding provider once: time, size, limits, or what is wrong.")
@common_options
def command(files: bool, deep: bool, agent: str | None, workspace: str | None, config: str | None, as_json: bool) -> int:
    """Compare the index with the files; nothing is changed. With --deep it exits with 1 if the provider fails."""
    from ..notebook import Notebook
    from ..opening import open_notebook
    from ..tools import notes_json

    settings, chosen = load(config, agent, workspace)
    agents = [chosen]
    if agent is None and workspace is None:  # every agent, as one list
        agents = [settings.for_agent(entry.id) for entry in settings.agents.list] or [chosen]
    rows = []
    failed = False
    for one in agents:

        async def ask(notebook: Notebook) -> tuple[Status, Probe | None]:
            return await notebook.status(), await notebook.probe() if deep else None

        status, probe = run_with(open_notebook(one), ask)
        if probe:
            failed = failed or bool(probe.error)
            status = replace(status, details={**status.details, "probe": _probed(probe)})
        rows.append(_row(one.agent, status, notes_json(status.notes), files))
        if not as_json:
            _print(one.agent, status, files)
    if as_json:
        print_json(rows)
    return int(failed)


def _probed(probe: Probe) -> dict[str, object]:
    """Return what a probe showed as plain data."""
    row: dict[str, object] = {"ok": not probe.error, "milliseconds": round(probe.milliseconds, 1)}
    if probe.error:
        return {**row, "error": probe.error}
    limits = {key_of(name): value for name, value in asdict(probe.limits).items()}
    return {**row, "dimensions": probe.dimensions, "limits": limits}


def _row(agent: str, status: Status, notes: list[dict[str, str]], files: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "agentId": agent, "backend": status.backend, "files": status.files, "chunks": status.chunks, "pending": status.pending,
        "dirty": status.dirty, **status.details, "notes": notes,
    }  # fmt: skip
    if files:
        row["ledger"] = [
            {"path": entry.path, "state": entry.state, "reason": entry.reason, "source": entry.source, "chunks": entry.chunks}
            for entry in status.ledger
        ]
    return row


def _print(agent: str, status: Status, files: bool) -> None:
    facts = {
        "agent": agent,
        "backend": status.backend,
        "indexed": f"{status.files:,} files, {status.chunks:,} chunks, {status.pending:,} without a vector",
        "up to date": "no" if status.dirty else "yes",
        **{key: _text(value) for key, value in status.details.items()},
    }
    if status.backend == "none":
        facts = {"agent": agent, "backend": "none"}
    print_table(["", ""] if is_terminal() else [], [[key, value] for key, value in facts.items()])
    if files:
        print_table(
            ["file", "state", "chunks", "why"],
            [[entry.path, entry.state, str(entry.chunks), entry.reason] for entry in status.ledger],
        )
    print_notes(status.notes)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items() if inner not in ("", None))
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
