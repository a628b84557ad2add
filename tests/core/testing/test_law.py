"""The kit itself: what a broken law says, waivers, claims, and the strategies behind `st.from_type`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from looseleaf import Hit, Query
from looseleaf.testing import _law, postprocessor_laws, ranker_laws
from looseleaf.testing.strategies import SOURCES, hits, lists


def law(name: str, *claims: str, **options):
    return next(law for law in postprocessor_laws(*claims, **options) if law.name == name)


def drops(hits, query):
    return sorted(hits, key=lambda hit: (-hit.score, hit.path, hit.start, hit.id))[:1]


def test_a_broken_law_says_what_it_means_and_where_to_look() -> None:
    """The failure carries the sentence, the hint and a small counterexample."""
    with pytest.raises(AssertionError) as failure:
        law("stage-keeps-all", "keeps-all")(lambda: drops)
    notes = "".join(failure.value.__notes__)
    assert "The law 'stage-keeps-all' does not hold.\nIt says: No hit is dropped.\nLook at: a cut at query.limit" in notes
    assert "given=[Hit(" in notes


def test_a_waived_law_is_an_expected_failure_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is run, and pytest is told why it may fail."""
    monkeypatch.setattr(_law, "WAIVED", {})  # what this test waives is nothing that the run should print
    waived = law("stage-keeps-all", "keeps-all", waive={"stage-keeps-all": "it is a filter"})
    with pytest.raises(pytest.xfail.Exception, match="stage-keeps-all is waived: it is a filter"):
        waived(lambda: drops)


def test_a_waiver_that_is_not_needed_fails() -> None:
    """What holds must not stay waived."""
    waived = law("stage-keeps-all", "keeps-all", waive={"stage-keeps-all": "it was a filter once"})
    with pytest.raises(AssertionError, match="no longer needed"):
        waived(lambda: lambda hits, query: list(hits))


@pytest.mark.parametrize(
    ("claims", "waive", "says"),
    [
        (["fast"], {}, "nothing is called 'fast'; what can be claimed: comparable, exact-first"),
        ([], {"ranker-fast": "why"}, "no law that applies is called 'ranker-fast'"),
        ([], {"ranker-unit": "why"}, "no law that applies is called 'ranker-unit'"),
        ([], {"ranker-union": " "}, "the waiver of 'ranker-union' needs a reason"),
    ],
)
def test_claims_and_waivers_are_checked(claims: list[str], waive: dict[str, str], says: str) -> None:
    """A typing error must not turn a law off."""
    with pytest.raises(ValueError, match=says):
        ranker_laws(*claims, waive=waive)


def test_laws_have_names_for_pytest() -> None:
    """`-k ranker-union` finds it."""
    assert [law.__name__ for law in ranker_laws()][0:2] == ["ranker-union", "ranker-order"]


@given(st.from_type(Hit), st.from_type(Query))
def test_hypothesis_knows_our_types(hit: Hit, query: Query) -> None:
    """`st.from_type(Hit)` gives a usable hit, by Hypothesis' own entry point."""
    assert 0 <= hit.score <= 1
    assert hit.path.endswith(".md")
    assert query.limit >= 1


def test_hard_cases_are_common() -> None:
    """Ties, equal texts and hits on both lists come up at once."""
    assert find(hits(), lambda given: len({hit.score for hit in given}) < len(given))
    assert find(hits(), lambda given: any(hit.day for hit in given) and any(hit.day is None for hit in given))
    both = find(lists(), lambda given: {hit.id for hit in given["keyword"]} & {hit.id for hit in given["vector"]})
    assert set(both) == set(SOURCES)


def test_a_run_names_its_waivers(tmp_path: Path) -> None:
    """The pytest plugin prints each waiver that was used, with its reason."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\nfrom looseleaf.testing import postprocessor_laws\n"
        '@pytest.mark.parametrize("law", postprocessor_laws("keeps-all", waive={"stage-keeps-all": "it is a filter"}))\n'
        "def test_stage(law): law(lambda: lambda hits, query: list(hits)[:0])\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", cwd=tmp_path)
    assert "stage-keeps-all: it is a filter" in done.stdout


def test_the_fakes_need_neither_hypothesis_nor_pytest() -> None:
    """`looseleaf.testing` imports what is asked for."""
    code = "import sys; from looseleaf.testing import HashEmbedder, EmbeddingServer; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8")
    assert not {"hypothesis", "pytest", "numpy"} & set(done.stdout.split())
