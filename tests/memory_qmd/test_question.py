"""Questions in QMD's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.testing.strategies import texts
from looseleaf_memory_qmd.question import keyword_line, meaning_line, single_words


@given(texts())
def test_no_question_can_be_misread(text: str) -> None:
    """One line, quotes in pairs, nothing excluded; by meaning neither quotes nor hyphens inside of words."""
    line = keyword_line(text)
    assert len(line.splitlines()) <= 1
    assert line.count('"') % 2 == 0
    assert not any(word.startswith("-") and word.strip("-") for word in line.split())
    assert '"' not in meaning_line(text)


@given(st.lists(st.sampled_from(["which", "machine", "runs", "the", "网关在哪里", "DEC-0054", "a", "-n", '"x']), max_size=9))
def test_single_words_are_of_the_question(words: list[str]) -> None:
    """At most eight, each once, each a part of what was asked."""
    found = single_words(" ".join(words))
    assert len(found) == len(set(found)) <= 8
    assert all(word in " ".join(words) for word in found)
    assert bool(found) == any(any(char.isalnum() for char in word) for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("which machine runs the gateway", ["machine", "gateway", "which", "runs"]),
        ("how hot for baking bread", ["baking", "bread"]),
        ("Bob internationalisation", ["internationalisation", "Bob"]),
        ("网关在哪里运行", ["网关", "关在", "在哪", "哪里", "里运", "运行"]),
        ("DEC-0054 is?", ["DEC-0054", "is"]),
        ("gateway", ["gateway"]),
        ("?!", []),
        ("", []),
    ],
)
def test_telling_words_come_first(text: str, words: list[str]) -> None:
    """Words of less than half the length of the longest say little, unless there is nothing else."""
    assert single_words(text) == words
