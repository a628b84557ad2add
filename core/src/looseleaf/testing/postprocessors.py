"""The laws of post-processors: functions from ranked hits to ranked hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from math import isclose, isfinite
from random import Random
from typing import Any

from hypothesis import strategies as st

from ..pipeline import total_order
from ..protocols import Postprocessor
from ..types import Hit, Query
from ._law import Law, chosen
from .strategies import NOW, different_texts, hits, plain_texts, queries


def _ids(found: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in found]


def _subset(make: Any, given: list[Hit], query: Query) -> None:
    kept = _ids(make()(given, query))
    assert len(set(kept)) == len(kept), "a hit came out twice"
    assert set(kept) <= set(_ids(given)), "a hit came out that did not go in"


def _scores_fall(make: Any, given: list[Hit], query: Query) -> None:
    before = {hit.id: hit.score for hit in given}
    for hit in make()(given, query):
        assert isfinite(hit.score)
        assert hit.score <= before[hit.id], f"{hit.id} rose from {before[hit.id]} to {hit.score}"


def _blind(make: Any, given: list[Hit], query: Query, seed: int) -> None:
    random = Random(seed)
    stage = make()
    assert stage(random.sample(given, len(given)), query) == stage(given, query)


def _pure(make: Any, given: list[Hit], query: Query) -> None:
    before = list(given)
    stage = make()
    first = stage(given, query)
    assert given == before, "the list was changed"
    assert stage(given, query) == first, "the same hits gave another answer"


def _faithful(make: Any, given: list[Hit], query: Query) -> None:
    known = {hit.id: hit for hit in given}
    for hit in make()(given, query):
        assert hit.scored(0) == known[hit.id].scored(0), "more than the score was changed"


def _sorted(make: Any, given: list[Hit], query: Query) -> None:
    result = make()(given, query)
    assert result == sorted(result, key=total_order)


def _keeps_all(make: Any, given: list[Hit], query: Query) -> None:
    assert sorted(_ids(make()(given, query))) == sorted(_ids(given))


def _idempotent(make: Any, given: list[Hit], query: Query) -> None:
    stage = make()
    once = stage(given, query)
    assert stage(once, query) == once


def _neutral(neutral: Callable[[], Postprocessor], make: Any, given: list[Hit], query: Query) -> None:
    assert neutral()(given, query) == sorted(given, key=total_order)


def _greedy(make: Any, given: list[Hit], query: Query) -> None:
    stage = make()
    longer = _ids(stage(given, replace(query, limit=query.limit + 1)))
    assert _ids(stage(given, query))[: query.limit] == longer[: query.limit], "asking for one more changed those before it"
    if given:
        assert longer[0] == min(given, key=total_order).id, "the best hit is not the first"


def _diverse(make: Any, pair: tuple[str, str], query: Query) -> None:
    best, other = pair
    first = Hit("0", "a.md", 1, 1, best, 1.0)
    copy = Hit("1", "a.md", 2, 2, best, 0.5)
    new = Hit("2", "b.md", 1, 1, other, 0.5)
    order = _ids(make()([first, copy, new], replace(query, limit=3)))
    assert order.index("2") < order.index("1"), "a copy of the best hit came before one that says something else"


def _independent(make: Any, given: list[Hit], query: Query) -> None:
    given = [hit.scored(0.25 + hit.score / 2) for hit in given]
    outsider = Hit("outsider", "z.md", 9, 9, "xylophone", 0.0)
    wide = replace(query, limit=len(given) + 1)
    stage = make()
    others = [key for key in _ids(stage([*given, outsider], wide)) if key != outsider.id]
    assert others == _ids(stage(given, wide)), "the others changed places"


def _ages(half_life: float, make: Any, given: list[Hit], query: Query, age: int) -> None:
    stage = make()

    def after(days: float, hit: Hit) -> float:
        """Return the score of `hit` when it is `days` old."""
        day = None if hit.day is None else NOW.date() - timedelta(days=days)
        (aged,) = stage([hit._replace(day=day)], query)
        score: float = aged.score
        return score

    for hit in given:
        if hit.day is None:
            assert after(age, hit) == hit.score, "a note without a day has aged"
            continue
        assert after(-age, hit) == hit.score, "a day to come, or today, is not taken as today"
        both, first = after(2 * age, hit), after(age, hit)
        assert isclose(both, after(age, hit.scored(first)), abs_tol=1e-12), "two ages one after the other are not their sum"
        if half_life == int(half_life):
            assert isclose(after(int(half_life), hit), hit.score / 2, abs_tol=1e-12), "a half-life does not halve the score"


_DRAWN: dict[str, st.SearchStrategy[Any]] = {"given": hits(), "query": queries()}
_LAWS = (
    Law(
        "stage-subset",
        "Every hit that comes out went in, and comes out once.",
        "hits made anew with other ids, a hit appended again at the end",
        _subset,
        _DRAWN,
    ),
    Law(
        "stage-scores-fall",
        "Scores are finite and never rise.",
        "a negative age (a date in the future), a division by a best score of 0, a score put in the place of the old one",
        _scores_fall,
        _DRAWN,
    ),
    Law(
        "stage-blind",
        "The order of the hits that go in carries no meaning.",
        "ties left in the order they came in: sort by looseleaf.pipeline.total_order",
        _blind,
        {**_DRAWN, "seed": st.integers(0, 99)},
    ),
    Law(
        "stage-pure",
        "The hits are not changed, and the same hits give the same answer.",
        "list.sort, list.pop or del on the argument, state kept between calls, datetime.now() instead of query.now",
        _pure,
        _DRAWN,
    ),
    Law(
        "stage-faithful",
        "Only the score of a hit may change.",
        "text cut, signals written; use hit.scored(score)",
        _faithful,
        _DRAWN,
    ),
    Law(
        "stage-sorts",
        "The result is sorted by falling score, ties by path, start line and id.",
        "scores changed after the sort, a sort by score alone",
        _sorted,
        _DRAWN,
        "sorts",
    ),
    Law("stage-keeps-all", "No hit is dropped.", "a cut at query.limit, a filter by score", _keeps_all, _DRAWN, "keeps-all"),
    Law("stage-idempotent", "A second time changes nothing.", "a factor that is applied again", _idempotent, _DRAWN, "idempotent"),
    Law(
        "stage-greedy",
        "The best hit stays first, and asking for one hit more does not change those before it.",
        "relevance that depends on the number of hits, a choice that looks ahead",
        _greedy,
        _DRAWN,
        "greedy",
    ),
    Law(
        "stage-diverse",
        "Of two hits with equal scores, a copy of the best hit's text comes after one that shares nothing with it, in any script.",
        "words found by an ASCII pattern, texts without words taken as equal, a cut text",
        _diverse,
        {"pair": different_texts(), "query": queries()},
        "diverse",
    ),
    Law(
        "stage-independent",
        "A hit that is worse than all others and shares no word with them does not change their order.",
        "min-max over the hits, or anything else that the worst of them decides",
        _independent,
        {"given": hits(text=plain_texts(), most=5), "query": queries()},
        "independent",
    ),
)


def postprocessor_laws(
    *claims: str,
    neutral: Callable[[], Postprocessor] | None = None,
    half_life: float | None = None,
    waive: Mapping[str, str] | None = None,
) -> tuple[Law, ...]:
    """Return the laws that a post-processor must keep: those of the contract, and those that it claims.

    Args:
        claims: Any of `sorts`, `keeps-all`, `idempotent`, `greedy`, `diverse`, `independent`.
        neutral: Makes it at the setting at which it changes nothing but the order of ties.
        half_life: Days after which it halves the score of a dated note, for one that lets notes age.
        waive: Reasons by the name of a law that need not hold.
    """
    laws = list(_LAWS)
    if neutral is not None:
        claims = (*claims, "neutral")
        laws.append(
            Law(
                "stage-neutral",
                "At its neutral setting it gives back what it was given, in the total order.",
                "a factor that is not exactly 1, an order of its own among ties",
                partial(_neutral, neutral),
                _DRAWN,
                "neutral",
            )
        )
    if half_life is not None:
        claims = (*claims, "ages")
        laws.append(
            Law(
                "stage-ages",
                "Notes without a day do not age, a day to come is today, ages add up, and a half-life halves.",
                "exp(-age / half life) without ln 2, hours instead of whole days, UTC instead of the user's zone, abs(age)",
                partial(_ages, half_life),
                {**_DRAWN, "age": st.integers(0, 400)},
                "ages",
            )
        )
    return chosen(laws, claims, waive)
