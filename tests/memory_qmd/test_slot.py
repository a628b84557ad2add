"""The slot, with a qmd that behaves like the builds that people have."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import NotConfigured, Query, ReadRefused, StoreError
from looseleaf._run import run
from looseleaf_memory_qmd.command import TimeoutStoreError
from looseleaf_memory_qmd.slot import QmdSlot
from qmd import NOW, Make, ask, codes, is_running, paths, row


@pytest.fixture
def ready(slot: Make, fake: Any, write: Callable[[str, str], Path]) -> Make:
    """Make a slot over two notes, synced."""
    write("MEMORY.md", "# Long-term\n\nthe gateway runs here\n")
    write("memory/2026-02-10.md", "one\ntwo\nthree\n")

    def make(**options: Any) -> QmdSlot:
        made = slot(fake.command, **options)
        run(made.sync(), inline=True)
        return made

    return make


@pytest.mark.parametrize(
    "noise", ["CUDA not found, falling back\n[node-llama-cpp] built\n{}", "{}\ndone in [3] ms\n", "[1/2] loading\n\n  {}"]
)
def test_json_is_taken_out_of_noise(noise: str, ready: Make, fake: Any) -> None:
    """QM-01: warnings before, after and on stderr do not matter."""
    fake.tell(search={"stdout": noise.format(json.dumps([row("memory-root-main/MEMORY.md")])), "stderr": "warning: CPU only\n"})
    assert paths(ask(ready(), "gateway")) == ["MEMORY.md"]


@pytest.mark.parametrize("bad", [{"abort": True}, {"code": 134}, {"sleep": 30}], ids=["abort", "code", "hang"])
def test_results_before_a_bad_end_are_used(bad: dict[str, Any], ready: Make, fake: Any) -> None:
    """QM-02: what was printed before the tool aborts, fails or hangs is used, and the end is told."""
    fake.tell(search={"stdout": json.dumps([row("memory-root-main/MEMORY.md")]) + "\n", **bad})
    found = ask(ready(limits={"timeoutMs": 1000}), "gateway")
    assert paths(found) == ["MEMORY.md"]
    assert codes(found) == ["qmd-aborted"]


@pytest.mark.parametrize("command", ["/old/path/qmd", "no-such-qmd", "qmd 'unclosed", ""])
def test_status_runs_the_command_that_a_search_runs(command: str, slot: Make) -> None:
    """QM-04: a program that is not there is told by both, with what to do."""
    made = slot(command)
    for work in (made.status(), made.sync()):
        with pytest.raises(NotConfigured, match=r"memory\.qmd\.command"):
            run(work, inline=True)
    with pytest.raises(NotConfigured, match=r"memory\.qmd\.command"):
        ask(made, "gateway")
    assert [check.state for check in run(made.diagnose(), inline=True)] == ["failure"]


def test_a_slow_qmd_is_ended_with_all_that_it_started(ready: Make, fake: Any) -> None:
    """QM-05: the default is the quick search; past the limit the whole process group is gone, and it may be asked again."""
    made = ready(limits={"timeoutMs": 700})
    fake.tell(search={"sleep": 30, "child": True})
    with pytest.raises(TimeoutStoreError, match=r"qmd search took longer than") as error:
        ask(made, "gateway")
    assert error.value.retryable
    child = int((fake.command.parent / "child").read_text())
    ends = time.monotonic() + 5
    while is_running(child) and time.monotonic() < ends:
        os.sched_yield()
    assert not is_running(child)


def test_a_flood_is_an_error_and_not_a_crash(ready: Make, fake: Any) -> None:
    """50 MB of output: ended at four, and said."""
    made = ready()
    fake.tell(search={"flood": 50})
    with pytest.raises(StoreError, match="qmd search printed more than 4 MB"):
        ask(made, "gateway")


@pytest.mark.parametrize("said", ["no json", "[{", '{"results": []}', "[1, 2]"])
def test_what_is_no_json_is_an_error(said: str, ready: Make, fake: Any) -> None:
    """Wrong output is told with its beginning."""
    made = ready()
    fake.tell(search={"stdout": said})
    with pytest.raises(StoreError, match=r"printed something that is no JSON: '"):
        ask(made, "gateway")


@pytest.mark.parametrize(
    ("out", "err"),
    [
        ("[]", ""),
        ("", "No results found."),
        ("No results found above minimum score threshold.", ""),
        ("", "Warning: 3 documents need embeddings"),
    ],
)
def test_nothing_found_is_no_error(out: str, err: str, ready: Make, fake: Any) -> None:
    """All the ways in which the versions say so."""
    made = ready()
    fake.tell(search={"stdout": out, "stderr": err})
    assert paths(ask(made, "gateway")) == []


def test_another_collection_with_the_same_folder_is_no_success(ready: Make, fake: Any, workspace: Path) -> None:
    """QM-06: one of ours is made anew under the right name; one of somebody else's is left alone, and said."""
    made = ready()
    config = next(Path(fake.calls[-1]["environ"]["XDG_CONFIG_HOME"]).rglob("index.yml"))
    for other, left in (("memory-old-main", False), ("mine", True)):
        config.write_text(json.dumps({"collections": {other: {"path": str(workspace), "pattern": "MEMORY.md"}}}), "utf-8")
        report = run(made.sync(force=True), inline=True)
        names = set(json.loads(config.read_text())["collections"])
        assert (other in names) == left
        assert ("memory-root-main" in names) != left
        assert any("qmd collection remove mine" in note.text for note in report.notes) == left


