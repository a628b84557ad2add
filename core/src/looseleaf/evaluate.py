"""Measure recall on one's own notes: questions whose answers are known, and where in the list those are found, stage by stage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import log2
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from .errors import LooseleafError
from .notebook import Notebook
from .results import SearchResult, Trace

_DEPTH = 10


class Place(NamedTuple):
    """Lines of a note, 1-based inclusive; `end` 0 is the whole note."""

    path: str
    start: int = 1
    end: int = 0

    def meets(self, other: Place) -> bool:
        """Tell whether the two have a line in common."""
        return self.path == other.path and (not other.end or self.start <= other.end) and (not self.end or other.start <= self.end)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the places that answer it."""

    text: str
    expected: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Figures:
    """How well the first hits answer, each in [0, 1].

    Attributes:
        recall_1: Share of the expected places among the first hit; `recall_5` and `recall_10` of the first five and ten.
        mrr: 1 / the place of the first hit with an expected line, 0 if there is none among ten.
        ndcg_10: Gain is what a hit newly covers, discounted by log2(place + 1), over the best that any order could give.
    """

    recall_1: float = 0.0
    recall_5: float = 0.0
    recall_10: float = 0.0
    mrr: float = 0.0
    ndcg_10: float = 0.0


@dataclass(slots=True)
class Evaluation:
    """The outcome.

    Attributes:
        questions: How many were asked.
        stages: Mean figures by stage, in the order in which hits meet them; `shown` is what the user sees.
        missed: Questions of which nothing expected is shown.
        unknown: Expected paths that the memory does not hold.
        milliseconds: What each search took.
    """

    questions: int
    stages: dict[str, Figures]
    missed: list[Question] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


