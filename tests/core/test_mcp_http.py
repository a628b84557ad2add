"""What the HTTP server needs before it listens: its token and its port. What it answers is in test_mcp.py."""

from __future__ import annotations

import os
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import PROGRAM
from looseleaf import LooseleafError
from looseleaf.mcp_http import kept_token


def test_the_token_is_made_once(tmp_path: Path) -> None:
    """Long, for its owner alone, and the same at the next start."""
    file = tmp_path / "state" / "mcp-token"
    token = kept_token(file)
    assert len(token) >= 40
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept_token(file) == token
    assert kept_token(tmp_path / "other") != token
    with ThreadPoolExecutor() as several:  # servers that start at once
        assert len(set(several.map(kept_token, [tmp_path / "third"] * 8))) == 1


def test_a_token_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """Never a server without one: an empty file, bytes that are no text, a folder in its place."""
    file = tmp_path / "mcp-token"
    for content, why in ((b" \n", "is empty: delete the file"), (b"\xff\xfe", "cannot be read")):
        file.write_bytes(content)
        with pytest.raises(LooseleafError, match=why):
            kept_token(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(LooseleafError, match="cannot be read"):
        kept_token(file)


def test_a_port_that_is_taken_is_told(workspace: Path, tmp_path: Path) -> None:
    """With what to do about it; no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*PROGRAM, "mcp", "--http", "--port", port, "-w", workspace],
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use. Choose another one with --port" in done.stderr
    assert "Traceback" not in done.stderr
