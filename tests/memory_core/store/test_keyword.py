"""Keyword scores: the right sign, comparable, and honest about how much was matched."""

from __future__ import annotations

from math import log

import apsw
import pytest

from looseleaf_memory_core.store.keyword import Keywords
from looseleaf_memory_core.store.query import parse_query
from looseleaf_memory_core.text import segment


def keywords(*texts: str, headings: dict[int, str] | None = None) -> Keywords:
    db = apsw.Connection(":memory:")
    Keywords.create(db, "words")
    rows = ((place, segment(text), segment((headings or {}).get(place, ""))) for place, text in enumerate(texts, 1))
    db.executemany("INSERT INTO words(rowid, body, heading) VALUES(?, ?, ?)", rows)
    made = Keywords(db, "words")
    made.refresh(len(texts))
    return made


def test_a_better_hit_has_a_higher_score() -> None:
    """FQ-01: bm25's sign is turned, and different hits have different scores."""
    hits = keywords("alpha", "alpha beta", "alpha beta gamma", *["other"] * 20).plan(parse_query("alpha beta gamma")).search(9)
    assert [hit.chunk for hit in hits] == [3, 2, 1]
    assert hits[0].bm25 > hits[1].bm25 > hits[2].bm25 > 0


def test_a_hit_in_a_workspace_of_one_note_is_whole() -> None:
    """FQ-02: the only note that holds the only word has all the evidence there is."""
    (hit,) = keywords("alpha only doc").plan(parse_query("alpha")).search(9)
    assert hit.matched == 1.0


def test_matched_is_the_share_of_the_query_s_weight() -> None:
    """Rare words weigh more; a word that is nowhere weighs as much as one that is in one chunk."""
    plan = keywords("walnut cake", *["plain"] * 30).plan(parse_query("walnut zzzzqq"))
    (hit,) = plan.search(9)
    assert hit.matched == pytest.approx(0.5)
    assert hit.coverage < 0.5


def test_coverage_is_what_bm25_explains() -> None:
    """`coverage` = bm25 / (2.2 x sum of idf), idf as FTS5 computes it."""
    found = keywords("alpha beta", *["other thing"] * 9).plan(parse_query("alpha"))
    (hit,) = found.search(9)
    idf = log((10 - 1 + 0.5) / (1 + 0.5))
    assert hit.coverage == pytest.approx(hit.bm25 / (2.2 * idf))


def test_two_notes_are_an_index_too() -> None:
    """FQ-02: where FTS5's idf is nothing, because half of the chunks hold the word, a hit still explains its part of the query."""
    plan = keywords("the router password is in the notebook", "called the dentist").plan(parse_query("reset router password"))
    (hit,) = plan.search(9)
    assert hit.bm25 < 1e-5
    assert hit.coverage > 0.1
    assert hit.matched == pytest.approx(2 / 3)


def test_exact_is_told_and_comes_first() -> None:
    """The chunk that holds the phrase stands before one with more of its words."""
    texts = ["night vault", "vault of the night, night and vault, vault night", *["other"] * 9]
    hits = keywords(*texts).plan(parse_query('"night vault"')).search(9)
    assert [(hit.chunk, hit.exact) for hit in hits] == [(1, 1.0), (2, 0.0)]


def test_an_exact_hit_is_found_however_many_words_are_common() -> None:
    """The phrase is found although its words are in every chunk."""
    texts = [*["run the nightly job and the vault job"] * 400, "the nightly vault job"]
    hits = keywords(*texts).plan(parse_query("nightly vault job")).search(5)
    assert hits[0].chunk == 401


def test_common_words_are_left_out_where_others_are_at_hand() -> None:
    """With vectors beside it, an exact phrase of common words is enough; without, the list is filled."""
    plan = keywords(*["nightly job and vault"] * 700, "the nightly vault job").plan(parse_query("nightly vault job"))
    assert [hit.chunk for hit in plan.search(5, fill=False)] == [701]
    assert len(plan.search(5)) > 1


def test_score_gives_the_same_as_search() -> None:
    """The filled-in half of a candidate is what its own list would say."""
    plan = keywords("alpha beta", "alpha", "beta", *["other"] * 9).plan(parse_query("alpha beta"))
    found = {hit.chunk: hit for hit in plan.search(9)}
    assert plan.score([1, 2, 3, 4]).keys() == {1, 2, 3}
    for chunk, hit in plan.score([1, 2, 3]).items():
        assert hit.bm25 == pytest.approx(found[chunk].bm25)
        assert hit.matched == found[chunk].matched


def test_a_heading_helps_but_less_than_the_text() -> None:
    """CH-08: `deploy test` finds the step under the heading Deploy."""
    filler = "some other words of about the same length"
    texts = [f"run the smoke test {filler}", f"deploy {filler}", f"test {filler}", *[filler] * 9]
    hits = keywords(*texts, headings={1: "Ops > Deploy"}).plan(parse_query("deploy test")).search(9)
    assert hits[0].chunk == 1


def test_stems_meet() -> None:
    """English endings do not part a word from itself, and the count behind its weight is that of its stem."""
    made = keywords("running runs", "run", *["other"] * 9)
    assert {hit.chunk for hit in made.plan(parse_query("runs")).search(9)} == {1, 2}


def test_counts_follow_the_table() -> None:
    """After `refresh` a new chunk counts."""
    made = keywords("alpha", *["other"] * 9)
    made._db.execute("INSERT INTO words(rowid, body, heading) VALUES(99, 'alpha', '')")
    made.refresh(11)
    assert {hit.chunk for hit in made.plan(parse_query("alpha")).search(9)} == {1, 99}
