"""Collect what the mutants show, and print it as a table at the end of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

FOUND: list[tuple[str, str, int]] = []


@pytest.fixture
def record_mutant() -> Callable[[str, str, int], None]:
    """Note which law found a mutant, and after how many examples."""
    return lambda name, law, tried: FOUND.append((name, law, tried))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print mutant, law and examples."""
    if not FOUND:
        return
    terminalreporter.section(f"{len(FOUND)} mutants, the law that found each, and after how many examples")
    for name, law, tried in FOUND:
        terminalreporter.write_line(f"{name:28} {law:26} {tried:4}")
