"""Bring the index up to date: words first, a batch of whole files at a time, then vectors.

What is committed stays: a killed run loses the batch it was in, and nothing is embedded twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import monotonic

import apsw

from looseleaf import Layout, Note, Progress, SyncReport
from looseleaf.types import ProgressCallback
from looseleaf.workspace import Found

from .. import chunk as chunking
from .. import text as words
from ..store import schema
from .ledger import Difference, difference, known_files, record_skipped
from .source import NotText, digest, encode, read_note

_BATCH_S = 1.0  # how long words are gathered before they are committed
_BULK_FILES = 50  # from here on it is a bulk load, for which FTS5 gathers more in memory
_BULK_HASH_BYTES, _USUAL_HASH_BYTES = 16 << 20, 1 << 20


def fingerprint(tokens: int, overlap: int) -> str:
    """Return what chunks and words depend on, besides the files."""
    return json.dumps({"chunker": chunking.VERSION, "words": words.VERSION, "tokens": tokens, "overlap": overlap})


class WordIndexer:
    """Writes chunks and words of one workspace."""

    def __init__(
        self, db: apsw.Connection, layout: Layout, tokens: int, overlap: int, stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._db = db
        self._layout = layout
        self._tokens, self._overlap = tokens, overlap
        self._stop = stop

    def run(self, *, force: bool = False, progress: ProgressCallback | None = None) -> SyncReport:
        """Index what changed; in a new generation, beside the one that answers, if chunking changed or `force` asks for it."""
        wanted = fingerprint(self._tokens, self._overlap)
        live = schema.live_generation(self._db)
        if live and live[1] == wanted and not force:
            return self._bring_up(live[0], progress)
        building = schema.create_generation(self._db, wanted)
        report = self._bring_up(building, progress, live=live is None)
        schema.make_live(self._db, building)
        return report

    def _bring_up(self, generation: int, progress: ProgressCallback | None, *, live: bool = False) -> SyncReport:
        if live:  # the first generation answers while it is being filled
            schema.make_live(self._db, generation)
        known = known_files(self._db, generation)
        todo = difference(self._layout, known)
        failed = self._write(generation, todo, known, progress)
        with self._db:
            skipped = record_skipped(self._db, generation, todo.skipped)
        chunks = int(self._db.execute(f"SELECT count(*) FROM chunk_{generation}").get)
        notes = tuple(Note("file-failed", f"{path}: {reason}") for path, reason in failed[:20])
        return SyncReport(
            files=todo.found,
            indexed=len(todo.changed) - len(failed),
            removed=len(todo.removed),
            skipped=skipped,
            failed=len(failed),
            chunks=chunks,
            notes=notes,
        )

    def _write(
        self, generation: int, todo: Difference, known: dict[str, object], progress: ProgressCallback | None
    ) -> list[tuple[str, str]]:
        if not todo:
            return []
        bulk = len(todo.changed) >= _BULK_FILES
        if bulk:
            self._hash_bytes(generation, _BULK_HASH_BYTES)
        failed: list[tuple[str, str]] = []
        pending = iter(todo.changed)
        done = 0
        more = True
        while more:
            with self._db:
                self._remove(generation, todo.removed if done == 0 else ())
                begun = monotonic()
                for found in pending:
                    reason = self._file(generation, found)
                    if reason:
                        failed.append((found.path, reason))
                    done += 1
                    if monotonic() - begun > _BATCH_S or self._stop():
                        break
                else:
                    more = False
            if progress:
                progress(Progress("index", done, len(todo.changed)))
            if self._stop():
                break
        if bulk:
            self._hash_bytes(generation, _USUAL_HASH_BYTES)
        return failed

    def _file(self, generation: int, found: Found) -> str:
        """Index one file and return why it could not be, or an empty string."""
        reason, text, identity = "", "", b""
        try:
            text, identity = read_note(found.absolute)
        except FileNotFoundError:
            self._forget(generation, found.path)  # it vanished since the folder was listed
            return ""
        except NotText as error:
            reason = str(error)
        except OSError as error:
            reason = f"it cannot be read: {error.strerror}"
        row = self._db.execute(f"SELECT id, hash, state FROM file_{generation} WHERE path = ? AND source = 'memory'", (found.path,))
        before = row.fetchone()
        if before and before[1] == identity and before[2] == "indexed" and not reason:
            self._db.execute(f"UPDATE file_{generation} SET size = ?, mtime_ns = ? WHERE id = ?", (found.size, found.mtime_ns, before[0]))
            return ""
        if before:
            self._remove(generation, [before[0]])
        size = found.size if reason else len(encode(text))
        self._db.execute(
            f"INSERT INTO file_{generation}(path, state, reason, size, mtime_ns, hash, absolute) VALUES(?, ?, ?, ?, ?, ?, ?)",
            (found.path, "failed" if reason else "indexed", reason, size, found.mtime_ns, identity, found.absolute),
        )
        if not reason:
            self._chunks(generation, self._db.last_insert_rowid(), text)
        return reason

    def _chunks(self, generation: int, file: int, text: str) -> None:
        plain = text.isascii()
        place = begun = 0  # offsets of the same spot, in characters and in bytes
        row = self._db.execute(f"SELECT coalesce(max(id), 0) FROM chunk_{generation}").get
        rows, terms = [], []
        for number, piece in enumerate(chunking.chunk(text, tokens=self._tokens, overlap=self._overlap), row + 1):
            data = encode(piece.text)
            if plain:
                begin = piece.begin
            else:
                if piece.begin >= place:
                    begun += len(encode(text[place : piece.begin]))
                else:
                    begun -= len(encode(text[piece.begin : place]))
                place, begin = piece.begin, begun
            if piece.text.isspace():
                continue
            rows.append((number, file, piece.start, piece.end, begin, len(data), digest(data), piece.heading))
            terms.append((number, words.segment(piece.text), words.segment(piece.heading)))
        self._db.executemany(f"INSERT INTO chunk_{generation} VALUES(?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.executemany(f"INSERT INTO words_{generation}(rowid, body, heading) VALUES(?, ?, ?)", terms)

    def _forget(self, generation: int, path: str) -> None:
        rows = self._db.execute(f"SELECT id FROM file_{generation} WHERE path = ? AND source = 'memory'", (path,))
        self._remove(generation, [row[0] for row in rows])

    def _remove(self, generation: int, files: Iterable[int]) -> None:
        for file in files:
            self._db.execute(f"DELETE FROM words_{generation} WHERE rowid IN (SELECT id FROM chunk_{generation} WHERE file = ?)", (file,))
            self._db.execute(f"DELETE FROM chunk_{generation} WHERE file = ?", (file,))
            self._db.execute(f"DELETE FROM file_{generation} WHERE id = ?", (file,))

    def _hash_bytes(self, generation: int, size: int) -> None:
        table = f"words_{generation}"
        self._db.execute(f"INSERT INTO {table}({table}, rank) VALUES('hashsize', {size})")


def with_vectors(report: SyncReport, embedded: int, pending: int, notes: Iterable[Note]) -> SyncReport:
    """Return `report` with what the second half of a sync did."""
    return replace(report, embedded=embedded, pending=pending, notes=(*report.notes, *notes))
