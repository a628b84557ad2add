"""What the work on an index tells of itself: how far it is, what it did, what it holds, what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from .types import Limits, Note


@dataclass(frozen=True, slots=True)
class Probe:
    """How the embedder answered one request.

    Attributes:
        provider: Its name.
        model: Its model.
        milliseconds: What the answer took.
        dimensions: Of its vectors; 0 if there was no answer.
        limits: Those in force.
        error: What went wrong and what to do, or an empty string.
    """

    provider: str
    model: str
    milliseconds: float
    dimensions: int
    limits: Limits
    error: str = ""


class Forgotten(NamedTuple):
    """What was forgotten.

    Attributes:
        vectors: How many vectors were removed.
        under_way: How many texts were in batch jobs, whose results will not be stored.
        complete: Whether the disk holds nothing of it; false while another process reads what was.
    """

    vectors: int
    under_way: int = 0
    complete: bool = True


class Check(NamedTuple):
    """One part of the set-up that was looked at.

    Attributes:
        name: Which part.
        state: `ok`, `warning` (it works, not as well as it could) or `failure`.
        text: What was found.
        remedy: What to do, or an empty string.
    """

    name: str
    state: Literal["ok", "warning", "failure"]
    text: str
    remedy: str = ""


class Progress(NamedTuple):
    """How far a sync is: `done` of `total` in a stage (`index`, `embed`, `batch`), and what else there is to say."""

    stage: str
    done: int
    total: int
    text: str = ""


ProgressCallback: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync did.

    Attributes:
        files: Files under the roots.
        indexed: Files read and cut anew.
        removed: Files that are gone.
        skipped: Files left out on purpose, each with its reason in the ledger.
        failed: Files that could not be read.
        chunks: Chunks in the index.
        embedded: Texts sent to the embedder.
        pending: Chunks that have no vector yet.
        notes: What the user should know.
    """

    files: int = 0
    indexed: int = 0
    removed: int = 0
    skipped: int = 0
    failed: int = 0
    chunks: int = 0
    embedded: int = 0
    pending: int = 0
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One file of the ledger: `state` is `indexed`, `skipped`, `failed` or `pending`; `reason` says why."""

    path: str
    state: str
    reason: str = ""
    source: str = "memory"
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a slot.

    Attributes:
        backend: The slot's name.
        files: Files indexed.
        chunks: Chunks indexed.
        pending: Chunks without a vector.
        dirty: Whether the files on disk differ from the index.
        details: What else the slot has to tell; every value can be written as JSON.
        ledger: Every file under the roots.
        notes: What the user should know, with what to do.
    """

    backend: str
    files: int = 0
    chunks: int = 0
    pending: int = 0
    dirty: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
    ledger: tuple[FileStatus, ...] = ()
    notes: tuple[Note, ...] = ()
