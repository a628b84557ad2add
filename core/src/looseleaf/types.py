"""What flows through a search: plain frozen values, no behaviour. Lines are 1-based inclusive, scores are in [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    #: Embeddings, shape (n, dimensions), float32.
    Vectors: TypeAlias = npt.NDArray[np.float32]


def __getattr__(name: str) -> Any:
    """Make `Vectors` when it is asked for at run time; NumPy stays out of start-up."""
    if name != "Vectors":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import numpy as np
    import numpy.typing as npt

    return npt.NDArray[np.float32]


Purpose: TypeAlias = Literal["query", "document"]
Mode: TypeAlias = Literal["hybrid", "keyword", "vector", "none"]


@dataclass(frozen=True, slots=True)
class Query:
    """One question.

    Attributes:
        text: What was asked, as it was asked.
        limit: Most hits to return, at least 1.
        min_score: Evidence a hit must have, in [0, 1]; see `pipeline.evidence`.
        now: The moment of asking, in the user's time zone.
        candidates: How many hits each retriever should offer.
        sources: Which kinds of files to look in: `memory`, `sessions`.
        private: Whether MEMORY.md may be searched: false in groups and channels.
        stage_timeout_s: Seconds that a ranker or post-processor may take; one that takes longer is skipped. A slow one can
            plan by it: score as many hits as it can in that time and leave the others where they are.
    """

    text: str
    limit: int = 6
    min_score: float = 0.35
    now: datetime = field(default_factory=lambda: datetime.now().astimezone())
    candidates: int = 24
    sources: tuple[str, ...] = ("memory",)
    private: bool = True
    stage_timeout_s: float = 2.0


class Hit(NamedTuple):
    """A chunk that may answer the query. A tuple, because every stage makes each hit anew, and a tuple is made three times quicker.

    Attributes:
        id: Stable within its slot.
        path: As `memory_get` takes it, with `/`.
        start: First line of `text`.
        end: Last line of `text`.
        text: The whole chunk, an exact substring of the file. A slot that can `load` may leave it empty until it is needed.
        score: In a list that goes into a ranker, that retriever's own score, higher is better; afterwards in [0, 1].
        signals: Raw measures that rankers may use. Known names: `bm25` (at least 0), `coverage`, `matched`, `exact`,
            `cosine` ([-1, 1]), `similarity` (cosine calibrated to [0, 1]) and `dated` (how well its day is one that was asked for)
            and `media` (1 for an image or sound, which has no words).
        source: `memory` or `sessions`.
        heading: Headings above the chunk, outermost first, joined with ` > `.
        day: The day the text is about, or None for notes that do not age.
    """

    id: str
    path: str
    start: int
    end: int
    text: str
    score: float = 0.0
    signals: Mapping[str, float] = MappingProxyType({})
    source: str = "memory"
    heading: str = ""
    day: date | None = None

    def scored(self, score: float) -> Hit:
        """Return this hit with another score."""
        return Hit(
            self.id, self.path, self.start, self.end, self.text, score, self.signals, self.source, self.heading, self.day
        )  # in half the time of _replace, and every stage does it to every hit


class Note(NamedTuple):
    """Something the reader of a result should know: a short code for programs, a sentence for people."""

    code: str
    text: str


class Fallback(NamedTuple):
    """Who should have answered and did not: its provider, and why."""

    provider: str
    reason: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a memory slot found: one list of hits for each way of looking, unfused.

    Attributes:
        lists: By retriever, such as `keyword` and `vector`; the order within a list carries no meaning.
        notes: What went wrong or is missing.
        mode: Which ways of looking took part.
        provider: Name of the embedding provider that took part, or an empty string.
        model: Its model.
        terms: Words of the query as they may be marked in a snippet.
        withheld: Candidates that this session may not see, without text; for `explain` alone.
        fallback: Whom `provider` stands in for, or None.
        backend: The slot that answered, if it is not the one that was asked.
    """

    lists: Mapping[str, Sequence[Hit]]
    notes: tuple[Note, ...] = ()
    mode: Mode = "none"
    provider: str = ""
    model: str = ""
    terms: tuple[str, ...] = ()
    withheld: tuple[Hit, ...] = ()
    fallback: Fallback | None = None
    backend: str = ""


class Media(NamedTuple):
    """An image or sound as an embedder takes it: a line of text about it, its MIME type, its bytes."""

    label: str
    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """What an embedder takes. Tokens are estimated; 0 is no limit where that is the default.

    Attributes:
        texts: Texts a request.
        tokens: Tokens a text; the index embeds a longer one in pieces.
        request_tokens: Tokens a request.
        request_bytes: Bytes of text a request.
        requests_per_minute: Requests a minute.
        tokens_per_minute: Tokens a minute.
        texts_per_minute: Texts a minute, for those who count a request of a hundred as a hundred.
    """

    texts: int = 64
    tokens: int = 8192
    request_tokens: int = 100_000
    request_bytes: int = 0
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    texts_per_minute: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Part of one memory file.

    Attributes:
        path: As it was asked for, workspace-relative with `/`.
        text: The lines, without the final line break.
        start: First line of `text`.
        lines: How many lines `text` holds.
        truncated: Whether there is more.
        next_start: Where to go on reading, or None.
        status: `ok`, `not_found`, `empty` (a file of 0 bytes) or `past_end`.
        identity: Device and inode of the file that was read, by which the host knows a file under all its names; None is unknown.
    """

    path: str
    text: str = ""
    start: int = 1
    lines: int = 0
    truncated: bool = False
    next_start: int | None = None
    status: Literal["ok", "not_found", "empty", "past_end"] = "ok"
    identity: tuple[int, int] | None = field(default=None, repr=False, compare=False)
