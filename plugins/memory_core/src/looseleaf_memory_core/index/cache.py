"""Keep the vectors that nothing needs at the moment within their limits.

Vectors are kept by text, so a note that comes back, or a change of provider that is taken back, is not paid for again. What the
notes need now is never removed, whatever the limits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from looseleaf.settings import MemorySearch


def prune(db: apsw.Connection, generation: int, spaces: Sequence[int], search: MemorySearch) -> int:
    """Remove what is over `cache.maxEntries` or `cache.maxBytes`, and return how many vectors that were.

    Vectors of texts that are in no note go first, then those of embedders in other `spaces`, each the oldest first. With `cache.enabled`
    false those of texts that are gone are not kept at all.
    """
    cache = search.cache
    if cache.enabled and cache.max_entries is None and cache.max_bytes is None:
        return 0
    ((count, size),) = db.execute("SELECT count(*), coalesce(sum(length(vector)), 0) FROM embedding")
    spare = db.execute(
        f"SELECT e.id, length(e.vector), c.hash IS NULL FROM embedding AS e LEFT JOIN (SELECT DISTINCT hash FROM chunk_{generation}) AS c "
        "ON c.hash = e.hash WHERE c.hash IS NULL OR e.space NOT IN (SELECT value FROM json_each(?)) ORDER BY c.hash IS NOT NULL, e.id",
        (json.dumps(list(spaces)),),
    )
    removed: list[int] = []
    for identity, length, gone in spare:
        fits = (cache.max_entries is None or count <= cache.max_entries) and (cache.max_bytes is None or size <= cache.max_bytes)
        if fits and (cache.enabled or not gone):
            break
        removed.append(identity)
        count -= 1
        size -= length
    with db:
        db.execute("DELETE FROM embedding WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(removed),))
    return len(removed)
