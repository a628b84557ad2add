"""A memory slot with no index: it reads the notes at each question, which is fine for a few of them."""

from __future__ import annotations

from pathlib import Path

from looseleaf import Hit, Layout, Page, Query, Retrieval, Status, SyncReport, read_page
from looseleaf.reports import ProgressCallback
from looseleaf.workspace import Found


class Scrapbook:
    """Finds whole paragraphs by the words they share with the query."""

    blocking = True

    def __init__(self, workspace: Path) -> None:
        self._layout = Layout(workspace)

    async def retrieve(self, query: Query) -> Retrieval:
        """Return the paragraphs that hold a word of the query, scored by the share of its words."""
        wanted = set(query.text.lower().split())
        hits = []
        for note in self._notes():
            if self._layout.is_curated(note.path) and not query.private:
                continue
            for start, text in _paragraphs(Path(note.absolute).read_bytes().decode("utf-8", "replace")):
                share = len(wanted & set(text.lower().split())) / max(1, len(wanted))
                if share:
                    end = start + text.count("\n")
                    hits.append(Hit(f"{note.path}:{start}", note.path, start, end, text, share, day=self._layout.day_of(note.path)))
        best = sorted(hits, key=lambda hit: -hit.score)[: query.candidates]
        return Retrieval({"scrapbook": best}, mode="keyword", terms=tuple(wanted))

    async def read(self, path: str, start: int = 1, lines: int | None = None) -> Page:
        """Return part of a note."""
        return read_page(self._layout, path, start, lines)

    async def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, budget_s: float | None = None
    ) -> SyncReport:
        """There is no index."""
        return SyncReport(files=len(self._notes()))

    async def status(self) -> Status:
        """Return how many notes there are."""
        return Status("acme-scrapbook", files=len(self._notes()))

    async def aclose(self) -> None:
        """Nothing is held."""

    def _notes(self) -> list[Found]:
        return [item for item in self._layout.walk() if isinstance(item, Found)]


def _paragraphs(text: str) -> list[tuple[int, str]]:
    paragraphs: list[tuple[int, str]] = []
    line = 1
    for block in text.split("\n\n"):
        if block.strip():
            paragraphs.append((line, block))
        line += block.count("\n") + 2
    return paragraphs
