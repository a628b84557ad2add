"""Keep the vectors that nothing needs at the moment within their limits.

Vectors are kept by text, so a note that comes back, or a change of provider that is taken back, is not paid for again. What the
notes need now is never removed, whatever the limits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from looseleaf.settings.surface import Cache

from ..store.database import write_back

_SPARE = 100  # vectors of texts that are gone, which are kept in any case


def kept(db: apsw.Connection) -> tuple[int, int]:
    """Return how many vectors are kept, and their bytes."""
    ((count, size),) = db.execute("SELECT count(*), coalesce(sum(length(vector)), 0) FROM embedding")
    return count, size


def is_full(db: apsw.Connection, generation: int, cache: Cache) -> bool:
    """Tell whether there is more than `cache.maxEntries` or `cache.maxBytes`, or anything that is not to be kept."""
    if not cache.enabled:
        return bool(db.execute(f"SELECT EXISTS(SELECT 1 FROM embedding WHERE NOT {_is_used(generation)})").get)
    if cache.max_entries is None and cache.max_bytes is None:
        return False
    return not _fits(*kept(db), cache)


def prune(db: apsw.Connection, generation: int, spaces: Sequence[int], cache: Cache, *, rebuilt: bool = False) -> int:
    """Remove what is over the limits, and return how many vectors that were.

    After a rebuild under another chunking nearly all that was is in no note any more: without limits a twentieth of it is kept.

    Vectors of texts that are in no note go first, then those of embedders in other `spaces`, each the least recently used
    first. With `cache.enabled` false those of texts that are gone are not kept at all.
    """
    if cache.enabled and cache.max_entries is None and cache.max_bytes is None:
        if not rebuilt:
            return 0
        used = db.execute(f"SELECT count(DISTINCT hash) FROM chunk_{generation}").get
        others = db.execute(
            "SELECT count(*) FROM embedding WHERE space NOT IN (SELECT value FROM json_each(?))", (json.dumps(list(spaces)),)
        ).get
        cache = Cache(max_entries=int(len(spaces) * used + others + max(_SPARE, used // 20)))
    _mark(db, generation)
    count, size = kept(db)
    spare = db.execute(
        "SELECT id, length(vector), unused FROM embedding WHERE unused OR space NOT IN (SELECT value FROM json_each(?)) "
        "ORDER BY unused = 0, unused, id",
        (json.dumps(list(spaces)),),
    )
    removed: list[int] = []
    every: list[Any] = list(spare)  # an open question would keep the log from being written back
    for identity, length, unused in every:
        if _fits(count, size, cache) and (cache.enabled or not unused):
            break
        removed.append(identity)
        count -= 1
        size -= length
    write_back(db)  # what follows makes the log as long as the vectors
    with db:
        db.execute("DELETE FROM embedding WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(removed),))
    write_back(db)
    return len(removed)


def _mark(db: apsw.Connection, generation: int) -> None:
    """Note since which sync a text has been in no note: the one that is unused for longest is the least recently used."""
    used = _is_used(generation)
    with db:
        now = 1 + int(db.execute("SELECT coalesce(max(unused), 0) FROM embedding").get)
        db.execute(f"UPDATE embedding SET unused = 0 WHERE unused AND {used}")
        db.execute(f"UPDATE embedding SET unused = ? WHERE NOT unused AND NOT {used}", (now,))


def _is_used(generation: int) -> str:
    return f"EXISTS(SELECT 1 FROM chunk_{generation} AS chunk WHERE chunk.hash = embedding.hash)"


def _fits(count: int, size: int, cache: Cache) -> bool:
    return (cache.max_entries is None or count <= cache.max_entries) and (cache.max_bytes is None or size <= cache.max_bytes)
