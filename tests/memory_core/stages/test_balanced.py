"""Fusing: the union, in one order, with scores that mean something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Hit, Query
from looseleaf_memory_core.stages.balanced import Balanced
from looseleaf_memory_core.stages.weighted import Weighted

VALUES = st.sampled_from([0.0, 0.25, 0.5, 0.5, 0.75, 1.0])
QUERY = Query("q")


@st.composite
def lists(draw: st.DrawFn) -> dict[str, list[Hit]]:
    count = draw(st.integers(0, 8))
    hits = []
    for number in range(count):
        signals = {
            "bm25": draw(VALUES) * 9,
            "coverage": draw(VALUES),
            "matched": draw(VALUES),
            "exact": draw(st.sampled_from([0.0, 0.0, 1.0])),
        }
        if draw(st.booleans()):
            signals |= {"cosine": draw(VALUES) * 2 - 1, "similarity": draw(VALUES)}
        hits.append(Hit(str(number), draw(st.sampled_from(["a.md", "b.md"])), draw(st.integers(1, 2)), 2, "", signals=signals))
    words = draw(st.lists(st.sampled_from(hits), unique_by=lambda hit: hit.id)) if hits else []
    rest = [hit for hit in hits if hit not in words]
    return {"keyword": words, "vector": rest + draw(st.permutations(words))[: len(words) // 2]}


@pytest.mark.parametrize("ranker", [Balanced.of(), Weighted.of(), Balanced(0.9, 0.1)], ids=str)
@given(lists(), st.randoms())
def test_every_ranker_keeps_the_contract(ranker, given_lists: dict[str, list[Hit]], random) -> None:
    """The union once, finite scores in [0, 1], sorted; the order of lists and hits carries no meaning; inputs are left alone."""
    before = {name: list(hits) for name, hits in given_lists.items()}
    ranked = ranker(given_lists, QUERY)
    assert given_lists == before
    assert sorted(hit.id for hit in ranked) == sorted({hit.id for hits in given_lists.values() for hit in hits})
    scores = [hit.score for hit in ranked]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    shuffled = {name: random.sample(hits, len(hits)) for name, hits in reversed(given_lists.items())}
    assert ranker(shuffled, QUERY) == ranked


@given(lists())
def test_an_exact_hit_outranks_similarity(given_lists: dict[str, list[Hit]]) -> None:
    """Whatever its cosine, a phrase or identifier that is there comes before all that lack it."""
    ranked = Balanced.of()(given_lists, QUERY)
    exact = [hit.signals["exact"] for hit in ranked]
    assert exact == sorted(exact, reverse=True) or len({hit.score for hit in ranked}) < len(ranked)


@given(lists())
def test_all_weight_on_one_side_is_that_side_s_order(given_lists: dict[str, list[Hit]]) -> None:
    """Swapped weights would show here."""
    union = {hit.id: hit for hits in given_lists.values() for hit in hits}
    if any("cosine" not in hit.signals or hit.signals["exact"] for hit in union.values()) or len(union) < 2:
        return
    for weights, signal in (((1.0, 0.0), "cosine"), ((0.0, 1.0), "bm25")):
        ranked = Balanced(*weights)(given_lists, QUERY)
        values = [hit.signals[signal] for hit in ranked]
        gate = max(hit.signals["coverage"] for hit in union.values())
        if signal == "cosine" or gate:
            assert values == sorted(values, reverse=True) or not any(hit.signals["cosine"] for hit in union.values())


@pytest.mark.parametrize(
    ("vector", "text", "expected"),
    [
        (2 / 3, 1 / 3, (2 / 3, 1 / 3)),
        (1, 1, (0.5, 0.5)),
        (0, 0, (1 / 3, 2 / 3)),
        (0.7, None, (0.7, 0.3)),
        (None, 0.2, (0.8, 0.2)),
        (None, None, (1 / 3, 2 / 3)),
    ],
)
def test_weights_are_divided_by_their_sum(vector, text, expected) -> None:
    """behaviour.md §14: 2/2 is 0.5/0.5 after clamping, 0/0 the ranker's own."""
    ranker = Balanced.of(vector, text)
    assert (ranker.vector, ranker.text) == pytest.approx(expected)


def hit(number: int, **signals: float) -> Hit:
    return Hit(
        str(number), f"{number}.md", 1, 1, "", signals={"bm25": 0.0, "coverage": 0.0, "matched": 0.0, "exact": 0.0, **signals}
    )


def test_the_coverage_gate_spares_questions_in_another_language() -> None:
    """A chance keyword hit that explains 2 % of the query does not push out the nearest in meaning."""
    hits = [hit(1, bm25=0.4, coverage=0.02, cosine=0.1), hit(2, cosine=0.6), hit(3, cosine=0.5)]
    assert [found.id for found in Balanced.of()({"all": hits}, QUERY)] == ["2", "3", "1"]


def test_a_chunk_without_a_vector_is_taken_at_its_words() -> None:
    """While vectors are still being made, the best keyword hit stays first."""
    hits = [hit(1, bm25=9.0, coverage=0.9, matched=1.0), hit(2, bm25=1.0, coverage=0.1, cosine=0.2), hit(3, cosine=0.1)]
    assert Balanced.of()({"all": hits}, QUERY)[0].id == "1"


def test_weighted_is_the_seeds_sum() -> None:
    """0.7 x calibrated cosine + 0.3 x bm25 as a share of the best."""
    hits = [hit(1, bm25=4.0, cosine=0.5, similarity=0.5), hit(2, bm25=2.0, cosine=0.5, similarity=0.5)]
    scores = [found.score for found in Weighted.of()({"all": hits}, QUERY)]
    assert scores == pytest.approx([0.7 * 0.5 + 0.3, 0.7 * 0.5 + 0.3 * 0.5])


def test_hits_of_other_slots_are_taken_at_their_scores() -> None:
    """A slot that gives no signals is ranked by what it gives."""
    plain = [Hit("1", "a", 1, 1, "", 0.2), Hit("2", "a", 2, 2, "", 0.9), Hit("3", "a", 3, 3, "", 7.0)]
    for ranker in (Balanced.of(), Weighted.of()):
        assert [(found.id, found.score) for found in ranker({"theirs": plain}, QUERY)] == [("3", 1.0), ("2", 0.9), ("1", 0.2)]
