"""`looseleaf plugins`: list what is installed and why it is used or not; `looseleaf plugins check`: for authors."""

from __future__ import annotations

import traceback

import click

from ._common import common_options, load
from ._output import print_json, print_notes, print_table


@click.group("plugins", invoke_without_command=True)
@click.option("--traceback", "with_trace", is_flag=True, help="Show where a broken plugin failed.")
@common_options
@click.pass_context
def command(
    context: click.Context, with_trace: bool, agent: str | None, workspace: str | None, config: str | None, as_json: bool
) -> int:
    """List what is installed and why it is used or not. Exits with 1 if a selected plugin cannot be used."""
    if context.invoked_subcommand:
        return 0
    from .._catalog import scan
    from .._plugins import Plugins
    from ..errors import PluginError
    from ..opening import open_notebook, stage_names
    from ..types import Note

    _, settings = load(config, agent, workspace)
    catalog = scan()
    plugins = Plugins(catalog, settings)
    notes: list[Note] = []
    trace = ""
    embedder = settings.search.provider
    failed = False
    try:
        notebook = open_notebook(settings, catalog=catalog)
        notes += [note for note in notebook.notes if note.code != "memory-off"]
        embedder = notebook.embedder_name or embedder
        failed = any(note.code in ("provider-failed", "ranker-missing", "stage-missing") for note in notes)
    except PluginError as error:
        notes.append(Note("broken", str(error)))
        trace = "".join(traceback.format_exception(error.__cause__)) if error.__cause__ else ""
        failed = True
    slot = settings.slot
    selected = {
        "memory": {slot} if slot else set(),
        "embedder": {embedder} if slot else set(),
        "ranker": {settings.search.query.ranker} if slot else set(),
        "postprocessor": set(stage_names(settings)) if slot else set(),
        "extension": set(settings.plugins.extensions),
    }
    states = plugins.states(selected)
    broken = {note.text for note in notes if note.code == "broken"}
    if as_json:
        rows = [
            {
                "kind": item.entry.kind, "name": item.entry.name, "distribution": item.entry.distribution,
                "version": item.entry.version, "value": item.entry.value, "state": item.state, "reason": item.reason,
            }
            for item in states
        ]  # fmt: skip
        diagnostics = [
            {"code": note.code, "text": note.text, **({"traceback": trace} if trace and with_trace else {})} for note in notes
        ]
        print_json({"slot": slot or "none", "plugins": rows, "diagnostics": diagnostics})
        return int(failed)
    print_table(
        ["kind", "name", "state", "reason", "from"],
        [
            [item.entry.kind, item.entry.name, item.state, item.reason, f"{item.entry.distribution} {item.entry.version}"]
            for item in states
        ],
    )
    if slot is None:
        print("memory slot: none (memory is off)")
    print_notes(notes)
    if trace and with_trace:
        click.echo(trace, err=True)
    elif broken and trace:
        click.echo("looseleaf plugins --traceback shows where it failed", err=True)
    return int(failed)


@command.command("check")
@click.argument("distribution")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def check(distribution: str, as_json: bool) -> int:
    """For authors: try every plugin of the installed DISTRIBUTION against what the host expects. Exits with 1 if one is broken."""
    from .._catalog import scan
    from .._check import CHECKS, subject

    about = subject(distribution, scan())
    findings = [finding for run in CHECKS.values() for finding in run(about)]
    broken = sum(finding.state == "broken" for finding in findings)
    if as_json:
        print_json({"distribution": about.entries[0].distribution, "findings": [finding._asdict() for finding in findings]})
        return int(bool(broken))
    print_table(["check", "plugin", "state", ""], [[item.check, item.plugin, item.state, item.text] for item in findings])
    summary = f"{broken} of {len(findings)} checks failed" if broken else "All is in order"
    click.echo(f"{summary}. What its objects do is tried by the laws: looseleaf.testing.", err=True)
    return int(bool(broken))
