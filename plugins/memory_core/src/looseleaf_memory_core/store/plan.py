"""One query, asked of the words: phrase first, then all words, then any word.

bm25 is FTS5's own with its sign turned, so that more is better; k1 = 1.2 and b = 0.75 are its constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import apsw

from .query import Term, match

# bm25 of a heading word against one of the text itself; measured, see docs/quality.md.
HEADING_WEIGHT = 0.7
_MOST_GROUPS = 60  # FTS5 functions see the phrases as bits of one integer
_MOST_EXACT = 200
# Any-word queries read at most this many postings, rarest words first, so that long questions stay quick in large indexes.
_POSTINGS = 300
_FEW = 100
_NO_LIMIT = -1
_BEST_PER_IDF = 2.2  # k1 + 1: the most that bm25 can give a term, in units of its idf


class KeywordMatch(NamedTuple):
    """One chunk found by its words.

    Attributes:
        bm25: At least 0, higher is better; comparable within one query only.
        coverage: `bm25` as a share of the best that the words it holds could give, times their share of the query's weight with
            words that are nowhere at their full idf: how much of the query it explains, in [0, 1].
        matched: Share of the query's idf weight whose words the chunk holds, in [0, 1].
        exact: Share of the query's phrases and identifiers that it holds, in [0, 1].
    """

    chunk: int
    bm25: float
    coverage: float
    matched: float
    exact: float


class WordGroup(NamedTuple):
    """One word of the query as FTS5 is asked for it: FTS5's own idf, and its weight in `coverage` and in `matched`."""

    expression: str
    documents: int
    idf: float
    weight: float
    matchable: float


