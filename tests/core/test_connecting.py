"""Configuration for hosts: what is printed can be read by them, and merging loses nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from looseleaf import LooseleafError
from looseleaf.connecting import HOSTS, Host, change, snippet, told, write

WORDS = ["/opt/loose leaf/looseleaf", "mcp", "--workspace", '/notes "of mine"']


def server(host: Host, text: str) -> list[str]:
    """Return the command that a host would start."""
    data: Any = tomllib.loads(text) if host.file.endswith(".toml") else json.loads(text)
    for key in (*host.keys, "looseleaf"):
        data = data[key]
    return data["command"] if host.shape == "list" else [data["command"], *data["args"]]


@pytest.mark.parametrize("name", HOSTS)
def test_what_is_printed_is_what_would_be_started(name: str) -> None:
    """Parsed as the host parses it."""
    assert server(HOSTS[name], snippet(HOSTS[name], WORDS)) == WORDS


def test_what_is_told_on_the_command_line() -> None:
    """As each host's own command takes it; tried with the real ones by docs/pictures/make.py."""
    lines = {name: told(host, WORDS) for name, host in HOSTS.items()}
    assert lines["claude-code"] == ["claude", "mcp", "add", "looseleaf", "--", *WORDS]
    assert lines["gemini"] == ["gemini", "mcp", "add", "looseleaf", *WORDS]
    assert lines["openclaw"] == [
        "openclaw",
        "mcp",
        "add",
        "looseleaf",
        "--command",
        WORDS[0],
        *(f"--arg={word}" for word in WORDS[1:]),
    ]
    code, option, given = lines["vscode"]
    assert (code, option) == ("code", "--add-mcp")
    assert json.loads(given) == {"name": "looseleaf", "type": "stdio", "command": WORDS[0], "args": WORDS[1:]}
    assert lines["cursor"] == lines["opencode"] == []


@pytest.mark.parametrize("name", HOSTS)
def test_merging_keeps_what_is_there(name: str, tmp_path: Path) -> None:
    """Other servers and other settings stay, the old file is kept, and a second time nothing changes."""
    host = HOSTS[name]
    first = change(host, WORDS, tmp_path, tmp_path)
    assert server(host, first.after) == WORDS
    if host.file.endswith(".toml"):
        before = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n'
    else:
        nested: Any = {"other": {"command": "y"}}
        for key in reversed(host.keys):
            nested = {key: nested}
        before = json.dumps({"theme": "dark", **nested, "unknown": [1, {"é": None}]})
    first.path.parent.mkdir(parents=True, exist_ok=True)
    first.path.write_text(before, "utf-8")
    made = change(host, WORDS, tmp_path, tmp_path)
    assert made.diff().startswith("---")
    backup = write(made)
    assert backup is not None
    assert backup.read_text("utf-8") == before
    after = made.path.read_text("utf-8")
    assert server(host, after) == WORDS
    if host.file.endswith(".toml"):
        assert after.startswith(before)
        with pytest.raises(LooseleafError, match="already"):
            change(host, WORDS, tmp_path, tmp_path)
    else:
        data = json.loads(after)
        assert (data["theme"], data["unknown"]) == ("dark", [1, {"é": None}])
        again = change(host, WORDS, tmp_path, tmp_path)
        assert again.before == again.after


@pytest.mark.parametrize("before", ["{ // mine\n}", "[1]", '{"mcpServers": []}', "\ufeff{"])
def test_what_cannot_be_merged_is_left_alone(before: str, tmp_path: Path) -> None:
    """And what to add is told, where it is only the comments that are in the way."""
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(before, "utf-8")
    with pytest.raises(LooseleafError, match=r"left alone|nothing was changed"):
        change(HOSTS["cursor"], WORDS, tmp_path, tmp_path)
    assert path.read_text("utf-8") == before
