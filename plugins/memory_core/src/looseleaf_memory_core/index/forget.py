"""Forget: what stands in no note any more is taken out of the index, and out of what is left of it on the disk."""

from __future__ import annotations

import apsw

from looseleaf import Forgotten

from ..store.schema import live_generation


def forget(db: apsw.Connection) -> Forgotten:
    """Remove vectors, refusals and places in batch jobs of texts that are in no chunk, and every trace of deleted words.

    Chunks and words of files that are gone must be removed before. A job that is under way gives nothing for what is forgotten.
    """
    live = live_generation(db)
    gone = f"NOT EXISTS(SELECT 1 FROM chunk_{live[0]} AS chunk WHERE chunk.hash = {{0}}.hash)" if live else "TRUE"
    removed = {}
    with db:
        for table in ("embedding", "refused", "in_flight"):
            db.execute(f"DELETE FROM {table} WHERE {gone.format(table)}")
            removed[table] = db.changes()
        if live:  # one segment holds no word of a chunk that was deleted
            db.execute(f"INSERT INTO words_{live[0]}(words_{live[0]}) VALUES('optimize')")
    db.execute("VACUUM")  # free pages may hold what was deleted long ago
    ((busy, _, _),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Forgotten(removed["embedding"], removed["in_flight"], complete=not busy)
