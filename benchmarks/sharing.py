"""Four processes that search while a fifth writes: no error may reach a caller, and a search may not become much slower.

    python benchmarks/sharing.py [--seconds 60] [--readers 4] [--notes 2000]

The measure is the same search in the same processes while nobody writes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from looseleaf import AgentSettings, load_settings, open_notebook
from looseleaf._run import run

WORDS = ["router", "gateway", "note", "vlan", "bread", "garden", "invoice", "meeting", "lamp", "train", "cable", "window"]


def settings_of(folder: Path) -> AgentSettings:
    """Return settings with an embedder that costs nothing."""
    config = folder / "looseleaf.json5"
    if not config.exists():
        config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}))
    return load_settings(config, environ={"LOOSELEAF_STATE_DIR": str(folder / "state")}).for_agent(workspace=folder / "notes")


def write(folder: Path, number: int, dice: random.Random) -> None:
    """Write one note."""
    path = folder / "notes" / "memory" / f"{number % 100}" / f"{number}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Note {number}\n\n" + " ".join(dice.choice(WORDS) for _ in range(120)) + f" unique{number}")


def search(folder: Path, seconds: float, seed: int) -> None:
    """Search for `seconds`, and print how long each took and what went wrong."""
    dice = random.Random(seed)
    notebook = open_notebook(settings_of(folder), environ={})
    taken: list[float] = []
    errors: list[str] = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        begun = time.perf_counter()
        try:
            run(notebook.search(f"{dice.choice(WORDS)} {dice.choice(WORDS)}"), inline=True)
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            errors.append(f"{type(error).__name__}: {error}")
        taken.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.002)
    print(json.dumps({"taken": taken, "errors": errors}))


def together(folder: Path, readers: int, seconds: float, *, writing: bool) -> tuple[float, int, list[str], int]:
    """Return the 95th percentile in ms, the number of searches, the errors and the syncs of one phase."""
    command = [sys.executable, __file__, "--search", str(folder), "--seconds", str(seconds)]
    processes = [
        subprocess.Popen([*command, "--seed", str(seed)], stdout=subprocess.PIPE, encoding="utf-8") for seed in range(readers)
    ]
    syncs = 0
    if writing:
        dice = random.Random(99)
        notebook = open_notebook(settings_of(folder), environ={})
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for _ in range(5):
                write(folder, dice.randrange(3000), dice)
            run(notebook.sync(force=syncs % 50 == 49), inline=True)
            syncs += 1
        run(notebook.aclose(), inline=True)
    taken: list[float] = []
    errors: list[str] = []
    for process in processes:
        out, _ = process.communicate()
        row = json.loads(out)
        taken += row["taken"]
        errors += row["errors"]
    taken.sort()
    return taken[int(0.95 * len(taken))], len(taken), errors, syncs


def main() -> None:
    """Measure quiet, then busy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--search", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        search(Path(options.search), options.seconds, options.seed)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        dice = random.Random(1)
        for number in range(options.notes):
            write(folder, number, dice)
        run(open_notebook(settings_of(folder), environ={}).sync(), inline=True)
        quiet, _, errors, _ = together(folder, options.readers, options.seconds / 4, writing=False)
        busy, count, more, syncs = together(folder, options.readers, options.seconds, writing=True)
        errors += more
        print(f"{options.readers} readers, {count:,} searches beside {syncs} syncs on {os.cpu_count()} cores")
        print(f"p95 quiet {quiet:6.2f} ms, while writing {busy:6.2f} ms: {busy / quiet:.1f}x")
        print(f"errors: {len(errors)}", *sorted(set(errors))[:5], sep="\n  ")
        sys.exit(bool(errors))


if __name__ == "__main__":
    main()
