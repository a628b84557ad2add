"""The config surface: files, environment, merging, and errors by dotted key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import ConfigError, NotConfigured, load_settings
from looseleaf.settings import parse, resolve_secret
from looseleaf.settings._keys import ROOTS, child_of, children_of
from looseleaf.settings.surface import MemorySearch, key_of


def load(tmp_path: Path, text: str | dict, environ: Mapping[str, str] | None = None, **options: Any):
    config = tmp_path / "config.json5"
    config.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return load_settings(config, environ={"LOOSELEAF_STATE_DIR": str(tmp_path / "state"), **(environ or {})}, **options)


def problems(tmp_path: Path, text: str | dict, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, environ).for_agent()
    return {problem.key: problem.text for problem in caught.value.problems}


def search(**keys: Any) -> dict:
    return {"agents": {"defaults": {"memorySearch": keys}}}


def test_no_file_and_no_variable_is_the_built_in_values(tmp_path: Path) -> None:
    """A fresh machine starts at once, with the seeds' defaults."""
    settings = load_settings(environ={}, home=tmp_path).for_agent(workspace=tmp_path)
    chosen = settings.search
    assert (chosen.chunking.tokens, chosen.chunking.overlap) == (400, 80)
    assert (chosen.query.max_results, chosen.query.min_score, chosen.query.hybrid.candidate_multiplier) == (6, 0.35, 4)
    assert (chosen.query.hybrid.mmr.lambda_, chosen.query.hybrid.temporal_decay.half_life_days) == (0.7, 30)
    assert (chosen.provider, chosen.fallback, chosen.sources) == ("auto", "none", ("memory",))
    assert settings.plugins.slots.memory == "memory-core"
    assert settings.memory.qmd.limits.max_injected_chars == 4000
    assert settings.compaction.memory_flush.soft_threshold_tokens == 4000
    assert settings.state_dir == tmp_path / ".looseleaf"


def test_json5_is_read(tmp_path: Path) -> None:
    """Comments, trailing commas, unquoted keys and single quotes are allowed."""
    settings = load(tmp_path, "{ // mine\n agents: {defaults: {memorySearch: {provider: 'none', query: {maxResults: 9,},},},}, }")
    assert settings.for_agent().search.query.max_results == 9


def test_plain_json_needs_no_json5_parser(tmp_path: Path) -> None:
    """CF-04: JSON is tried first, and a large file with comments is read by the fast parser."""
    import subprocess
    import sys

    (tmp_path / "plain.json").write_text('{"plugins": {"deny": ["x"]}}', "utf-8")
    code = (
        "import sys; from looseleaf import load_settings; load_settings(sys.argv[1], environ={}); print('pyjson5' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "plain.json")], capture_output=True, check=True, encoding="utf-8"
    )
    assert done.stdout == "False\n"
    large = "{ // many\n plugins: {deny: [" + ", ".join(f"'plugin-{number}'" for number in range(5000)) + ",],},}"
    assert len(load(tmp_path, large).plugins.deny) == 5000


def test_the_file_is_never_written(tmp_path: Path) -> None:
    """CF-05: comments are still there afterwards."""
    text = "{ /* keep me */ plugins: {slots: {memory: 'none'}} }"
    load(tmp_path, text)
    assert (tmp_path / "config.json5").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{a:1, a:2}", "a"),
        ('{"plugins": {"deny": [], "deny": []}}', "plugins.deny"),
        ("{plugins:{}, agents:{}, plugins:{}}", "plugins"),
    ],
)
def test_a_key_given_twice_is_a_warning(tmp_path: Path, text: str, key: str) -> None:
    """CF-05: parsers keep the last value in silence; we say so."""
    assert [warning.key for warning in load(tmp_path, text).warnings] == [key]


@pytest.mark.parametrize("text", ["[1, 2]", "null", '"text"', "{", "{a:}", "\x00", "{a: 1} trailing", "[" * 2000])
def test_a_file_that_is_no_object_is_a_clear_error(tmp_path: Path, text: str) -> None:
    """Bad input is told with the file's name, never a traceback."""
    with pytest.raises(ConfigError, match=r"config\.json5"):
        load(tmp_path, text)


def test_a_missing_or_unreadable_file_is_told(tmp_path: Path) -> None:
    """The path that was asked for is named."""
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_settings(tmp_path / "nowhere.json", environ={})
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_settings(tmp_path / "latin.json", environ={})