class KeywordPlan:
    """One query, ready to be asked."""

    def __init__(
        self, db: apsw.Connection, table: str, groups: Sequence[WordGroup], exact: Sequence[Term], within: str = ""
    ) -> None:
        self._db = db
        self._exact = exact
        self._weight = sum(group.weight for group in groups)
        self._matchable = sum(group.matchable for group in groups)  # of a word that is held, the same as its weight
        self._known = sorted((group for group in groups if group.documents), key=lambda group: group.documents)[:_MOST_GROUPS]
        self._rare = self._rarest(_POSTINGS)
        self._every: dict[int, KeywordMatch] = {}  # all that hold one of these words
        self._every_of: Sequence[WordGroup] = ()
        score = f"-bm25({table}, 1.0, {HEADING_WEIGHT})"
        where = f"{table} MATCH ?{within}"
        select = f"SELECT rowid, {score}, matched({table}) FROM {table} WHERE {where}"
        self._best = f"{select} ORDER BY 2 DESC LIMIT ?"
        self._best_of_all = f"SELECT rowid, {score}, -1 FROM {table} WHERE {where} ORDER BY 2 DESC LIMIT ?"
        # FTS5 prepares two statements for `rank`, but asks `matched` only of those that it keeps.
        self._best_of_many = f"SELECT rowid, -rank, matched({table}) FROM {table} WHERE {where} ORDER BY rank LIMIT ?"
        # The plus keeps rowid out of the plan: one pass over the rare words' postings instead of a seek for each chunk.
        self._these = f"{select} AND +rowid IN (SELECT value FROM json_each(?))"
        self._holding = f"SELECT rowid FROM {table} WHERE {where} LIMIT {_MOST_EXACT}"

    def search(self, limit: int, *, fill: bool = True) -> list[KeywordMatch]:
        """Return the `limit` best chunks and those that hold an exact phrase, best first; ties by chunk.

        Without `fill`, chunks that hold only some of the words are left out where an exact phrase was found and its words are
        common: other candidates are at hand, and these would be the slowest to find.
        """
        if not self._known:
            return []
        exact = self._holders()
        found: dict[int, KeywordMatch] = {}
        rare = self._rare
        if len(rare) < len(self._known):
            if not exact:
                found.update(self._ask("AND", self._known, limit, exact))
            if exact or found:  # what was asked for is found: any-word hits only fill the list
                rare = self._rarest(_POSTINGS // 4)
        if exact and not fill and rare[0].documents > _POSTINGS:
            rare = []
        for chunk, hit in self._ask("OR", rare, limit, exact) if rare else ():
            if chunk not in found or found[chunk].bm25 < hit.bm25:
                found[chunk] = hit
        found.update(self._fill([chunk for chunk in exact if chunk not in found], exact))
        return sorted(found.values(), key=lambda hit: (-hit.exact, -hit.bm25, hit.chunk))

    def score(self, chunks: Iterable[int]) -> dict[int, KeywordMatch]:
        """Return the matches among `chunks`, wherever they would stand in the list."""
        return dict(self._fill(chunks, {})) if self._known else {}

    def _rarest(self, postings: int) -> list[WordGroup]:
        """Return the rarest words, as many as have at most `postings` postings together, and at least one."""
        read, kept = 0, 0
        for group in self._known:
            read += group.documents
            if kept and read > postings:
                break
            kept += 1
        return self._known[:kept]

    def _holders(self) -> dict[int, float]:
        shares: dict[int, float] = {}
        for term in self._exact:
            for (chunk,) in self._db.execute(self._holding, (match(term),)):
                shares[chunk] = shares.get(chunk, 0.0) + 1.0
        best = max(shares.values(), default=1.0)
        return {chunk: share / best for chunk, share in shares.items()}

    def _ask(
        self, joined: str, groups: Sequence[WordGroup], limit: int, exact: dict[int, float]
    ) -> Iterable[tuple[int, KeywordMatch]]:
        alike = joined == "AND" or len(groups) == 1  # all that is found holds the same words
        few = joined == "OR" and sum(group.documents for group in groups) <= _FEW
        sql = self._best_of_all if alike else self._best if few else self._best_of_many
        rows = self._rows(groups, self._db.execute(sql, (_join(joined, groups), _NO_LIMIT if few else limit)), exact)
        if not few:
            return rows
        # So few can all be read, and need not be asked for again when other candidates are scored.
        self._every, self._every_of = dict(rows), groups
        return islice(self._every.items(), limit)

    def _fill(self, chunks: Iterable[int], exact: dict[int, float]) -> Iterable[tuple[int, KeywordMatch]]:
        if self._every_of == self._rare:
            return [(chunk, self._every[chunk]) for chunk in chunks if chunk in self._every]
        listed = str(list(chunks))  # of whole numbers, this is JSON
        if listed == "[]":
            return ()
        return self._rows(self._rare, self._db.execute(self._these, (_join("OR", self._rare), listed)), exact)

    def _rows(
        self, groups: Sequence[WordGroup], rows: Iterable[tuple[int, float, int]], exact: dict[int, float]
    ) -> Iterable[tuple[int, KeywordMatch]]:
        words: list[tuple[int, WordGroup]] = []  # which phrases of the expression belong to each word
        phrase = 0
        for group in groups:
            width = group.expression.count('"') // 2
            words.append((((1 << width) - 1) << phrase, group))
            phrase += width
        shares: dict[int, tuple[float, float]] = {}  # by what is held: matched, and the coverage of each point of bm25
        best = _BEST_PER_IDF * self._weight
        for chunk, bm25, mask in rows:
            share = shares.get(mask)
            if share is None:
                idf = weight = 0.0
                for phrases, group in words:
                    if mask & phrases:
                        idf += group.idf
                        weight += group.weight
                share = shares[mask] = min(1.0, weight / self._matchable), weight / (best * idf or 1.0)
            coverage = bm25 * share[1]
            yield chunk, KeywordMatch(chunk, bm25, coverage if coverage < 1 else 1.0, share[0], exact.get(chunk, 0.0))


def _join(operator: str, groups: Sequence[WordGroup]) -> str:
    return f" {operator} ".join(f"({group.expression})" for group in groups)
