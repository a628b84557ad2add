"""Which files count, and what day they are about."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from looseleaf import Layout
from looseleaf.workspace import Found, Skipped, matches


def paths(layout: Layout) -> list[str]:
    return [item.path for item in layout.walk() if isinstance(item, Found)]


def skipped(layout: Layout) -> dict[str, str]:
    return {item.path: item.reason for item in layout.walk() if isinstance(item, Skipped)}


def test_memory_files_and_extra_paths_count(workspace: Path, write: Callable, tmp_path: Path) -> None:
    """MEMORY.md, memory/**/*.md and what extraPaths lists, each once; anything else does not."""
    for path in ("MEMORY.md", "memory/2026-02-10.md", "memory/deep/er/note.md", "README.md", "memory/x.txt", "other/y.md"):
        write(path, "x")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "plan.md").write_text("x")
    layout = Layout(workspace, [("../team", "**/*.md"), ("other/y.md", "**/*.md"), ("memory", "**/*.md"), ("nowhere", "**/*.md")])
    assert paths(layout) == ["MEMORY.md", "memory/2026-02-10.md", "memory/deep/er/note.md", "../team/plan.md", "other/y.md"]


def test_the_lower_case_file_counts_only_alone(workspace: Path, write: Callable) -> None:
    """WS-17: MEMORY.md wins over memory.md, and one file under two names is one file."""
    write("memory.md", "small")
    assert paths(Layout(workspace)) == ["memory.md"]
    write("MEMORY.md", "big")
    assert paths(Layout(workspace)) == ["MEMORY.md"]
    os.link(workspace / "MEMORY.md", workspace / "twin.md")
    assert paths(Layout(workspace, [("twin.md", "**/*.md")])) == ["MEMORY.md"]


def test_links_are_skipped_and_named(workspace: Path, write: Callable, tmp_path: Path) -> None:
    """WS-13: a linked note or folder is left out with its reason, the rest is found."""
    write("memory/real.md", "x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("x")
    (workspace / "memory" / "link.md").symlink_to(outside / "secret.md")
    (workspace / "memory" / "folder").symlink_to(outside)
    layout = Layout(workspace)
    assert paths(layout) == ["memory/real.md"]
    assert set(skipped(layout)) == {"memory/link.md", "memory/folder"}
    assert "symbolic link" in skipped(layout)["memory/folder"]


def test_a_linked_memory_folder_is_told_and_can_be_listed(workspace: Path, tmp_path: Path) -> None:
    """MG-08: the guard names the way around it: extraPaths."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "note.md").write_text("x")
    (workspace / "memory").symlink_to(shared)
    layout = Layout(workspace)
    assert paths(layout) == []
    assert "extraPaths" in skipped(layout)["memory"]
    assert len(paths(Layout(workspace, [(str(shared), "**/*.md")]))) == 1


def test_other_programs_folders_are_ignored(workspace: Path, write: Callable) -> None:
    """WS-01, WS-16: node_modules, virtual environments and hidden folders are never walked."""
    for path in ("node_modules/x/README.md", ".venv/lib/a.md", "venv/b.md", ".git/c.md", "docs/d.md", "docs/.hidden.md"):
        write(path, "x")
    layout = Layout(workspace, [(".", "**/*.md")])
    assert paths(layout) == ["docs/d.md"]
    assert {"node_modules", ".venv", "venv", ".git"} <= set(skipped(layout))


def test_excluded_files_are_named(workspace: Path, write: Callable) -> None:
    """excludePaths leaves files out, and the ledger says why."""
    write("memory/a.md", "x")
    write("memory/generated/b.md", "x")
    layout = Layout(workspace, exclude=["memory/generated/**"])
    assert paths(layout) == ["memory/a.md"]
    assert skipped(layout) == {"memory/generated/b.md": "excluded by excludePaths"}


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("a.md", "**/*.md", True),
        ("a/b/c.md", "**/*.md", True),
        ("a.MD", "**/*.md", False),
        ("docs/a.md", "docs/*.md", True),
        ("docs/x/a.md", "docs/*.md", False),
        ("docs/x/a.md", "docs/**/*.md", True),
        ("docs/a.md", "docs/**/*.md", True),
        ("a.txt", "*.txt", True),
        ("a1.md", "a?.md", True),
        ("x/a.md", "*.md", False),
        ("a[1].md", "a[1].md", True),
    ],
)
def test_patterns(path: str, pattern: str, fits: bool) -> None:
    """`**/` stands for any folders, `*` and `?` stay within one."""
    assert matches(path, pattern) is fits


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-02-10.md", date(2026, 2, 10)),
        ("memory/daily/2026-01-11.md", date(2026, 1, 11)),
        ("memory/2026-02-28-blog.md", date(2026, 2, 28)),
        ("memory/2026-01-01-1430-2.md", date(2026, 1, 1)),
        ("Memory/2026-01-11.md", date(2026, 1, 11)),
        ("memory/2024-02-29.md", date(2024, 2, 29)),
        ("memory/2026-13-40.md", None),
        ("memory/2026-02-30.md", None),
        ("memory/2026-02-101.md", None),
        ("memory/network.md", None),
        ("MEMORY.md", None),
        ("../team/memory/2024-01-01.md", None),
        ("memory/keep/2026-01-01.md", None),
    ],
)
def test_the_day_of_a_note(workspace: Path, path: str, day: date | None) -> None:
    """RK-04, RK-06: any dated name below memory/ in any case; invalid dates, undated and evergreen notes do not age."""
    assert Layout(workspace, evergreen=["memory/keep/*"]).day_of(path) == day


def test_a_workspace_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """No folder is no error."""
    assert paths(Layout(tmp_path / "nowhere")) == []