def test_all_errors_come_together_with_the_nearest_key(tmp_path: Path) -> None:
    """Every problem is shown at once, by its dotted path, with what was probably meant."""
    found = problems(
        tmp_path,
        {
            "agents": {
                "defaults": {"memorySearch": {"query": {"minScor": 1, "hybrid": {"vectorWeight": 2}}}},
                "list": [{"id": "a"}, {"id": "b", "memorySearch": {"sync": {"watchDebounceMs": -1}}}],
            },
            "memory": {"citations": "sometimes"},
            "plugins": {"slots": {"memry": "none"}},
        },
    )
    assert "did you mean agents.defaults.memorySearch.query.minScore?" in found["agents.defaults.memorySearch.query.minScor"]
    assert "less than or equal to 1" in found["agents.defaults.memorySearch.query.hybrid.vectorWeight"]
    assert "greater than or equal to 0" in found["agents.list[1].memorySearch.sync.watchDebounceMs"]
    assert "'auto', 'on' or 'off'" in found["memory.citations"]
    assert "did you mean plugins.slots.memory?" in found["plugins.slots.memry"]


def test_other_programs_subtrees_are_ignored(tmp_path: Path) -> None:
    """Nobody's openclaw.json is refused for what is not ours."""
    theirs = {
        "channels": {"telegram": {"token": "x"}},
        "gateway": {"port": 18789},
        "agents": {
            "defaults": {"model": {"primary": "x"}, "compaction": {"mode": "safeguard"}},
            "list": [{"id": "a", "tools": {}}],
        },
        "models": {"providers": {"openai": {"api": "responses", "models": [{"id": "x"}]}}},
        "plugins": {"installs": {"x": {"source": "npm"}}, "entries": {"x": {"enabled": True, "hooks": {"timeoutMs": 5}}}},
    }
    assert load(tmp_path, theirs).warnings == ()


def test_openclaw_s_own_file_may_know_more(tmp_path: Path) -> None:
    """Later versions have more keys, and OpenClaw checks them itself: they are passed over, and told to whoever asks."""
    search = {
        "rememberAcrossConversations": True,
        "query": {"maxResults": 3, "later": 1},
        "extraPaths": [{"path": "x", "later": 1}],
    }
    data = {
        "memory": {"search": search},
        "agents": {"defaults": {"model": "x"}, "entries": {"main": {"default": True, "name": "Main"}}},
    }
    file = tmp_path / "openclaw.json"
    file.write_text(json.dumps(data), "utf-8")
    settings = load_settings(file, environ={}, home=tmp_path)
    assert settings.for_agent().search.query.max_results == 3
    assert settings.warnings == ()
    where = "agents.defaults.memorySearch"
    assert set(settings.passed_over) == {
        f"{where}.rememberAcrossConversations", f"{where}.query.later", f"{where}.extraPaths[0].later",
    }  # fmt: skip
    assert "agents.defaults.memorySearch.query.later" in problems(tmp_path, data)


@pytest.mark.parametrize(
    ("secret", "name"),
    [
        ({"source": "env", "provider": "default", "id": "ROUTER_KEY"}, "ROUTER_KEY"),
        ({"source": "exec", "provider": "vault", "id": "team/router-key"}, "TEAM_ROUTER_KEY"),
        ({"source": "file", "provider": "keys", "id": "/1/apiKey"}, "SECRET_1_APIKEY"),
    ],
)
def test_openclaw_s_references_to_secrets(tmp_path: Path, secret: dict[str, str], name: str) -> None:
    """`{source, provider, id}` is looked for in the environment under its id, and never sent as it stands."""
    data = {
        "memory": {"search": {"remote": {"apiKey": secret}}},
        "models": {"providers": {"x": {"baseUrl": "y", "apiKey": secret}}},
    }
    settings = load(tmp_path, data)
    key = settings.for_agent().search.remote.api_key
    assert key == settings.models.providers["x"].api_key == f"${{{name}}}"
    assert resolve_secret(key, {name: "s3"}, key="x") == "s3"
    with pytest.raises(NotConfigured, match=f"Set {name}"):
        resolve_secret(key, {}, key="x")


def test_a_misspelt_root_is_a_warning(tmp_path: Path) -> None:
    """`plugin` is probably `plugins`; `channels` is somebody else's."""
    assert [str(warning) for warning in load(tmp_path, {"plugin": {}, "channels": {}}).warnings] == [
        f"plugin: is not read; did you mean plugins? (from {tmp_path / 'config.json5'})"
    ]


