"""What laws are tried on: hits, lists, queries, texts. Hard cases are common here: ties, near-duplicates, odd characters.

Few scores, few paths and few words, so that by the fourth example two hits share a score, a line or a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from itertools import product
from random import Random

from hypothesis import strategies as st

from ..pipeline import total_order
from ..types import Hit, Query

SOURCES = ("keyword", "vector")
#: The signal that a source's score is.
SIGNAL = {"keyword": "bm25", "vector": "cosine"}
#: Half past midnight east of Greenwich, where the day in UTC is still yesterday.
NOW = datetime(2026, 2, 28, 0, 30, tzinfo=timezone(timedelta(hours=1)))

_WORDS = [
    "router",
    "VLAN 10",
    "Netz",
    "naïve",
    "网络",
    "路由器",
    "路由",
    "नेटवर्क",
    "ネットワーク",
    "네트워크",
    "شبكة",
    "เครือข่าย",
    "🌍",
    "_",
    "",
]
_ODD = ["\r\n", "\n", "e\u0301", "\u202eabc", "\x00", "\ud800", "👩‍👧", "\ufeff", "\u2028", "İ", "ß", '"', "*", "NEAR("]
_SCORES = (0.0, 0.25, 0.5, 0.5, 0.75, 1.0)
_PATHS = ("MEMORY.md", "memory/2026-02-10.md", "memory/a b.md", "memory/网络.md", "memory/sub.dir/x.md")
_PLACES = [Hit("", path, start, 4, "") for path in _PATHS for start in (1, 2, 3)]
_QUESTIONS = ("router", "which machine runs it?", "网络", "नेटवर्क", "* OR", "")


def scores() -> st.SearchStrategy[float]:
    """Return scores in [0, 1], many of them equal."""
    return st.sampled_from(_SCORES)


def texts() -> st.SearchStrategy[str]:
    """Return texts in many scripts, most of them short and made of the same few words."""
    few = st.lists(st.sampled_from(_WORDS), max_size=4).map(" ".join)
    return st.one_of(few, few, st.lists(st.sampled_from(_WORDS + _ODD), max_size=6).map("".join), st.text(max_size=12))


def different_texts() -> st.SearchStrategy[tuple[str, str]]:
    """Return two texts in any script that have no word and no character in common."""
    pair = st.tuples(plain_texts(), plain_texts())
    return pair.filter(lambda texts: not set(texts[0]) & set(texts[1]))


def plain_texts() -> st.SearchStrategy[str]:
    """Return texts of a few words, or of signs alone, that are not empty."""
    return st.lists(st.sampled_from([*_WORDS[:-1], "*", "…"]), min_size=1, max_size=2, unique=True).map("".join)


def dates() -> st.SearchStrategy[date]:
    """Return days around `NOW`: today, leap days, the future, long ago."""
    near = st.integers(-400, 400).map(lambda days: NOW.date() + timedelta(days=days))
    return st.one_of(near, near, st.sampled_from([NOW.date(), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]))


def paths() -> st.SearchStrategy[str]:
    """Return paths of notes: few, with spaces, dots and other scripts."""
    return st.sampled_from(_PATHS)


def queries() -> st.SearchStrategy[Query]:
    """Return questions asked at `NOW`, for one hit to six."""
    return st.sampled_from([Query(text, limit=limit, now=NOW) for text in _QUESTIONS for limit in range(1, 7)])


def hits(*, text: st.SearchStrategy[str] | None = None, most: int = 8) -> st.SearchStrategy[list[Hit]]:
    """Return ranked hits as a post-processor is given them: each id once, scores in [0, 1], with text and day, best first."""

    def ranked(drawn: list[tuple[Hit, str, float, date | None]]) -> list[Hit]:
        found = [
            place._replace(id=str(number), text=text, score=score, day=day)
            for number, (place, text, score, day) in enumerate(drawn)
        ]
        return sorted(found, key=total_order)

    return st.lists(
        st.tuples(st.sampled_from(_PLACES), texts() if text is None else text, scores(), st.none() | dates()), max_size=most
    ).map(ranked)


def lists(*, sources: Sequence[str] = SOURCES, most: int = 8) -> st.SearchStrategy[dict[str, list[Hit]]]:
    """Return lists of hits by source as a ranker is given them.

    A hit may be on one list or on several, with that list's score; with `bm25` and `cosine` as signals, or with none.
    """

    def by_source(drawn: list[tuple[Hit, str, tuple[float | None, ...]]], bare: bool, seed: int) -> dict[str, list[Hit]]:
        made: dict[str, list[Hit]] = {source: [] for source in sources}
        for number, (place, text, given) in enumerate(drawn):
            for source, score in zip(sources, given, strict=True):
                if score is not None:
                    signals = {} if bare or source not in SIGNAL else {SIGNAL[source]: score}
                    made[source].append(place._replace(id=str(number), text=text, score=score, signals=signals))
        random = Random(seed)  # Hypothesis' own is many times slower
        return {source: random.sample(listed, len(listed)) for source, listed in made.items()}

    combinations = [given for given in product((None, *_SCORES), repeat=len(sources)) if any(score is not None for score in given)]
    chunk = st.tuples(
        st.sampled_from(_PLACES), st.sampled_from(["", "router", "router VLAN 10", "网络"]), st.sampled_from(combinations)
    )
    return st.builds(by_source, st.lists(chunk, max_size=most), st.booleans(), st.integers(0, 99))
