"""A search through memory-qmd's daemon, beside the daemon's own answer over HTTP; and what a search costs without it.

    TEST_QMD=$(.ci/qmd) python benchmarks/daemon.py [--notes 10000]

The search may take twice as long as the bare request.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import httpx

from looseleaf import Notebook, load_settings, open_notebook
from looseleaf._run import run

WORDS = [f"word{number}" for number in range(5000)]


def opened(folder: Path, *, daemon: bool) -> Notebook:
    """Return a notebook whose memory is QMD."""
    config = folder / f"{daemon}.json5"
    qmd = {"command": os.environ["TEST_QMD"], "daemon": daemon, "limits": {"timeoutMs": 60_000}}
    qmd["update"] = {"updateTimeoutMs": 600_000, "interval": "0"}
    search = {"provider": "none"}
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}, "memory": {"backend": "qmd", "qmd": qmd}}))
    settings = load_settings(config, environ={"LOOSELEAF_STATE_DIR": str(folder / "state")}).for_agent(workspace=folder / "notes")
    return open_notebook(settings, environ={})


def timed(ask: Callable[[str], object], queries: list[str]) -> list[float]:
    """Return what each query took, in ms."""
    taken = []
    for query in queries:
        begun = time.perf_counter()
        ask(query)
        taken.append(1000 * (time.perf_counter() - begun))
    return sorted(taken)


def shown(name: str, taken: list[float]) -> str:
    """Return a line of figures."""
    return f"{name:<34} p50 {median(taken):7.2f} ms   p95 {taken[int(0.95 * len(taken))]:7.2f} ms"


def main() -> None:
    """Index, ask both ways in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=10_000)
    options = parser.parse_args()
    if "TEST_QMD" not in os.environ:
        sys.exit("say where qmd is: TEST_QMD=$(.ci/qmd)")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        dice = random.Random(1)
        for number in range(options.notes):
            path = folder / "notes" / "memory" / f"{number % 100:02}" / f"{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(" ".join(dice.choices(WORDS, k=44)) for _ in range(4)))
        queries = [" ".join(dice.sample(WORDS, 1)) for _ in range(200)]
        notebook = opened(folder, daemon=True)
        begun = time.monotonic()
        run(notebook.sync(), inline=True)
        print(f"{options.notes:,} notes indexed in {time.monotonic() - begun:.0f} s")
        through = lambda query: run(notebook.search(query), inline=True)  # noqa: E731 - a name for what is timed
        assert through(queries[0]).backend == "memory-qmd"
        address = run(notebook.status(), inline=True).details["daemon"]
        names = ["memory-dir-main", "memory-root-main"]
        with httpx.Client(base_url=str(address), trust_env=False) as client:

            def bare(query: str) -> object:
                body = {"searches": [{"type": "lex", "query": query}], "collections": names[:1], "limit": 24, "rerank": False}
                return client.post("/query", json=body, timeout=60).json()

            timed(bare, queries[:20])
            timed(through, queries[:20])
            ours, theirs = timed(through, queries), timed(bare, queries)
        run(notebook.aclose(), inline=True)
        print(shown("the daemon's own answer", theirs))
        print(shown("a search through memory-qmd", ours), f"  {median(ours) / median(theirs):.2f}x")
        alone = opened(folder, daemon=False)
        cold = timed(lambda query: run(alone.search(query), inline=True), queries[:20])
        run(alone.aclose(), inline=True)
        print(shown("without the daemon", cold))


if __name__ == "__main__":
    main()
