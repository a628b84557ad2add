"""Files that are written as a whole."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from looseleaf import LooseleafError
from looseleaf.files import in_turns, make_folder, write_whole


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    """Where writing fails, what was there stays, and nothing is left beside it."""
    file = tmp_path / "a" / "b" / "file"
    write_whole(file, b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, limits[1]))  # no file may grow larger
    try:
        with pytest.raises(OSError, match="large"):
            write_whole(file, b"too long", durable=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_bytes() == b"old"
    write_whole(file, b"new", durable=True)
    assert [path.name for path in file.parent.iterdir()] == ["file"]
    assert file.read_bytes() == b"new"


def test_rights_and_links_stay(tmp_path: Path) -> None:
    """New ones are the owner's alone unless others may read them; a link is written through."""
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "own" / "file", b"x")
        write_whole(tmp_path / "shared" / "file", b"x", private=False)
        (tmp_path / "link").symlink_to(tmp_path / "shared" / "file")
        (tmp_path / "own" / "file").chmod(0o640)
        write_whole(tmp_path / "own" / "file", b"y")
        write_whole(tmp_path / "link", b"y")
        make_folder(tmp_path / "shared")
    finally:
        os.umask(before)
    rights = {
        str(path.relative_to(tmp_path)): oct(path.stat().st_mode & 0o777) for path in tmp_path.rglob("*") if not path.is_symlink()
    }
    assert rights == {"own": "0o700", "own/file": "0o640", "shared": "0o755", "shared/file": "0o644"}
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "shared" / "file").read_bytes() == b"y"


def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits too long is told for what; the turn ends with the block, also where that fails."""
    monkeypatch.setattr("looseleaf.files._LOCK_S", 0.05)
    lock = tmp_path / "new" / "lock"
    with in_turns(lock, "the table"), pytest.raises(LooseleafError, match="the table is being written by another process"):
        in_turns(lock, "the table").__enter__()
    with pytest.raises(KeyError), in_turns(lock, "the table"):
        raise KeyError
    with in_turns(lock, "the table"):
        pass