def test_overlap_as_large_as_a_chunk_is_refused(tmp_path: Path) -> None:
    """CH-09: a chunk that repeats all of the one before could never move on."""
    found = problems(tmp_path, search(chunking={"tokens": 50, "overlap": 50}))
    assert "must be smaller than chunking.tokens (50)" in found["agents.defaults.memorySearch.chunking.overlap"]


def test_an_agent_s_entry_wins_leaf_by_leaf(tmp_path: Path) -> None:
    """A null falls through, false and 0 do not, extraPaths add up, headers are replaced as a whole."""
    settings = load(
        tmp_path,
        {
            "agents": {
                "defaults": {
                    "memorySearch": {
                        "extraPaths": ["a", "b"],
                        "query": {"maxResults": 3, "minScore": 0.5},
                        "remote": {"baseUrl": "https://x", "headers": {"A": "1"}},
                    }
                },
                "list": [
                    {
                        "id": "writer",
                        "memorySearch": {
                            "extraPaths": ["b", "c"],
                            "query": {"maxResults": None, "minScore": 0},
                            "remote": {"headers": {"B": "2"}},
                            "sync": {"watch": False},
                        },
                    }
                ],
            }
        },
    ).for_agent("writer")
    merged = settings.search
    assert merged.extra_paths == ("a", "b", "c")
    assert (merged.query.max_results, merged.query.min_score) == (3, 0)
    assert (merged.remote.base_url, merged.remote.headers) == ("https://x", {"B": "2"})
    assert merged.sync.watch is False


def test_later_spellings_are_aliases(tmp_path: Path) -> None:
    """`memory.search.*` and `agents.entries.<id>.memory.search` mean the seeds' keys, which win where both are given."""
    settings = load(
        tmp_path,
        {
            "memory": {"search": {"query": {"maxResults": 4}, "provider": "none"}},
            "agents": {
                "defaults": {"memorySearch": {"provider": "auto"}},
                "entries": {"scribe": {"memory": {"search": {"query": {"maxResults": 2}}}}},
            },
        },
    )
    assert settings.for_agent().search.query.max_results == 2
    assert settings.for_agent("main").search.query.max_results == 4
    assert settings.for_agent("scribe").search.provider == "auto"


def test_an_unknown_agent_is_told(tmp_path: Path) -> None:
    """The configured names are listed."""
    with pytest.raises(ConfigError, match="no agent is called 'scrib'; there are scribe"):
        load(tmp_path, {"agents": {"list": [{"id": "scribe"}]}}).for_agent("scrib")


