"""The command line, called as a process of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import PROGRAM


@pytest.fixture
def looseleaf(workspace: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call it on the workspace, by words alone."""

    def call(
        *arguments: str, at: Path | None = workspace, stdin: str | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        place = ["--workspace", str(at)] if at else []
        return subprocess.run(
            [*PROGRAM, *arguments, *place],
            capture_output=True,
            input=stdin,
            check=False,
            cwd=tmp_path,
            encoding="utf-8",
            env={**os.environ, "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "none", **environ},
            timeout=120,
        )

    return call
