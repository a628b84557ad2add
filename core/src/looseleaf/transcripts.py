"""Read session transcripts (JSONL): the turns of user and assistant as text, without tools, templates and secrets.

What is a message, and how a turn is written, follows OpenClaw's session memory; redaction is of the copy that is indexed and shown,
never of the transcript.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .redaction import redacted
from .workspace import Found, Skipped

if TYPE_CHECKING:
    from .settings import AgentSettings

SOURCE = "sessions"
_ARCHIVE = re.compile(r"\.jsonl\.reset\.[\w.:-]+$")

_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK"})
_ENVELOPE = re.compile(
    r"^\[(?:BlueBubbles|Discord|Email|Feishu|Google ?Chat|iMessage|Line|Matrix|Mattermost|SMS|Signal|Slack|Teams|Telegram|WebChat|WhatsApp|Zalo)\b[^\]\n]*\]\s*",
    re.IGNORECASE,
)
_DIRECTIVE = re.compile(r"\[\[[a-z_]+(?::[^\]\n]*)?\]\]|^\[message_id:[^\]\n]*\]\s*$", re.IGNORECASE | re.MULTILINE)
_TEMPLATE = re.compile(r"<\|[^|>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?(?:tool_call|function_call|think(?:ing)?)>", re.IGNORECASE)


class Transcripts:
    """The transcripts of one agent: those of looseleaf's own state folder and of OpenClaw's.

    Args:
        settings: Of the agent.
        archives: Whether those of sessions that were reset count, too.

    Attributes:
        folders: Where they are.
    """

    def __init__(self, settings: AgentSettings, *, archives: bool = False) -> None:
        self._archives = archives
        self.folders = list(dict.fromkeys(map(os.path.realpath, settings.session_folders())))

    def walk(self) -> Iterator[Found | Skipped]:
        """Yield every transcript once, by name."""
        seen: set[str] = set()
        for folder in self.folders:
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in listed:
                shown = f"{SOURCE}/{entry.name}"
                if not self._counts(entry.name) or entry.name in seen:
                    continue
                if not entry.is_file(follow_symlinks=False):
                    yield Skipped(shown, "it is no plain file")
                    continue
                seen.add(entry.name)
                info = entry.stat(follow_symlinks=False)
                yield Found(shown, entry.path, info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino, SOURCE)

    def _counts(self, name: str) -> bool:
        return name.endswith(".jsonl") or (self._archives and bool(_ARCHIVE.search(name)))


class Turn(NamedTuple):
    """What one message says: `User: …` or `Assistant: …`, and the line of the transcript that it stands in, from 1."""

    text: str
    line: int


def turns(data: bytes, first_line: int = 1) -> Iterator[Turn]:
    """Yield the turns in lines of a transcript, the first of which is number `first_line`. Lines that are none are left out."""
    for number, raw in enumerate(data.split(b"\n"), first_line):
        if raw.strip() and (text := turn_of(raw)):
            yield Turn(text, number)


def turn_of(raw: bytes) -> str:
    """Return the turn that a line holds, or an empty string."""
    try:
        row = json.loads(raw)
    except ValueError:
        return ""
    message = row.get("message") if isinstance(row, dict) and row.get("type") == "message" else None
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return ""
    text = cleaned(_text(message.get("content")))
    return f"{message['role'].title()}: {text}" if text and text not in _SILENT else ""


def cleaned(text: str) -> str:
    """Return what a message says on one line: without envelope, directives, template marks and secrets."""
    text = _ENVELOPE.sub("", text.strip())
    text = _TEMPLATE.sub(" ", _DIRECTIVE.sub(" ", text))
    return " ".join(redacted(text).split())


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [item.get("text") for item in content if isinstance(item, dict) and item.get("type") == "text"]
    return " ".join(part for part in parts if isinstance(part, str))
