"""What a search answers: hits as they are shown, notes, and every candidate's way if it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .types import Fallback, Hit, Mode, Note

#: `own` is the workspace's memory, `extra` what `extraPaths` and QMD's collections add, `transcript` what was said in a session.
Trust: TypeAlias = Literal["own", "extra", "transcript"]


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit as it is shown.

    Attributes:
        hit: The hit, with its final score.
        snippet: A window of its text around the best match.
        start: First line of the snippet.
        end: Last line of the snippet.
        marks: Where matched words stand in the snippet, as (begin, end) offsets in order.
        citation: `path#L5` or `path#L5-L9`.
    """

    hit: Hit
    snippet: str
    start: int
    end: int
    marks: tuple[tuple[int, int], ...] = ()
    citation: str = ""

    @property
    def trust(self) -> Trust:
        """Who wrote it, as far as its place says."""
        if self.hit.source != "memory":
            return "transcript"
        return "own" if self.hit.path.lower() == "memory.md" or self.hit.path.startswith("memory/") else "extra"


@dataclass(frozen=True, slots=True)
class Step:
    """What one stage did to one candidate: its score afterwards, or why it was dropped.

    Attributes:
        stage: The name of the ranker or post-processor, or one of the host's own: `scope`, `minScore`, `quota`, `stale`, `duplicate`,
            `budget`.
        score: Afterwards, or None if it was dropped.
        reason: Why it was dropped, or an empty string.
        place: In the list afterwards, from 1; 0 for one that was dropped.
    """

    stage: str
    score: float | None
    reason: str = ""
    place: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """One candidate's way through the pipeline, with the raw signals that its slot gave it."""

    hit: Hit
    steps: tuple[Step, ...]

    @property
    def dropped(self) -> str:
        """The stage that dropped it, or an empty string for a hit that is shown."""
        return self.steps[-1].stage if self.steps and self.steps[-1].score is None else ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a query.

    Attributes:
        hits: Best first; shown scores never rise down the list, unless MMR reordered it.
        notes: Why there are no more hits, what is missing, what to do.
        explain: Every candidate with its raw signals and what each stage did to it; empty unless asked for.
        fallback: Whom `provider` stands in for, or None.
    """

    hits: tuple[FoundHit, ...] = ()
    notes: tuple[Note, ...] = ()
    backend: str = ""
    mode: Mode = "none"
    provider: str = ""
    model: str = ""
    explain: tuple[Trace, ...] = ()
    fallback: Fallback | None = None