def _leaves(where: Any = None, prefix: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    names = children_of(where)
    if names is None:
        return [(prefix, where)]
    return [leaf for name in names for leaf in _leaves(child_of(where, name), (*prefix, name))]


_UNIONS = ("watch", "default", "embedInterval", "interval", "command", "forceFlushTranscriptBytes", "contextSize")
LEAVES = [(path, kind) for path, kind in _leaves() if kind in (bool, int, float, str) and path[-1] not in _UNIONS]


@pytest.mark.parametrize("path", [path for path, _ in LEAVES], ids=".".join)
def test_every_key_binds_from_the_environment(tmp_path: Path, path: tuple[str, ...]) -> None:
    """CF-01: camelCase keys bind whatever the variable's case and underscores."""
    value: Any = load_settings(environ={"LOOSELEAF_STATE_DIR": str(tmp_path)}, home=tmp_path)
    for key in path:
        value = getattr(value, next(item.name for item in fields(value) if key_of(item.name) == key))
    kind = dict(LEAVES)[path]
    changed: Any = {bool: not value, str: "qmd", float: 0.125}.get(kind, (value or 0) + 1 if kind is int else None)
    if path[-1] in ("vectorWeight", "textWeight", "lambda", "minScore"):
        changed = 0.125
    name = "LOOSELEAF_" + "__".join(path).upper()
    settings = load_settings(environ={name: json.dumps(changed), "LOOSELEAF_STATE_DIR": str(tmp_path)}, home=tmp_path)
    assert settings.warnings == ()
    for key in path:
        settings = getattr(settings, next(item.name for item in fields(settings) if key_of(item.name) == key))
    assert settings == changed


def test_unions_and_lists_bind_from_the_environment(tmp_path: Path) -> None:
    """JSON values are read as JSON, everything else as text."""
    environ = {
        "LOOSELEAF_AGENTS__DEFAULTS__MEMORY_SEARCH__SYNC__WATCH": "poll",
        "LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__EXTRAPATHS": '["~/notes", {"path": "docs", "pattern": "*.txt"}]',
        "LOOSELEAF_PLUGINS__ENTRIES__acme__ENABLED": "false",
        "LOOSELEAF_MEMORY__QMD__COMMAND": '["bunx", "qmd"]',
    }
    settings = load_settings(environ=environ, home=tmp_path)
    chosen = settings.for_agent(workspace=tmp_path).search
    assert chosen.sync.watch == "poll"
    assert chosen.extra_roots() == [("~/notes", "**/*.md"), ("docs", "*.txt")]
    assert settings.plugins.entries["acme"].enabled is False
    assert settings.memory.qmd.command == ("bunx", "qmd")


def test_an_unknown_variable_is_a_warning_with_the_nearest_key(tmp_path: Path) -> None:
    """CF-02: only our prefix is read, and the variable is named."""
    environ = {"LOOSELEAF_PLUGINS__SLOTS__MEMROY": "none", "USER": "root", "MEMORY": "x"}
    settings = load_settings(environ=environ, home=tmp_path)
    assert [warning.key for warning in settings.warnings] == ["LOOSELEAF_PLUGINS__SLOTS__MEMROY"]
    assert "did you mean plugins.slots.memory" in settings.warnings[0].text


def test_a_wrong_value_in_a_variable_names_the_variable(tmp_path: Path) -> None:
    """CF-02: the error says where the value came from."""
    with pytest.raises(ConfigError, match="environment variable LOOSELEAF_MEMORY__CITATIONS"):
        load_settings(environ={"LOOSELEAF_MEMORY__CITATIONS": "maybe"}, home=tmp_path)


def test_the_environment_beats_the_file(tmp_path: Path) -> None:
    """A variable is nearer to the user than a file."""
    settings = load(tmp_path, {"plugins": {"slots": {"memory": "a"}}}, {"LOOSELEAF_PLUGINS__SLOTS__MEMORY": "b"})
    assert settings.plugins.slots.memory == "b"


def test_an_old_provider_is_gone_after_the_config_changed(tmp_path: Path) -> None:
    """CF-06: nothing remembers the settings of yesterday."""
    load(tmp_path, search(provider="openai", remote={"baseUrl": "https://old.example"}))
    chosen = load(tmp_path, search(provider="voyage")).for_agent().search
    assert (chosen.provider, chosen.remote.base_url) == ("voyage", None)


def test_a_second_start_gives_the_same_settings(tmp_path: Path) -> None:
    """Known-valid data is not validated again, and both ways agree."""
    config = search(
        extraPaths=["a", {"path": "b", "pattern": "*.txt"}], query={"hybrid": {"mmr": {"enabled": True, "lambda": 0.5}}}
    )
    config["agents"]["list"] = [{"id": "x", "memorySearch": {"sync": {"watch": "poll"}}}]
    config["plugins"] = {"entries": {"acme": {"config": {"deep": {"list": [1]}}}}, "deny": ["y"]}
    first, second = load(tmp_path, config), load(tmp_path, config)
    assert not is_dataclass(first.raw)
    assert first.for_agent("x") == second.for_agent("x")
    assert (first.agents, first.plugins, first.memory, first.models) == (
        second.agents,
        second.plugins,
        second.memory,
        second.models,
    )
    assert second.trusted


def test_a_value_that_had_to_be_converted_is_never_trusted(tmp_path: Path) -> None:
    """A number given as text is a number both times."""
    for _ in range(2):
        settings = load(tmp_path, search(query={"maxResults": "9"}))
        assert settings.for_agent().search.query.max_results == 9


def test_a_broken_config_is_broken_again(tmp_path: Path) -> None:
    """Only what was valid is remembered."""
    for _ in range(2):
        assert problems(tmp_path, search(nonsense=1))


def test_references_are_resolved_or_named(tmp_path: Path) -> None:
    """`${NAME}` gives the environment's value, or an error that names NAME; keys wait until they are used."""
    config = {"agents": {"defaults": {"workspace": "${NOTES}/w", "memorySearch": {"remote": {"apiKey": "${ACME_KEY}"}}}}}
    settings = load(tmp_path, config, {"NOTES": str(tmp_path)}).for_agent()
    assert settings.workspace == tmp_path / "w"
    assert settings.search.remote.api_key == "${ACME_KEY}"
    with pytest.raises(NotConfigured, match="Set ACME_KEY"):
        resolve_secret("${ACME_KEY}", {}, key="remote.apiKey")
    assert resolve_secret("Bearer ${ACME_KEY}", {"ACME_KEY": "s3"}, key="x") == "Bearer s3"
    assert "NOTES" in problems(tmp_path, config)["agents.defaults.workspace"]


def test_the_workspace_s_own_config_is_never_read(tmp_path: Path, monkeypatch) -> None:
    """What an agent can write must not choose where a key goes."""
    (tmp_path / ".looseleaf").mkdir()
    (tmp_path / "looseleaf.json5").write_text("{plugins: {slots: {memory: 'evil'}}}", "utf-8")
    (tmp_path / ".env").write_text("LOOSELEAF_PLUGINS__SLOTS__MEMORY=evil", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_settings(environ={}, home=tmp_path / "home").plugins.slots.memory == "memory-core"


def test_an_openclaw_config_is_found(tmp_path: Path) -> None:
    """The user's own file comes first, then OpenClaw's; the state stays ours."""
    theirs = tmp_path / ".openclaw" / "openclaw.json"
    theirs.parent.mkdir()
    theirs.write_text(json.dumps({"plugins": {"slots": {"memory": "none"}}}), "utf-8")
    settings = load_settings(environ={}, home=tmp_path)
    assert (settings.config_path, settings.plugins.slots.memory) == (theirs, "none")
    assert settings.state_dir == tmp_path / ".looseleaf"
    ours = tmp_path / ".looseleaf" / "looseleaf.json5"
    ours.parent.mkdir(exist_ok=True)
    ours.write_text("{}", "utf-8")
    assert load_settings(environ={}, home=tmp_path).config_path == ours


def test_two_workspaces_given_by_hand_never_share_an_index(tmp_path: Path) -> None:
    """A configured workspace has the agent's database, any other one of its own."""
    settings = load(tmp_path, {"agents": {"defaults": {"workspace": str(tmp_path / "w")}}})
    main = settings.for_agent().database
    others = {settings.for_agent(workspace=tmp_path / name).database for name in ("a", "b")}
    assert main == tmp_path / "state" / "memory" / "main.sqlite"
    assert len({main, *others}) == 3


def test_an_unknown_time_zone_is_told(tmp_path: Path) -> None:
    """The message shows what a name looks like."""
    assert (
        "Europe/Berlin"
        in problems(tmp_path, {"agents": {"defaults": {"userTimezone": "Mars/Olympus"}}})["agents.defaults.userTimezone"]
    )


@dataclass(frozen=True)
class Options:
    """A plugin's own options."""

    dimensions: int = 8
    base_url: str | None = None


def test_a_plugin_s_own_options_are_checked_by_dotted_path() -> None:
    """An unknown key of a plugin is refused where it stands."""
    assert parse(Options, {"dimensions": 3}, plugin="acme") == Options(3)
    assert parse(Options, {"baseUrl": "x"}, plugin="acme") == Options(base_url="x")
    with pytest.raises(ConfigError, match=r"plugins\.entries\.acme\.config\.dimensions"):
        parse(Options, {"dimensions": "many"}, plugin="acme")
    with pytest.raises(
        ConfigError, match=r"config\.dimension: no such key; did you mean plugins\.entries\.acme\.config\.dimensions\?"
    ):
        parse(Options, {"dimension": 3}, plugin="acme")


@given(st.integers(1, 5000), st.floats(0, 1), st.booleans(), st.lists(st.text(max_size=8), max_size=3))
def test_settings_survive_a_round_trip(tmp_path: Path, results: int, score: float, flag: bool, paths: list[str]) -> None:
    """What is written as JSON is what is read."""
    chosen = load(
        tmp_path,
        search(
            query={"maxResults": results, "minScore": score},
            cache={"enabled": flag},
            extraPaths=[f"x{p}" for p in paths if "$" not in p],
        ),
    ).for_agent()
    assert chosen.search.query.max_results == results
    assert chosen.search.query.min_score == score
    assert chosen.search.cache.enabled == flag
    assert chosen.search.extra_paths == tuple(dict.fromkeys(f"x{p}" for p in paths if "$" not in p)) or len(set(paths)) < len(paths)


def test_the_roots_are_those_of_the_seeds() -> None:
    """Four subtrees are ours."""
    assert set(ROOTS) == {"agents", "memory", "models", "plugins"}
    assert isinstance(MemorySearch().extra_roots(), list)
