"""Faulty memory slots. The sound one keeps an index of paragraphs in one JSON file below the state folder."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from looseleaf import Hit, Layout, Page, Retrieval, Status, SyncReport, read_page
from looseleaf.testing import memory_laws
from looseleaf.workspace import Found

from . import Mutant


class Sound:
    """Finds paragraphs by the words they hold."""

    def __init__(self, workspace, state_dir):
        self.root = Path(workspace)
        self.file = Path(state_dir) / "index.json"
        self.layout = Layout(self.root)
        self.index = json.loads(self.file.read_text("utf-8")) if self.file.exists() else {}
        self.busy = False

    def notes(self):
        return [(item.path, Path(item.absolute)) for item in self.layout.walk() if isinstance(item, Found)]

    def stamp(self, file):
        info = file.stat()
        return [info.st_mtime_ns, info.st_size]

    def paragraphs(self, text):
        line, found = 1, []
        for block in text.split("\n\n"):
            if block.strip():
                found.append([line, line + block.count("\n"), block])
            line += block.count("\n") + 2
        return found

    def text(self, file):
        return file.read_bytes().decode("utf-8", "replace")

    def is_gone(self, path, there):
        return path not in there

    def is_changed(self, known, stamp):
        return known is None or known["stamp"] != stamp

    async def sync(self, *, force=False, progress=None, budget_s=None):
        self.busy = True
        indexed = 0
        there = dict(self.notes())
        gone = [path for path in self.index if self.is_gone(path, there)]
        for path in gone:
            del self.index[path]
        for path, file in there.items():
            stamp = self.stamp(file)
            if self.is_changed(self.index.get(path), stamp):
                self.index[path] = {"stamp": stamp, "paragraphs": self.paragraphs(self.text(file))}
                indexed += 1
            await self.breathe()
        self.save()
        self.busy = False
        return SyncReport(files=len(there), indexed=indexed, removed=len(gone))

    async def breathe(self):
        pass

    def save(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.index), "utf-8")

    def may_see(self, path, query):
        return query.private or not self.layout.is_curated(path)

    async def retrieve(self, query):
        wanted = set(query.text.split())
        hits = [
            Hit(f"{path}:{start}", path, start, end, text, len(wanted & set(text.split())) / len(wanted))
            for path, note in self.index.items()
            if self.may_see(path, query)
            for start, end, text in note["paragraphs"]
            if wanted & set(text.split())
        ]
        return Retrieval({"paragraphs": hits}, mode="keyword")

    async def read(self, path, start=1, lines=None):
        return read_page(self.layout, path, start, lines)

    async def status(self):
        return Status("sound", files=len(self.index))

    async def aclose(self):
        pass


class KeepsTheDead(Sound):
    def is_gone(self, path, there):
        return False


class IndexesAlways(Sound):
    def is_changed(self, known, stamp):
        return True


class ForgetsAtRestart(Sound):
    def save(self):
        pass


class SizeAlone(Sound):
    def stamp(self, file):
        return [0, file.stat().st_size // 64]


class NeverAgain(Sound):
    def is_changed(self, known, stamp):
        return known is None


class FollowsLinks(Sound):
    def notes(self):
        linked = [(f"memory/{file.name}", file) for file in self.root.glob("memory/*.md") if file.is_symlink()]
        return super().notes() + linked


class IndexesText(Sound):
    def notes(self):
        return super().notes() + [(file.name, file) for file in self.root.glob("*.txt")]


class ReadsAnything(Sound):
    async def read(self, path, start=1, lines=None):
        file = self.root / path
        return Page(path, self.text(file)) if file.exists() else Page(path, status="not_found")


class MissingRaises(Sound):
    async def read(self, path, start=1, lines=None):
        (self.root / path).stat()
        return await super().read(path, start, lines)


class ReadsTheIndex(Sound):
    async def read(self, path, start=1, lines=None):
        page = await super().read(path, start, lines)
        if page.status != "ok":
            return page
        return Page(path, "\n\n".join(text for _, _, text in self.index[path]["paragraphs"][1:]))


class UnicodeLineBreaks(Sound):
    def paragraphs(self, text):
        return [[number, number, line] for number, line in enumerate(text.splitlines(), 1) if line.strip()]


class CountsFromZero(Sound):
    def paragraphs(self, text):
        return [[start - 1, end - 1, block] for start, end, block in super().paragraphs(text)]


class Normalises(Sound):
    def text(self, file):
        return unicodedata.normalize("NFC", super().text(file))


class TranslatesLineBreaks(Sound):
    def text(self, file):
        return file.read_text("utf-8", "replace")


class ParagraphsSideBySide(Sound):
    async def sync(self, *, force=False, progress=None, budget_s=None):
        before = {path: note["paragraphs"] for path, note in self.index.items()}
        report = await super().sync()
        for path, note in self.index.items():
            note["paragraphs"] += [old for old in before.get(path, []) if old not in note["paragraphs"]]
        self.save()
        return report


class FirstParagraphOnly(Sound):
    def paragraphs(self, text):
        return super().paragraphs(text)[:1]


class LocksTheWorkspace(Sound):
    def save(self):
        super().save()
        (self.root / ".lock").write_text("1", "utf-8")


class NotWhileSyncing(Sound):
    async def breathe(self):
        import asyncio

        await asyncio.sleep(0)

    async def retrieve(self, query):
        if self.busy:
            raise RuntimeError("database is locked")
        return await super().retrieve(query)


class ClosesOnce(Sound):
    closed = False

    async def aclose(self):
        if self.closed:
            raise RuntimeError("it is closed already")
        self.closed = True


class TellsGroups(Sound):
    def may_see(self, path, query):
        return True


LAWS = memory_laws()
SOUND = Mutant("Sound", "", LAWS, Sound)
MUTANTS = [
    Mutant(kind.__name__, law, LAWS, kind)
    for kind, law in {
        KeepsTheDead: "memory-gone",
        IndexesAlways: "memory-settled",
        ForgetsAtRestart: "memory-settled",
        SizeAlone: "memory-found",
        NeverAgain: "memory-found",
        FirstParagraphOnly: "memory-found",
        FollowsLinks: "memory-confined",
        IndexesText: "memory-confined",
        ReadsAnything: "memory-confined",
        MissingRaises: "memory-reads",
        ReadsTheIndex: "memory-reads",
        UnicodeLineBreaks: "memory-true",
        CountsFromZero: "memory-true",
        Normalises: "memory-true",
        TranslatesLineBreaks: "memory-true",
        ParagraphsSideBySide: "memory-same",
        LocksTheWorkspace: "memory-leaves-alone",
        NotWhileSyncing: "memory-at-once",
        ClosesOnce: "memory-found",
        TellsGroups: "memory-private",
    }.items()
]