def test_a_qmd_that_ignores_the_mask_is_found_out(slot: Make, fake: Any, write: Callable) -> None:
    """QM-08: --mask is passed, its effect is looked at, and a collection of the whole workspace is taken away again."""
    write("MEMORY.md", "x")
    fake.tell(ignores_mask=True)
    made = slot(fake.command)
    report = run(made.sync(), inline=True)
    assert all("--mask" in call and "--glob" not in call for call in fake.called("collection", "add"))
    assert any("took the pattern '**/*.md' instead of 'MEMORY.md'" in note.text for note in report.notes)
    config = next(Path(fake.calls[-1]["environ"]["XDG_CONFIG_HOME"]).rglob("index.yml"))
    assert "memory-root-main" not in json.loads(config.read_text())["collections"]


def test_hyphens_reach_each_search_in_its_own_way(ready: Make, fake: Any, tmp_path: Path) -> None:
    """QM-10: by words as it is, by meaning without the hyphens inside; nothing is an option or an exclusion."""
    made = ready()
    ask(made, "sqlite-vec health -n 2026-05-04")
    assert fake.called("search")[-1][-2:] == ["--", "sqlite-vec health n 2026-05-04"] or "lex:" in fake.called("query")[-1][-1]
    assert fake.called("search")[0][-2:] == ["--", "sqlite-vec health n 2026-05-04"]
    _models(tmp_path)
    made = ready(searchMode="vsearch")
    ask(made, "sqlite-vec health 2026-05-04")
    assert fake.called("vsearch")[0][-1] == "sqlite vec health 2026 05 04"


def _models(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".cache" / "qmd" / "models"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "embed.gguf").write_bytes(b"GGUF")


def test_no_embed_runs_where_no_vectors_are_asked_for(ready: Make, fake: Any, tmp_path: Path) -> None:
    """QM-14: by words nothing is embedded, whatever models there are; else it is, within a limit of config."""
    _models(tmp_path)
    ready()
    assert fake.called("embed") == []
    made = ready(searchMode="query", update={"embedTimeoutMs": 300})
    assert len(fake.called("embed")) == 1
    fake.tell(embed={"sleep": 30})
    report = run(made.sync(force=True), inline=True)
    assert any("qmd embed took longer than 0.3 s" in note.text for note in report.notes)
    run(made.sync(), inline=True)  # it rests after a failure
    assert len(fake.called("embed")) == 2


def test_without_models_meaning_is_not_waited_for(ready: Make, fake: Any) -> None:
    """Without models QMD would download them in the middle of a search: it is asked by words, and that is said."""
    fake.tell(rows=[row("memory-root-main/MEMORY.md")])
    found = ask(ready(searchMode="query"), "gateway")
    assert paths(found) == ["MEMORY.md"]
    assert codes(found) == ["no-models"]
    assert fake.called("embed") == fake.called("query") == []


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("memory-root-main/memory.md", "MEMORY.md"),
        ("memory-root-main/memory-md", "MEMORY.md"),
        ("memory-dir-main/a-note-md", "memory/A note.md"),
        ("memory-dir-main/A%20note.md", "memory/A note.md"),
        ("memory-dir-main/sub/%E7%BD%91%E7%BB%9C.md?index=index", "memory/sub/网络.md"),
    ],
)
def test_rows_are_mapped_back_to_the_notes(file: str, path: str, ready: Make, fake: Any, write: Callable) -> None:
    """QM-17: as the versions write paths: literal, encoded, slugged, in lower case."""
    write("memory/A note.md", "alpha")
    write("memory/sub/网络.md", "alpha")
    fake.tell(rows=[row(file)])
    assert paths(ask(ready(), "alpha")) == [path]


