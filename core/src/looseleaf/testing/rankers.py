"""The laws of rankers: functions from lists of hits to one list of their union."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from random import Random
from typing import Any, TypeAlias

from hypothesis import strategies as st

from ..pipeline import total_order
from ..protocols import Ranker
from ..types import Hit, Query
from ._law import Law, chosen
from .strategies import SIGNAL, SOURCES, lists, queries, scores

Lists: TypeAlias = dict[str, list[Hit]]
#: Makes a ranker whose weights are these, by source.
Weighted: TypeAlias = Callable[[Mapping[str, float]], Ranker]


def _ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def _union(make: Any, given: Lists, query: Query) -> None:
    wanted = sorted({hit.id for hits in given.values() for hit in hits})
    assert sorted(_ids(make()(given, query))) == wanted


def _order(make: Any, given: Lists, query: Query) -> None:
    ranked = make()(given, query)
    assert all(isfinite(hit.score) for hit in ranked), [hit.score for hit in ranked]
    assert ranked == sorted(ranked, key=total_order)


def _blind(make: Any, given: Lists, query: Query, seed: int) -> None:
    random = Random(seed)
    shuffled = {source: random.sample(given[source], len(given[source])) for source in random.sample(list(given), len(given))}
    rank = make()
    assert _scored(rank(shuffled, query)) == _scored(rank(given, query))


def _scored(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in hits]


def _pure(make: Any, given: Lists, query: Query) -> None:
    before = {source: list(hits) for source, hits in given.items()}
    signals = {id(hit): dict(hit.signals) for hits in given.values() for hit in hits}
    rank = make()
    first = rank(given, query)
    assert given == before, "the lists were changed"
    assert {id(hit): dict(hit.signals) for hits in given.values() for hit in hits} == signals, "the signals of a hit were changed"
    assert rank(given, query) == first, "the same lists gave another answer"


def _faithful(make: Any, given: Lists, query: Query) -> None:
    known = {hit.id: hit[:5] for hits in given.values() for hit in hits}
    assert all(hit[:5] == known[hit.id] for hit in make()(given, query))


def _one_source(make: Any, given: Lists, query: Query, source: str) -> None:
    alone = given[source]
    assert _ids(make()({source: alone}, query)) == _ids(sorted(alone, key=total_order))


def _unit(make: Any, given: Lists, query: Query) -> None:
    assert all(0 <= hit.score <= 1 for hit in make()(given, query))


def _unanimous(make: Any, given: Lists, query: Query) -> None:
    by_source = [{hit.id: hit.score for hit in hits} for hits in given.values()]
    everywhere = set.intersection(*map(set, by_source))
    place = {key: number for number, key in enumerate(_ids(make()(given, query)))}
    for better in everywhere:
        for worse in everywhere:
            if all(scored[better] > scored[worse] for scored in by_source):
                assert place[better] < place[worse], f"{better} is above {worse} on every list"


def _comparable(make: Any, given: Lists, query: Query) -> None:
    on = {hit.id: [source for source, hits in given.items() if hit in hits] for hits in given.values() for hit in hits}
    bare = {source: [hit._replace(signals={}) for hit in hits if len(on[hit.id]) == 1] for source, hits in given.items()}
    scored = {hit.id: hit.score for hits in bare.values() for hit in hits}
    ranked = [scored[key] for key in _ids(make()(bare, query))]
    assert ranked == sorted(ranked, reverse=True), "of two hits on one list each, the lower score came first"


def _monotone(make: Any, given: Lists, query: Query, source: str, which: int, score: float) -> None:
    if not given[source]:
        return
    hit = given[source][which % len(given[source])]
    score = max(score, hit.score)
    signals = {**hit.signals, SIGNAL[source]: score} if hit.signals else hit.signals
    raised = {**given, source: [hit._replace(score=score, signals=signals) if one is hit else one for one in given[source]]}
    before, after = (_ids(make()(found, query)) for found in (given, raised))
    assert after.index(hit.id) <= before.index(hit.id), f"{hit.id} fell when its score on {source!r} rose"


def _rank_based(make: Any, given: Lists, query: Query, source: str, power: float) -> None:
    bent = [hit._replace(score=hit.score**power, signals={}) for hit in given[source]]
    plain = {name: [hit._replace(signals={}) for hit in hits] for name, hits in given.items()}
    assert _scored(make()(plain, query)) == _scored(make()({**plain, source: bent}, query))


def _exact_first(make: Any, given: Lists, query: Query, exact: set[int]) -> None:
    marked = {
        source: [hit._replace(signals={**hit.signals, "bm25": hit.score, "exact": float(int(hit.id) in exact)}) for hit in hits]
        for source, hits in given.items()
    }
    shares = [hit.signals["exact"] for hit in make()(marked, query)]
    assert shares == sorted(shares, reverse=True)


def _filled(given: Lists) -> Lists:
    """Return `given` as memory-core gives it: each hit on every list with both signals."""
    known: dict[str, Hit] = {}
    signals: dict[str, dict[str, float]] = {}
    for source, hits in given.items():
        for hit in hits:
            known[hit.id] = hit
            signals.setdefault(hit.id, dict.fromkeys(SIGNAL.values(), 0.0))[SIGNAL[source]] = hit.score
    return {
        source: [hit._replace(score=signals[key][SIGNAL[source]], signals=signals[key]) for key, hit in known.items()]
        for source in given
    }


def _weight_one(weighted: Weighted, make: Any, given: Lists, query: Query, source: str) -> None:
    filled = _filled(given)
    if not any(hit.score for hit in filled[source]):  # a source that says nothing has no order
        return
    rank = weighted({name: float(name == source) for name in SOURCES})
    scored = {hit.id: hit.score for hit in filled[source]}
    ranked = [scored[key] for key in _ids(rank(filled, query))]
    assert ranked == sorted(ranked, reverse=True), f"all weight is on {source!r}, and its order is not kept"


def _weight_monotone(weighted: Weighted, make: Any, given: Lists, query: Query, less: float, more: float) -> None:
    less, more = sorted((less, more))
    filled = _filled(given)
    if not all(any(hit.score for hit in hits) for hits in filled.values()):
        return
    words, meaning = ({hit.id: hit.score for hit in filled[source]} for source in SOURCES)
    before, after = (_ids(weighted({"keyword": text, "vector": 1 - text})(filled, query)) for text in (less, more))
    for place, better in enumerate(before):
        for worse in before[place + 1 :]:
            if words[better] > words[worse] and meaning[better] < meaning[worse]:
                assert after.index(better) < after.index(worse), f"{better} fell below {worse} as its better side gained weight"


_DRAWN: dict[str, st.SearchStrategy[Any]] = {"given": lists(), "query": queries()}
_LAWS = (
    Law(
        "ranker-union",
        "The result holds every hit of every list, each once, known by its id.",
        "an inner join, a hit that is dropped for its score, hits told apart by path and line instead of id",
        _union,
        _DRAWN,
    ),
    Law(
        "ranker-order",
        "Scores are finite and the result is sorted by falling score, ties by path, start line and id.",
        "a division by zero (all scores equal, an empty list), a sort by score alone, a sort before the last change of scores",
        _order,
        _DRAWN,
    ),
    Law(
        "ranker-blind",
        "The order of the lists, and of the hits within one, carries no meaning.",
        "places taken from the list as it comes instead of sorting it; sums of floats in another order (use math.fsum)",
        _blind,
        {**_DRAWN, "seed": st.integers(0, 99)},
    ),
    Law(
        "ranker-one-source",
        "A list that is alone keeps its order: by score, ties by path, start line and id.",
        "scores sorted the wrong way round, scores made equal by clamping or by min-max over too little",
        _one_source,
        {**_DRAWN, "source": st.sampled_from(SOURCES)},
    ),
    Law(
        "ranker-pure",
        "Neither lists nor hits are changed, and the same lists give the same answer.",
        "list.sort or list.pop on an argument, a signal written into hit.signals, state kept between calls, randomness",
        _pure,
        _DRAWN,
    ),
    Law(
        "ranker-faithful",
        "A hit keeps its path, lines and text.",
        "hits made anew from parts of others; use hit.scored(score)",
        _faithful,
        _DRAWN,
    ),
    Law("ranker-unit", "Scores are in [0, 1].", "sums that are not divided by their weights", _unit, _DRAWN, "unit"),
    Law(
        "ranker-unanimous",
        "A hit that is above another on every list is above it in the result.",
        "a weight that is negative or 0, min-max over each list alone",
        _unanimous,
        _DRAWN,
        "unanimous",
    ),
    Law(
        "ranker-monotone",
        "A hit whose score on one list rises does not fall in the result.",
        "a distance taken for a similarity, 1 - score, a score divided by the best of its list and then by something else",
        _monotone,
        {**_DRAWN, "source": st.sampled_from(SOURCES), "which": st.integers(0, 7), "score": scores()},
        "monotone",
    ),
    Law(
        "ranker-comparable",
        "Scores of all lists are on one scale: of two hits on one list each, the one with the higher score comes first.",
        "min-max over each list alone: the best of a poor list becomes as good as the best of a good one",
        _comparable,
        _DRAWN,
        "comparable",
    ),
    Law(
        "ranker-rank-based",
        "Only places count: scores of one list may be bent by any increasing function.",
        "scores used besides places, ties that share a place on one path and not on another",
        _rank_based,
        {**_DRAWN, "source": st.sampled_from(SOURCES), "power": st.sampled_from([0.5, 2.0, 3.0])},
        "rank-based",
    ),
    Law(
        "ranker-exact-first",
        "Hits with the signal `exact` come before all that lack it.",
        "a bonus that similarity can outweigh, a tie between the worst exact hit and the best of the others",
        _exact_first,
        {**_DRAWN, "exact": st.sets(st.integers(0, 7))},
        "exact-first",
    ),
)


def ranker_laws(*claims: str, weighted: Weighted | None = None, waive: Mapping[str, str] | None = None) -> tuple[Law, ...]:
    """Return the laws that a ranker must keep: those of the contract, and those that it claims.

    Args:
        claims: Any of `unit`, `unanimous`, `monotone`, `comparable`, `rank-based`, `exact-first`.
        weighted: Makes the ranker with weights by source (`keyword`, `vector`), for one that has them: two laws that find
            swapped weights.
        waive: Reasons by the name of a law that need not hold.
    """
    laws = list(_LAWS)
    if weighted is not None:
        claims = (*claims, "weighted")
        shares = st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9])
        laws += [
            Law(
                "ranker-weight-one",
                "With all weight on one source the result has that source's order.",
                "swapped weights",
                partial(_weight_one, weighted),
                {**_DRAWN, "source": st.sampled_from(SOURCES)},
                "weighted",
            ),
            Law(
                "ranker-weight-monotone",
                "More weight on words never lifts a hit that is worse in words and better in meaning.",
                "a weight that is squared, subtracted or applied to the wrong side",
                partial(_weight_monotone, weighted),
                {**_DRAWN, "less": shares, "more": shares},
                "weighted",
            ),
        ]
    return chosen(laws, claims, waive)
