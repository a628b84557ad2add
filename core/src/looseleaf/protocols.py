"""What plugins hand over: structural types, no base classes. Capabilities are small extra protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from .reports import Check, Forgotten, Probe, ProgressCallback, Status, SyncReport
from .types import Hit, Limits, Media, Page, Purpose, Query, Retrieval

if TYPE_CHECKING:
    from .types import Vectors

#: The moment it is now, with the user's time zone.
Clock: TypeAlias = Callable[[], datetime]
#: Lists of hits by retriever, to one list of their union, best first, scores in [0, 1]. Pure.
Ranker: TypeAlias = Callable[[Mapping[str, Sequence[Hit]], Query], list[Hit]]
#: Ranked hits to ranked hits: it may reorder, lower scores and drop, never add or raise. Pure.
Postprocessor: TypeAlias = Callable[[Sequence[Hit], Query], list[Hit]]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    Attributes:
        fingerprint: Provider, model, endpoint, dimensions, prefixes: a change means other vectors. Never a key.
        limits: What a request may hold.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return one row a text, in order; `[]` gives shape (0, dimensions).

        Raises:
            TextTooLong: one of the texts is over the model's limit.
            ProviderError: anything else went wrong.
        """
        ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Calibrated(Protocol):
    """An embedder that knows its own scale.

    Attributes:
        levels: The cosine of unrelated texts and of texts that answer each other, mapped to 0 and 1 for `minScore`.
    """

    @property
    def levels(self) -> tuple[float, float]: ...


@runtime_checkable
class Scripted(Protocol):
    """An embedder that knows which writing systems it was trained on, by their names in Unicode (`LATIN`, `CJK` …)."""

    @property
    def scripts(self) -> frozenset[str]: ...


@runtime_checkable
class Named(Protocol):
    """An embedder that tells people what it is.

    Attributes:
        provider: The name config uses.
        model: The model's name.
    """

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...


@runtime_checkable
class Paid(Protocol):
    """An embedder that is paid for, or sends texts away: what has vectors is not sent to it unasked.

    Attributes:
        paid: Whether it is.
    """

    @property
    def paid(self) -> bool: ...


@runtime_checkable
class Perceiving(Protocol):
    """An embedder that takes images and sound, in the space of its texts."""

    async def embed_media(self, items: Sequence[Media]) -> Vectors:
        """Return one row an item, in order.

        Raises:
            TextTooLong: one of them is too large.
            ProviderError: anything else went wrong, or this model takes none.
        """
        ...


@runtime_checkable
class Blocking(Protocol):
    """A slot or embedder that awaits nothing but `in_thread`: a command may use it without an event loop.

    Attributes:
        blocking: Always true.
    """

    @property
    def blocking(self) -> bool: ...


@runtime_checkable
class Quick(Blocking, Protocol):
    """A blocking slot that knows when an answer takes less time than the trip to a worker thread is worth."""

    def is_quick(self, text: str) -> bool:
        """Tell whether the answer to `text` will hardly hold up the event loop: for a millisecond or two."""
        ...


@runtime_checkable
class Prompt(Protocol):
    """A ranker or post-processor that only computes on the hits it is given, so that its time needs no watching.

    All others run on a thread of their own, and are skipped when they pass `query.stage_timeout_s`.

    Attributes:
        prompt: Always true.
    """

    @property
    def prompt(self) -> bool: ...


@runtime_checkable
class Loading(Protocol):
    """A slot whose hits come without their text, which is read for those that are shown or post-processed."""

    async def load(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return `hits` with text and lines as they stand in the files now, in order, without those that are gone."""
        ...


@runtime_checkable
class Probing(Protocol):
    """A slot that can try its embedder."""

    async def probe(self, *, fallback: bool = False) -> Probe | None:
        """Return how one request to the embedder, or to the one that steps in, went; None without one.

        A failure is told in the answer, never raised.
        """
        ...


@runtime_checkable
class Following(Protocol):
    """A slot that also follows files outside the workspace, such as session transcripts."""

    def follows(self) -> Sequence[str]:
        """Return their folders."""
        ...


@runtime_checkable
class Forgetting(Protocol):
    """A slot that can forget, for `looseleaf forget`."""

    async def forget(self) -> Forgotten:
        """Remove all that is kept of texts that stand in no note any more, so that it cannot come back.

        Raises:
            StoreError: another process is at work for too long.
        """
        ...


@runtime_checkable
class Diagnosing(Protocol):
    """A slot that can look its own parts over, for `looseleaf doctor`."""

    async def diagnose(self) -> Sequence[Check]:
        """Return what was found, in the order in which one part needs another. Nothing is changed."""
        ...


@runtime_checkable
class Replaceable(Protocol):
    """A slot that may raise where it cannot answer: then another one does, and this one is asked again after a while.

    Attributes:
        substitute: The name of that slot.
    """

    @property
    def substitute(self) -> str: ...


@runtime_checkable
class Outlined(Protocol):
    """A slot that can list its chunks, so that `looseleaf eval` knows the best order there is."""

    async def outline(self) -> list[tuple[str, int, int]]:
        """Return path, first and last line of every chunk."""
        ...


@runtime_checkable
class MemorySlot(Protocol):
    """A memory: finds, reads and keeps up with the notes of one workspace."""

    async def retrieve(self, query: Query) -> Retrieval:
        """Return candidates by retriever, unfused. Missing signals are notes, never exceptions."""
        ...

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return part of a file.

        Raises:
            ReadRefused: `path` is not a memory file.
        """
        ...

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """Bring the index up to date; `force` rebuilds it. After `budget_s` seconds what is left stays pending."""
        ...

    async def status(self) -> Status: ...

    async def aclose(self) -> None: ...
