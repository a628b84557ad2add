"""The command line as a person or a program uses it: real processes, real output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import SITE

FORBIDDEN = ("numpy", "httpx", "pydantic", "apsw", "rich", "onnxruntime", "mcp", "sqlite_vec", "asyncio")


def value(done: subprocess.CompletedProcess[str]) -> object:
    """Return the one JSON value on stdout: anything else there fails."""
    return json.loads(done.stdout)


def test_version_loads_nothing_heavy() -> None:
    """Start-up stays quick: the version is told without any of the big packages."""
    code = "import sys\nfrom looseleaf.cli import cli\ncli.main(['--version'], standalone_mode=False)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8")
    assert done.stdout.startswith("looseleaf, version 0.1.0")
    assert not set(FORBIDDEN) & set(done.stdout.split())


def test_a_search_by_words_loads_only_what_it_needs(looseleaf, write) -> None:
    """NumPy, pydantic and asyncio cost more than the search itself."""
    write("MEMORY.md", "The gateway runs on the Mac Studio.")
    for _ in range(2):
        done = looseleaf("search", "gateway")
    code = (
        "import sys\nfrom looseleaf.cli import cli\n"
        "cli.main(['search', 'gateway', '-w', sys.argv[1]], standalone_mode=False)\nprint(*sys.modules)"
    )
    environ = {**os.environ, "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "none"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, done.args[-1]], capture_output=True, check=True, encoding="utf-8", env=environ
        )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not {"numpy", "pydantic", "rich", "asyncio", "importlib_metadata", "sqlite_vec", "filelock"} & loaded
    assert {"apsw", "pluggy"} <= loaded


def test_a_hit_shows_path_lines_score_and_signals(looseleaf, write) -> None:
    """The first line of a hit says where it is and why."""
    write("memory/2026-02-10.md", "# Day\n\nThe gateway runs on the Mac Studio.\n")
    done = looseleaf("search", "which", "machine", "runs", "the", "gateway")
    assert done.returncode == 0
    first, *snippet = done.stdout.splitlines()
    assert first.startswith(("0.", "1.0"))
    assert "memory/2026-02-10.md:1-3  word " in first
    assert "    The gateway runs on the Mac Studio." in snippet


def test_json_is_one_value(looseleaf, write) -> None:
    """Every command prints one JSON value and nothing else, also when it fails."""
    write("MEMORY.md", "gateway")
    for arguments in (
        ["search", "gateway"],
        ["get", "MEMORY.md"],
        ["index"],
        ["status"],
        ["plugins"],
        ["config", "show"],
        ["config", "check"],
    ):
        done = looseleaf(*arguments, "--json")
        assert done.returncode == 0, (arguments, done.stderr)
        value(done)
    for arguments, code in (
        (["search"], 2),
        (["get", "/etc/passwd"], 1),
        (["frobnicate"], 2),
        (["config", "explain", "nonsense"], 2),
    ):
        done = looseleaf(*arguments, "--json")
        assert (done.returncode, "error" in value(done)) == (code, True), (arguments, done.stdout, done.stderr)


def test_search_json_has_what_a_program_needs(looseleaf, write) -> None:
    """Path, lines, score, signals, notes and, if asked for, every candidate's way."""
    write("MEMORY.md", "gateway\n")
    answer = value(looseleaf("search", "gateway", "--json", "--explain"))
    (row,) = answer["results"]
    assert (row["path"], row["startLine"], row["endLine"], row["signals"]["matched"]) == ("MEMORY.md", 1, 1, 1.0)
    assert [step["stage"] for step in answer["explain"][0]["steps"]] == ["balanced"]


def test_an_empty_result_says_why(looseleaf, write, workspace: Path) -> None:
    """UX-06, CJ-10: `No matches`, exit 0, and the reason."""
    done = looseleaf("search", "交互")
    assert (done.returncode, done.stdout) == (0, "No matches.\n")
    assert f"looked for Markdown in {workspace}" in done.stderr
    write("MEMORY.md", "gateway")
    done = looseleaf("search", "ZXQ_NO_MATCH")
    assert (done.returncode, done.stdout) == (0, "No matches.\n")
    assert "no matches" in done.stderr


