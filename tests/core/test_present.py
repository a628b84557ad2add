"""Snippets, citations and the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Hit
from looseleaf.present import cite, present, within_budget

LINES = st.lists(st.text(alphabet="abc é方\t", max_size=120), min_size=1, max_size=40)


def hit(text: str, start: int = 1) -> Hit:
    return Hit("1", "a.md", start, start + text.rstrip().count("\n"), text)


@given(LINES, st.integers(1, 9), st.lists(st.sampled_from(["abc", "方", "é", "b"]), max_size=3))
def test_a_snippet_is_the_text_of_its_lines(lines: list[str], start: int, terms: list[str]) -> None:
    """The window is an exact substring of at most 700 characters, and its line numbers are those of its text."""
    text = "\n".join(lines)
    shown = present(hit(text, start), tuple(terms))
    assert shown.snippet in text
    assert len(shown.snippet) <= 700
    own = text.split("\n")[shown.start - start : shown.end - start + 1]
    assert shown.snippet in "\n".join(own)
    assert shown.end - shown.start == shown.snippet.count("\n")
    for begin, end in shown.marks:
        assert 0 <= begin < end <= len(shown.snippet)


def test_the_window_lies_around_the_match() -> None:
    """A match in the second half of a long chunk is shown, with whole lines."""
    text = "\n".join(
        [*(f"line {number} says nothing at all here" for number in range(60)), "the gateway runs on the Mac", "the end"]
    )
    shown = present(hit(text), ("gateway", "Mac"))
    assert "the gateway runs on the Mac" in shown.snippet
    assert shown.snippet.startswith("line ")
    assert shown.snippet[slice(*shown.marks[0])] == "gateway"
    assert text.split("\n")[shown.start - 1] == shown.snippet.split("\n")[0]


@pytest.mark.parametrize(
    ("text", "term", "marked"),
    [
        ("he is allergic to walnuts", "allergy", "allergic"),
        ("walnuts", "walnut", "walnuts"),
        ("the note of note", "not", None),
        ("方案已经决定", "方案", "方案"),
        ("see sqlite-vec now", "sqlite-vec", "sqlite-vec"),
        ("the port 10.27.34.240:19721 is open", "10.27.34.240:19721", "10.27.34.240:19721"),
        ("Straße", "straße", "Straße"),
        ("İstanbul is far", "far", "far"),
    ],
)
def test_marks_are_what_was_looked_for(text: str, term: str, marked: str | None) -> None:
    """Words stand out whole, also with another ending; parts of other words do not."""
    shown = present(hit(text), (term,))
    assert [shown.snippet[slice(*mark)] for mark in shown.marks][:1] == ([marked] if marked else [])


def test_a_citation_names_its_lines() -> None:
    """`#L5` for one line, `#L5-L9` for several."""
    assert cite("a.md", 5, 5) == "a.md#L5"
    assert cite("a.md", 5, 9) == "a.md#L5-L9"


@given(st.lists(st.tuples(st.text(max_size=300), st.sampled_from(["", "Source: a.md#L5"])), max_size=5), st.integers(0, 600))
def test_the_budget_holds_and_never_cuts_a_footer(texts: list[tuple[str, str]], budget: int) -> None:
    """Whole entries while they fit, the last one's body cut, each with its footer."""
    shown = within_budget(texts, budget)
    assert sum(map(len, shown)) <= budget
    for text, (_, footer) in zip(shown, texts, strict=False):
        assert text.endswith(footer)
