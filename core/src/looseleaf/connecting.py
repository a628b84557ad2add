"""The configuration that puts looseleaf into a host, and merging it into the host's file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .errors import LooseleafError
from .files import write_whole

NAME = "looseleaf"


@dataclass(frozen=True, slots=True)
class Host:
    """One program that takes MCP servers.

    Attributes:
        title: Its name.
        file: Its config file; `~` is the home, a relative path is in the project.
        keys: Where in it servers are listed.
        command: How it is told on the command line, before the server's own command; empty where there is no such thing.
        takes: How the server's own command is written there: as `words`, `options` (`--command`, `--arg`), or `json`.
        shape: How a server is written: `plain` (command and args), `typed` (with `type: stdio`), `list` (one list of words).
    """

    title: str
    file: str
    keys: tuple[str, ...]
    command: tuple[str, ...] = ()
    takes: Literal["words", "options", "json"] = "words"
    shape: Literal["plain", "typed", "list"] = "plain"


HOSTS: Mapping[str, Host] = {
    "claude-code": Host("Claude Code", ".mcp.json", ("mcpServers",), ("claude", "mcp", "add", NAME, "--"), shape="typed"),
    "codex": Host("Codex", "~/.codex/config.toml", ("mcp_servers",), ("codex", "mcp", "add", NAME, "--")),
    "gemini": Host("Gemini CLI", "~/.gemini/settings.json", ("mcpServers",), ("gemini", "mcp", "add", NAME)),
    "opencode": Host("opencode", "~/.config/opencode/opencode.json", ("mcp",), shape="list"),
    "cursor": Host("Cursor", "~/.cursor/mcp.json", ("mcpServers",)),
    "vscode": Host("VS Code", ".vscode/mcp.json", ("servers",), ("code", "--add-mcp"), "json", "typed"),
    "openclaw": Host("OpenClaw", "~/.openclaw/openclaw.json", ("mcp", "servers"), ("openclaw", "mcp", "add", NAME), "options"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """What would be written.

    Attributes:
        path: The file.
        before: What it holds now.
        after: What it would hold.
    """

    path: Path
    before: str
    after: str

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, fromfile=str(self.path), tofile=str(self.path)))


def told(host: Host, words: Sequence[str]) -> list[str]:
    """Return the command line that tells `host` of the server whose command is `words`; empty where it has none."""
    if not host.command:
        return []
    if host.takes == "words":
        return [*host.command, *words]
    if host.takes == "json":
        return [*host.command, json.dumps({"name": NAME, **entry(host, words)}, ensure_ascii=False)]
    program, *args = words
    return [*host.command, "--command", program, *(f"--arg={arg}" for arg in args)]


def entry(host: Host, words: Sequence[str]) -> dict[str, Any]:
    """Return how `host` writes the server whose command is `words`."""
    command, *args = words
    if host.shape == "list":
        return {"type": "local", "command": list(words), "enabled": True}
    return {**({"type": "stdio"} if host.shape == "typed" else {}), "command": command, "args": args}


def snippet(host: Host, words: Sequence[str]) -> str:
    """Return what has to stand in the host's file: JSON, or TOML where that is what it reads."""
    server = entry(host, words)
    if host.file.endswith(".toml"):
        return f"[{'.'.join((*host.keys, NAME))}]\ncommand = {json.dumps(server['command'])}\nargs = {json.dumps(server['args'])}\n"
    nested: dict[str, Any] = {NAME: server}
    for key in reversed(host.keys):
        nested = {key: nested}
    return json.dumps(nested, indent=2) + "\n"


def change(host: Host, words: Sequence[str], project: Path, home: Path) -> Change:
    """Return the change of the host's file; all else in it stays.

    Raises:
        LooseleafError: the file cannot be read, or holds comments, which would be lost.
    """
    path = home / host.file[2:] if host.file.startswith("~/") else project / host.file
    try:
        before = path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise LooseleafError(f"{path} cannot be read: {error}") from None
    if host.file.endswith(".toml"):
        return Change(path, before, _with_table(before, host, words, path))
    try:
        data = json.loads(before) if before.strip() else {}
    except ValueError:
        raise LooseleafError(
            f"{path} is not plain JSON (comments?), so it is left alone: add this yourself\n{snippet(host, words)}"
        ) from None
    where = data
    for key in host.keys:
        if not isinstance(where, dict) or not isinstance(where.setdefault(key, {}), dict):
            raise LooseleafError(f"{path} holds something else than a table under {'.'.join(host.keys)}: nothing was changed")
        where = where[key]
    where[NAME] = entry(host, words)
    return Change(path, before, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def write(made: Change) -> Path | None:
    """Write a change, and return the copy of what was there before, or None.

    Raises:
        LooseleafError: it cannot be written; then the file is as it was.
    """
    backup = made.path.with_name(f"{made.path.name}.before-{NAME}") if made.before else None
    try:
        if backup and not backup.exists():
            write_whole(backup, made.before.encode(), private=False)
        write_whole(made.path, made.after.encode(), private=False)
    except OSError as error:
        raise LooseleafError(f"{made.path} cannot be written: {error.strerror}") from None
    return backup


def _with_table(before: str, host: Host, words: Sequence[str], path: Path) -> str:
    import tomllib

    try:
        known = tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise LooseleafError(f"{path} is no TOML, so it is left alone: {error}") from None
    for key in host.keys:
        known = known.get(key, {})
    if NAME in known:
        raise LooseleafError(f"{path} has a table {'.'.join((*host.keys, NAME))} already: nothing was changed")
    return f"{before.rstrip()}\n\n{snippet(host, words)}".lstrip("\n")
