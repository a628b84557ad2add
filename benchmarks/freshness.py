"""How fresh the index is: a sync that finds nothing changed, and a write that is found by a watching process.

    python benchmarks/freshness.py [--files 10000]

The measure of the first is a bare walk with scandir and stat over the same tree; of the second, the two seconds that were promised.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from looseleaf import Notebook, SyncReport, load_settings, open_notebook
from looseleaf._run import run


def build(folder: Path, files: int) -> Notebook:
    """Write notes, a line of each its own, and open them with words alone."""
    for number in range(files):
        path = folder / "notes" / "memory" / f"{number % 100:02}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nA line that is only here: {number * 7919}.\n")
    config = folder / "looseleaf.json5"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}))
    settings = load_settings(config, environ={"LOOSELEAF_STATE_DIR": str(folder / "state")}).for_agent(workspace=folder / "notes")
    return open_notebook(settings, environ={})


def walk(root: Path) -> int:
    """Return how many files are below `root`, by a bare walk that asks each for its size and time."""
    count = 0
    pending = [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def median_ms(work: Callable[[], object]) -> float:
    """Return the median of nine runs."""
    taken = []
    for _ in range(9):
        begun = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - begun))
    return statistics.median(taken)


async def followed(notebook: Notebook, folder: Path, times: int) -> list[float]:
    """Return the seconds from a write to the sync after which its new word is found."""
    synced = asyncio.Event()

    def told(report: SyncReport) -> None:
        if report.indexed:
            synced.set()

    taken = []
    async with notebook, notebook.watching(told) as watch:
        while not watch.syncs:
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        for number in range(times):
            synced.clear()
            begun = time.monotonic()
            with (folder / "notes" / "memory" / "07" / "7.md").open("a") as file:
                file.write(f"\nfreshword{number}\n")
            await asyncio.wait_for(synced.wait(), 30)
            assert (await notebook.search(f"freshword{number}")).hits, "it is not found"
            taken.append(time.monotonic() - begun)
    return taken


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        notebook = build(folder, options.files)
        run(notebook.sync(), inline=True)
        bare = median_ms(lambda: walk(folder / "notes"))
        idle = median_ms(lambda: run(notebook.sync(), inline=True))
        print(
            f"{options.files:,} files: bare walk {bare:.1f} ms, a sync that finds nothing changed {idle:.1f} ms: {idle / bare:.1f}x"
        )
        taken = asyncio.run(followed(notebook, folder, 5))
        print(f"from a write to its word found, watching: {statistics.median(taken):.2f} s, at most {max(taken):.2f} s")


if __name__ == "__main__":
    main()
