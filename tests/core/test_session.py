"""What a session key says."""

from __future__ import annotations

import pytest

from looseleaf.session import chat_type, is_private


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
