"""Settings: where they come from, what they mean for one agent, and how a plugin checks its own part."""

from __future__ import annotations

from ._agent import QMD, AgentSettings
from ._load import Settings, load_settings, parse
from ._places import openclaw_folder
from ._secrets import resolve_secret
from .surface import MemorySearch

__all__ = ["QMD", "AgentSettings", "MemorySearch", "Settings", "load_settings", "openclaw_folder", "parse", "resolve_secret"]
