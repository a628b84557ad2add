"""Keyword search over an FTS5 table without content: phrase first, then all words, then any word.

bm25 is FTS5's own with its sign turned, so that more is better; k1 = 1.2 and b = 0.75 are its constants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

import apsw

from ..text import is_unspaced
from .query import ParsedQuery, Term, match

# bm25 of a heading word against one of the text itself; measured, see docs/quality.md.
_HEADING_WEIGHT = 0.7
_LEAST_IDF = 1e-6  # as in FTS5, for words in half of the chunks or more
_SHORTEST_PREFIX = 4
_DIGRAPHS = re.compile("([aou])e")
_MOST_GROUPS = 60  # FTS5 functions see the phrases as bits of one integer
_MOST_EXACT = 200
# Any-word queries read at most this many postings, rarest words first, so that long questions stay quick in large indexes.
_POSTINGS = 300
_BEST_PER_IDF = 2.2  # k1 + 1: the most that bm25 can give a term, in units of its idf


class KeywordMatch(NamedTuple):
    """One chunk found by its words.

    Attributes:
        bm25: At least 0, higher is better; comparable within one query only.
        coverage: `bm25` as a share of the best score that any text could have for this query, in [0, 1].
        matched: Share of the query's idf weight whose words the chunk holds, in [0, 1].
        exact: Share of the query's phrases and identifiers that it holds, in [0, 1].
    """

    chunk: int
    bm25: float
    coverage: float
    matched: float
    exact: float


class Keywords:
    """The words of one generation. `refresh` must be called when its table changed, by whatever process."""

    def __init__(self, db: apsw.Connection, table: str) -> None:
        self._db = db
        self.table = table
        self._count = 0
        self._documents: dict[str, int] = {}
        self._stem = db.fts5_tokenizer("porter", ["ascii"])
        db.register_fts5_function("matched", _matched)
        self._vocabulary = f"SELECT doc FROM {table}_vocab WHERE term = ?"

    @staticmethod
    def create(db: apsw.Connection, table: str) -> None:
        """Make the empty table and its vocabulary."""
        db.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5(body, heading, content='', contentless_delete=1, tokenize='porter ascii');"
            f"CREATE VIRTUAL TABLE {table}_vocab USING fts5vocab({table}, row);"
            f"INSERT INTO {table}({table}, rank) VALUES('rank', 'bm25(1.0, {_HEADING_WEIGHT})');"
        )

    def refresh(self, count: int) -> None:
        """Forget what was counted; the table now holds `count` chunks."""
        self._count = count
        self._documents.clear()

    def plan(self, query: ParsedQuery) -> KeywordPlan:
        """Return how `query` is asked of this table as it is now."""
        groups = [group for term in query.terms for group in self._group(term, query.spellings.get(term))]
        return KeywordPlan(self._db, self.table, groups, query.exact)

    def _group(self, term: Term, spelling: Term | None = None) -> list[_Group]:
        found = self._counted(match(term, spelling) if spelling else match(term))
        if found.documents:
            return [found]
        if len(term) > 1:  # the compound is nowhere: its parts may be
            return [group for token in term for group in self._group((token,))]
        (token,) = term
        if len(token) == 1 and is_unspaced(token):  # a lone character stands inside pairs
            pairs = self._db.execute(f"SELECT term FROM {self.table}_vocab WHERE term GLOB ? LIMIT 24", (f"*{token}*",))
            return [self._counted(match(*((pair,) for (pair,) in pairs)) or match(term))]
        if len(token) >= _SHORTEST_PREFIX:  # nothing holds the word: Versicherung finds Versicherungsvertrag, allergy allergic
            beginning = token if len(token) < 6 else token[:-1]
            short = _DIGRAPHS.sub(r"\1", token)  # Gedaechtnis is also Gedächtnis
            if short != token and (other := self._counted(match((short,)))).documents:
                return [other]
            longer = self._counted(f"{match((beginning,))} *")
            found = longer if longer.documents else found
        # A word that is nowhere weighs as much as one that is in one chunk: it cannot push out those that are found.
        return [found if found.documents else found._replace(matchable=self._idf(1))]

    def _counted(self, expression: str) -> _Group:
        documents = self._documents.get(expression)
        if documents is None:
            documents = self._documents[expression] = self._count_documents(expression)
        idf = self._idf(documents)
        return _Group(expression, documents, idf, idf)

    def _idf(self, documents: int) -> float:
        """Return FTS5's own idf of a word in `documents` of the chunks."""
        return max(_LEAST_IDF, log((self._count - documents + 0.5) / (documents + 0.5))) if documents < self._count else _LEAST_IDF

    def _count_documents(self, expression: str) -> int:
        token = expression[1:-1]
        if token.count('"') or " " in token:
            return int(self._db.execute(f"SELECT count(*) FROM {self.table} WHERE {self.table} MATCH ?", (expression,)).get)
        stems = list(self._stem(token.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False))
        return int(self._db.execute(self._vocabulary, (str(stems[0]) if stems else token,)).get or 0)