def read_questions(file: Path) -> list[Question]:
    """Return the questions of a JSONL file: `{"question": …, "path": …, "lines": "3-9"}`, or several places under `expected`.

    Raises:
        LooseleafError: with every line that is wrong.
    """
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LooseleafError(f"the questions in {file} cannot be read: {error}") from error
    questions, problems = [], []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                questions.append(_question(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                problems.append(f"line {number}: {_told(error)}")
    if problems:
        text = "\n  ".join([f"{len(problems)} of the questions in {file} cannot be used:", *problems[:20]])
        raise LooseleafError(f'{text}\nA line is {{"question": "…", "path": "memory/2026-02-10.md", "lines": "3-9"}}.')
    if not questions:
        raise LooseleafError(f"there are no questions in {file}")
    return questions


def _question(item: Any) -> Question:
    text = item["question"]
    if not isinstance(text, str) or not text.strip():
        raise ValueError("`question` is not a text")
    places = [_place(place) for place in item.get("expected", [item])]
    if not places:
        raise ValueError("`expected` names no place")
    return Question(text, frozenset(places))


def _place(item: Any) -> Place:
    path, lines = item["path"], item.get("lines")
    if not isinstance(path, str):
        raise ValueError("`path` is not a text")
    if lines is None:
        return Place(path)
    numbers = [int(part) for part in (str(lines).split("-") if isinstance(lines, str | int) else lines)]
    start, end = numbers[0], numbers[-1]
    if not (len(numbers) <= 2 and 1 <= start <= end):
        raise ValueError(f"`lines` {lines!r} is neither a line nor a first and a last one")
    return Place(path, start, end)


def _told(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"this is no JSON: {error.msg}"
    return f"the key {error} is missing" if isinstance(error, KeyError) else str(error)


def figures(ranked: Sequence[Place], expected: frozenset[Place], chunks: Iterable[Place] = ()) -> Figures:
    """Return how well `ranked` answers; `chunks` is everything that could have been ranked, for the best order there is.

    Without it each expected place counts as if it stood alone.
    """
    seen: set[Place] = set()
    gain, first = 0.0, 0.0
    shares = []
    for rank, place in enumerate(ranked[:_DEPTH], 1):
        covered = {wanted for wanted in expected if wanted.meets(place)}
        if covered and not first:
            first = 1 / rank
        gain += len(covered - seen) / log2(rank + 1)
        seen |= covered
        shares.append(len(seen) / len(expected))
    shares += [len(seen) / len(expected)] * (_DEPTH - len(shares))
    best = max(gain, _ideal([{wanted for wanted in expected if wanted.meets(chunk)} for chunk in chunks], expected))
    return Figures(shares[0], shares[4], shares[9], first, gain / best if best else 0.0)


def _ideal(covers: Iterable[set[Place]], expected: frozenset[Place]) -> float:
    """Return the gain of the best order: each time the chunk that covers most of what is left."""
    useful = [cover for cover in covers if cover] or [{place} for place in expected]
    left, gain = set(expected), 0.0
    for rank in range(1, _DEPTH + 1):
        best = max(useful, key=lambda cover: len(cover & left))
        if not best & left:
            break
        gain += len(best & left) / log2(rank + 1)
        left -= best
    return gain


async def evaluate(
    notebook: Notebook,
    questions: Sequence[Question],
    *,
    limit: int = _DEPTH,
    min_score: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Ask every question and return the mean figures of each stage."""
    outline = getattr(notebook.slot, "outline", None)
    chunks = [Place(*place) for place in await outline()] if outline else []
    by_path: dict[str, list[Place]] = {}
    for chunk in chunks:
        by_path.setdefault(chunk.path, []).append(chunk)
    rows: dict[str, list[Figures]] = {}
    await notebook.search(questions[0].text, limit=limit)  # a model is loaded by the first search, which is not what is measured
    found = Evaluation(len(questions), {})
    for number, question in enumerate(questions, 1):
        begun = perf_counter()
        result = await notebook.search(question.text, limit=limit, min_score=min_score, explain=True)
        found.milliseconds.append(1000 * (perf_counter() - begun))
        near = [chunk for path in {place.path for place in question.expected} for chunk in by_path.get(path, ())]
        for stage, ranked in _by_stage(result).items():
            rows.setdefault(stage, []).append(figures(ranked, question.expected, near))
        if not rows["shown"][-1].recall_10:
            found.missed.append(question)
        if progress:
            progress(number, len(questions))
    if chunks:
        found.unknown = sorted({place.path for question in questions for place in question.expected} - by_path.keys())
    order = [name for name in rows if name != "shown"]
    found.stages = {name: mean(rows[name], len(questions)) for name in [*order, "shown"]}
    return found


def mean(rows: Sequence[Figures], count: int) -> Figures:
    """Return the mean of `rows` over `count` questions; those that a stage never met count as 0."""
    return Figures(*(sum(getattr(row, item.name) for row in rows) / max(1, count) for item in fields(Figures)))


def _by_stage(result: SearchResult) -> Mapping[str, list[Place]]:
    """Return the order of hits by each signal, after each stage, and as they are shown."""
    orders: dict[str, list[Place]] = {}
    for name, signal in (("words", "bm25"), ("meaning", "cosine")):
        scored = [trace for trace in result.explain if trace.hit.signals.get(signal, 0.0) > 0]
        if scored:
            scored.sort(key=lambda trace: -trace.hit.signals[signal])
            orders[name] = [_where(trace) for trace in scored]
    staged: dict[str, list[tuple[int, Place]]] = {}
    for trace in result.explain:
        for step in trace.steps:
            if step.place:
                staged.setdefault(step.stage, []).append((step.place, _where(trace)))
    orders.update({stage: [place for _, place in sorted(places)] for stage, places in staged.items()})
    orders["shown"] = [Place(found.hit.path, found.hit.start, found.hit.end) for found in result.hits]
    return orders


def _where(trace: Trace) -> Place:
    return Place(trace.hit.path, trace.hit.start, trace.hit.end)
