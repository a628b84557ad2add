"""Fixtures: the real qmd where it is installed, and a small program that behaves like other versions of it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import AgentSettings, load_settings
from looseleaf._run import run
from looseleaf_memory_qmd.command import Command
from looseleaf_memory_qmd.slot import QmdSlot

FAKE = Path(__file__).with_name("fake_qmd.py")


@pytest.fixture(scope="session")
def real_qmd() -> str:
    """The command of the real qmd, which `.ci/qmd` installs."""
    command = os.environ.get("TEST_QMD", "")
    if not command:
        pytest.skip("the real QMD is not here: TEST_QMD=$(.ci/qmd) installs it and runs these, too")
    return command


class Fake:
    """A qmd that does what the test tells it to; see `fake_qmd.py`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plan: dict[str, Any] = {}
        self.command = folder / "qmd"
        self.command.write_text(f"#!{sys.executable} -S\n{FAKE.read_text('utf-8')}", "utf-8")
        self.command.chmod(self.command.stat().st_mode | stat.S_IXUSR)
        self.tell()

    def tell(self, **plan: Any) -> None:
        """Say what it does from now on, beside what it was told before."""
        self._plan |= plan
        (self._folder / "plan.json").write_text(json.dumps(self._plan), "utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """How it was called so far: `argv`, `environ`, `folder`."""
        log = self._folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []

    def called(self, *words: str) -> list[list[str]]:
        """Return the arguments of the calls that begin with `words`, after `--index index`."""
        return [call["argv"][2:] for call in self.calls if call["argv"][2 : 2 + len(words)] == list(words)]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A qmd that is told what to do."""
    folder = tmp_path / "fake"
    folder.mkdir()
    return Fake(folder)


MakeSettings = Callable[..., AgentSettings]


@pytest.fixture
def qmd_settings(tmp_path: Path, workspace: Path) -> MakeSettings:
    """Settings of an agent whose memory is QMD."""

    def make(command: object, *, defaults: dict[str, Any] | None = None, agent: str = "main", **options: Any) -> AgentSettings:
        config = tmp_path / f"qmd-{agent}.json5"
        shown = command if isinstance(command, list) else str(command)
        search = {"provider": "none"}
        config.write_text(
            json.dumps(
                {
                    "agents": {"defaults": {"memorySearch": search, **(defaults or {})}, "list": [{"id": agent}]},
                    "memory": {"backend": "qmd", "qmd": {"command": shown, **options}},
                }
            ),
            "utf-8",
        )
        environ = {"LOOSELEAF_STATE_DIR": str(tmp_path / "state")}
        return load_settings(config, environ=environ).for_agent(agent, workspace=workspace)

    return make


@pytest.fixture
def slot(qmd_settings: MakeSettings) -> Iterator[Callable[..., QmdSlot]]:
    """Make slots; they are closed in the end."""
    made: list[QmdSlot] = []

    def make(command: object, **options: Any) -> QmdSlot:
        settings = qmd_settings(command, **options)
        home = settings.state_dir / "agents" / settings.agent / "qmd"
        made.append(QmdSlot(settings, Command(settings.memory.qmd.command, home)))
        return made[-1]

    yield make
    for one in made:
        run(one.aclose(), inline=True)
