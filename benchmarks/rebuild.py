"""Rebuild a large index under another chunking while another process searches it.

    python benchmarks/rebuild.py [--chunks 100000]

No search may fail; the slowest may take five times the quiet 95th percentile; the disk may hold 2.2 times as much meanwhile, and 1.1
times afterwards.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from looseleaf import AgentSettings, load_settings
from looseleaf._run import run
from looseleaf.testing import HashEmbedder
from looseleaf_memory_core.slot import CoreSlot

DIMENSIONS, CHUNKS_A_FILE = 64, 10
WORDS = [f"word{number}" for number in range(5000)]


def settings_of(folder: Path, overlap: int) -> AgentSettings:
    """Return settings with chunks of about a paragraph; another overlap makes nearly every one another text."""
    config = folder / f"{overlap}.json5"
    search = {"provider": "none", "chunking": {"tokens": 130, "overlap": overlap}}
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    return load_settings(config, environ={"LOOSELEAF_STATE_DIR": str(folder / "state")}).for_agent(workspace=folder / "notes")


def index(folder: Path, overlap: int) -> tuple[int, float]:
    """Bring the index up to date, and return how many chunks it has and the seconds that it took."""
    slot = CoreSlot(settings_of(folder, overlap), HashEmbedder(DIMENSIONS))
    begun = time.monotonic()
    report = run(slot.sync(), inline=True)
    run(slot.aclose(), inline=True)
    return report.chunks, time.monotonic() - begun


def search(folder: Path) -> None:
    """Search until the input is closed, and print how long each took in ms, and what failed."""
    from dataclasses import replace

    from looseleaf import open_notebook

    settings = settings_of(folder, 0)
    notebook = open_notebook(settings, environ={})
    notebook = replace(notebook, slot=CoreSlot(settings, HashEmbedder(DIMENSIONS)))
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    dice = random.Random(3)
    taken, errors = [], []
    while not stop.is_set():
        query = " ".join(dice.sample(WORDS, 2))
        begun = time.perf_counter()
        try:
            run(notebook.search(query), inline=True)
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            errors.append(f"{type(error).__name__}: {error}")
        taken.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.01)
    print(json.dumps({"taken": taken, "errors": errors}))


def disk(folder: Path) -> int:
    """Return the bytes of the index with its side files."""
    return sum(path.stat().st_size for path in (folder / "state" / "memory").glob("*.sqlite*") if path.exists())


def main() -> None:
    """Build, measure quiet, rebuild beside a reader, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--search", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--index", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        search(Path(options.search))
        return
    if options.index:
        index(Path(options.index), 20)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        dice = random.Random(1)
        for number in range(options.chunks // CHUNKS_A_FILE):
            path = folder / "notes" / "memory" / f"{number % 100:02}" / f"{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(" ".join(dice.choices(WORDS, k=44)) for _ in range(CHUNKS_A_FILE)))
        chunks, seconds = index(folder, 0)
        before = disk(folder)
        print(f"{chunks:,} chunks in {seconds:.0f} s, {before / 1e6:.0f} MB")
        quiet = together(folder, None)
        worker = [sys.executable, __file__, "--index", str(folder)]
        begun = time.monotonic()
        busy = together(folder, worker)
        print(
            f"rebuilt in {time.monotonic() - begun:.0f} s beside {len(busy['taken']):,} searches, {len(busy['errors'])} of which failed"
        )
        p95 = sorted(quiet["taken"])[int(0.95 * len(quiet["taken"]))]
        slowest, p95_busy = max(busy["taken"]), sorted(busy["taken"])[int(0.95 * len(busy["taken"]))]
        print(
            f"quiet p95 {p95:.1f} ms; meanwhile p95 {p95_busy:.1f} ms ({p95_busy / p95:.1f}x), slowest {slowest:.0f} ms ({slowest / p95:.1f}x)"
        )
        print(f"disk: at most {busy['most'] / before:.2f}x meanwhile, {disk(folder) / before:.2f}x afterwards")
        for error in sorted(set(busy["errors"]))[:5]:
            print(f"  {error}")


def together(folder: Path, worker: list[str] | None) -> dict:
    """Search in another process for ten seconds, or for as long as `worker` takes."""
    command = [sys.executable, __file__, "--search", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as reader:
        time.sleep(3)  # the second question reads the vectors
        most = 0
        working = subprocess.Popen(worker) if worker else None
        ends = time.monotonic() + 10
        while working.poll() is None if working else time.monotonic() < ends:
            most = max(most, disk(folder))
            time.sleep(0.05)
        out, _ = reader.communicate("")
    row = json.loads(out)
    return {"taken": row["taken"][2:], "errors": row["errors"], "most": most}


if __name__ == "__main__":
    main()
