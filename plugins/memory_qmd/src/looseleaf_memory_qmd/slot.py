"""The memory-qmd slot: QMD indexes and searches, the notes are read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from looseleaf import (
    AgentSettings,
    Check,
    Forgotten,
    Hit,
    Layout,
    Note,
    Page,
    Query,
    ReadRefused,
    Retrieval,
    Status,
    StoreError,
    SyncReport,
    in_thread,
    read_page,
)
from looseleaf.reports import ProgressCallback
from looseleaf.transcripts import Transcripts

from .asking import Answer, Questions
from .checks import qmd_checks
from .collection import Managed, listed, owner
from .command import Command, TimeoutStoreError
from .daemon import Daemon
from .places import Places
from .refresh import Refresh

_NO_COLLECTION = "Collection not found"


class QmdSlot:
    """The notes of one workspace in QMD collections.

    Attributes:
        substitute: Who answers while QMD cannot.
    """

    blocking = True
    substitute = "memory-core"

    def __init__(self, settings: AgentSettings, command: Command) -> None:
        options = settings.memory.qmd
        self._settings = settings
        self._layout = Layout.of(settings)
        self._command = command
        self._daemon = Daemon(command) if options.daemon or options.mcporter.enabled else None
        self._questions = Questions(command, options, self._daemon)
        self._refresh = Refresh(settings, self._layout, command)

    async def retrieve(self, query: Query) -> Retrieval:
        """Return what QMD finds, in its order.

        Raises:
            NotConfigured: there is no qmd.
            StoreError: it failed, or was too slow.
        """
        return await in_thread(self._retrieve, query)

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return part of a memory file; `qmd/<collection>/<path>` is one outside the workspace."""
        return await in_thread(self._read, path, start, lines)

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """Bring the collections up with config, and QMD's index up with the files.

        Raises:
            NotConfigured: there is no qmd.
            StoreError: it failed.
        """
        return await in_thread(self._refresh.run, force=force)

    async def status(self) -> Status:
        """Return what QMD says of itself, asked as a search would ask it.

        Raises:
            NotConfigured: there is no qmd.
            StoreError: it failed.
        """
        return await in_thread(self._status)

    async def diagnose(self) -> Sequence[Check]:
        """Look the program, the collections and the models over."""
        return await in_thread(qmd_checks, self._command, self._settings.memory.qmd)

    async def forget(self) -> Forgotten:
        """Take what stands in no note any more out of QMD's index, its caches, and off the disk.

        Raises:
            NotConfigured: there is no qmd.
            StoreError: it failed.
        """
        await in_thread(self._refresh.run)
        await in_thread(self._command.do, "cleanup", timeout_s=self._settings.memory.qmd.update.update_timeout_ms / 1000)
        return Forgotten(0)

    def follows(self) -> Sequence[str]:
        """Return the folders outside the workspace whose files are indexed, too."""
        folders = [one.root for one in self._refresh.collections if one.source == "memory" and not one.curated]
        return [*folders, *(Transcripts(self._settings).folders if self._settings.memory.qmd.sessions.enabled else [])]

    async def aclose(self) -> None:
        """End everything that runs; a second call does nothing."""
        await in_thread(self._close)

    def _close(self) -> None:
        if self._daemon:
            self._daemon.stop()
        self._refresh.stop()

    def _retrieve(self, query: Query) -> Retrieval:
        self._refresh.wait_first()
        wanted = self._refresh.collections
        known = listed(self._command)
        asked = [one for one in wanted if one.name in known and (query.private or not (one.curated or one.source == "sessions"))]
        if not asked:
            return self._nothing(wanted)
        answer = self._ask(query, asked)
        if not answer.rows and not self._refresh.state.files:
            return self._nothing(wanted)
        places = Places(self._layout, asked)
        rows = answer.rows if query.private else [row for row in answer.rows if not places.is_curated(row)]
        found = [(row, places.hit(row, rank, len(rows))) for rank, row in enumerate(rows)]
        hits: dict[str, Hit] = {}
        for _, hit in found:
            if hit:
                hits.setdefault(hit.id, hit)
        notes = answer.notes
        lost = [str(row.get("file") or row.get("docid")) for row, hit in found if hit is None]
        if lost:
            text = f"{len(lost)} of QMD's hits are left out: they name no note, or one that is gone or may not be read: {', '.join(lost[:3])}"
            notes.append(Note("unmapped", text))
        if self._refresh.error is not None:
            notes.append(Note("qmd-update", f"QMD's index may be old: {self._refresh.error}"))
        return Retrieval({"qmd": list(hits.values())}, tuple(notes), "keyword", provider="qmd", terms=tuple(query.text.split()))

    def _ask(self, query: Query, asked: Sequence[Managed]) -> Answer:
        names = [one.name for one in asked]
        try:
            return self._questions.ask(query.text, names, query.candidates)
        except StoreError as error:
            if _NO_COLLECTION not in str(error):
                raise
        self._refresh.run(force=True)  # QMD has lost one: made anew once
        return self._questions.ask(query.text, names, query.candidates)

    def _nothing(self, wanted: Sequence[Managed]) -> Retrieval:
        """Answer where QMD has no collection of ours: there are no notes, or it has not read them yet.

        Raises:
            StoreError: it has not, or could not.
        """
        if self._refresh.error is not None:
            raise self._refresh.error
        if not self._refresh.is_fresh:
            raise TimeoutStoreError("QMD has not read the notes yet")
        roots = ", ".join(dict.fromkeys(self._layout.shown(one.root) for one in wanted))
        return Retrieval(
            {}, (Note("no-files", f"there are no notes yet: looked for Markdown in {self._layout.workspace} ({roots})"),)
        )

    def _read(self, path: str, start: int, lines: int | None) -> Page:
        chars = self._settings.context_limits.memory_get_max_chars
        prefix, _, rest = path.strip().partition("/")
        if prefix != "qmd" or "/" not in rest:
            return read_page(self._layout, path, start, lines, chars=chars)
        name, _, relative = rest.partition("/")
        collection = owner(self._refresh.collections, name)
        if collection is None:
            raise ReadRefused(path, f"there is no collection {name!r}")
        # The collection's folder is a layout of its own, so that what holds for notes holds here.
        outside = Layout(self._layout.workspace, [(collection.root, collection.pattern)])
        page = read_page(outside, f"{collection.root}/{relative}", start, lines, chars=chars)
        return replace(page, path=path.strip())

    def _status(self) -> Status:
        state, options = self._refresh.state, self._settings.memory.qmd
        details: dict[str, object] = {
            "qmd": self._command.ask_version(),
            "home": str(self._command.home),
            "searchMode": options.search_mode,
            "models": self._command.has_models(),
            "daemon": (self._daemon.address or "not started yet") if self._daemon else "off",
            "collections": sorted(listed(self._command)),
            "lastUpdate": datetime.fromtimestamp(state.updated, UTC).isoformat(timespec="seconds") if state.updated else None,
        }
        notes = [Note("qmd-update", str(self._refresh.error))] if self._refresh.error else []
        return Status("memory-qmd", state.files, state.files, dirty=not self._refresh.is_fresh, details=details, notes=tuple(notes))
