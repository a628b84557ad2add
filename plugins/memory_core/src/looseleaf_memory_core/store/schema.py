"""The tables. A generation has its own files, chunks and words; embeddings are shared by all, keyed by text."""

from __future__ import annotations

import apsw

from looseleaf import Note

from .keyword import Keywords

#: Raised when a table changes; an index of another version is dropped and built again.
VERSION = 5
#: From here on are the chunks of transcripts, so that each source can be asked for by itself.
SESSIONS = 1 << 40

_SHARED = """
CREATE TABLE IF NOT EXISTS generation(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  fingerprint TEXT NOT NULL,      -- chunking, text normalisation and scope that everything in it was made with
  live INTEGER NOT NULL DEFAULT 0, -- 1: it answers; 0: it is being built
  next_note INTEGER NOT NULL DEFAULT 1, -- number of the next chunk: none is given twice, so that readers know what is new
  next_session INTEGER NOT NULL DEFAULT {sessions}
);
CREATE TABLE IF NOT EXISTS space(
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE, -- the embedder's
  dimensions INTEGER NOT NULL,
  texts INTEGER NOT NULL DEFAULT 0,         -- most texts of a request, as learned from a refusal; 0: as the embedder says
  request_tokens INTEGER NOT NULL DEFAULT 0 -- the same for its estimated tokens
);
CREATE TABLE IF NOT EXISTS embedding(
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- none is given twice
  space INTEGER NOT NULL,
  hash BLOB NOT NULL,   -- of the text
  vector BLOB NOT NULL, -- float32, little-endian, unit length
  unused INTEGER NOT NULL DEFAULT 0 -- since which sync no note has had the text; 0: one has
);
CREATE UNIQUE INDEX IF NOT EXISTS embedding_text ON embedding(space, hash);
CREATE TABLE IF NOT EXISTS refused(
  space INTEGER NOT NULL,
  hash BLOB NOT NULL,
  reason TEXT NOT NULL, -- why this text has no vector and is not asked for again
  PRIMARY KEY(space, hash)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS job( -- a batch job that was handed in and is not collected yet
  id INTEGER PRIMARY KEY,
  space INTEGER NOT NULL,
  name TEXT NOT NULL,             -- the provider's
  made REAL NOT NULL,             -- seconds since 1970
  said TEXT NOT NULL DEFAULT '',  -- its state, in the provider's word
  unknown INTEGER NOT NULL DEFAULT 0 -- how often that word meant nothing
);
CREATE TABLE IF NOT EXISTS in_flight( -- texts that are in a job, so that they are not sent again
  space INTEGER NOT NULL,
  hash BLOB NOT NULL,
  job INTEGER NOT NULL,           -- 0: it came back without a vector, and is sent by itself
  PRIMARY KEY(space, hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS in_flight_job ON in_flight(job);
CREATE TABLE IF NOT EXISTS said( -- what has to be said once, by whoever comes next
  code TEXT NOT NULL,
  text TEXT NOT NULL
);
"""
_GENERATION = """
CREATE TABLE file_{0}(
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'memory',
  state TEXT NOT NULL,           -- indexed, skipped, failed
  reason TEXT NOT NULL DEFAULT '',
  size INTEGER NOT NULL DEFAULT 0,
  mtime_ns INTEGER NOT NULL DEFAULT 0,
  hash BLOB NOT NULL DEFAULT x'',
  absolute TEXT NOT NULL DEFAULT '',
  UNIQUE(source, path)
);
CREATE TABLE chunk_{0}(
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL,
  start INTEGER NOT NULL,   -- first line, 1-based
  end INTEGER NOT NULL,     -- last line, inclusive
  begin INTEGER NOT NULL,   -- offset in the file, bytes
  size INTEGER NOT NULL,    -- length, bytes
  hash BLOB NOT NULL,       -- of the text
  heading TEXT NOT NULL
);
CREATE INDEX chunk_{0}_file ON chunk_{0}(file);
CREATE INDEX chunk_{0}_hash ON chunk_{0}(hash);
"""


def ensure(db: apsw.Connection, *, writable: bool) -> None:
    """Make the shared tables; drop everything first if another version made them."""
    version = db.execute("PRAGMA user_version").get
    if version == VERSION or not writable:
        return
    if version:
        names = [
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'")
        ]
        names += [
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        ]
        for name in names:
            db.execute(f'DROP TABLE IF EXISTS "{name}"')
    with db:
        db.execute(_SHARED.format(sessions=SESSIONS))
        db.execute(f"PRAGMA user_version = {VERSION}")


def create_generation(db: apsw.Connection, fingerprint: str) -> int:
    """Make the tables of a new generation and return its number."""
    with db:
        db.execute("INSERT INTO generation(fingerprint) VALUES(?)", (fingerprint,))
        number = db.last_insert_rowid()
        db.execute(_GENERATION.format(number))
        Keywords.create(db, f"words_{number}")
    return number


def drop_generation(db: apsw.Connection, number: int) -> None:
    """Delete a generation; the embeddings stay."""
    with db:
        for table in (f"words_{number}_vocab", f"words_{number}", f"chunk_{number}", f"file_{number}"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
        db.execute("DELETE FROM generation WHERE id = ?", (number,))


def live_generation(db: apsw.Connection) -> tuple[int, str] | None:
    """Return the number and fingerprint of the generation that answers."""
    row = db.execute("SELECT id, fingerprint FROM generation WHERE live = 1").fetchone()
    return (row[0], row[1]) if row else None


def sweep(db: apsw.Connection) -> None:
    """Drop what is left of generations whose building was broken off. Nobody else may be building."""
    for (number,) in list(db.execute("SELECT id FROM generation WHERE NOT live")):
        drop_generation(db, number)


def say(db: apsw.Connection, code: str, text: str) -> None:
    """Leave a note for whoever brings the index up to date next."""
    with db:
        db.execute("INSERT INTO said VALUES(?, ?)", (code, text))


def take_said(db: apsw.Connection) -> list[Note]:
    """Return the notes that were left, and forget them."""
    notes = [Note(code, text) for code, text in db.execute("SELECT code, text FROM said")]
    if notes:
        with db:
            db.execute("DELETE FROM said")
    return notes


def number_chunks(db: apsw.Connection, generation: int, count: int, *, session: bool) -> int:
    """Return the first of `count` numbers for chunks, which no chunk has had before."""
    column = "next_session" if session else "next_note"
    sql = f"UPDATE generation SET {column} = {column} + ?1 WHERE id = ?2 RETURNING {column} - ?1"
    return int(db.execute(sql, (count, generation)).get)


def count_chunks(db: apsw.Connection, generation: int) -> int:
    """Return how many chunks `generation` holds."""
    return int(db.execute(f"SELECT count(*) FROM chunk_{generation}").get)


def known_space(db: apsw.Connection, fingerprint: str) -> tuple[int, int]:
    """Return the number and dimensions of an embedder's space; 0 and 0 before its first text."""
    row = db.execute("SELECT id, dimensions FROM space WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def make_live(db: apsw.Connection, number: int) -> None:
    """Let `number` answer from now on, in one transaction, and drop the others."""
    with db:
        db.execute("UPDATE generation SET live = (id = ?)", (number,))
    for (other,) in list(db.execute("SELECT id FROM generation WHERE id <> ?", (number,))):
        drop_generation(db, other)
