"""What a host's hooks say around a compaction, where the agent has no turn of its own before it; Claude Code is such a host.

Before it they tell the summary what to keep, after it they tell the agent to write that down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .flush import APPEND_ONLY, refusal
from .settings import AgentSettings
from .workspace import daily_note

_KEEP = (
    'End the summary with a section "To remember": the decisions and why they were made, facts about people and systems, '
    "preferences and open todos of this conversation that should outlive it, each with its date and exact names. Leave out what is "
    "in the code or was read from memory. Without any, leave the section out."
)
_WRITE = (
    'This conversation was compacted. If its summary has a section "To remember", append those points now to {path}, with the tool '
    "memory_append (kind day) where you have it; then go on with the task, and say nothing of this. {rules}"
)


def hook_text(settings: AgentSettings, event: Mapping[str, Any]) -> str:
    """Return what the hook of `event` should print: for PreCompact, and for SessionStart after one; nothing for any other.

    Args:
        settings: Of the agent.
        event: What the host gives the hook, with `hook_event_name`, and `source` at a session's start.
    """
    if refusal(settings):
        return ""
    match event.get("hook_event_name"), event.get("source"):
        case "PreCompact", _:
            return _KEEP
        case "SessionStart", "compact":
            path = settings.workspace / daily_note(settings.now())
            return _WRITE.format(path=path, rules=APPEND_ONLY.format(path=path))
        case _:
            return ""
