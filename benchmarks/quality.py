"""Retrieval quality through the product: LoCoMo as daily notes, XQuAD within and across languages.

    python benchmarks/quality.py [--only locomo xquad] [--provider auto] [--min-score X]

The data is read from ../shared/quality and never copied. Evidence-level metrics, as defined there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from looseleaf import Notebook, load_settings, open_notebook

QUALITY = Path(__file__).parents[2] / "shared" / "quality"
PAIRS = ("en en", "de de", "zh zh", "hi hi", "en de", "en zh", "de en")


@dataclass
class Question:
    """A question and the places that answer it."""

    text: str
    evidence: frozenset[tuple[str, int]]


def open_on(workspace: Path, options: argparse.Namespace) -> Notebook:
    """Open the notes in `workspace` with default settings."""
    environ = {
        "LOOSELEAF_STATE_DIR": str(workspace.parent / "state"),
        "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": options.provider,
        "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__QUERY__RANKER": options.ranker,
    }
    return open_notebook(load_settings(environ=environ, home=workspace.parent).for_agent(workspace=workspace))


async def measure(workspace: Path, questions: list[Question], options: argparse.Namespace) -> list[dict[str, float]]:
    """Return the metrics of each question: what share of its evidence the first hits hold."""
    from common import ideal, metrics

    notebook = open_on(workspace, options)
    await notebook.sync()
    chunks = await _chunks(notebook)
    rows = []
    for question in questions:
        holds = [
            [place for place in question.evidence if place[0] == path and start <= place[1] <= end] for path, start, end in chunks
        ]
        result = await notebook.search(question.text, limit=10, min_score=options.min_score)
        ranked = [
            [place for place in question.evidence if place[0] == hit.hit.path and hit.hit.start <= place[1] <= hit.hit.end]
            for hit in result.hits
        ]
        best = ideal(holds, question.evidence)
        rows.append(metrics(list(range(len(ranked))), ranked, question.evidence, best))
    await notebook.aclose()
    return rows


async def _chunks(notebook: Notebook) -> list[tuple[str, int, int]]:
    """Return the place of every chunk: the ideal ranking is measured against what the index holds."""
    import apsw

    db = apsw.Connection(str(notebook.settings.database), flags=apsw.SQLITE_OPEN_READONLY)
    number = db.execute("SELECT id FROM generation WHERE live = 1").get
    rows = list(db.execute(f"SELECT path, start, end FROM chunk_{number} JOIN file_{number} AS f ON f.id = file"))
    db.close()
    return rows


def locomo() -> Iterator[tuple[dict[str, str], list[Question]]]:
    """Yield the notes and questions of each conversation, without the adversarial questions."""
    from common import locomo_workspaces

    for conversation in locomo_workspaces(QUALITY / "data" / "locomo_dev.json"):
        where = conversation["where"]
        asked = [Question(qa["q"], frozenset(where[turn] for turn in qa["ev"])) for qa in conversation["qa"] if qa["cat"] != 5]
        yield conversation["files"], asked


def xquad(pair: str) -> tuple[dict[str, str], list[Question]]:
    """Return one note a paragraph, and the questions of the other language."""
    ask, answer = pair.split()
    pages = {}
    for language in {ask, answer}:
        articles = json.loads((QUALITY / "data" / f"xquad_dev.{language}.json").read_text("utf-8"))["data"]
        pages[language] = [paragraph for article in articles for paragraph in article["paragraphs"]]
    notes = {f"memory/{number:03}.md": paragraph["context"] for number, paragraph in enumerate(pages[answer])}
    questions = [
        Question(qa["question"], frozenset({(f"memory/{number:03}.md", 1)}))
        for number, paragraph in enumerate(pages[ask])
        for qa in paragraph["qas"]
    ]
    return notes, questions


def write(notes: dict[str, str], workspace: Path) -> None:
    """Write notes as files."""
    for path, text in notes.items():
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


async def run(options: argparse.Namespace) -> None:
    """Print a line for each set."""
    sets: dict[str, list[tuple[dict[str, str], list[Question]]]] = defaultdict(list)
    if "locomo" in options.only:
        sets["LoCoMo"] = list(locomo())
    if "xquad" in options.only:
        for pair in PAIRS:
            sets[f"XQuAD {pair.replace(' ', ' > ')}"] = [xquad(pair)]
    print(
        f"provider {options.provider}, ranker {options.ranker}, minScore {options.min_score if options.min_score is not None else 'default'}\n"
    )
    print("| set | questions | nDCG@10 | R@5 | R@10 | MRR |\n| --- | --- | --- | --- | --- | --- |")
    for name, parts in sets.items():
        rows = []
        for notes, questions in parts:
            with tempfile.TemporaryDirectory() as folder:
                workspace = Path(folder) / "workspace"
                write(notes, workspace)
                rows += await measure(workspace, questions, options)
        figures = " | ".join(f"{100 * sum(row[key] for row in rows) / len(rows):.1f}" for key in ("nDCG@10", "R@5", "R@10", "MRR"))
        print(f"| {name} | {len(rows)} | {figures} |", flush=True)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=["locomo", "xquad"], choices=["locomo", "xquad"])
    parser.add_argument("--provider", default="auto")
    parser.add_argument("--ranker", default="balanced")
    parser.add_argument("--min-score", type=float)
    options = parser.parse_args()
    if not QUALITY.is_dir():
        sys.exit(f"the quality data is not at {QUALITY}")
    sys.path.insert(0, str(QUALITY))
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
