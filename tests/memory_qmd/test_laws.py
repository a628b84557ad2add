"""memory-qmd keeps the laws of memory slots, with the real qmd."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from looseleaf import load_settings
from looseleaf.testing import Law, memory_laws
from looseleaf_memory_qmd.command import Command
from looseleaf_memory_qmd.slot import QmdSlot

EXAMPLES = 3  # each step of a history starts a program


@pytest.mark.parametrize("daemon", [False, True], ids=["command", "daemon"])
@pytest.mark.parametrize("law", memory_laws())
def test_qmd_keeps_it(law: Law, daemon: bool, real_qmd: str) -> None:
    """The laws that hold for every slot, by the command line and by the daemon."""

    def make(workspace: Path, state: Path) -> QmdSlot:
        state.mkdir(parents=True, exist_ok=True)
        config = state.parent / "config.json5"
        options = {"command": real_qmd, "daemon": daemon, "limits": {"timeoutMs": 20_000}}
        config.write_text(json.dumps({"memory": {"backend": "qmd", "qmd": options}}), "utf-8")
        settings = load_settings(config, environ={"LOOSELEAF_STATE_DIR": str(state)}).for_agent(workspace=workspace)
        return QmdSlot(settings, Command(settings.memory.qmd.command, state / "qmd"))

    law(make, max_examples=EXAMPLES if daemon else 2)
