"""What a session key says: which chat it is, and so what may be recalled in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from .settings import QMD
from .settings.surface import Scope, ScopeMatch, ScopeRule

if TYPE_CHECKING:
    from .settings import AgentSettings

ChatType: TypeAlias = Literal["direct", "group", "channel"]
_DIRECT = frozenset({"direct", "dm"})
_KINDS = _DIRECT | {"group", "channel"}
_OWN = frozenset({"", "main", "cron", "subagent"})
#: Who may ask QMD where config says nothing.
_DIRECT_CHATS = Scope("deny", (ScopeRule("allow", ScopeMatch(chat_type="direct")),))
_CHILD = re.compile(r"(?:^|:)subagent:.*$")  # what an agent hands on to another one belongs to the chat of the first


class Session(NamedTuple):
    """What a session key names.

    Attributes:
        key: Without `agent:<id>:` and what follows `subagent:`, in lower case.
        raw: As it is, in lower case.
        channel: Such as `discord`, or an empty string where the key names none.
        chat_type: Groups and channels are shared, everything else is direct.
    """

    key: str
    raw: str
    channel: str
    chat_type: ChatType


def session_of(session_key: str) -> Session:
    """Read a key: `agent:main:discord:channel:9` is a channel of discord, `agent:main:main` the owner's own session.

    Behaviour of OpenClaw's session keys.
    """
    raw = session_key.lower()
    tokens = _CHILD.sub("", raw).split(":")
    if tokens[0] == "agent":
        tokens = tokens[2:]
    kind: ChatType = "group" if "group" in tokens else "channel" if "channel" in tokens else "direct"
    channel = tokens[0] if len(tokens) > 1 and tokens[1] in _KINDS else ""
    return Session(":".join(tokens), raw, channel, kind)


def chat_type(session_key: str | None) -> ChatType:
    """Return the kind of chat that `session_key` belongs to; no key is the owner's own session."""
    return session_of(session_key).chat_type if session_key else "direct"


def is_private(session_key: str | None) -> bool:
    """Tell whether MEMORY.md may be read in this session: the owner's own, a direct chat, a job; a key of unknown kind is shared."""
    if not session_key:
        return True
    session = session_of(session_key)
    tokens = session.key.split(":")
    return session.chat_type == "direct" and (tokens[0] in _OWN or not _DIRECT.isdisjoint(tokens))


def is_main(session_key: str | None) -> bool:
    """Tell whether this is the owner's own session, which starts with curated memory; a key of unknown kind is shared."""
    return not session_key or session_of(session_key).key in ("", "main")


class Access(NamedTuple):
    """What one session may see of a memory.

    Attributes:
        refusal: Why it may see nothing, or an empty string.
        private: Whether it may see curated memory and transcripts.
    """

    refusal: str = ""
    private: bool = True


def access(settings: AgentSettings, session_key: str | None) -> Access:
    """Return what this session may see, in every slot: `memory.qmd.scope` where it is written. Who is refused is logged."""
    if not session_key:
        return Access()
    scope = settings.memory.qmd.scope or (_DIRECT_CHATS if settings.slot == QMD else Scope())
    refusal = denied(scope, session_key)
    if refusal:
        import logging

        logging.getLogger(__name__).warning("%s; see memory.qmd.scope", refusal)
    return Access(refusal, is_private(session_key))


def denied(scope: Scope, session_key: str | None) -> str:
    """Return what is refused, with the channel and the kind of chat, or an empty string where memory may be asked.

    The first rule that matches decides. Without a key it is the owner who asks, on the command line or in a host of theirs.
    """
    session = session_of(session_key) if session_key else None
    if session is None or not session.key:
        return ""
    action = next((rule.action for rule in scope.rules if _fits(rule.match, session)), scope.default)
    return (
        ""
        if action == "allow"
        else f"memory is not searched in this chat (channel {session.channel or 'unknown'}, {session.chat_type})"
    )


def _fits(match: ScopeMatch, session: Session) -> bool:
    if match.channel is not None and match.channel != session.channel:
        return False
    if match.chat_type is not None and match.chat_type != session.chat_type:
        return False
    if match.key_prefix is not None:
        prefix = match.key_prefix.lower()
        if not (session.raw if prefix.startswith("agent:") else session.key).startswith(prefix):
            return False
    return match.raw_key_prefix is None or session.raw.startswith(match.raw_key_prefix.lower())
