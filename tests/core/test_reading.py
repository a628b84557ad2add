"""Reading memory files, and nothing else."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Layout, ReadRefused, read_page


@pytest.fixture
def layout(workspace: Path, write: Callable) -> Layout:
    write("MEMORY.md", "curated")
    write("memory/a.md", "one\ntwo\nthree\n")
    write("memory/crlf.md", "one\r\ntwo\r\n")
    write("memory/empty.md", "")
    write("secret.md", "secret")
    write("memory/data.txt", "text")
    return Layout(workspace)


def test_lines_are_those_of_the_file(layout: Layout) -> None:
    """A page holds whole lines, ended by LF or CRLF, from the line that was asked for."""
    assert read_page(layout, "memory/a.md").text == "one\ntwo\nthree"
    page = read_page(layout, "memory/a.md", 2, 1)
    assert (page.text, page.start, page.lines, page.truncated, page.next_start) == ("two", 2, 1, True, 3)
    assert read_page(layout, "memory/crlf.md").text == "one\ntwo"


def test_only_lf_and_crlf_end_a_line(layout: Layout, write: Callable) -> None:
    """CH-11: a form feed, a vertical tab, NEL or U+2028 is part of its line."""
    write("memory/odd.md", "a\x0bb\x0cc\x85d\u2028e\rf\ng")
    assert read_page(layout, "memory/odd.md").lines == 2


@pytest.mark.parametrize(
    ("path", "start", "status"),
    [("memory/2026-12-31.md", 1, "not_found"), ("memory/a.md", 99, "past_end"), ("memory/empty.md", 1, "empty")],
)
def test_nothing_there_is_no_error(layout: Layout, path: str, start: int, status: str) -> None:
    """MG-04, MG-06: empty text, the path and why."""
    page = read_page(layout, path, start)
    assert (page.text, page.path, page.status) == ("", path, status)


def test_the_curated_file_can_be_missing(workspace: Path) -> None:
    """A workspace without MEMORY.md answers with empty text."""
    assert read_page(Layout(workspace), "MEMORY.md").status == "not_found"


@pytest.mark.parametrize(
    "path",
    [
        "", " ", "secret.md", "../secret.md", "memory/../secret.md", "memory/../../x.md", "/etc/passwd", "/etc/hostname.md", "~/x.md",
        "..\\secret.md", "memory\\a.md", "memory/a\x00.md", "C:\\x.md", "memory/data.txt", "memory", "memory/", ".memory/a.md",
        "...MEMORY.md", "memory/a.md/../../secret.md", "memory/\ud83d.md", "%2e%2e/secret.md", "file:///etc/x.md",
    ],
)  # fmt: skip
def test_whatever_is_no_memory_file_is_refused(layout: Layout, path: str) -> None:
    """MG-09: one refusal type with its own reason, never a traceback."""
    with pytest.raises(ReadRefused) as caught:
        read_page(layout, path)
    assert caught.value.reason


def test_a_sibling_whose_name_begins_alike_is_refused(tmp_path: Path) -> None:
    """MG-01: the folder `work` does not contain its sibling `workspace`."""
    for name in ("work", "workspace"):
        (tmp_path / name / "memory").mkdir(parents=True)
        (tmp_path / name / "memory" / "secrets.md").write_text("x")
    layout = Layout(tmp_path / "work")
    for path in (
        str(tmp_path / "workspace/memory/secrets.md"),
        "../workspace/memory/secrets.md",
        "memory/../../workspace/memory/secrets.md",
    ):
        with pytest.raises(ReadRefused):
            read_page(layout, path)
    with pytest.raises(ReadRefused):
        read_page(Layout(tmp_path / "work", [("../workspace/memory/secrets.md", "**/*.md")]), "../workspace/memory/secrets.md.md")


def test_a_link_in_any_part_is_refused(layout: Layout, workspace: Path, tmp_path: Path) -> None:
    """MG-02: neither a linked folder nor a linked file leads out, for extra paths too."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "hostname.md").write_text("secret")
    (workspace / "memory" / "link").symlink_to(outside)
    (workspace / "memory" / "linked.md").symlink_to(outside / "hostname.md")
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "link").symlink_to(outside)
    both = Layout(workspace, [(str(extra), "**/*.md")])
    for path in ("memory/link/hostname.md", "memory/linked.md", str(extra / "link/hostname.md"), "../extra/link/hostname.md"):
        with pytest.raises(ReadRefused, match="symbolic link"):
            read_page(both, path)


