"""The words of one generation: an FTS5 table without content, and how often it holds the words of a query."""

from __future__ import annotations

import re
from math import log

import apsw

from ..text import is_unspaced
from .plan import HEADING_WEIGHT, KeywordPlan, WordGroup
from .query import ParsedQuery, Term, match

_LEAST_IDF = 1e-6  # as in FTS5, for words in half of the chunks or more
_SHORTEST_PREFIX = 4
_DIGRAPHS = re.compile("([aou])e")


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
            f"INSERT INTO {table}({table}, rank) VALUES('rank', 'bm25(1.0, {HEADING_WEIGHT})');"
        )

    def refresh(self, count: int) -> None:
        """Forget what was counted; the table now holds `count` chunks."""
        self._count = count
        self._documents.clear()

    def plan(self, query: ParsedQuery, within: str = "") -> KeywordPlan:
        """Return how `query` is asked of this table as it is now, or of the rows that the condition `within` leaves."""
        groups = [group for term in query.terms for group in self._group(term, query.spellings.get(term))]
        missing = self._documents.get
        # A phrase with a word that is nowhere is nowhere.
        exact = [term for term in query.exact if not any(missing(match((token,))) == 0 for token in term)]
        return KeywordPlan(self._db, self.table, groups, exact, within)

    def _group(self, term: Term, spelling: Term | None = None) -> list[WordGroup]:
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
        return [found if found.documents else found._replace(matchable=self._weight(1))]

    def _counted(self, expression: str) -> WordGroup:
        documents = self._documents.get(expression)
        if documents is None:
            documents = self._documents[expression] = self._count_documents(expression)
        weight = self._weight(documents)
        return WordGroup(expression, documents, self._idf(documents), weight, weight)

    def _idf(self, documents: int) -> float:
        """Return FTS5's own idf of a word in `documents` of the chunks."""
        if documents >= self._count:
            return _LEAST_IDF
        return max(_LEAST_IDF, log((self._count - documents + 0.5) / (documents + 0.5)))

    def _weight(self, documents: int) -> float:
        """Return the idf of a word in `documents` of the chunks as Lucene smooths it.

        FTS5's own is nothing from half of the chunks on, which in an index of two notes is every word.
        """
        return log(1 + (max(0, self._count - documents) + 0.5) / (documents + 0.5))

    def _count_documents(self, expression: str) -> int:
        token = expression[1:-1]
        if token.count('"') or " " in token:
            return int(self._db.execute(f"SELECT count(*) FROM {self.table} WHERE {self.table} MATCH ?", (expression,)).get)
        stems = list(self._stem(token.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False))
        return int(self._db.execute(self._vocabulary, (str(stems[0]) if stems else token,)).get or 0)


def _matched(api: apsw.FTS5ExtensionApi, *_: object) -> int:
    """FTS5 function: the phrases of the query that this row holds, as a bit mask."""
    mask = 0
    for phrase in range(api.phrase_count):
        if any(api.phrase_locations(phrase)):
            mask |= 1 << phrase
    return mask
