"""Bring the index up to date: words first, a batch of whole files at a time, then vectors.

What is committed stays: a killed run loses the batch it was in, and nothing is embedded twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from time import monotonic
from typing import Any

import apsw

from looseleaf import Layout, Note, Progress, SyncReport
from looseleaf.reports import ProgressCallback
from looseleaf.settings.surface import Chunking, Multimodal
from looseleaf.transcripts import SOURCE
from looseleaf.workspace import Found, modality

from .. import chunk as chunking
from .. import text as words
from ..store import schema
from ..store.database import write_back
from .ledger import Difference, Known, difference, known_files, record_skipped
from .media import prepare_media
from .prepare import Prepared, prepare
from .sessions import Sessions, prepare_session

_BATCH_S = 2.0  # how long words are gathered before they are committed
_BULK_FILES = 50  # from here on it is a bulk load, for which FTS5 gathers more in memory
_SMALL_CHUNKS, _FEW_SEGMENTS = 20_000, 3  # merging all of that many chunks takes about 0.2 s
_BULK_HASH_BYTES, _USUAL_HASH_BYTES = 16 << 20, 1 << 20


def fingerprint(chunks: Chunking, media: Multimodal) -> str:
    """Return what chunks and words depend on, besides the files."""
    about: dict[str, object] = {
        "chunker": chunking.VERSION, "words": words.VERSION, "tokens": chunks.tokens, "overlap": chunks.overlap,
    }  # fmt: skip
    if media.enabled:
        about["media"] = [media.kinds(), media.max_file_bytes]
    return json.dumps(about)


class WordIndexer:
    """Writes chunks and words of one workspace.

    Attributes:
        rebuilt: Whether what was there before has been replaced as a whole.
    """

    def __init__(
        self,
        db: apsw.Connection,
        layout: Layout,
        chunks: Chunking | None = None,
        media: Multimodal | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        self._db = db
        self._layout = layout
        self._chunks = chunks or Chunking()
        self._media = media or Multimodal()
        self._sessions = sessions
        self.rebuilt = False
        self._wanted = fingerprint(self._chunks, self._media)
        self._until: float | None = None
        self._looked: tuple[int, int, dict[str, Known], Difference] | None = None

    def run(self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None) -> SyncReport:
        """Index what changed; in a new generation, beside the one that answers, if chunking changed or `force` asks for it.

        After `budget_s` seconds the rest is left to the next run.
        """
        self._until = None if budget_s is None else monotonic() + budget_s
        wanted = self._wanted
        schema.sweep(self._db)
        live = schema.live_generation(self._db)
        if live and live[1] == wanted and not force:
            return self._bring_up(live[0], progress)
        building = schema.create_generation(self._db, wanted)
        report = self._bring_up(building, progress, live=live is None)
        schema.make_live(self._db, building)
        self.rebuilt = live is not None
        return report

    def current(self) -> SyncReport | None:
        """Return what the index holds if it agrees with the files, without a lock; else None."""
        live = schema.live_generation(self._db)
        if live is None or live[1] != self._wanted:
            return None
        version = self._version()  # before looking: what is committed meanwhile must be noticed
        known, todo = self._difference(live[0])
        self._looked = (live[0], version, known, todo)
        return None if todo else self._report(live[0], files=todo.found, skipped=len(todo.skipped))

    def standing(self, *notes: Note) -> SyncReport:
        """Return what the index holds, whether or not it agrees with the files."""
        live = schema.live_generation(self._db)
        return self._report(live[0], notes=notes) if live else SyncReport(notes=notes)

    def _difference(self, generation: int) -> tuple[dict[str, Known], Difference]:
        known = known_files(self._db, generation)
        if self._sessions is None or not self._sessions.enabled:
            return known, difference(self._layout.walk(), known)
        return known, difference(chain(self._layout.walk(), self._sessions.walk()), known, self._sessions.has_grown)

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").get)

    def _report(self, generation: int, **counts: Any) -> SyncReport:
        return SyncReport(chunks=schema.count_chunks(self._db, generation), **counts)

    def _bring_up(self, generation: int, progress: ProgressCallback | None, *, live: bool = False) -> SyncReport:
        if live:  # the first generation answers while it is being filled
            schema.make_live(self._db, generation)
        if self._looked and self._looked[:2] == (generation, self._version()):
            known, todo = self._looked[2:]  # nobody has written since `current` looked
        else:
            known, todo = self._difference(generation)
        self._looked = None
        failed = self._write(generation, todo, known, progress)
        with self._db:
            skipped = record_skipped(self._db, generation, todo.skipped)
        return self._report(
            generation,
            files=todo.found,
            indexed=len(todo.changed) - len(failed),
            removed=len(todo.removed),
            skipped=skipped,
            failed=len(failed),
            notes=tuple(Note("file-failed", f"{path}: {reason}") for path, reason in failed[:20]),
        )

    def _write(
        self, generation: int, todo: Difference, known: dict[str, Known], progress: ProgressCallback | None
    ) -> list[tuple[str, str]]:
        if not todo:
            return []
        bulk = len(todo.changed) >= _BULK_FILES
        if bulk:
            self._tell_words(generation, hashsize=_BULK_HASH_BYTES)
        failed: list[tuple[str, str]] = []
        done = 0
        notes = self._prepared(todo.changed, known)
        while todo.removed or done < len(todo.changed):
            with self._db:
                self._remove(generation, todo.removed if done == 0 else ())
                begun = monotonic()
                for note in notes:
                    done += 1
                    self._store(generation, note, known.get(note.found.path))
                    if note.reason:
                        failed.append((note.found.path, note.reason))
                    if monotonic() - begun > _BATCH_S or self._is_late():
                        break
            if bulk:
                write_back(self._db)
            if progress and todo.changed:
                progress(Progress("index", done, len(todo.changed)))
            if done >= len(todo.changed) or self._is_late():
                break
        self._merge_segments(generation, bulk=bulk)
        return failed

    def _merge_segments(self, generation: int, *, bulk: bool) -> None:
        """Make one segment of the words again where some have gathered: after a bulk load, and in small indexes at any time.

        A search reads each segment; FTS5 itself merges them only when there are many.
        """
        table = f"words_{generation}"
        segments = int(self._db.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").get)
        with self._db:
            if segments > _FEW_SEGMENTS and (bulk or schema.count_chunks(self._db, generation) <= _SMALL_CHUNKS):
                self._tell_words(generation, optimize=None)
            if bulk:
                self._tell_words(generation, hashsize=_USUAL_HASH_BYTES)
        if bulk:
            write_back(self._db)

    def _is_late(self) -> bool:
        return self._until is not None and monotonic() > self._until

    def _prepared(self, changed: Sequence[Found], known: dict[str, Known]) -> Iterator[Prepared]:
        def one(found: Found) -> Prepared:
            before = known.get(found.path)
            same = before.hash if before and before.state == "indexed" else b""
            if found.source == SOURCE:
                return prepare_session(found, self._chunks.tokens)
            if self._media.enabled and modality(found.path):
                return prepare_media(found, same, self._media.max_file_bytes)
            return prepare(found, same, tokens=self._chunks.tokens, overlap=self._chunks.overlap)

        return map(one, changed)

    def _store(self, generation: int, note: Prepared, before: Known | None) -> None:
        """Write one note in place of what the index held of it."""
        if before and note.identity and note.identity == before.hash and before.state == "indexed":
            sql = f"UPDATE file_{generation} SET size = ?, mtime_ns = ? WHERE id = ?"
            self._db.execute(sql, (note.size, note.found.mtime_ns, before.id))
            return
        if before:
            self._remove(generation, [before.id])
        if note.gone:
            return
        self._db.execute(
            f"INSERT INTO file_{generation}(path, source, state, reason, size, mtime_ns, hash, absolute) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                note.found.path, note.found.source, "failed" if note.reason else "indexed", note.reason, note.size,
                note.found.mtime_ns, note.identity, note.found.absolute,
            ),
        )  # fmt: skip
        file = self._db.last_insert_rowid()
        first = schema.number_chunks(self._db, generation, len(note.chunks), session=note.found.source == SOURCE)
        numbered = enumerate(zip(note.chunks, note.words, strict=True), first)
        rows = [(number, file, *chunk, number, *words) for number, (chunk, words) in numbered]
        self._db.executemany(
            f"INSERT INTO chunk_{generation} VALUES(?, ?, ?, ?, ?, ?, ?, ?);"
            f"INSERT INTO words_{generation}(rowid, body, heading) VALUES(?, ?, ?)",
            rows,
        )

    def _remove(self, generation: int, files: Iterable[int]) -> None:
        for file in files:
            self._db.execute(
                f"DELETE FROM words_{generation} WHERE rowid IN (SELECT id FROM chunk_{generation} WHERE file = ?)", (file,)
            )
            self._db.execute(f"DELETE FROM chunk_{generation} WHERE file = ?", (file,))
            self._db.execute(f"DELETE FROM file_{generation} WHERE id = ?", (file,))

    def _tell_words(self, generation: int, **commands: int | None) -> None:
        table = f"words_{generation}"
        for command, value in commands.items():
            self._db.execute(f"INSERT INTO {table}({table}, rank) VALUES(?, ?)", (command, value))