def test_of_files_that_a_slug_confuses_the_content_decides(ready: Make, fake: Any, write: Callable) -> None:
    """QM-12: three names that older versions made one are told apart by the hash of the document."""
    import hashlib

    for name in ("my_file", "my-file", "my file"):
        write(f"memory/{name}.md", f"text of {name}")
    made = ready()
    for name in ("my_file", "my-file", "my file"):
        docid = hashlib.sha256(f"text of {name}".encode()).hexdigest()[:6]
        fake.tell(rows=[row("memory-dir-main/my-file-md", docid=f"#{docid}")])
        found = ask(made, "text")
        assert paths(found) == [f"memory/{name}.md"]
        assert run(made.read(paths(found)[0]), inline=True).text == f"text of {name}"


def test_rows_that_name_no_note_are_told(ready: Make, fake: Any, write: Callable, workspace: Path) -> None:
    """QM-17, WS-14: nothing is dropped in silence: not a stranger, not a note that is gone, not a link."""
    write("memory/gone.md", "x")
    (workspace / "memory" / "link.md").symlink_to(workspace / "MEMORY.md")
    rows = [row(f"memory-dir-main/{name}") for name in ("gone.md", "link.md", "../MEMORY.md", "2026-02-10.md")]
    fake.tell(rows=[*rows, row("other/x.md")])
    made = ready()
    (workspace / "memory" / "gone.md").unlink()
    found = ask(made, "two")
    assert paths(found) == ["memory/2026-02-10.md"]
    assert next(note.text for note in found.notes if note.code == "unmapped").startswith("3 of QMD's hits are left out")


def test_lines_come_from_the_header_and_the_text_from_the_file(ready: Make, fake: Any) -> None:
    """The header is read and never shown, also where the daemon numbers it; order counts, not QMD's score."""
    fake.tell(
        rows=[
            row("memory-dir-main/2026-02-10.md", snippet="@@ -2,2 @@ (1 before, 0 after)\nstale words", score=0.1),
            row("memory-root-main/MEMORY.md", snippet="4: @@ -3,1 @@ (2 before)\n5: x", score=0.9),
        ]
    )
    found = ask(ready(), "two")
    assert [(hit.path, hit.start, hit.end, hit.text) for hit in found.lists["qmd"]] == [
        ("memory/2026-02-10.md", 2, 3, "two\nthree"),
        ("MEMORY.md", 3, 3, "the gateway runs here"),
    ]
    first, second = found.lists["qmd"]
    assert first.score > second.score > 0.5


@pytest.mark.parametrize(("version", "calls"), [("qmd 2.8.3 (x)", 1), ("qmd 2.8.2", 2), ("1.0.7", 2)])
def test_several_collections_as_the_version_can(version: str, calls: int, ready: Make, fake: Any) -> None:
    """Before 2.8.3 several -c gave false empties: each is asked by itself, and their lists are put together in turns."""
    fake.tell(version=version, rows=[row("memory-root-main/MEMORY.md"), row("memory-dir-main/2026-02-10.md")])
    found = ask(ready(), "gateway")
    assert sorted(paths(found)) == ["MEMORY.md", "memory/2026-02-10.md"]
    assert len(fake.called("search")) == calls


@pytest.mark.parametrize("version", ["qmd 2.8.3", "qmd 1.0.0"])
def test_fewer_words_are_asked_for_before_nothing_is_said(version: str, ready: Make, fake: Any) -> None:
    """QMD wants all words: where no note has them all, those that have some are found, and that is said."""
    hit = [row("memory-root-main/MEMORY.md")]
    fake.tell(version=version, rows={"lex: gateway\nlex: zebra\nlex: runs": hit, "gateway": hit})
    found = ask(ready(), "zebra gateway runs")
    assert paths(found) == ["MEMORY.md"]
    assert codes(found) == ["fewer-words"]


def test_an_empty_workspace_says_so(slot: Make, fake: Any) -> None:
    """No notes is not the same as no match."""
    made = slot(fake.command)
    run(made.sync(), inline=True)
    assert codes(ask(made, "gateway")) == ["no-files"]


def test_a_lost_collection_is_made_anew_once(ready: Make, fake: Any) -> None:
    """What QMD has lost is added again; where that does not help it is an error, not a loop."""
    made = ready()
    fake.tell(hides_collections=True)
    with pytest.raises(StoreError, match="Collection not found"):
        ask(made, "gateway")
    assert len(fake.called("search")) == 2
    assert len(fake.called("collection", "add")) == 4


