"""The files of a generation as the index knows them: indexed, skipped or failed, each with its reason. Nothing is silently missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import apsw

from looseleaf import FileStatus
from looseleaf.workspace import Found, Skipped


class Known(NamedTuple):
    """What the ledger remembers of an indexed or failed file."""

    id: int
    state: str
    size: int
    mtime_ns: int
    hash: bytes


class Difference(NamedTuple):
    """How the files on disk differ from the ledger."""

    changed: list[Found]
    removed: list[int]
    skipped: list[Skipped]
    found: int

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def known_files(db: apsw.Connection, generation: int) -> dict[str, Known]:
    """Return the files in the ledger by path, without those that were skipped."""
    rows = db.execute(f"SELECT path, id, state, size, mtime_ns, hash FROM file_{generation} WHERE state <> 'skipped'")
    return {row[0]: Known(*row[1:]) for row in rows}


def difference(
    walk: Iterable[Found | Skipped], known: dict[str, Known], has_grown: Callable[[Found, Known], bool] | None = None
) -> Difference:
    """Return what must be done to bring the ledger up to date; a file counts as unchanged while its size and time are.

    A transcript that has changed is read again when it `has_grown` enough.
    """
    changed: list[Found] = []
    skipped: list[Skipped] = []
    present: set[str] = set()
    count = 0
    for item in walk:
        if isinstance(item, Skipped):
            skipped.append(item)
            continue
        count += 1
        present.add(item.path)
        before = known.get(item.path)
        if before and before.size == item.size and before.mtime_ns == item.mtime_ns:
            continue
        if before and has_grown and item.source != "memory" and not has_grown(item, before):
            continue
        changed.append(item)
    removed = [entry.id for path, entry in known.items() if path not in present]
    return Difference(changed, removed, skipped, count)


def record_skipped(db: apsw.Connection, generation: int, skipped: Iterable[Skipped]) -> int:
    """Write the files left out on purpose, and return how many."""
    rows = {item.path: item.reason for item in skipped}
    before = dict(db.execute(f"SELECT path, reason FROM file_{generation} WHERE state = 'skipped'"))
    if rows != before:
        db.execute(f"DELETE FROM file_{generation} WHERE state = 'skipped'")
        db.executemany(
            f"INSERT OR REPLACE INTO file_{generation}(path, source, state, reason) VALUES(?, 'skipped', 'skipped', ?)",
            rows.items(),
        )
    return len(rows)


def file_statuses(db: apsw.Connection, generation: int, space: int | None) -> list[FileStatus]:
    """Return the ledger by path; a file is `pending` while one of its chunks waits for a vector."""
    waiting = (
        f"(SELECT count(*) FROM chunk_{generation} AS c WHERE c.file = f.id AND "
        "NOT EXISTS(SELECT 1 FROM embedding WHERE space = ?1 AND hash = c.hash) AND "
        "NOT EXISTS(SELECT 1 FROM refused WHERE space = ?1 AND hash = c.hash))"
        if space is not None
        else "0 + 0 * coalesce(?1, 0)"
    )
    refused = f"(SELECT reason FROM refused JOIN chunk_{generation} AS c USING(hash) WHERE c.file = f.id AND space = ?1 LIMIT 1)"
    rows = db.execute(
        f"SELECT path, source, state, reason, (SELECT count(*) FROM chunk_{generation} WHERE file = f.id), {waiting}, {refused} "
        f"FROM file_{generation} AS f ORDER BY path",
        (space,),
    )
    statuses = []
    for path, source, state, reason, chunks, pending, refusal in rows:
        if pending:
            state, reason = "pending", f"{pending} of {chunks} chunks wait for a vector; their words are found already"
        elif refusal:
            reason = f"found by words only in part: {refusal}"
        statuses.append(FileStatus(path, state, reason, "memory" if source == "skipped" else source, chunks))
    return statuses
