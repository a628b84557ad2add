"""memory-qmd: recall through the QMD command line. Only the hook stands here, so that importing it costs nothing."""

from __future__ import annotations

from pathlib import Path

from looseleaf import AgentSettings, MemorySlot, hookimpl

__version__ = "0.1.0"


@hookimpl
def looseleaf_memory(name: str, settings: AgentSettings, state_dir: Path) -> MemorySlot | None:
    """Make the `memory-qmd` slot."""
    if name != "memory-qmd":
        return None
    from .command import Command
    from .slot import QmdSlot

    return QmdSlot(settings, Command(settings.memory.qmd.command, state_dir / "agents" / settings.agent / "qmd"))
