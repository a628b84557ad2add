"""The days that a question asks about, in many languages, and nothing that only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf._run import run
from looseleaf_memory_core.days import Asked, asked_days

TODAY = date(2026, 2, 10)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("what did we decide on 2026-02-08?", (2026, 2, 8)),
        ("on the evening of 7 July, 2023", (2023, 7, 7)),
        ("as mentioned on November 11, 2023", (2023, 11, 11)),
        ("on the 3rd of March", (None, 3, 3)),
        ("in May 2023", (2023, 5, None)),
        ("what happened in February", (None, 2, None)),
        ("was war am 7. Juli 2025?", (2025, 7, 7)),
        ("am 10.02.2026", (2026, 2, 10)),
        ("op 3 maart", (None, 3, 3)),
        ("le 1er août 2024", (2024, 8, 1)),
        ("el 3 de marzo de 2024", (2024, 3, 3)),
        ("7 июля 2023", (2023, 7, 7)),
        ("2月10日讨论的方案", (None, 2, 10)),
        ("2026年2月10日", (2026, 2, 10)),
        ("12月に何を決めた", (None, 12, None)),
        ("6월 3일 회의", (None, 6, 3)),
        ("10 फरवरी को क्या हुआ", (None, 2, 10)),
        ("what did I do yesterday", (2026, 2, 9)),
        ("was war vorgestern", (2026, 2, 8)),
        ("昨天讨论了什么", (2026, 2, 9)),
        ("आज क्या", (2026, 2, 10)),
    ],
)
def test_days_are_read(question: str, asked: tuple[int | None, int, int | None]) -> None:
    """Figures, names of months, and words for today and the days before."""
    assert asked_days(question, TODAY) == (Asked(*asked),)


@pytest.mark.parametrize(
    "question",
    [
        "which machine runs the gateway",
        "may I march in the house",
        "192.168.10.2",
        "version 3.11.7",
        "port 18789",
        "30 February",
        "2026-13-40",
        "das ist hier",
        "issue 12 of 7",
        "",
    ],
)
def test_what_only_looks_like_a_day_is_none(question: str) -> None:
    """Words that are also months, addresses, versions, impossible days."""
    assert asked_days(question, TODAY) == ()


def test_several_days_and_each_once() -> None:
    """Two days are two, one day twice is one."""
    asked = asked_days("between 3 May 2024 and 2024-05-07, so not 7 May 2024", TODAY)
    assert set(asked) == {Asked(2024, 5, 3), Asked(2024, 5, 7)}


@given(st.text())
def test_any_question_is_read(question: str) -> None:
    """Never an exception, never an impossible day."""
    for asked in asked_days(question, TODAY):
        assert 1 <= asked.month <= 12


@given(st.dates(date(1000, 1, 1)))
def test_every_day_fits_itself(day: date) -> None:
    """ISO dates are found and fit that day, half fit the month, and no other."""
    (asked,) = asked_days(f"on {day.isoformat()}", TODAY)
    assert asked.fits(day) == 1
    assert asked._replace(day=None).fits(day) == 0.5
    assert asked._replace(day=day.day % 28 + 1 if day.day != day.day % 28 + 1 else 28).fits(day) in (0, 1)
    assert Asked(day.year + 1, day.month, day.day).fits(day) == 0


def shown(opened: Callable, query: str) -> list[str]:
    notebook = opened()
    run(notebook.sync(), inline=True)
    return [found.hit.path for found in run(notebook.search(query), inline=True).hits]


def test_the_note_of_the_day_comes_first(opened: Callable, write: Callable) -> None:
    """Also when another note has more of the words, and when it has none of them."""
    write("memory/2026-02-08.md", "Met the plumber. Ordered a new tap.")
    write("memory/2026-02-09.md", "The meeting, the meeting minutes and the notes of the meeting.")
    write("memory/tips.md", "What to do in a meeting on any day.")
    assert shown(opened, "what was the meeting on 8 February 2026")[0] == "memory/2026-02-08.md"
    assert shown(opened, "was war am 8. Februar?") == ["memory/2026-02-08.md"]
    assert shown(opened, "2026年2月8日")[0] == "memory/2026-02-08.md"


def test_a_day_without_a_note_changes_nothing(opened: Callable, write: Callable) -> None:
    """The words still count."""
    write("memory/2026-02-09.md", "The meeting was long.")
    assert shown(opened, "meeting on 1 March 2025") == ["memory/2026-02-09.md"]
