"""What a session key says."""

from __future__ import annotations

import pytest

from looseleaf.session import chat_type, denied, is_private
from looseleaf.settings.surface import Scope, ScopeMatch, ScopeRule


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (None, "direct"),
        ("agent:main:main", "direct"),
        ("agent:main:discord:direct:1", "direct"),
        ("agent:main:discord:channel:9", "channel"),
        ("agent:main:telegram:group:5", "group"),
        ("AGENT:main:Telegram:GROUP:5", "group"),
        ("agent:group:main", "direct"),
        ("cron:daily", "direct"),
    ],
)
def test_the_kind_of_chat(key: str | None, kind: str) -> None:
    """Groups and channels are told from direct chats, and an agent's name is not taken for either."""
    assert chat_type(key) == kind
    assert is_private(key) == (kind == "direct")


@pytest.mark.parametrize(
    ("key", "private"),
    [
        ("", True),
        ("agent:main:direct:alice", True),
        ("agent:main:telegram:work:direct:5", True),  # one account of several
        ("agent:main:signal:dm:5", True),
        ("agent:main:subagent:7", True),
        ("agent:main:matrix:room:7", False),
        ("agent:main:telegram:slash:5", False),
        ("alice", False),
        ("agent:direct:matrix:room:7", False),
        ("agent:main:slack:channel:direct", False),
        ("agent:main:matrix:room:7:subagent:dm", False),  # as its parent
    ],
)
def test_an_unknown_kind_of_chat_is_shared(key: str, private: bool) -> None:
    """What is not known to be the owner's is kept from curated memory, though rules take it for a direct chat."""
    assert is_private(key) == private


SEEDS = Scope(
    "deny",
    (
        ScopeRule("allow", ScopeMatch(chat_type="direct")),
        ScopeRule("deny", ScopeMatch(key_prefix="discord:channel:")),
        ScopeRule("deny", ScopeMatch(raw_key_prefix="agent:main:discord:")),
    ),
)


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        (None, True),
        ("", True),
        ("agent:main:main", True),
        ("agent:main:discord:direct:1", True),  # the first rule that matches decides, not the last deny
        ("agent:main:discord:channel:9", False),
        ("agent:main:telegram:group:5", False),
        ("agent:main:subagent:7", True),  # whose parent is not told: no chat of its own
        ("agent:main:telegram:group:5:subagent:7", False),  # like its parent
        ("cron:daily", True),
    ],
)
def test_the_seeds_scope(key: str | None, allowed: bool) -> None:
    """The example of the seeds, rule by rule."""
    assert (denied(SEEDS, key) == "") == allowed


def test_a_refusal_says_whom() -> None:
    """Channel and kind of chat are told."""
    assert denied(SEEDS, "agent:main:discord:channel:9").endswith("(channel discord, channel)")
    assert denied(SEEDS, "agent:main:a:b:group:9").endswith("(channel unknown, group)")


@pytest.mark.parametrize(
    ("match", "key", "fits"),
    [
        (ScopeMatch(channel="discord"), "agent:x:discord:group:1", True),
        (ScopeMatch(channel="Discord"), "agent:x:discord:group:1", False),  # compared as written
        (ScopeMatch(channel="discord", chat_type="channel"), "agent:x:discord:group:1", False),  # all that is given must hold
        (ScopeMatch(key_prefix="DISCORD:"), "agent:x:discord:group:1", True),
        (ScopeMatch(key_prefix="agent:x:"), "agent:x:discord:group:1", True),
        (ScopeMatch(raw_key_prefix="agent:X:"), "AGENT:x:discord:group:1", True),
        (ScopeMatch(raw_key_prefix="discord:"), "agent:x:discord:group:1", False),
        (ScopeMatch(), "agent:x:discord:group:1", True),
    ],
)
def test_what_a_rule_matches(match: ScopeMatch, key: str, fits: bool) -> None:
    """Each field as the seeds say."""
    assert (denied(Scope("deny", (ScopeRule("allow", match),)), key) == "") == fits