def test_qmd_gets_its_own_home_and_none_of_our_keys(
    ready: Make, fake: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A neutral folder, --index, XDG folders of the agent, models by link, and a small environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LOOSELEAF_ANYTHING", "x")
    _models(tmp_path)
    ready()
    home = tmp_path / "state" / "agents" / "main" / "qmd"
    for call in fake.calls:
        environ = call["environ"]
        assert call["argv"][:2] == ["--index", "index"]
        assert call["folder"] == environ["PWD"] == str(home)
        assert environ["XDG_CACHE_HOME"] == str(home / "xdg-cache")
        assert environ["XDG_CONFIG_HOME"] == str(home / "xdg-config")
        assert not [name for name in environ if "KEY" in name or name.startswith("LOOSELEAF")]
    assert (home / "xdg-cache" / "qmd" / "models" / "embed.gguf").exists()
    assert home.stat().st_mode & 0o077 == 0


def test_in_a_group_curated_memory_and_sessions_are_not_asked(ready: Make, fake: Any) -> None:
    """Their collections are not named at all, and a row of them would not be shown."""
    fake.tell(rows=[row("memory-root-main/MEMORY.md"), row("memory-dir-main/2026-02-10.md")])
    found = ask(ready(sessions={"enabled": True}), "gateway", private=False)
    assert paths(found) == ["memory/2026-02-10.md"]
    assert "memory-root-main" not in fake.called("search")[0]
    assert "sessions-main" not in fake.called("search")[0]


def test_in_a_group_curated_memory_is_known_under_other_names(
    ready: Make, fake: Any, tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    """A collection outside the workspace that holds it as a hard link, or another agent's."""
    team = tmp_path / "team"
    team.mkdir()
    (team / "MEMORY.md").write_text("the gateway\n")
    os.link(write("MEMORY.md", "the gateway\n"), team / "copy.md")
    fake.tell(rows=[row("team-main/MEMORY.md"), row("team-main/copy.md")])
    made = ready(paths=[{"path": str(team), "name": "Team"}])
    assert paths(ask(made, "gateway", private=False)) == []
    assert set(paths(ask(made, "gateway"))) == {"qmd/team-main/MEMORY.md", "qmd/team-main/copy.md"}
    assert run(made.read("qmd/team-main/copy.md"), inline=True).identity in made._layout.curated_identities()


def test_files_outside_are_read_by_their_collection_and_nothing_else_is(ready: Make, fake: Any, tmp_path: Path) -> None:
    """`qmd/<collection>/<path>` opens with memory_get; `..`, links and other files do not."""
    team = tmp_path / "team notes"
    team.mkdir()
    (team / "plan.md").write_text("the plan\nof the team\n")
    (team / "secret.txt").write_text("secret")
    (tmp_path / "out.md").write_text("secret")
    (team / "link.md").symlink_to(tmp_path / "out.md")
    fake.tell(rows=[row("team-main/plan.md", snippet="@@ -2,1 @@\nx")])
    made = ready(paths=[{"path": str(team), "name": "Team"}])
    found = ask(made, "plan")
    assert paths(found) == ["qmd/team-main/plan.md"]
    page = run(made.read("qmd/team-main/plan.md", 2), inline=True)
    assert (page.path, page.text) == ("qmd/team-main/plan.md", "of the team")
    assert run(made.read("qmd/team-main/none.md"), inline=True).status == "not_found"
    for path in (
        "qmd/team-main/../out.md",
        "qmd/team-main/link.md",
        "qmd/team-main/secret.txt",
        "qmd/none/plan.md",
        "qmd/team-main/",
    ):
        with pytest.raises(ReadRefused):
            run(made.read(path), inline=True)


def test_a_config_s_limits_hold(ready: Make, fake: Any, write: Callable) -> None:
    """excludePaths leave out what QMD still has, and memory_get gives as many characters as config allows."""
    write("memory/private.md", "x" * 100)
    fake.tell(rows=[row("memory-dir-main/private.md")])
    made = ready(
        defaults={
            "memorySearch": {"provider": "none", "excludePaths": ["memory/private.md"]},
            "contextLimits": {"memoryGetMaxChars": 20},
        }
    )
    assert paths(ask(made, "x")) == []
    assert run(made.read("MEMORY.md"), inline=True).truncated


def test_closing_ends_what_runs(ready: Make, fake: Any) -> None:
    """A search under way when the slot is closed is ended, not waited for."""
    made = ready(limits={"timeoutMs": 60_000})
    fake.tell(search={"sleep": 60, "child": True})

    async def main() -> None:
        asking = asyncio.create_task(made.retrieve(Query("gateway", now=NOW)))
        while not (fake.command.parent / "child").exists():
            await asyncio.sleep(0.01)
        await made.aclose()
        with pytest.raises(StoreError):
            await asking

    asyncio.run(asyncio.wait_for(main(), 20))
