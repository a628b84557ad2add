"""Find candidates in the index: by words, by meaning, each with both signals, and the text as it stands in the file now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from looseleaf import Hit, Layout, Note, Query, Retrieval
from looseleaf.settings import MemorySearch

from .index.source import Reader
from .store import schema
from .store.database import Extension, connect, load_extension
from .store.keyword import KeywordMatch, Keywords
from .store.query import parse_query
from .store.vectors import MemoryNearest, SqlNearest, cosines

if TYPE_CHECKING:
    from looseleaf import Vectors

_NOTHING = KeywordMatch(0, 0.0, 0.0, 0.0, 0.0)


class Searcher:
    """A read-only connection to one index. Not for two threads at once."""

    def __init__(
        self, path: Path, layout: Layout, settings: MemorySearch, fingerprint: str, levels: tuple[float, float]
    ) -> None:
        self._path = path
        self._layout = layout
        self._settings = settings
        self._fingerprint = fingerprint
        self._levels = levels
        self._db = connect(path)
        self._version = -1
        self._generation = self._count = 0
        self._space = self._dimensions = 0
        self._keywords: Keywords | None = None
        self._nearest: MemoryNearest | None = None
        self._asked = False  # whether vectors were asked for since the index last changed
        self.extension = Extension("", "store.vector.enabled is false")
        if settings.store.vector.enabled and fingerprint:
            self.extension = load_extension(self._db, settings.store.vector.extension_path)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def has_vectors(self) -> bool:
        """Tell whether there is anything to compare a query's vector with."""
        self._refresh()
        return self._space > 0

    def search(self, query: Query, vector: Vectors | None) -> Retrieval:
        """Return the candidates for `query`; without a `vector` by words only."""
        with self._db:  # one view of the index for all that follows
            self._refresh()
            if self._keywords is None:
                return Retrieval({}, (self._no_files(),))
            parsed = parse_query(query.text)
            plan = self._keywords.plan(parsed)
            by_words = self._settings.query.hybrid.enabled or vector is None
            worded = {hit.chunk: hit for hit in plan.search(query.candidates)} if by_words else {}
            meant: dict[int, float] = {}
            if vector is not None:
                meant = dict(self._near(vector, query.candidates))
                if by_words:
                    worded.update(plan.score(chunk for chunk in meant if chunk not in worded))
                meant.update(cosines(self._db, self._generation, self._space, vector, worded.keys() - meant.keys()))
            hits, gone = self._hits(worded, meant, query, vector is not None)
        notes = []
        if gone:
            notes.append(Note("stale", f"{gone} hits are left out: their files have changed or gone since they were indexed"))
        if not hits and not self._count:
            notes.append(self._no_files())
        lists: dict[str, list[Hit]] = {}
        if by_words:
            lists["keyword"] = [hits[chunk] for chunk in worded if chunk in hits]
        if vector is not None:
            lists["vector"] = [hits[chunk] for chunk in meant if chunk in hits]
        mode = "keyword" if vector is None else "hybrid" if by_words else "vector"
        return Retrieval(lists, tuple(notes), mode, terms=parsed.marks)

    def _near(self, vector: Vectors, limit: int) -> list[tuple[int, float]]:
        if vector.shape[0] != self._dimensions:
            return []
        if self._nearest is None:
            if self.extension.version and not self._asked:
                self._asked = True  # SQL answers a process that asks once; a second question pays for NumPy's copy
                return SqlNearest(self._db, self._generation, self._space).nearest(vector, limit)
            self._nearest = MemoryNearest(self._db, self._generation, self._space, self._dimensions)
        return self._nearest.nearest(vector, limit)

    def _refresh(self) -> None:
        """Look again at what the index holds if any connection has changed it."""
        version = self._db.execute("PRAGMA data_version").get
        if version == self._version:
            return
        self._version = version
        self._nearest, self._asked = None, False
        live = schema.live_generation(self._db)
        if live is None:
            self._keywords, self._count, self._space = None, 0, 0
            return
        if self._keywords is None or live[0] != self._generation:
            self._generation = live[0]
            self._keywords = Keywords(self._db, f"words_{self._generation}")
        self._count = int(self._db.execute(f"SELECT count(*) FROM chunk_{self._generation}").get)
        self._keywords.refresh(self._count)
        row = self._db.execute("SELECT id, dimensions FROM space WHERE fingerprint = ?", (self._fingerprint,)).fetchone()
        self._space, self._dimensions = row or (0, 0)

    def _hits(
        self, worded: Mapping[int, KeywordMatch], meant: Mapping[int, float], query: Query, vectors: bool
    ) -> tuple[dict[int, Hit], int]:
        """Return the candidates as hits by chunk, and how many are gone from their files."""
        sql = (
            "SELECT path, start, end, heading, begin, chunk.size, chunk.hash, absolute, file.size, mtime_ns "
            f"FROM chunk_{self._generation} AS chunk JOIN file_{self._generation} AS file ON file.id = file WHERE chunk.id = ?"
        )
        hits: dict[int, Hit] = {}
        gone = 0
        reader = Reader()
        try:
            for chunk in dict.fromkeys([*worded, *meant]):
                row = self._db.execute(sql, (chunk,)).fetchone()
                if row is None:
                    continue
                path, start, end, heading, *place = row
                if not query.private and self._layout.is_curated(path):
                    continue
                text = reader.chunk(place[3], place[0], place[1], place[4], place[5], place[2])
                if text is None:
                    gone += 1
                    continue
                if text[1] is not None:
                    start, end = text[1], text[1] + end - start
                signals = self._signals(worded.get(chunk), meant.get(chunk), vectors)
                hits[chunk] = Hit(
                    id=str(chunk),
                    path=path,
                    start=start,
                    end=end,
                    text=text[0],
                    score=signals.get("bm25", 0.0) if chunk in worded else signals.get("cosine", 0.0),
                    signals=signals,
                    heading=heading,
                    day=self._layout.day_of(path),
                )
        finally:
            reader.close()
        return hits, gone

    def _signals(self, match: KeywordMatch | None, cosine: float | None, vectors: bool) -> dict[str, float]:
        match = match or _NOTHING
        signals = {"bm25": match.bm25, "coverage": match.coverage, "matched": match.matched, "exact": match.exact}
        if vectors and cosine is not None:
            low, high = self._levels
            signals["cosine"] = cosine
            signals["similarity"] = min(1.0, max(0.0, (cosine - low) / (high - low)))
        return signals

    def _no_files(self) -> Note:
        roots = ", ".join(self._layout.shown(root.path) for root in self._layout.roots())
        return Note("no-files", f"there are no notes yet: looked for Markdown in {self._layout.workspace} ({roots})")
