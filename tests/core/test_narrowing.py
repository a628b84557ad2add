"""Asking for a part of the notes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conftest import found
from looseleaf import LooseleafError, Notebook
from looseleaf.narrowing import narrowing


@pytest.mark.parametrize(
    ("only", "paths"),
    [
        ({}, {"MEMORY.md", "memory/2026-02-09.md", "memory/2026-02-10.md", "memory/topics/x.md"}),
        ({"after": "2026-02-10"}, {"memory/2026-02-10.md"}),
        ({"before": "2026-02-10"}, {"memory/2026-02-09.md"}),
        ({"after": "2026-02-09", "before": "2026-02-11"}, {"memory/2026-02-09.md", "memory/2026-02-10.md"}),
        ({"path": "memory/topics"}, {"memory/topics/x.md"}),
        ({"path": "./memory/topics/"}, {"memory/topics/x.md"}),
        ({"path": "memory/2026-02-*.md"}, {"memory/2026-02-09.md", "memory/2026-02-10.md"}),
        ({"path": "MEMORY.md"}, {"MEMORY.md"}),
        ({"sources": ["sessions"]}, set()),
        ({"sources": ["memory"], "path": "nowhere"}, set()),
    ],
)
def test_only_what_was_asked_for(only: dict, paths: set[str], opened: Callable[..., Notebook], write: Callable) -> None:
    """By day, path and source; notes without a day are of no time."""
    for path in ("MEMORY.md", "memory/2026-02-09.md", "memory/2026-02-10.md", "memory/topics/x.md"):
        write(path, f"alpha in {path}")
    assert set(found(opened(), "alpha", only=narrowing(**only))) == paths


def test_a_needle_among_many_is_found_all_the_same(opened: Callable[..., Notebook], write: Callable) -> None:
    """What is narrowed away does not take the places of what is asked for."""
    for number in range(60):
        write(f"memory/2026-01-{number % 28 + 1:02}-{number}.md", "alpha alpha alpha")
    write("memory/topics/x.md", f"alpha {'other words ' * 20}")
    assert found(opened(), "alpha", only=narrowing(path="memory/topics")) == ["memory/topics/x.md"]


@pytest.mark.parametrize(
    ("only", "says"),
    [({"after": "yesterday"}, "YYYY-MM-DD"), ({"before": "2026-13-01"}, "before"), ({"sources": ["web"]}, "no source 'web'")],
)
def test_what_cannot_be_meant_is_told(only: dict, says: str) -> None:
    """With what can be written."""
    with pytest.raises(LooseleafError, match=says):
        narrowing(**only)
