"""Turns from transcripts: what user and assistant said, on a line each, without tools, templates and secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.transcripts import cleaned, redacted, turn_of, turns


def line(role: str, content: Any, kind: str = "message") -> bytes:
    return json.dumps({"type": kind, "message": {"role": role, "content": content}}).encode()


@pytest.mark.parametrize(
    ("raw", "turn"),
    [
        (line("user", "Where is  the\nrouter?"), "User: Where is the router?"),
        (line("assistant", [{"type": "text", "text": "In the"}, {"type": "text", "text": "study."}]), "Assistant: In the study."),
        (line("assistant", [{"type": "toolCall", "name": "x", "arguments": {"secret": 1}}, {"type": "text", "text": "Done."}]), "Assistant: Done."),
        (line("toolResult", "a lot of output"), ""),
        (line("system", "you are an agent"), ""),
        (line("user", "x", "compaction"), ""),
        (line("assistant", "NO_REPLY"), ""),
        (line("user", "HEARTBEAT_OK"), ""),
        (line("user", "   "), ""),
        (line("user", None), ""),
        (line("user", [{"type": "text", "text": 7}]), ""),
        (line("user", "[Telegram Alice id:42 2026-02-05 10:00] hello [[reply_to_current]]\n[message_id: 9]"), "User: hello"),
        (line("user", "[not an envelope] hello"), "User: [not an envelope] hello"),
        (line("assistant", "<|im_start|>assistant\nYes<|im_end|> [INST]"), "Assistant: assistant Yes"),
        (b"{broken", ""),
        (b"[]", ""),
        (b"7", ""),
        (b'{"type": "message"}', ""),
    ],
)  # fmt: skip
def test_what_a_line_says(raw: bytes, turn: str) -> None:
    """behaviour.md §2.5; a line that is none is left out, never an error."""
    assert turn_of(raw) == turn


def test_lines_are_those_of_the_transcript() -> None:
    """Blank lines, tools and broken lines count, although they say nothing."""
    data = b"\n".join([line("user", "one"), b"", b"{", line("toolResult", "x"), line("assistant", "two"), b""])
    assert [(turn.line, turn.text) for turn in turns(data)] == [(1, "User: one"), (5, "Assistant: two")]


SECRETS = [
    "sk-proj-abcdefghijklmnop1234", "sk_live_abcdefghijklmnop1234", "ghp_abcdefghijklmnopqrstuvwxyz0123", "github_pat_11ABCDEFG0abcdefghij_xyz",
    "glpat-abcdefghijklmnopqrst", "xoxb-1234567890-abcdefghij", "AKIAIOSFODNN7EXAMPLE", "AIzaSyA-abcdefghijklmnopqrstuvwxyz0123",
    "hf_abcdefghijklmnopqrstuvwx", "1234567890:AAabcdefghijklmnopqrstuvwxyz_0123456",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
]  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
def test_keys_of_common_shapes_are_hidden(secret: str) -> None:
    """Their first letters are left, so that one knows what stood there."""
    assert secret[4:] not in redacted(f"the key is {secret}, use it")
    assert redacted(f"the key is {secret}, use it").startswith(f"the key is {secret[:4]}***")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password: hunter2hunter2 and more", "password: *** and more"),
        ('{"apiKey": "abcdef123456"}', '{"apiKey": "***"}'),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwx", "Authorization: Bearer abcd***"),
        ("postgres://bob:s3cretpass@db.example/x", "postgres://bob:***@db.example/x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- end", "----*** end"),
        ("the password is on the desk", "the password is on the desk"),
        ("sk-8 is a train, task-force-of-the-whole-team is none", "sk-8 is a train, task-force-of-the-whole-team is none"),
        ("commit 0123456789abcdef0123456789abcdef01234567", "commit 0123456789abcdef0123456789abcdef01234567"),
    ],
)
def test_what_follows_a_name_is_hidden_and_the_rest_is_not(text: str, hidden: str) -> None:
    """Over-redaction makes a memory useless: identifiers, hashes and plain words stay."""
    assert redacted(text) == hidden


@given(st.text(max_size=200), st.sampled_from(SECRETS), st.text(max_size=200))
def test_no_surrounding_brings_a_secret_through(before: str, secret: str, after: str) -> None:
    """Whatever stands around it, and twice is the same as once."""
    once = cleaned(f"{before} {secret} {after}")
    assert secret not in once
    assert cleaned(once) == once


@given(st.binary(max_size=300))
def test_no_bytes_are_an_error(data: bytes) -> None:
    """A transcript that is being written, or is none."""
    assert all(turn.text and turn.line >= 1 for turn in turns(data))
