"""Measuring one's own notes: questions are read strictly, and figures are those of the field."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import LooseleafError
from looseleaf._run import run
from looseleaf.evaluate import Figures, Place, Question, evaluate, figures, read_questions

A, B, C = Place("a.md", 1, 5), Place("a.md", 6, 9), Place("b.md", 1, 3)


def test_places_meet_where_they_share_a_line() -> None:
    """The whole note meets every part of it; another note never."""
    assert A.meets(Place("a.md", 5, 6))
    assert not A.meets(B)
    assert Place("a.md").meets(B)
    assert not Place("b.md").meets(A)


def test_figures_by_hand() -> None:
    """Second of three places: recall, reciprocal rank and discounted gain as written down."""
    wanted = frozenset({Place("a.md", 7, 7), Place("b.md", 2, 2)})
    found = figures([A, B], wanted, [A, B, C])
    best = 1 + 1 / log2(3)
    assert found == Figures(0.0, 0.5, 0.5, 0.5, pytest.approx((1 / log2(3)) / best))
    assert figures([B, C], wanted, [A, B, C]) == Figures(0.5, 1.0, 1.0, 1.0, 1.0)
    assert figures([], wanted) == Figures()


def test_a_chunk_with_two_answers_is_the_best_there_is() -> None:
    """The ideal order knows which places stand in one chunk."""
    wanted = frozenset({Place("a.md", 1, 1), Place("a.md", 2, 2)})
    assert figures([A], wanted, [A, B, C]).ndcg_10 == 1.0
    assert figures([A], wanted).ndcg_10 == 1.0
    assert figures([C, A], wanted, [A, B, C]).ndcg_10 == pytest.approx(1 / log2(3))


PLACES = st.builds(
    lambda path, start, more: Place(path, start, start + more), st.sampled_from("ab"), st.integers(1, 9), st.integers(0, 3)
)


@given(st.lists(PLACES, max_size=12), st.frozensets(PLACES, min_size=1, max_size=4))
def test_figures_lie_between_0_and_1(ranked: list[Place], wanted: frozenset[Place]) -> None:
    """And recall never falls with depth."""
    found = figures(ranked, wanted, ranked)
    assert all(0 <= getattr(found, name) <= 1 + 1e-12 for name in Figures.__slots__)
    assert found.recall_1 <= found.recall_5 <= found.recall_10


def test_questions_are_read_in_every_form(tmp_path: Path) -> None:
    """Lines as a text, a pair, a number or not at all; one place or several."""
    file = tmp_path / "questions.jsonl"
    file.write_text(
        '{"question": "one", "path": "a.md", "lines": "1-5"}\n\n'
        '{"question": "two", "path": "a.md", "lines": [6, 9]}\n'
        '{"question": "三", "expected": [{"path": "b.md", "lines": 3}, {"path": "c.md"}]}\n',
        "utf-8",
    )
    assert read_questions(file) == [
        Question("one", frozenset({A})),
        Question("two", frozenset({B})),
        Question("三", frozenset({Place("b.md", 3, 3), Place("c.md")})),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "line 1: this is no JSON"),
        ('{"path": "a.md"}', "line 1: the key 'question' is missing"),
        ('{"question": "q"}', "line 1: the key 'path' is missing"),
        ('{"question": "q", "path": "a.md", "lines": "9-3"}', "line 1: `lines` '9-3' is neither a line nor a first and a last one"),
        ('{"question": "q", "path": "a.md", "lines": "x"}', "line 1: invalid literal"),
        ('{"question": " ", "path": "a.md"}', "line 1: `question` is not a text"),
        ('{"question": "q", "expected": []}', "line 1: `expected` names no place"),
        ('"q"', "line 1: "),
        ("", "there are no questions in"),
    ],
)
def test_bad_questions_are_told_by_line(tmp_path: Path, line: str, says: str) -> None:
    """Every line that is wrong is named, with what a right one looks like."""
    file = tmp_path / "questions.jsonl"
    file.write_text(f"{line}\n", "utf-8")
    with pytest.raises(LooseleafError, match=says):
        read_questions(file)


def test_stage_by_stage(opened: Callable, write: Callable) -> None:
    """Signals, ranker, stages and what is shown each have their figures; misses and unknown paths are named."""
    write("memory/a.md", "the gateway runs on the mac studio")
    write("memory/b.md", "the printer is in the hall")
    notebook = opened({"query": {"hybrid": {"mmr": {"enabled": True}}}})
    run(notebook.sync(), inline=True)
    asked = [
        Question("gateway mac", frozenset({Place("memory/a.md", 1, 1)})),
        Question("toaster", frozenset({Place("memory/none.md")})),
    ]
    found = run(evaluate(notebook, asked), inline=True)
    assert list(found.stages) == ["words", "balanced", "mmr", "shown"]
    assert found.stages["shown"] == Figures(0.5, 0.5, 0.5, 0.5, 0.5)
    assert found.missed == asked[1:]
    assert found.unknown == ["memory/none.md"]
    assert len(found.milliseconds) == 2
