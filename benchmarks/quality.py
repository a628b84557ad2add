"""Retrieval quality through the product: LoCoMo as daily notes, XQuAD within and across languages.

    python benchmarks/quality.py [--only locomo xquad] [--provider auto] [--ranker balanced] [--stages mmr] [--min-score X]

The data is read from ../shared/quality and never copied. Figures are those of `looseleaf eval`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from looseleaf import Notebook, load_settings, open_notebook
from looseleaf.evaluate import Evaluation, Place, Question, evaluate

QUALITY = Path(__file__).parents[2] / "shared" / "quality"
PAIRS = ("en en", "de de", "zh zh", "hi hi", "en de", "en zh", "de en")
Set = tuple[dict[str, str], list[Question]]


def open_on(workspace: Path, options: argparse.Namespace) -> Notebook:
    """Open the notes in `workspace` with default settings."""
    prefix = "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__"
    environ = {
        "LOOSELEAF_STATE_DIR": str(workspace.parent / "state"),
        f"{prefix}PROVIDER": options.provider,
        f"{prefix}QUERY__RANKER": options.ranker,
        f"{prefix}QUERY__STAGES": json.dumps(options.stages),
    }
    return open_notebook(load_settings(environ=environ, home=workspace.parent).for_agent(workspace=workspace))


async def measure(notes: dict[str, str], questions: list[Question], options: argparse.Namespace) -> Evaluation:
    """Return the figures of one workspace."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        for path, text in notes.items():
            file = workspace / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        async with open_on(workspace, options) as notebook:
            await notebook.sync()
            return await evaluate(notebook, questions, min_score=options.min_score)


def locomo() -> Iterator[Set]:
    """Yield the notes and questions of each conversation, without the adversarial questions."""
    from common import locomo_workspaces

    for conversation in locomo_workspaces(QUALITY / "data" / "locomo_dev.json"):
        where = {turn: Place(path, line, line) for turn, (path, line) in conversation["where"].items()}
        asked = [Question(qa["q"], frozenset(where[turn] for turn in qa["ev"])) for qa in conversation["qa"] if qa["cat"] != 5]
        yield conversation["files"], asked


def xquad(pair: str) -> Set:
    """Return one note a paragraph, and the questions of the other language."""
    ask, answer = pair.split()
    pages = {}
    for language in {ask, answer}:
        articles = json.loads((QUALITY / "data" / f"xquad_dev.{language}.json").read_text("utf-8"))["data"]
        pages[language] = [paragraph for article in articles for paragraph in article["paragraphs"]]
    notes = {f"memory/{number:03}.md": paragraph["context"] for number, paragraph in enumerate(pages[answer])}
    questions = [
        Question(qa["question"], frozenset({Place(f"memory/{number:03}.md", 1, 1)}))
        for number, paragraph in enumerate(pages[ask])
        for qa in paragraph["qas"]
    ]
    return notes, questions


async def run(options: argparse.Namespace) -> None:
    """Print a line for each set and stage."""
    sets: dict[str, list[Set]] = defaultdict(list)
    if "locomo" in options.only:
        sets["LoCoMo"] = list(locomo())
    if "xquad" in options.only:
        for pair in options.pairs or PAIRS:
            sets[f"XQuAD {pair.replace(' ', ' > ')}"] = [xquad(pair)]
    gate = "default" if options.min_score is None else options.min_score
    print(f"provider {options.provider}, ranker {options.ranker}, stages {options.stages}, minScore {gate}\n")
    print("| set | stage | questions | nDCG@10 | R@5 | R@10 | MRR |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name, parts in sets.items():
        found = [await measure(notes, questions, options) for notes, questions in parts]
        count = sum(part.questions for part in found)
        for stage in found[0].stages if options.each_stage else ["shown"]:
            means = [
                100 * sum(getattr(part.stages[stage], key) * part.questions for part in found) / count
                for key in ("ndcg_10", "recall_5", "recall_10", "mrr")
            ]
            print(f"| {name} | {stage} | {count} | {' | '.join(f'{value:.1f}' for value in means)} |", flush=True)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=["locomo", "xquad"], choices=["locomo", "xquad"])
    parser.add_argument("--pairs", nargs="*", metavar="'en de'", help="question and note languages of XQuAD")
    parser.add_argument("--provider", default="auto")
    parser.add_argument("--ranker", default="balanced")
    parser.add_argument("--stages", nargs="*", default=[])
    parser.add_argument("--min-score", type=float)
    parser.add_argument("--each-stage", action="store_true", help="a row for each stage, not only for what is shown")
    options = parser.parse_args()
    if not QUALITY.is_dir():
        sys.exit(f"the quality data is not at {QUALITY}")
    sys.path.insert(0, str(QUALITY))
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