class _Group(NamedTuple):
    """One word of the query as FTS5 is asked for it; `matchable` is its weight in the share that a chunk matched."""

    expression: str
    documents: int
    idf: float
    matchable: float


class KeywordPlan:
    """One query, ready to be asked."""

    def __init__(self, db: apsw.Connection, table: str, groups: Sequence[_Group], exact: Sequence[Term]) -> None:
        self._db = db
        self._exact = exact
        self._weight = sum(group.idf for group in groups)
        self._matchable = sum(group.matchable for group in groups)
        self._known = sorted((group for group in groups if group.documents), key=lambda group: group.documents)[:_MOST_GROUPS]
        self._rare = self._rarest(_POSTINGS)
        select = f"SELECT rowid, -rank, matched({table}) FROM {table} WHERE {table} MATCH ?"
        self._best = f"{select} ORDER BY rank LIMIT ?"
        # The plus keeps rowid out of the plan: one pass over the rare words' postings instead of a seek for each chunk.
        self._these = f"{select} AND +rowid IN (SELECT value FROM json_each(?))"
        self._holding = f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT {_MOST_EXACT}"

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

    def _rarest(self, postings: int) -> list[_Group]:
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
        self, joined: str, groups: Sequence[_Group], limit: int, exact: dict[int, float]
    ) -> Iterable[tuple[int, KeywordMatch]]:
        return self._rows(groups, self._db.execute(self._best, (_join(joined, groups), limit)), exact)

    def _fill(self, chunks: Iterable[int], exact: dict[int, float]) -> Iterable[tuple[int, KeywordMatch]]:
        listed = json.dumps(list(chunks))
        if listed == "[]":
            return ()
        return self._rows(self._rare, self._db.execute(self._these, (_join("OR", self._rare), listed)), exact)

    def _rows(
        self, groups: Sequence[_Group], rows: Iterable[tuple[int, float, int]], exact: dict[int, float]
    ) -> Iterable[tuple[int, KeywordMatch]]:
        bits: list[tuple[int, float]] = []  # which phrases of the expression belong to each word, and the word's weight
        phrase = 0
        for group in groups:
            width = group.expression.count('"') // 2
            bits.append((((1 << width) - 1) << phrase, group.matchable))
            phrase += width
        shares: dict[int, float] = {}
        best = _BEST_PER_IDF * self._weight
        for chunk, bm25, mask in rows:
            matched = shares.get(mask)
            if matched is None:
                held = sum(weight for phrases, weight in bits if mask & phrases)
                matched = shares[mask] = min(1.0, held / self._matchable)
            coverage = bm25 / best if bm25 < best else 1.0
            yield chunk, KeywordMatch(chunk, bm25, coverage, matched, exact.get(chunk, 0.0))


def _join(operator: str, groups: Sequence[_Group]) -> str:
    return f" {operator} ".join(f"({group.expression})" for group in groups)


def _matched(api: apsw.FTS5ExtensionApi, *_: object) -> int:
    """FTS5 function: the phrases of the query that this row holds, as a bit mask."""
    mask = 0
    for phrase in range(api.phrase_count):
        if any(api.phrase_locations(phrase)):
            mask |= 1 << phrase
    return mask
