"""Kill an indexer again and again, and look at what it leaves: run by test_crash.py in a process of its own.

    python crash.py WORKSPACE STATE KILLS SEED

Each round edits notes, forks an indexer, kills it after a random time, and then demands: the database opens, SQLite's and FTS5's own
checks find it whole, and a search answers each note as it was or as it is, never a mixture. In the end the index equals one that was
built from scratch.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from looseleaf import AgentSettings, SyncReport, load_settings
from looseleaf._run import run
from looseleaf.testing import HashEmbedder
from looseleaf_memory_core.slot import CoreSlot
from looseleaf_memory_core.store.database import connect
from looseleaf_memory_core.store.schema import live_generation

NOTES, PARTS = 12, 4


def settings_of(workspace: Path, state: Path) -> AgentSettings:
    config = state / "looseleaf.json5"
    state.mkdir(parents=True, exist_ok=True)
    search = {"provider": "none", "chunking": {"tokens": 60, "overlap": 0}}
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    return load_settings(config, environ={"LOOSELEAF_STATE_DIR": str(state)}).for_agent(workspace=workspace)


def sync(settings: AgentSettings, *, force: bool = False) -> SyncReport:
    slot = CoreSlot(settings, HashEmbedder())
    try:
        return run(slot.sync(force=force), inline=True)
    finally:
        run(slot.aclose(), inline=True)


def write(workspace: Path, note: int, version: int) -> None:
    """Write a note whose every part holds its version, so that a mixture shows."""
    parts = [f"# Part {part}\n\nnote{note} part{part} version{version} " + "word " * 40 for part in range(PARTS)]
    path = workspace / "memory" / f"{note}.md"
    fresh = path.with_suffix(".new")
    fresh.write_text("\n\n".join(parts))
    fresh.replace(path)


def check(settings: AgentSettings, versions: dict[int, set[int]]) -> None:
    """Look at the index that a killed process has left."""
    db = connect(settings.database)
    try:
        assert not Path(f"{settings.database}.damaged").exists(), "the index was damaged"
        assert db.execute("PRAGMA integrity_check").get == "ok"
        live = live_generation(db)
        if live is None:
            return
        db.execute(f"INSERT INTO words_{live[0]}(words_{live[0]}) VALUES('integrity-check')")
        chunks = set(db.execute(f"SELECT id FROM chunk_{live[0]}"))
        assert chunks == set(db.execute(f"SELECT id FROM words_{live[0]}_docsize")), "words and chunks differ"
        orphans = db.execute(f"SELECT count(*) FROM chunk_{live[0]} WHERE file NOT IN (SELECT id FROM file_{live[0]})").get
        assert orphans == 0
        words = f"SELECT rowid FROM words_{live[0]} WHERE words_{live[0]} MATCH ?"
        for note, known in versions.items():
            held = [version for version in known if db.execute(words, (f'"note{note}" "version{version}"',)).fetchone()]
            assert len(held) <= 1, f"note {note} is a mixture of the versions {held}"
    finally:
        db.close()


def state_of(settings: AgentSettings) -> list[Any]:
    db = connect(settings.database)
    try:
        live = live_generation(db)
        assert live
        files, chunks = f"file_{live[0]}", f"chunk_{live[0]}"
        rows: list[Any] = list(db.execute(f"SELECT path, state, reason, size, hash FROM {files} ORDER BY path"))
        rows += db.execute(
            f"SELECT path, start, end, begin, c.size, c.hash, heading FROM {chunks} AS c JOIN {files} AS f ON f.id = file ORDER BY path, begin"
        )
        rows += db.execute(f"SELECT DISTINCT hash FROM embedding WHERE hash IN (SELECT hash FROM {chunks}) ORDER BY hash")
        rows += db.execute(f"SELECT term, doc, cnt FROM words_{live[0]}_vocab ORDER BY term")
        return rows
    finally:
        db.close()


def main(workspace: Path, state: Path, kills: int, seed: int) -> None:
    dice = random.Random(seed)
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    settings = settings_of(workspace, state)
    versions = {note: {0} for note in range(NOTES)}
    for note in versions:
        write(workspace, note, 0)
    sync(settings)
    usual_s = 1.0  # of an indexer that is left alone
    killed = 0
    for number in range(1, 10 * kills):
        for note in dice.sample(range(NOTES), 4):
            versions[note].add(number)
            write(workspace, note, number)
        force = dice.random() < 0.2
        child = os.fork()
        if child == 0:
            try:
                sync(settings, force=force)
            finally:
                os._exit(0)
        if number % 20 == 1:
            begun = time.monotonic()
            os.waitpid(child, 0)
            usual_s = time.monotonic() - begun
        else:
            time.sleep(dice.random() * usual_s)
            done, _ = os.waitpid(child, os.WNOHANG)
            if not done:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                killed += 1
        check(settings, versions)
        if number % 10 == 0:
            sync(settings)
        if killed >= kills:
            break
    assert killed >= kills, f"only {killed} were killed in time"
    sync(settings)
    by_steps = state_of(settings)
    settings.database.unlink()
    sync(settings)
    assert state_of(settings) == by_steps, "it is another state than from scratch"
    print(json.dumps({"killed": killed, "rounds": number}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
