"""Which texts are in which batch job: written down, so that a job outlives the process and is paid for once."""

from __future__ import annotations

from collections.abc import Sequence
from time import time
from typing import TYPE_CHECKING, NamedTuple

import apsw

from looseleaf.settings.surface import RemoteBatch

from .space import Space

if TYPE_CHECKING:
    from ..embedders.batch import Jobs, State

#: The job of a text that came back without a vector: it is sent by itself.
DIRECTLY = 0


class Job(NamedTuple):
    """A job that is not collected yet.

    Attributes:
        id: Its number here.
        name: The provider's.
        made: When, in seconds since 1970.
        said: Its state, in the provider's word.
        unknown: How often in a row that word meant nothing.
    """

    id: int
    name: str
    made: float
    said: str
    unknown: int


class JobTable:
    """The jobs of one embedder."""

    def __init__(self, db: apsw.Connection, space: Space) -> None:
        self._db = db
        self._space = space

    def running(self) -> list[Job]:
        """Return the jobs that are not collected yet."""
        rows = self._db.execute("SELECT id, name, made, said, unknown FROM job WHERE space = ? ORDER BY id", (self._space.number,))
        return [Job(*row) for row in rows]

    def texts(self) -> int:
        """Return how many texts are in them."""
        return int(self._db.execute("SELECT count(*) FROM in_flight WHERE space = ? AND job > 0", (self._space.number,)).get)

    def texts_of(self, job: Job) -> set[bytes]:
        """Return which texts are in `job`."""
        return {identity for (identity,) in self._db.execute("SELECT hash FROM in_flight WHERE job = ?", (job.id,))}

    def open(self, name: str, identities: Sequence[bytes]) -> None:
        """Write down a new job and what is in it."""
        space = self._space.ensure()
        with self._db:
            self._db.execute("INSERT INTO job(space, name, made) VALUES(?, ?, ?)", (space, name, time()))
            self._put(space, identities, self._db.last_insert_rowid())

    def send_directly(self, identities: Sequence[bytes]) -> None:
        """Write down texts that no job can take."""
        space = self._space.ensure()
        with self._db:
            self._put(space, identities, DIRECTLY)

    def _put(self, space: int, identities: Sequence[bytes], job: int) -> None:
        rows = [(space, identity, job) for identity in identities]
        self._db.executemany("INSERT OR REPLACE INTO in_flight VALUES(?, ?, ?)", rows)

    def remember(self, job: Job, state: State) -> None:
        """Write down how far a job is."""
        unknown = job.unknown + 1 if state.phase == "unknown" else 0
        with self._db:
            self._db.execute("UPDATE job SET said = ?, unknown = ? WHERE id = ?", (state.said, unknown, job.id))

    def close(self, job: Job) -> int:
        """Forget a job, and return how many of its texts have no vector: those are sent directly."""
        with self._db:
            self._db.execute(
                "DELETE FROM in_flight WHERE job = ? AND hash IN (SELECT hash FROM embedding WHERE space = ?)",
                (job.id, self._space.number),
            )
            owed = int(self._db.execute("SELECT count(*) FROM in_flight WHERE job = ?", (job.id,)).get)
            self._db.execute("UPDATE in_flight SET job = ? WHERE job = ?", (DIRECTLY, job.id))
            self._db.execute("DELETE FROM job WHERE id = ?", (job.id,))
        return owed

    def tidy(self) -> None:
        """Forget what was sent directly and has been embedded or refused since."""
        with self._db:
            for table in ("embedding", "refused"):
                self._db.execute(
                    "DELETE FROM in_flight WHERE space = ?1 AND job = ?2 "
                    f"AND EXISTS(SELECT 1 FROM {table} AS t WHERE t.space = ?1 AND t.hash = in_flight.hash)",
                    (self._space.number, DIRECTLY),
                )


def batch_status(db: apsw.Connection, space: int, settings: RemoteBatch, jobs: Jobs | None) -> dict[str, object]:
    """Return what `status` tells of batch jobs, as JSON can hold it."""
    rows = db.execute(
        "SELECT name, said, (SELECT count(*) FROM in_flight WHERE job = job.id), made FROM job WHERE space = ?", (space,)
    )
    return {
        "enabled": settings.enabled and jobs is not None,
        "wait": settings.wait,
        "concurrency": settings.concurrency,
        "pollIntervalMs": settings.poll_interval_ms,
        "timeoutMs": settings.timeout_minutes * 60_000,
        "failures": jobs.failures if jobs else 0,
        "lastError": jobs.last_error if jobs else "",
        "jobs": [{"name": name, "state": said, "texts": count, "made": made} for name, said, count, made in rows],
    }
