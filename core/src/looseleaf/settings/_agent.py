"""What the settings mean for one agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from ._places import openclaw_folder
from .surface import Compaction, ContextLimits, Memory, MemorySearch, Models, Plugins

QMD = "memory-qmd"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings of one agent, merged: its own entry over the defaults over the built-in values.

    Attributes:
        agent: The agent's id.
        workspace: Absolute path of its notes.
        state_dir: Absolute path where looseleaf keeps what can be rebuilt.
        database: Absolute path of the index.
        bootstrap_max_chars: Characters that one file takes at a session's start.
        timezone: The user's time zone; None is the machine's own.
    """

    agent: str
    workspace: Path
    state_dir: Path
    database: Path
    search: MemorySearch = field(default_factory=MemorySearch)
    memory: Memory = field(default_factory=Memory)
    plugins: Plugins = field(default_factory=Plugins)
    models: Models = field(default_factory=Models)
    compaction: Compaction = field(default_factory=Compaction)
    context_limits: ContextLimits = field(default_factory=ContextLimits)
    bootstrap_max_chars: int = 20_000
    timezone: tzinfo | None = None

    @property
    def slot(self) -> str | None:
        """The memory slot that is selected, or None for `none`. `memory.backend: qmd` under memory-core is memory-qmd."""
        name = self.plugins.slots.memory.strip()
        if name.lower() == "none":
            return None
        return QMD if name == "memory-core" and self.memory.backend == "qmd" else name

    def session_folders(self) -> tuple[Path, Path]:
        """Return where the agent's transcripts are: looseleaf's own, and OpenClaw's."""
        inside = Path("agents", self.agent, "sessions")
        return self.state_dir / inside, openclaw_folder() / inside

    def plugin(self, name: str) -> Mapping[str, Any]:
        """Return `plugins.entries.<name>.config`, which `parse` checks against a class of the plugin's own."""
        entry = self.plugins.entries.get(name)
        return entry.config if entry else {}

    def now(self) -> datetime:
        """Return the moment it is, in the user's time zone."""
        return datetime.now(self.timezone) if self.timezone else datetime.now().astimezone()
