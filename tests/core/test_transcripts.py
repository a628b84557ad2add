"""Turns from transcripts: what user and assistant said, on a line each, without tools, templates and secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.transcripts import turn_of, turns


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


@given(st.binary(max_size=300))
def test_no_bytes_are_an_error(data: bytes) -> None:
    """A transcript that is being written, or is none."""
    assert all(turn.text and turn.line >= 1 for turn in turns(data))
