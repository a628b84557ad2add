"""Find candidates in the index: by words, by meaning, each with both signals, and the text as it stands in the file now."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from looseleaf import Hit, Layout, Note, Query, Retrieval
from looseleaf.settings import MemorySearch
from looseleaf.types import Mode

from .days import Asked, asked_days
from .index.source import PLACE, Reader
from .store import schema
from .store.database import Extension, connect, load_extension
from .store.keyword import Keywords
from .store.plan import KeywordMatch
from .store.query import parse_query
from .store.vectors import MemoryNearest, SqlNearest

if TYPE_CHECKING:
    from looseleaf import Vectors

_HITS = (
    "SELECT chunk.id, file.path, start, end, " + PLACE + " FROM json_each(?) AS wanted "
    "CROSS JOIN chunk_{0} AS chunk ON chunk.id = wanted.value CROSS JOIN file_{0} AS file ON file.id = file"
)
_TEXT = "SELECT " + PLACE + " FROM chunk_{0} AS chunk JOIN file_{0} AS file ON file.id = file WHERE chunk.id = ?"
_NOTHING = KeywordMatch(0, 0.0, 0.0, 0.0, 0.0)
_MOST_PLACES = 4096
_SOURCE, _HEADING, _BEGIN = 0, 1, 3  # of PLACE; a begin is negative for what has no words
_A_LITTLE_S = 0.005  # so long a search reads vectors that are new; and as long as nobody searched before it
_SHARE = 2  # transcripts offer half as many candidates as notes, so that these are not drowned


class Part(NamedTuple):
    """The chunks that are asked for by themselves, as conditions on their number, and how many candidates they offer."""

    name: str
    rows: str
    chunks: str
    divisor: int


_ALL = Part("all", "", "", 1)
_NOTES = Part("memory", f" AND rowid < {schema.SESSIONS}", f" AND chunk.id < {schema.SESSIONS}", 1)
_SESSIONS = Part("sessions", f" AND rowid >= {schema.SESSIONS}", f" AND chunk.id >= {schema.SESSIONS}", _SHARE)


class Searcher:
    """A read-only connection to one index. Not for two threads at once."""

    def __init__(self, path: Path, layout: Layout, settings: MemorySearch, fingerprint: str, levels: tuple[float, float]) -> None:
        self._path = path
        self._layout = layout
        self._settings = settings
        self._fingerprint = fingerprint
        self._levels = levels
        self._db = connect(path)
        self._inode = os.stat(path).st_ino
        self._version = -1
        self._generation = self._count = 0
        self._space = self._dimensions = 0
        self._keywords: Keywords | None = None
        self._sql_hits = self._sql_text = ""
        self._places: dict[str, list[Any]] = {}  # where the text of recent candidates stands
        self._near: dict[str, SqlNearest | MemoryNearest] = {}  # what answers by meaning, once it was asked, by part
        self._searched = 0.0  # when the last search was over
        self._has_sessions = False
        self.extension = Extension("", "store.vector.enabled is false")
        if settings.store.vector.enabled and fingerprint:
            self.extension = load_extension(self._db, settings.store.vector.extension_path)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def is_there(self) -> bool:
        """Tell whether the file that was opened is still the one at its path."""
        try:
            return os.stat(self._path).st_ino == self._inode
        except OSError:
            return False

    @property
    def is_fixed(self) -> bool:
        """Whether it sees the index as it was when it was opened, because it could not be opened for more."""
        return bool(self._db.readonly("main"))

    def is_empty(self) -> bool:
        """Tell whether nothing has been indexed yet."""
        self._refresh()
        return self._count == 0

    def has_vectors(self) -> bool:
        """Tell whether there is anything to compare a query's vector with, or was when the index was last looked at."""
        if not self._dimensions:
            self._refresh()
        return self._dimensions > 0

    def search(self, query: Query, vector: Vectors | None) -> Retrieval:
        """Return the candidates for `query`; without a `vector` by words only."""
        with self._db:  # one view of the index for all that follows
            self._refresh()
            if self._keywords is None:
                return Retrieval({}, (self._no_files(),))
            if not self._dimensions:
                vector = None
            parsed = parse_query(query.text)
            asked = asked_days(query.text, query.now.date())
            parts = self._parts(query)
            plans = [self._keywords.plan(parsed, part.rows) for part in parts]
            limit = query.candidates if query.private else query.candidates + self._curated_chunks()
            by_words = self._settings.query.hybrid.enabled or vector is None
            worded: dict[int, KeywordMatch] = {}
            meant: dict[int, float] = {}
            for part, plan in zip(parts, plans, strict=True):
                share = -(-limit // part.divisor)
                if by_words:
                    worded.update((hit.chunk, hit) for hit in plan.search(share, fill=vector is None))
                if vector is not None:
                    meant.update(self._meant(vector, share, part))
            if vector is not None:
                meant.update(self._cosines(vector, [chunk for chunk in worded if chunk not in meant], parts))
            dated = self._of_days(asked, query.candidates) if asked else []
            if by_words and (dated or vector is not None):
                unscored = {chunk for chunk in (*meant, *dated) if chunk not in worded}
                for part, plan in zip(parts, plans, strict=True):
                    worded.update(plan.score(_within(part, unscored)))
            if vector is not None and dated:
                meant.update(self._cosines(vector, [chunk for chunk in dated if chunk not in meant], parts))
            hits = self._hits(worded, meant, dated, asked)
        self._searched = monotonic()
        withheld = [] if query.private else [chunk for chunk, hit in hits.items() if self._layout.is_curated(hit.path)]
        secret = tuple(hits.pop(chunk) for chunk in withheld)
        notes = [] if self._count else [self._no_files()]
        lists: dict[str, list[Hit]] = {}
        if by_words:
            lists["keyword"] = [hits[chunk] for chunk in worded if chunk in hits]
        if vector is not None:
            found = ((hits[chunk], cosine) for chunk, cosine in meant.items() if chunk in hits)
            lists["vector"] = [hit if hit.score == cosine else hit.scored(cosine) for hit, cosine in found]
        if dated:
            lists["day"] = [hits[chunk].scored(1.0) for chunk in dated if chunk in hits]
        mode: Mode = "keyword" if vector is None else "hybrid" if by_words else "vector"
        return Retrieval(lists, tuple(notes), mode, terms=parsed.marks, withheld=secret)

    def outline(self) -> list[tuple[str, int, int]]:
        """Return path, first and last line of every chunk."""
        self._refresh()
        chunks, files = f"chunk_{self._generation}", f"file_{self._generation}"
        sql = f"SELECT path, start, end FROM {chunks} AS chunk JOIN {files} AS file ON file.id = file ORDER BY chunk.id"
        return list(self._db.execute(sql)) if self._count else []

    def _parts(self, query: Query) -> tuple[Part, ...]:
        """Return what is asked for by itself: notes, and in a private session transcripts, if there are any."""
        if not self._has_sessions:
            return (_ALL,)
        return (_NOTES, _SESSIONS) if query.private and "sessions" in query.sources else (_NOTES,)

    def _meant(self, vector: Vectors, limit: int, part: Part) -> dict[int, float]:
        """Return the cosines of the nearest chunks of `part`."""
        if vector.shape[0] != self._dimensions:
            return {}
        near = self._near.get(part.name)
        if near is None and self.extension.version:  # SQL answers a process that asks once
            near = SqlNearest(self._db, self._generation, self._space, part.chunks)
        elif isinstance(near, MemoryNearest):
            if not near.whole:
                now = monotonic()
                near.read(now + max(_A_LITTLE_S, now - self._searched))
        else:  # a second question pays for NumPy's copy
            near = self._in_memory(part)
            near.read()
        self._near[part.name] = near
        return dict(near.nearest(vector, limit))

    def _in_memory(self, part: Part) -> MemoryNearest:
        return MemoryNearest(self._db, self._generation, self._space, self._dimensions, part.chunks)

    def _renew_near(self, *, same: bool) -> None:
        """Have what came since read into the vectors in memory; of another generation than before all of it, bit by bit.

        Until it is read a new chunk is found by its words, and one that is gone is dropped when its text is asked for.
        """
        parts = {part.name: part for part in ((_NOTES, _SESSIONS) if self._has_sessions else (_ALL,))}
        before, self._near = self._near, {}
        for name, near in before.items():
            if name in parts and isinstance(near, MemoryNearest):
                near = near if same else self._in_memory(parts[name])
                near.whole = False
                self._near[name] = near

    def _cosines(self, vector: Vectors, chunks: Sequence[int], parts: Sequence[Part]) -> dict[int, float]:
        found: dict[int, float] = {}
        for part in parts:
            if (near := self._near.get(part.name)) is not None:
                found.update(near.cosines(vector, _within(part, chunks)))
        return found

    def _of_days(self, asked: Sequence[Asked], limit: int) -> list[int]:
        """Return at most `limit` chunks of the notes of the days that are asked for; a month is too much to be a candidate."""
        files = self._db.execute(f"SELECT id, path FROM file_{self._generation} WHERE path LIKE 'memory/%'")
        wanted = [
            file for file, path in files if (day := self._layout.day_of(path)) and any(one.day and one.fits(day) for one in asked)
        ]
        sql = f"SELECT id FROM chunk_{self._generation} WHERE file IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?"
        return [chunk for (chunk,) in self._db.execute(sql, (json.dumps(wanted), limit))]

    def _refresh(self) -> None:
        """Look again at what the index holds if any connection has changed it."""
        version = self._db.execute("PRAGMA data_version").get
        if version == self._version:
            return
        self._version = version
        self._places.clear()
        live = schema.live_generation(self._db)
        before = self._generation, self._space, self._dimensions
        if live is None:
            self._keywords, self._count, self._dimensions = None, 0, 0
            self._near.clear()
            return
        if self._keywords is None or live[0] != self._generation:
            self._generation = live[0]
            self._keywords = Keywords(self._db, f"words_{self._generation}")
            self._sql_hits, self._sql_text = _HITS.format(self._generation), _TEXT.format(self._generation)
        self._count = schema.count_chunks(self._db, self._generation)
        some = f"SELECT EXISTS(SELECT 1 FROM chunk_{self._generation} WHERE id >= {schema.SESSIONS})"
        self._has_sessions = bool(self._db.execute(some).get)
        self._keywords.refresh(self._count)
        self._space, self._dimensions = schema.known_space(self._db, self._fingerprint)
        self._renew_near(same=before == (self._generation, self._space, self._dimensions))

    def _hits(
        self, worded: Mapping[int, KeywordMatch], meant: Mapping[int, float], dated: Sequence[int], asked: Sequence[Asked]
    ) -> dict[int, Hit]:
        """Return the candidates as hits by chunk, without their text."""
        hits: dict[int, Hit] = {}
        places = self._places
        if len(places) > _MOST_PLACES:
            places.clear()
        low, high = self._levels
        day_of = self._layout.day_of
        wanted = str(list({**worded, **meant, **dict.fromkeys(dated)}))  # of whole numbers, this is JSON
        for chunk, path, start, end, *place in self._db.execute(self._sql_hits, (wanted,)):
            _, bm25, coverage, matched, exact = worded.get(chunk, _NOTHING)
            signals = {"bm25": bm25, "coverage": coverage, "matched": matched, "exact": exact}
            cosine = meant.get(chunk)
            if cosine is not None:
                signals["cosine"] = cosine
                similarity = (cosine - low) / (high - low)
                signals["similarity"] = 0.0 if similarity < 0 else 1.0 if similarity > 1 else similarity
            day = day_of(path)
            if asked and day and (fits := max(one.fits(day) for one in asked)):
                signals["dated"] = fits
            if place[_BEGIN] < 0:
                signals["media"] = 1.0
            name = str(chunk)
            places[name] = place
            heading = place[_HEADING] if chunk < schema.SESSIONS else ""
            hits[chunk] = Hit(name, path, start, end, "", bm25 or cosine or 0.0, signals, place[_SOURCE], heading, day)
        return hits

    def load(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return `hits` with their text, read from the files; those that are gone are left out."""
        loaded: list[Hit] = []
        reader = Reader()
        try:
            for hit in hits:
                place = self._places.get(hit.id) or self._db.execute(self._sql_text, (int(hit.id),)).fetchone()
                text = reader.chunk(*place) if place else None
                if text is None:
                    continue
                start = hit.start if text[1] is None else text[1]
                end = start + hit.end - hit.start
                loaded.append(Hit(hit.id, hit.path, start, end, text[0], hit.score, hit.signals, hit.source, hit.heading, hit.day))
        finally:
            reader.close()
        return loaded

    def _curated_chunks(self) -> int:
        """Return how many candidates could be of the curated memory, which a group does not see."""
        chunks, files = f"chunk_{self._generation}", f"file_{self._generation}"
        sql = f"SELECT count(*) FROM {chunks} AS chunk JOIN {files} AS file ON file.id = file WHERE path LIKE 'memory.md' OR path LIKE '%/memory.md'"
        return int(self._db.execute(sql).get)

    def _no_files(self) -> Note:
        roots = ", ".join(self._layout.shown(root.path) for root in self._layout.roots())
        return Note("no-files", f"there are no notes yet: looked for Markdown in {self._layout.workspace} ({roots})")


def _within(part: Part, chunks: Iterable[int]) -> list[int]:
    if part is _ALL:
        return list(chunks)
    return [chunk for chunk in chunks if (chunk >= schema.SESSIONS) == (part is _SESSIONS)]