def test_memory_off_is_said_once_and_is_no_error(looseleaf, write) -> None:
    """`none` turns memory off: search, get, index and status say so and exit with 0."""
    write("MEMORY.md", "gateway")
    for arguments in (["search", "gateway"], ["get", "MEMORY.md"], ["index"], ["status"]):
        done = looseleaf(*arguments, LOOSELEAF_PLUGINS__SLOTS__MEMORY="none")
        assert done.returncode == 0, done.stderr
        assert "none" in done.stdout + done.stderr


def test_a_missing_slot_is_a_message(looseleaf) -> None:
    """PL-06: no traceback, the installed names, exit 1."""
    done = looseleaf("search", "x", LOOSELEAF_PLUGINS__SLOTS__MEMORY="memory-cor")
    assert done.returncode == 1
    assert "Did you mean 'memory-core'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_plugins_shows_every_state(looseleaf) -> None:
    """Selected, set to another, conflict, broken with its cause on request."""
    environ = {"PYTHONPATH": str(SITE)}
    rows = {(row["kind"], row["name"]): row for row in value(looseleaf("plugins", "--json", **environ))["plugins"]}
    assert rows["memory", "memory-core"]["state"] == "selected"
    assert rows["memory", "fake-slot"]["reason"] == 'memory slot set to "memory-core"'
    assert rows["memory", "twin-slot"]["state"] == "conflict"
    assert rows["embedder", "broken"]["state"] == "available"
    done = looseleaf("plugins", LOOSELEAF_PLUGINS__SLOTS__MEMORY="broken-slot", **environ)
    assert done.returncode == 1
    assert "fake-broken 0.3" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in looseleaf("plugins", "--traceback", LOOSELEAF_PLUGINS__SLOTS__MEMORY="broken-slot", **environ).stderr
    done = looseleaf("plugins", LOOSELEAF_PLUGINS__SLOTS__MEMORY="none")
    assert (done.returncode, "memory slot: none" in done.stdout) == (0, True)


def test_a_third_party_s_slot_is_selected(looseleaf) -> None:
    """A slot of another package answers by config alone."""
    done = looseleaf("search", "x", "--min-score", "0", PYTHONPATH=str(SITE), LOOSELEAF_PLUGINS__SLOTS__MEMORY="fake-slot")
    assert "fake.md:1-1" in done.stdout


def test_index_counts_and_fails_honestly(looseleaf, write) -> None:
    """UX-01: counts on success, per-file reasons and exit 1 when a file cannot be indexed."""
    write("memory/a.md", "gateway")
    done = looseleaf("index")
    assert (done.returncode, "1 files (1 indexed" in done.stdout) == (0, True)
    write("memory/b.md", "x").write_bytes("utf sixteen".encode("utf-16"))
    done = looseleaf("index")
    assert done.returncode == 1
    assert "memory/b.md: it is UTF-16" in done.stderr


def test_status_compares_and_lists_files(looseleaf, write) -> None:
    """UX-02, UX-05: what is in, what is not and why, without changing anything."""
    write("memory/a.md", "gateway")
    looseleaf("index")
    write("memory/b.md", "new")
    (row,) = value(looseleaf("status", "--files", "--json"))
    assert (row["files"], row["dirty"]) == (1, True)
    states = {entry["path"]: entry["state"] for entry in row["ledger"]}
    assert states == {"memory/a.md": "indexed", "memory/b.md": "pending"}
    assert "memory/b.md" in looseleaf("status", "--files").stdout


def test_get_takes_a_citation(looseleaf, write) -> None:
    """What a search cites can be pasted."""
    write("memory/a.md", "one\ntwo\nthree\nfour\n")
    assert looseleaf("get", "memory/a.md#L2-L3").stdout == "two\nthree\n"
    assert looseleaf("get", "memory/a.md#L4").stdout == "four\n"
    assert looseleaf("get", "memory/a.md:2-3").stdout == "two\nthree\n"
    assert looseleaf("get", "memory/a.md", "--from", "3", "--lines", "1").stdout == "three\n"
    done = looseleaf("get", "memory/none.md")
    assert (done.returncode, done.stdout, "does not exist" in done.stderr) == (0, "", True)
    done = looseleaf("get", "../x.md")
    assert (done.returncode, "outside the workspace" in done.stderr) == (1, True)


