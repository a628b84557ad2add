"""Notes of others: planned, then copied; nothing overwritten, nothing of theirs touched, nothing from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from looseleaf import LooseleafError
from looseleaf.importing import carry_out, plan


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder of basic-memory, with what should not be taken."""
    folder = tmp_path / "home" / "basic-memory"
    (folder / "projects").mkdir(parents=True)
    (folder / ".obsidian").mkdir()
    (folder / "projects" / "网关 plan.md").write_bytes(b"---\ntitle: x\n---\r\nthe gateway\n")
    (folder / "2026-02-10.md").write_text("a day\n")
    (folder / ".obsidian" / "x.md").write_text("hidden")
    (folder / "image.png").write_bytes(b"png")
    (tmp_path / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder").symlink_to(tmp_path)
    return folder


def test_a_plan_first_then_copies(theirs: Path, workspace: Path, tmp_path: Path) -> None:
    """To the byte, below memory/imported; a second time there is nothing to do."""
    copies = plan("basic-memory", None, workspace, tmp_path / "home")
    assert [(copy.target, copy.state) for copy in copies] == [
        ("memory/imported/basic-memory/2026-02-10.md", "new"),
        ("memory/imported/basic-memory/projects/网关 plan.md", "new"),
    ]
    assert list(workspace.iterdir()) == []
    assert carry_out(copies, workspace) == [copy.target for copy in copies]
    assert (workspace / copies[1].target).read_bytes() == (theirs / "projects" / "网关 plan.md").read_bytes()
    assert {copy.state for copy in plan("basic-memory", str(theirs), workspace, tmp_path)} == {"same"}


def test_nothing_is_overwritten(theirs: Path, workspace: Path, tmp_path: Path) -> None:
    """Neither what was there before nor what came there since the plan."""
    target = workspace / "memory" / "imported" / "basic-memory" / "2026-02-10.md"
    copies = plan("basic-memory", str(theirs), workspace, tmp_path)
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    with pytest.raises(LooseleafError, match="cannot be written"):
        carry_out(copies, workspace)
    again = plan("basic-memory", str(theirs), workspace, tmp_path)
    assert [copy.state for copy in again] == ["taken", "new"]
    assert len(carry_out(again, workspace)) == 1
    assert target.read_text() == "mine"


def test_no_copy_leaves_the_workspace(theirs: Path, workspace: Path, tmp_path: Path) -> None:
    """A linked folder on the way is not written through, and a collection's name is no path."""
    (workspace / "memory" / "imported").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (workspace / "memory" / "imported" / "basic-memory").symlink_to(tmp_path / "out")
    with pytest.raises(LooseleafError, match="below a symbolic link"):
        carry_out(plan("basic-memory", str(theirs), workspace, tmp_path), workspace)
    config = tmp_path / "index.yml"
    names = ["../../up", "..\\..\\up", "C:up", ".."]
    config.write_text(json.dumps({"collections": {name: {"path": str(theirs)} for name in names}}))
    copies = plan("qmd", str(config), workspace, tmp_path)
    assert {copy.target.rpartition("/")[0] for copy in copies if "/projects/" not in copy.target} == {
        "memory/imported/qmd/-..-up", "memory/imported/qmd/C-up", "memory/imported/qmd",
    }  # fmt: skip
    assert list((tmp_path / "out").iterdir()) == []


def test_memsearch_and_qmd(workspace: Path, tmp_path: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """memsearch's folder in the workspace; QMD's collections by their names and patterns."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (workspace / ".memsearch" / "memory").mkdir(parents=True)
    (workspace / ".memsearch" / "memory" / "2026-02-09.md").write_text("x")
    assert [copy.target for copy in plan("memsearch", None, workspace, tmp_path)] == ["memory/imported/memsearch/2026-02-09.md"]
    config = tmp_path / "home" / ".config" / "qmd" / "index.yml"
    config.parent.mkdir(parents=True)
    rows = {
        "docs": {"path": str(theirs), "pattern": "projects/**/*.md"},
        "gone": {"path": "/nowhere"},
        "../up": {"path": str(theirs)},
    }
    config.write_text(json.dumps({"collections": rows}))
    targets = [copy.target for copy in plan("qmd", None, workspace, tmp_path / "home")]
    assert "memory/imported/qmd/docs/projects/网关 plan.md" in targets
    assert not any(".." in target.split("/") for target in targets)
    config.write_text("collections: [")
    with pytest.raises(LooseleafError, match=r"index\.yml"):
        plan("qmd", None, workspace, tmp_path / "home")


def test_a_folder_that_is_not_there_is_told(workspace: Path, tmp_path: Path) -> None:
    """With where it was looked for."""
    with pytest.raises(LooseleafError, match="~/basic-memory: say where"):
        plan("basic-memory", None, workspace, tmp_path)