def test_extra_paths_can_be_read(workspace: Path, tmp_path: Path) -> None:
    """What is indexed can be opened, by the path that a hit shows and by its absolute one; its neighbours cannot."""
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "plan.md").write_text("plan")
    (tmp_path / "team" / "notes.txt").write_text("notes")
    (tmp_path / "other.md").write_text("other")
    layout = Layout(workspace, [("../team", "**/*.md"), ("../team", "*.txt")])
    assert read_page(layout, "../team/plan.md").text == "plan"
    assert read_page(layout, str(tmp_path / "team" / "plan.md")).text == "plan"
    assert read_page(layout, "../team/notes.txt").text == "notes"
    with pytest.raises(ReadRefused):
        read_page(layout, "../other.md")


def test_a_workspace_below_a_link_works(tmp_path: Path) -> None:
    """Links above a root are the owner's business."""
    (tmp_path / "real" / "memory").mkdir(parents=True)
    (tmp_path / "real" / "memory" / "a.md").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read_page(Layout(tmp_path / "link"), "memory/a.md").text == "x"


def test_only_regular_files_are_opened(layout: Layout, workspace: Path) -> None:
    """MG-06: a pipe or a folder called .md does not hang the reader."""
    os.mkfifo(workspace / "memory" / "pipe.md")
    (workspace / "memory" / "folder.md").mkdir()
    for path in ("memory/pipe.md", "memory/folder.md"):
        with pytest.raises(ReadRefused, match="not a regular file"):
            read_page(layout, path)


def test_a_file_without_permission_is_told(layout: Layout, workspace: Path, monkeypatch) -> None:
    """A refusal, not a traceback (root may read everything, so the error is brought about)."""
    real = os.open

    def refuse(path, *rest, **options):
        if str(path).endswith("a.md"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **options)

    monkeypatch.setattr("looseleaf.reading.os.supports_dir_fd", {refuse})
    monkeypatch.setattr("looseleaf.reading.os.open", refuse)
    with pytest.raises(ReadRefused, match="Permission denied"):
        read_page(layout, "memory/a.md")


def test_a_large_file_is_streamed(layout: Layout, write: Callable) -> None:
    """MG-05: two lines of a large file cost no more memory than a page."""
    file = write("memory/large.md", "")
    with file.open("w") as handle:
        for _ in range(200):
            handle.write("x" * 99_999 + "\n")
    tracemalloc.start()
    page = read_page(layout, "memory/large.md", 150, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert page.start == 150
    assert page.truncated
    assert peak < 1_000_000


def test_a_page_ends_at_its_limits(layout: Layout, write: Callable) -> None:
    """120 lines or 12,000 characters unless asked, whole lines, and where to go on."""
    write("memory/long.md", "\n".join(f"line {number}" for number in range(1, 301)))
    page = read_page(layout, "memory/long.md")
    assert (page.lines, page.next_start) == (120, 121)
    assert read_page(layout, "memory/long.md", page.next_start).text.startswith("line 121\n")
    write("memory/wide.md", "\n".join(["x" * 5000] * 4))
    assert read_page(layout, "memory/wide.md").lines == 2
    write("memory/one.md", "y" * 50_000)
    page = read_page(layout, "memory/one.md")
    assert (len(page.text), page.truncated, page.next_start) == (12_000, True, None)


@given(st.text(max_size=30), st.sampled_from(["", "memory/", "../", "/", "memory/../", "./", "MEMORY.md/"]))
def test_no_string_reads_outside_the_roots(tmp_path_factory, name: str, prefix: str) -> None:
    """Any path gives a page of a memory file or a refusal."""
    root = tmp_path_factory.getbasetemp() / "confined"
    (root / "w" / "memory").mkdir(parents=True, exist_ok=True)
    (root / "w" / "MEMORY.md").write_text("inside")
    (root / "outside.md").write_text("OUTSIDE")
    (root / "w" / "outside.md").write_text("OUTSIDE")
    try:
        page = read_page(Layout(root / "w"), prefix + name)
    except ReadRefused:
        return
    assert "OUTSIDE" not in page.text