def test_config_shows_values_and_their_origin(looseleaf, tmp_path: Path) -> None:
    """`config explain` names the file or variable, and never shows a key."""
    config = tmp_path / "c.json5"
    config.write_text(
        "{agents: {defaults: {memorySearch: {query: {maxResults: 9}, remote: {apiKey: 'sk-secret', baseUrl: 'https://x'}}}}}"
    )
    done = looseleaf("config", "explain", "memorySearch.query.maxResults", "--config", str(config))
    assert done.stdout == f"agents.defaults.memorySearch.query.maxResults\t9\t{config}\n"
    done = looseleaf("config", "explain", "memorySearch.provider", "--config", str(config))
    assert "environment variable LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER" in done.stdout
    for arguments in (["config", "show"], ["config", "show", "--json"], ["config", "explain", "memorySearch.remote"]):
        done = looseleaf(*arguments, "--config", str(config))
        assert "sk-secret" not in done.stdout + done.stderr
        assert "(set)" in done.stdout
    done = looseleaf("config", "explain", "memorySearch.query.maxResult", "--config", str(config))
    assert (done.returncode, "did you mean agents.defaults.memorySearch.query.maxResults" in done.stderr) == (2, True)


def test_a_wrong_config_is_told_whole(looseleaf, tmp_path: Path) -> None:
    """All problems at once, exit 2, no traceback."""
    config = tmp_path / "c.json5"
    config.write_text("{memory: {citations: 'x'}, plugins: {slot: {}}}")
    done = looseleaf("config", "check", "--config", str(config))
    assert done.returncode == 2
    assert "2 problems" in done.stderr
    assert "memory.citations" in done.stderr
    assert "did you mean plugins.slots?" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serch", "x"], "Did you mean 'search'?"),
        (["gateway"], "looseleaf search 'gateway'"),
        (["search"], "Say what to look for"),
        (["search", "x", "--max-result", "3"], "Did you mean"),
        (["search", "x", "-n", "0"], "0 is not in the range"),
    ],
)
def test_typing_errors_are_met_with_help(looseleaf, arguments: list[str], says: str) -> None:
    """A typo costs one look."""
    done = looseleaf(*arguments, at=None)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_a_workspace_that_does_not_exist_is_told(looseleaf, tmp_path: Path) -> None:
    """The folder is named."""
    done = looseleaf("search", "x", at=tmp_path / "nowhere")
    assert (done.returncode, "does not exist" in done.stderr) == (2, True)


@pytest.mark.parametrize("query", ["\udc80\udcff", "a\x1bb", '"unterminated', "AND OR NOT", "🐘", "-", "--", "*", "a" * 5000])
def test_any_query_is_answered(looseleaf, write, query: str) -> None:
    """FQ-12: whatever is typed, an answer and no traceback."""
    write("MEMORY.md", "gateway")
    done = looseleaf("search", "--query", query) if query.startswith("-") else looseleaf("search", query)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_notes_cannot_steer_the_terminal(looseleaf, write) -> None:
    """Escape sequences in a note are shown as what they are."""
    write("MEMORY.md", "gateway \x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp")
    assert "\x1b" not in looseleaf("search", "gateway").stdout
    assert "\x1b" not in looseleaf("get", "MEMORY.md").stdout


def test_completion_scripts_are_printed(looseleaf) -> None:
    """For the three shells that click knows."""
    for shell in ("zsh", "fish"):
        done = looseleaf("completion", shell, at=None)
        assert (done.returncode, "_LOOSELEAF_COMPLETE" in done.stdout) == (0, True), done.stderr


def test_a_closed_pipe_is_no_error(looseleaf, write, workspace: Path) -> None:
    """`looseleaf get … | head -1` ends quietly."""
    write("memory/long.md", "\n".join("x" * 90 for _ in range(120)))
    command = f"{sys.executable} -c 'from looseleaf.cli import main; main()' get memory/long.md -w {workspace} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, encoding="utf-8")
    assert done.stderr == "" or "there is more" in done.stderr


