"""`looseleaf search`: find notes by meaning and by word."""

from __future__ import annotations

from typing import Any

import click

from ..reports import SyncReport
from ..results import FoundHit, SearchResult
from ..types import Note
from ._common import common_options, load, run_with
from ._output import console, is_terminal, print_json, print_notes, printable, progress

# How long vectors are made before a search answers: on the first search of a workspace, and on later ones.
_FIRST_S, _LATER_S = 4.0, 1.0


@click.command("search", help=__doc__)
@click.argument("words", nargs=-1, metavar="QUERY...")
@click.option("--query", "given", metavar="TEXT", help="The query; wins over QUERY.")
@click.option("-n", "--max-results", type=click.IntRange(1, 200), metavar="N", help="Most hits to show.")
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="X", help="Evidence a hit must have, 0 to 1.")
@click.option("--explain", is_flag=True, help="Show each candidate's signals and what every stage did to it.")
@click.option("--no-sync", is_flag=True, help="Answer from the index as it is.")
@common_options
def command(
    words: tuple[str, ...],
    given: str | None,
    max_results: int | None,
    min_score: float | None,
    explain: bool,
    no_sync: bool,
    agent: str | None,
    workspace: str | None,
    config: str | None,
    as_json: bool,
) -> int:
    """Search, after indexing what has changed."""
    from ..notebook import Notebook
    from ..opening import open_notebook

    query = given if given is not None else " ".join(words)
    if not query.strip():
        raise click.UsageError('Say what to look for: looseleaf search "which machine runs the gateway"')
    _, settings = load(config, agent, workspace)
    first = not settings.database.exists()
    notebook = open_notebook(settings)

    async def search(notebook: Notebook) -> tuple[SyncReport, SearchResult]:
        report = SyncReport()
        if not no_sync and settings.search.sync.on_search:
            with progress(quiet=as_json) as show:
                report = await notebook.sync(progress=show, budget_s=_FIRST_S if first else _LATER_S)
        return report, await notebook.search(query, limit=max_results, min_score=min_score, explain=explain)

    report, result = run_with(notebook, search)
    notes = _notes(report, result)
    if as_json:
        from ..tools import notes_json, result_json

        print_json({**result_json(result), "pending": report.pending, "notes": notes_json(notes)})
        return 0
    _print_hits(result)
    if explain:
        _print_explain(result)
    print_notes(notes)
    return 0


def _notes(report: SyncReport, result: SearchResult) -> tuple[Note, ...]:
    notes = list(dict.fromkeys([*report.notes, *result.notes]))
    if report.pending and result.mode != "none":
        rest = (
            f"{report.pending:,} of {report.chunks:,} chunks are found by their words only, as yet; `looseleaf index` does the rest"
        )
        notes.append(Note("pending", rest))
    return tuple(notes)


def signals_text(found: FoundHit) -> str:
    """Return the signals behind a score, in words: how much of the query the chunk holds, and how near it is in meaning."""
    signals = found.hit.signals
    parts = []
    if signals.get("exact"):
        parts.append("exact")
    if "matched" in signals:
        parts.append(f"word {signals['matched']:.2f}")
    if "similarity" in signals:
        parts.append(f"meaning {signals['similarity']:.2f}")
    if signals.get("dated"):
        parts.append("day" if signals["dated"] == 1 else "month")
    return "  ".join(parts)


def _print_hits(result: SearchResult) -> None:
    if not result.hits:
        reasons = [note.text for note in result.notes if note.code in ("memory-off",)]
        print(reasons[0] if reasons else "No matches.")
        return
    if is_terminal():
        _print_rich(result)
        return
    for found in result.hits:
        print(f"{found.hit.score:.3f} {printable(found.hit.path)}:{found.start}-{found.end}  {signals_text(found)}".rstrip())
        for line in printable(found.snippet).splitlines():
            print(f"    {line}".rstrip())


def _print_rich(result: SearchResult) -> None:
    from rich.text import Text

    out = console()
    for found in result.hits:
        title = Text()
        title.append(f"{found.hit.score:.3f} ", "bold")
        title.append(f"{printable(found.hit.path)}:{found.start}-{found.end}", "bold cyan")
        title.append(f"  {signals_text(found)}", "dim")
        if found.hit.heading:
            title.append(f"  {printable(found.hit.heading)}", "dim italic")
        out.print(title)
        snippet = Text(found.snippet)
        for begin, end in found.marks:
            snippet.stylize("bold yellow", begin, end)
        for line in snippet.split("\n"):
            line.plain = printable(line.plain)
            out.print(Text("    ") + line)
        out.print()


def _print_explain(result: SearchResult) -> None:
    from ._output import print_table

    rows: list[list[Any]] = []
    for trace in result.explain:
        signals = " ".join(f"{name}={value:.3f}" for name, value in trace.hit.signals.items())
        steps = " > ".join(
            f"{step.stage} {step.score:.3f}" if step.score is not None else f"{step.stage}: {step.reason}" for step in trace.steps
        )
        rows.append([f"{trace.hit.path}:{trace.hit.start}-{trace.hit.end}", signals, steps])
    print_table(["candidate", "signals", "stages"], rows, title="every candidate")
