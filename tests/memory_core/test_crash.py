"""CD-01: an indexer that is killed at any moment leaves an index that is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="a process that can be killed in the middle is forked")
@pytest.mark.long
def test_two_hundred_kills(tmp_path: Path) -> None:
    """At random moments, by a seed: the old truth or the new one, never a mixture, and in the end that of an index from scratch."""
    script = Path(__file__).with_name("crash.py")
    command = [sys.executable, str(script), str(tmp_path / "workspace"), str(tmp_path / "state"), "200", "7"]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["killed"] >= 200


@pytest.mark.long
def test_four_readers_and_a_writer(tmp_path: Path) -> None:
    """CD-08: no error reaches a caller while another process writes and rebuilds; how long it takes is the benchmark's business."""
    script = Path(__file__).parents[2] / "benchmarks" / "sharing.py"
    command = [sys.executable, str(script), "--seconds", "4", "--notes", "300"]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "errors: 0" in done.stdout
