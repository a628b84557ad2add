"""The memory-qmd slot: QMD indexes and searches, the notes are read here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from looseleaf import (
    AgentSettings,
    Hit,
    Layout,
    LooseleafError,
    Note,
    Page,
    Query,
    Retrieval,
    Status,
    StoreError,
    SyncReport,
    in_thread,
    read_page,
)
from looseleaf.reports import ProgressCallback
from looseleaf.workspace import Found

from .command import Command

_HEADER = re.compile(r"^@@ -(\d+),(\d+) @@[^\n]*\n")


class QmdSlot:
    """The notes of one workspace in QMD collections: the curated file and the memory folder."""

    blocking = True

    def __init__(self, settings: AgentSettings, workspace: Path, command: Command) -> None:
        self._settings = settings
        self._layout = Layout.of(settings)
        self._command = command
        agent = re.sub(r"[^a-z0-9-]", "-", settings.agent.lower())
        self._folders = {f"memory-root-{agent}": workspace, f"memory-dir-{agent}": workspace / "memory"}

    async def retrieve(self, query: Query) -> Retrieval:
        """Return what `qmd search` finds in each collection; their order is its order."""
        hits: list[Hit] = []
        notes: list[Note] = []
        timeout_s = self._settings.memory.qmd.limits.timeout_ms / 1000
        for name, folder in self._folders.items():
            if name.startswith("memory-root") and not query.private:
                continue
            try:
                rows = await in_thread(self._command.search, query.text, name, query.candidates, timeout_s=timeout_s)
            except StoreError as error:
                if "Collection not found" not in str(error):
                    notes.append(Note("qmd-failed", str(error)))
                continue
            hits += [hit for place, row in enumerate(rows) if (hit := self._hit(row, name, folder, place))]
        return Retrieval({"qmd": hits}, tuple(notes), "keyword", provider="qmd", terms=tuple(query.text.split()))

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return part of a memory file."""
        return await in_thread(read_page, self._layout, path, start, lines)

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """Register the collections that are missing and let QMD look for changes."""
        try:
            await in_thread(self._update)
        except LooseleafError as error:
            return SyncReport(files=self._count(), notes=(Note("provider-failed", str(error)),))
        return SyncReport(files=self._count())

    async def status(self) -> Status:
        """Return how many notes there are, and whether qmd answers."""
        try:
            version = (await in_thread(self._command.run, "--version", timeout_s=10)).strip()
        except StoreError as error:
            return Status("memory-qmd", files=self._count(), notes=(Note("qmd-failed", str(error)),))
        return Status("memory-qmd", files=self._count(), details={"qmd": version, "home": str(self._command.home)})

    async def aclose(self) -> None:
        """Nothing is held."""

    def _update(self) -> None:
        timeout_s = self._settings.memory.qmd.update.update_timeout_ms / 1000
        listed = self._command.run("collection", "list", timeout_s=timeout_s)
        for name, folder in self._folders.items():
            if f"{name} (" not in listed and folder.is_dir():
                mask = "MEMORY.md" if name.startswith("memory-root") else "**/*.md"
                self._command.run("collection", "add", str(folder), "--name", name, "--mask", mask, timeout_s=timeout_s)
        self._command.run("update", timeout_s=timeout_s)

    def _hit(self, row: dict[str, Any], name: str, folder: Path, place: int) -> Hit | None:
        relative = str(row.get("file", "")).removeprefix(f"qmd://{name}/").partition("?index=")[0]
        path = next((spelt for spelt in (relative, unquote(relative)) if (folder / spelt).is_file()), None)
        if path is None:
            return None
        shown = self._layout.shown(str(folder / path))
        snippet = str(row.get("snippet", ""))
        header = _HEADER.match(snippet)
        start = int(header[1]) if header else int(row.get("line") or 1)
        text = snippet[header.end() :] if header else snippet
        # QMD's own scores are 0 in small collections: its order is what counts.
        return Hit(
            f"{shown}:{start}", shown, start, start + text.count("\n"), text, 1 / (1 + place), day=self._layout.day_of(shown)
        )

    def _count(self) -> int:
        return sum(isinstance(item, Found) for item in self._layout.walk())