def test_interrupting_loses_nothing_finished(write, workspace: Path) -> None:
    """Ctrl-C during an index: exit 130, one line, and the next run goes on."""
    for number in range(40):
        write(f"memory/{number}.md", "The gateway runs on the Mac Studio.\n\n" * 400)
    # A shell's background job inherits an ignored SIGINT, and so would what it starts; a terminal's does not.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from looseleaf.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "index", "-w", str(workspace)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    state = Path(os.environ["LOOSELEAF_STATE_DIR"]) / "memory"
    limit = time.monotonic() + 60
    while not list(state.glob("*.sqlite")) and time.monotonic() < limit:
        if process.poll() is not None:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err


def test_status_deep_asks_the_provider_once(looseleaf, write) -> None:
    """Time, size and limits of what answers; the reason and the remedy, and exit 1, of what does not."""
    from looseleaf.testing import EmbeddingServer

    write("MEMORY.md", "one")
    prefix = "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__"
    for behaviour, code in (("right", 0), ("401", 1)):
        with EmbeddingServer(behaviour) as server:
            environ = {f"{prefix}PROVIDER": "openai", f"{prefix}REMOTE__BASEURL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-mine"}
            done = looseleaf("status", "--deep", "--json", **environ)
        (row,) = value(done)
        assert done.returncode == code
        assert len(server.requests) == 1
        probe = row["probe"]
        assert probe["ok"] == (code == 0)
        assert "sk-mine" not in done.stdout + done.stderr
        if code:
            assert "openai answered 401: 401 from a fake. Check the key." in probe["error"]
        else:
            assert probe["dimensions"] == 8
            assert probe["limits"]["requestTokens"] == 300_000
    assert "probe" not in value(looseleaf("status", "--json"))[0]


def test_forget_deletes_what_it_is_told_to(looseleaf: Callable[..., subprocess.CompletedProcess[str]], write: Callable) -> None:
    """Only memory files, only after a yes; what it cannot do is told, and nothing is lost."""
    note = write("memory/a.md", "the secret zanzibar")
    write("memory/b.md", "another")
    other = write("notes.txt", "no memory file")
    looseleaf("index")
    assert looseleaf("forget", "notes.txt", "-y").returncode == 1
    assert other.exists()
    asked = looseleaf("forget", "memory/a.md")  # nobody says yes
    assert asked.returncode == 130
    assert note.exists()
    done = looseleaf("forget", "memory/a.md", "--yes")
    assert done.returncode == 0
    assert "deleted memory/a.md" in done.stdout
    assert not note.exists()
    assert looseleaf("forget", "memory/a.md", "--yes").returncode == 0, "a second time is no error"
    assert value(looseleaf("search", "zanzibar", "--json"))["results"] == []
    assert value(looseleaf("forget", "--json"))["vectors"] == 0


def test_forget_says_where_a_text_still_stands(looseleaf: Callable[..., subprocess.CompletedProcess[str]], write: Callable) -> None:
    """The notes are the user's: it names the lines, and forgets when they are gone."""
    write("MEMORY.md", "one\nthe Secret zanzibar\n")
    done = looseleaf("forget", "--text", "secret ZANZIBAR")
    assert (done.returncode, done.stdout.strip()) == (1, "MEMORY.md:2")
    assert "cut it out there" in done.stderr
    write("MEMORY.md", "one\n")
    assert looseleaf("forget", "--text", "secret zanzibar").returncode == 0


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "EOF"])
def test_watch_stops_cleanly(write: Callable, workspace: Path, how: str) -> None:
    """By signal, or when whoever started it closes its input; until then one JSON value a sync."""
    write("memory/a.md", "one")
    command = [sys.executable, "-c", "from looseleaf.cli import main; main()", "watch", "--json", "-w", str(workspace)]
    environ = {
        **os.environ,
        "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "none",
        "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__SYNC__WATCHDEBOUNCEMS": "20",
    }
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, encoding="utf-8"
    ) as watch:
        assert watch.stdin is not None
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["indexed"] == 1
        write("memory/b.md", "two")
        assert json.loads(watch.stdout.readline())["indexed"] == 1
        if how == "EOF":
            watch.stdin.close()
        else:
            watch.send_signal(getattr(signal, how))
        assert watch.wait(30) == 0
        assert watch.stderr is not None
        said = watch.stderr.read()
    assert "watching" in said
    assert "Traceback" not in said
