"""When a session is about to be compacted: whether the agent should write down what matters first, and with which words.

The rules are OpenClaw's: once a compaction cycle, never in a sandbox that cannot write, silent unless there is something to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .settings import AgentSettings
from .settings.surface import MemoryFlush
from .workspace import daily_note

#: What an agent answers that has nothing to say to the user.
SILENT = "NO_REPLY"
_PLACEHOLDER = re.compile(r"YYYY-MM-DD")
_PROMPT = (
    "The session is near compaction. Append what should last to memory/YYYY-MM-DD.md. If there is nothing, reply with NO_REPLY."
)
_SYSTEM = (
    "A turn before compaction: save durable memories to disk now. The user does not see this turn; NO_REPLY is the usual answer."
)
#: The rules of a flush, with the note as `path`.
APPEND_ONLY = (
    "Write only to {path}: make the folder if it is missing, append if the file exists, never rewrite or rename it. "
    "MEMORY.md and the other files of the workspace are read-only in this turn."
)
_SMALL_WINDOW = 4  # of a window, the reserve takes a quarter at most, and the soft threshold a tenth
_SOFT_WINDOW = 10


@dataclass(frozen=True, slots=True)
class FlushPlan:
    """What to do before compaction.

    Attributes:
        due: Whether the agent should be asked now.
        reason: Why, or why not.
        threshold: Tokens from which on it is due; 0 where it never is.
        path: The note to append to, in the user's time zone.
        prompt: What to ask.
        system_prompt: What to add to the system prompt.
        model: Which model to ask, or None for the session's own.
        cycle: The compaction count that is to be recorded once it was asked.
    """

    due: bool
    reason: str
    threshold: int = 0
    path: str = ""
    prompt: str = ""
    system_prompt: str = ""
    model: str | None = None
    cycle: int = 0


def flush_plan(
    settings: AgentSettings,
    *,
    tokens: int | None,
    context_window: int,
    entry: Mapping[str, Any] | None = None,
    transcript_bytes: int = 0,
    workspace_access: Literal["rw", "ro", "none"] = "rw",
    heartbeat: bool = False,
) -> FlushPlan:
    """Return whether to ask for a flush now, and how.

    Args:
        settings: Of the agent.
        tokens: What the next prompt will hold, or None if that is not known.
        context_window: Of the session's model, tokens.
        entry: The session's row of `sessions.json`.
        transcript_bytes: Size of the transcript; a large one is due whatever its tokens.
        workspace_access: What a sandbox allows.
        heartbeat: Whether the turn is one that nobody asked for.
    """
    options = settings.compaction.memory_flush
    entry = entry or {}
    cycle = _count(entry.get("compactionCount"))
    threshold = flush_threshold(settings, context_window)
    if why := refusal(settings, workspace_access, heartbeat=heartbeat):
        return FlushPlan(False, why, threshold, cycle=cycle)
    if entry.get("memoryFlushCompactionCount") == cycle:
        return FlushPlan(False, f"already asked in compaction cycle {cycle}", threshold, cycle=cycle)
    forced = _bytes(options.force_flush_transcript_bytes)
    large = bool(forced) and transcript_bytes >= forced
    if tokens is None and not large:
        return FlushPlan(False, "the session's tokens are not known", threshold, cycle=cycle)
    if not large and (tokens or 0) < threshold:
        return FlushPlan(False, f"{tokens:,} of {threshold:,} tokens", threshold, cycle=cycle)
    reason = f"the transcript has {transcript_bytes:,} bytes" if large else f"{tokens:,} tokens, from {threshold:,} on"
    path = daily_note(settings.now())
    prompt, system = _prompts(settings, options, path)
    return FlushPlan(True, reason, threshold, path, prompt, system, options.model, cycle)


def flush_threshold(settings: AgentSettings, context_window: int) -> int:
    """Return `window - reserve - soft`, at least 0; in a small window reserve and soft threshold take a share of it at most."""
    soft = min(settings.compaction.memory_flush.soft_threshold_tokens, context_window // _SOFT_WINDOW)
    reserve = min(settings.compaction.reserve_tokens_floor, context_window // _SMALL_WINDOW)
    return max(0, context_window - reserve - soft)


def reply_to_show(reply: str) -> str:
    """Return what of a reply the user should see: nothing of one that is NO_REPLY, and no NO_REPLY at the end of another."""
    text = reply.strip()
    return "" if text == SILENT else text.removesuffix(SILENT).rstrip() if text.endswith(SILENT) else text


def refusal(settings: AgentSettings, workspace_access: str = "rw", *, heartbeat: bool = False) -> str:
    """Return why nothing is written before a compaction, or an empty string."""
    if settings.slot is None:
        return 'memory is off: plugins.slots.memory is "none"'
    if not settings.compaction.memory_flush.enabled:
        return "compaction.memoryFlush.enabled is false"
    if heartbeat:
        return "it is a heartbeat turn"
    return "" if workspace_access == "rw" else "the sandbox cannot write to the workspace"


def _prompts(settings: AgentSettings, options: MemoryFlush, path: str) -> tuple[str, str]:
    now = settings.now()
    dated = _PLACEHOLDER.sub(f"{now:%Y-%m-%d}", options.prompt or _PROMPT)
    if SILENT not in dated:
        dated += f" If there is nothing to write, reply with {SILENT}."
    zone = now.tzname() or f"{now:%z}"
    prompt = f"{dated}\n{APPEND_ONLY.format(path=path)}\nCurrent time: {now:%Y-%m-%d %H:%M} ({zone})"
    return prompt, _PLACEHOLDER.sub(f"{now:%Y-%m-%d}", options.system_prompt or _SYSTEM)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _bytes(value: int | str) -> int:
    """Return a size of config: bytes, or `2mb`, `512kb`."""
    if isinstance(value, int):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?\s*", value.lower())
    return int(float(match[1]) * {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}[match[2] or "b"]) if match else 0
