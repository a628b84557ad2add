"""`looseleaf eval`: ask questions whose answers are known, and show how far up they are found, stage by stage."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._common import common_options, load, run_with
from ._output import print_json, print_table, progress

if TYPE_CHECKING:
    from ..evaluate import Evaluation, Question
    from ..notebook import Notebook

_SHOWN_MISSES = 20


@click.command("eval", help=__doc__)
@click.argument("questions", metavar="QUESTIONS.jsonl", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-n", "--max-results", type=click.IntRange(1, 200), default=10, show_default=True, metavar="N", help="Hits a question."
)
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="X", help="Evidence a hit must have, 0 to 1.")
@click.option("--misses", is_flag=True, help="List the questions of which nothing expected was found.")
@common_options
def command(
    questions: Path,
    max_results: int,
    min_score: float | None,
    misses: bool,
    agent: str | None,
    workspace: str | None,
    config: str | None,
    as_json: bool,
) -> int:
    """Index what has changed, ask, and show the figures."""
    from ..evaluate import evaluate, read_questions
    from ..opening import open_notebook

    asked = read_questions(questions)
    _, settings = load(config, agent, workspace)
    notebook = open_notebook(settings)
    if notebook.slot is None:
        raise click.ClickException("memory is off, so there is nothing to measure")

    async def measure(notebook: Notebook) -> Evaluation:
        with progress(quiet=as_json) as show:
            await notebook.sync(progress=show)
        return await evaluate(notebook, asked, limit=max_results, min_score=min_score)

    found = run_with(notebook, measure)
    quick = sorted(found.milliseconds)
    times = {"p50": quick[len(quick) // 2], "p95": quick[int(0.95 * len(quick))]}
    if as_json:
        print_json(
            {
                "questions": found.questions,
                "stages": {name: asdict(row) for name, row in found.stages.items()},
                "missed": [_row(question) for question in found.missed],
                "unknownPaths": found.unknown,
                "milliseconds": times,
            }
        )
        return 0
    table = [[name, *(f"{value:.3f}" for value in asdict(row).values())] for name, row in found.stages.items()]
    print_table(["stage", "recall@1", "recall@5", "recall@10", "MRR", "nDCG@10"], table)
    print(f"{found.questions} questions, {len(found.missed)} missed; a search took {times['p50']:.1f} ms (p95 {times['p95']:.1f})")
    for path in found.unknown:
        click.echo(f"looseleaf: warning: {path} is expected by a question, but is no indexed note", err=True)
    if misses:
        for question in found.missed[:_SHOWN_MISSES]:
            print(f"missed: {question.text}  ({', '.join(place.path for place in sorted(question.expected))})")
        if len(found.missed) > _SHOWN_MISSES:
            print(f"and {len(found.missed) - _SHOWN_MISSES} more; --json has all")
    return 0


def _row(question: Question) -> dict[str, object]:
    places = [{"path": place.path, "lines": [place.start, place.end]} for place in sorted(question.expected)]
    return {"question": question.text, "expected": places}
