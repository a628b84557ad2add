"""A workspace's memory, open: search, read and sync it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from ._gate import SyncGate
from ._plugins import Plugins
from ._run import in_thread, run
from .errors import LooseleafError, ReadRefused, StoreError
from .freshness import Freshness
from .narrowing import Narrowing
from .pipeline import Pipeline, Ranking, clamp, distinct
from .present import present
from .protocols import Loading, MemorySlot
from .reports import Forgotten, Probe, ProgressCallback, Status, SyncReport
from .results import SearchResult, Step, Trace
from .session import access
from .settings import QMD, AgentSettings
from .sharing import NOT_SHARED, refuse_page, refuse_path, shared_part
from .types import Fallback, Hit, Note, Page, Query
from .workspace import Layout

if TYPE_CHECKING:
    from typing import Self

    from .context import ContextPart
    from .recall import Recalled
    from .watching import Watch

P = ParamSpec("P")
T = TypeVar("T")

_MOST_CANDIDATES = 200
_FRESHEN_S = 2.0
OFF = Note("memory-off", 'memory is off: plugins.slots.memory is "none". Set it to "memory-core" to turn it on.')


@dataclass(frozen=True, slots=True)
class Notebook:
    """The memory of one agent, open.

    Attributes:
        settings: What it was opened with.
        slot: The memory slot, or None when memory is off.
        pipeline: How its hits are ranked.
        plugins: Where its parts came from.
        embedder_name: The provider that embeds, or an empty string.
        notes: What went wrong while it was opened.
        stands_in: Whom that provider stands in for, because it could not be made.
    """

    settings: AgentSettings
    slot: MemorySlot | None
    pipeline: Pipeline | None
    plugins: Plugins
    embedder_name: str = ""
    notes: tuple[Note, ...] = ()
    stands_in: Fallback | None = None
    _gate: SyncGate = field(default_factory=SyncGate, repr=False, compare=False)
    _freshness: Freshness = field(default_factory=Freshness, repr=False, compare=False)

    async def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        min_score: float | None = None,
        session_key: str | None = None,
        explain: bool = False,
        only: Narrowing | None = None,
    ) -> SearchResult:
        """Return what the notes, or those that `only` takes, hold on `text`.

        An empty answer says why in its notes; nothing missing is an exception.
        """
        search = self._search(text, limit, min_score, session_key, explain, only or Narrowing())
        quick = getattr(self.slot, "is_quick", None)  # isinstance with a protocol would cost more than it is worth here
        if quick is not None and quick(text):
            return run(search, inline=True)
        if getattr(self.slot, "blocking", False):  # nothing in it waits: one trip to a worker thread does it all
            return await in_thread(run, search, inline=True)
        return await search

    async def _search(
        self, text: str, limit: int | None, min_score: float | None, session_key: str | None, explain: bool, only: Narrowing
    ) -> SearchResult:
        if self.slot is None or self.pipeline is None:
            return SearchResult(notes=self.notes or (OFF,))
        backend = self.settings.slot or "none"
        if not text.strip():
            return SearchResult(notes=(Note("empty-query", "the query is empty: give it a word or a question"),), backend=backend)
        allowed = access(self.settings, session_key)
        if allowed.refusal:
            return SearchResult(notes=(Note("scope", allowed.refusal),), backend=backend)
        options = self.settings.search.query
        wanted = max(1, options.max_results if limit is None else limit)
        if backend == QMD:
            wanted = min(wanted, self.settings.memory.qmd.limits.max_results)
        query = Query(
            text,
            limit=wanted,
            min_score=options.min_score if min_score is None else min_score,
            now=self.settings.now(),
            candidates=_MOST_CANDIDATES if only else min(_MOST_CANDIDATES, max(1, wanted * options.hybrid.candidate_multiplier)),
            sources=("memory", "sessions") if self.settings.search.with_sessions() else ("memory",),
            private=allowed.private,
            stage_timeout_s=options.stage_timeout_ms / 1000,
        )
        found = await self.slot.retrieve(query)
        if not allowed.private:
            found = shared_part(found, Layout.of(self.settings))
        if only:
            found = replace(found, lists={name: [hit for hit in hits if only.takes(hit)] for name, hits in found.lists.items()})
        pipeline = self.pipeline
        ranked = await _beside(pipeline.prompt, pipeline.rank, found.lists, query, explain=explain)
        if hasattr(self.slot, "load"):
            await self._load(cast("Loading", self.slot), ranked, query.limit)
        await _beside(pipeline.prompt, pipeline.finish, ranked, query)
        chars = self.settings.memory.qmd.limits.max_snippet_chars
        shown = tuple(present(hit, found.terms, chars=chars) for hit in clamp(ranked.hits))
        notes = [*self.notes, *found.notes, *ranked.notes]
        if not shown and not any(note.code == "no-files" for note in notes):
            candidates = any(found.lists.values())
            reason = f"nothing came near enough (minScore {query.min_score:g})" if candidates else "no note holds these words"
            notes.append(Note("no-match", f"no matches: {reason}"))
        traces = (*ranked.traces(), *map(_withheld, found.withheld)) if explain else ()
        fallback = found.fallback or (self.stands_in if found.provider else None)
        return SearchResult(
            shown, tuple(notes), found.backend or backend, found.mode, found.provider, found.model, traces, fallback
        )

    async def _load(self, slot: Loading, ranked: Ranking, limit: int) -> None:
        """Read the text of the hits that need it: all for post-processors, else as many as are shown."""
        every = ranked.hits
        loaded: list[Hit] = []
        step = len(every) if self.pipeline and self.pipeline.stages else limit
        place = 0
        while place < len(every) and (len(distinct(loaded)) < limit or step > limit):
            part = every[place : place + step]
            loaded += await slot.load(part)
            place += len(part)
        gone = place - len(loaded)
        ranked.keep("stale", [*loaded, *every[place:]], "its file has changed or gone since it was indexed")
        if gone:
            ranked.notes.append(
                Note("stale", f"{gone} hits are left out: their files have changed or gone since they were indexed")
            )

    async def read(self, path: str, start: int = 1, lines: int | None = None, *, session_key: str | None = None) -> Page:
        """Return part of a memory file.

        Raises:
            ReadRefused: `path` is not a memory file, or not one for this session, or memory is off.
        """
        if self.slot is None:
            raise ReadRefused(path, "memory is off")
        allowed = access(self.settings, session_key)
        if allowed.refusal:
            raise ReadRefused(path, allowed.refusal)
        if allowed.private:
            return await self.slot.read(path, start, lines)
        layout = Layout.of(self.settings)
        refuse_path(path, layout)
        page = await self.slot.read(path, start, lines)
        refuse_page(path, page, layout)
        return page

    def session_context(self, session_key: str | None = None, *, chars: int | None = None) -> list[ContextPart]:
        """Return the files that a session starts with; see `context.session_context`."""
        from .context import session_context

        return [] if self.slot is None else session_context(self.settings, session_key, chars=chars)

    async def recall(self, turn: str, *, session_key: str | None = None) -> Recalled:
        """Return what the notes hold on `turn` without being asked, within a hard limit of time; see `recall.recall`."""
        from .recall import recall

        return await in_thread(recall, self, turn, session_key=session_key)

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """Bring the index up to date; `force` rebuilds it."""
        if self.slot is None:
            return SyncReport(notes=self.notes or (OFF,))
        slot = self.slot
        report = await self._gate.run(
            lambda: slot.sync(force=force, progress=progress, budget_s=budget_s), force=force, budget_s=budget_s
        )
        return replace(report, notes=(*self.notes, *report.notes))

    async def freshen(self) -> None:
        """Index what has changed, if `sync.onSearch` wants that and it is time: what tools do before a search.

        It takes two seconds at most; what fails is logged, for the search answers from what is there.
        """
        wanted = self.settings.search.sync.on_search and self._freshness.is_due(is_busy=self._gate.is_busy())
        if self.slot is None or not wanted:
            return
        with self._freshness.looking():
            try:
                await self.sync(budget_s=_FRESHEN_S)
            except LooseleafError as error:
                import logging

                logging.getLogger(__name__).warning("the index may be old: %s", error)

    def mark_stale(self) -> None:
        """Look for changes before a tool's next search: something was written."""
        self._freshness.mark_stale()

    @asynccontextmanager
    async def watching(
        self, told: Callable[[SyncReport], None] | None = None, *, progress: ProgressCallback | None = None
    ) -> AsyncIterator[Watch]:
        """Keep the index up with the files for as long as the block lasts; `told` gets what each sync did, `progress` how far it is."""
        from functools import partial

        from anyio import create_task_group

        from .watching import Watch

        follows = getattr(self.slot, "follows", None)
        also = follows() if follows else ()
        watch = Watch(
            Layout.of(self.settings),
            self.settings.search.sync,
            partial(self.sync, progress=progress),
            told or (lambda report: None),
            also,
        )
        async with create_task_group() as group:
            if self.slot is not None:
                group.start_soon(watch.run)
            try:
                with self._freshness.watched():
                    yield watch
            finally:
                group.cancel_scope.cancel()

    async def forget(self) -> Forgotten:
        """Keep nothing of what stands in no note any more: words, vectors, cache, work under way, free pages of the disk.

        Raises:
            StoreError: the slot cannot forget, or another process is at work for too long.
        """
        forget = getattr(self.slot, "forget", None)
        if forget is None:
            raise StoreError(f"{self.settings.slot or 'none'} cannot forget")
        forgotten: Forgotten = await forget()
        return forgotten

    async def status(self) -> Status:
        """Return the state of the memory."""
        if self.slot is None:
            return Status("none", notes=self.notes or (OFF,))
        status = await self.slot.status()
        return replace(status, notes=(*self.notes, *status.notes))

    async def probe(self, *, fallback: bool = False) -> Probe | None:
        """Return how the embedder, or the one that steps in, answers one request; None without one."""
        probe = getattr(self.slot, "probe", None)
        return await probe(fallback=fallback) if probe else None

    async def aclose(self) -> None:
        """Close the slot; a second call does nothing."""
        if self.slot is not None:
            await self.slot.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


async def _beside(prompt: bool, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `function` returns; where it is not prompt, it runs beside the event loop."""
    return function(*args, **kwargs) if prompt else await in_thread(function, *args, **kwargs)


def _withheld(hit: Hit) -> Trace:
    return Trace(hit, (Step("scope", None, NOT_SHARED),))
