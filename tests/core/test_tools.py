"""The tools that an agent gets."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from looseleaf._run import run
from looseleaf.tools import SCHEMAS, memory_get, memory_search, prompt_section

GROUP = "agent:main:telegram:group:5"


@pytest.fixture
def notes(write: Callable) -> None:
    write("memory/a.md", "# Machines\n\nThe gateway runs on the Mac Studio.\n")
    write("memory/b.md", "The gateway is in the study.\n")


def ask(notebook, query: str, **options) -> dict:
    run(notebook.sync(), inline=True)
    answer = run(memory_search(notebook, query, **options), inline=True)
    json.dumps(answer)
    return answer


def test_a_search_gives_path_lines_and_source(opened: Callable, notes: None) -> None:
    """Each row cites the lines of its snippet."""
    answer = ask(opened(), "gateway Mac")
    row = answer["results"][0]
    assert (row["path"], row["startLine"], row["endLine"]) == ("memory/a.md", 1, 3)
    assert row["snippet"].endswith("\n\nSource: memory/a.md#L1-L3")
    assert set(row) == {"path", "startLine", "endLine", "score", "snippet", "source", "trust", "heading", "citation"}
    assert answer["mode"] == "keyword"


@pytest.mark.parametrize(
    ("citations", "key", "cited"), [("auto", None, True), ("auto", GROUP, False), ("on", GROUP, True), ("off", None, False)]
)
def test_citations_follow_the_chat(opened: Callable, notes: None, citations: str, key: str | None, cited: bool) -> None:
    """`auto` cites in direct chats; off tells the model to keep paths to itself."""
    notebook = opened(memory={"citations": citations})
    row = ask(notebook, "gateway", session_key=key)["results"][0]
    assert ("Source: " in row["snippet"]) is cited
    assert row["path"]
    assert ("Do not mention file paths" in prompt_section(notebook, session_key=key)) is not cited


def test_the_budget_holds(opened: Callable, notes: None) -> None:
    """maxInjectedChars holds for every backend, and what is left out is told."""
    notebook = opened(memory={"qmd": {"limits": {"maxInjectedChars": 80}}})
    answer = ask(notebook, "gateway")
    assert sum(len(row["snippet"]) for row in answer["results"]) <= 80
    assert answer["notes"][-1]["code"] == "budget"


def test_a_snippet_keeps_to_its_length(opened: Callable, write: Callable) -> None:
    """maxSnippetChars holds for every slot."""
    write("memory/a.md", "gateway " * 200)
    notebook = opened(memory={"qmd": {"limits": {"maxSnippetChars": 50}}, "citations": "off"})
    assert 0 < len(ask(notebook, "gateway")["results"][0]["snippet"]) <= 50


def test_get_gives_a_page_or_a_reason(opened: Callable, notes: None) -> None:
    """A page, a missing file and a refusal each have their shape; nothing raises."""
    notebook = opened()
    page = run(memory_get(notebook, "memory/a.md", 1, 1), inline=True)
    assert page["text"] == "# Machines\n\n[more from line 2]"
    assert (page["truncated"], page["nextFrom"]) == (True, 2)
    missing = run(memory_get(notebook, "memory/none.md"), inline=True)
    assert (missing["text"], missing["path"], missing["status"]) == ("", "memory/none.md", "not_found")
    refused = run(memory_get(notebook, "../secret.md"), inline=True)
    assert refused["disabled"]
    assert "outside the workspace" in refused["error"]


def test_no_memory_means_no_prompt_section(opened: Callable) -> None:
    """With the slot `none` an agent hears nothing of memory."""
    assert prompt_section(opened(plugins={"slots": {"memory": "none"}})) == ""
    assert prompt_section(opened()).startswith("## Memory Recall")


def test_the_schemas_name_the_parameters() -> None:
    """Parameters are the seeds' own, and nothing else is taken."""
    assert set(SCHEMAS["memory_search"]["parameters"]["properties"]) == {
        "query", "maxResults", "minScore", "sources", "after", "before", "path",
    }  # fmt: skip
    assert set(SCHEMAS["memory_get"]["parameters"]["properties"]) == {"path", "from", "lines"}
    assert all(schema["parameters"]["additionalProperties"] is False for schema in SCHEMAS.values())
