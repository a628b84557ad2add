"""What a session key says: which chat it is, and so what may be recalled in it."""

from __future__ import annotations

from typing import Literal, TypeAlias

ChatType: TypeAlias = Literal["direct", "group", "channel"]


def chat_type(session_key: str | None) -> ChatType:
    """Return the kind of chat that `session_key` belongs to; no key is the owner's own session.

    `agent:main:discord:channel:9` is a channel, `agent:main:telegram:group:5` a group, `agent:main:main` direct
    (behaviour of OpenClaw's session keys).
    """
    if not session_key:
        return "direct"
    tokens = session_key.lower().split(":")
    if tokens[0] == "agent":
        tokens = tokens[2:]
    if "group" in tokens:
        return "group"
    return "channel" if "channel" in tokens else "direct"


def is_private(session_key: str | None) -> bool:
    """Tell whether MEMORY.md may be read in this session: never in groups and channels."""
    return chat_type(session_key) == "direct"
