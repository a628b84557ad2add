"""What the tests of memory-qmd share: to ask a slot, and what a row of QMD's looks like."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from looseleaf import Query, Retrieval
from looseleaf._run import run
from looseleaf_memory_qmd.slot import QmdSlot

Make: TypeAlias = Callable[..., QmdSlot]
NOW = datetime(2026, 2, 10, tzinfo=UTC)


def ask(slot: QmdSlot, text: str, **options: Any) -> Retrieval:
    """Return what a slot finds."""
    return run(slot.retrieve(Query(text, now=NOW, **options)), inline=True)


def paths(found: Retrieval) -> list[str]:
    """Return the paths, in QMD's order."""
    return [hit.path for hit in found.lists.get("qmd", ())]


def codes(found: Retrieval) -> list[str]:
    """Return the codes of the notes."""
    return [note.code for note in found.notes]


def row(file: str, **more: Any) -> dict[str, Any]:
    """Return a row as QMD prints it."""
    return {"docid": "#abcdef", "score": 0, "file": f"qmd://{file}", "line": 1, "title": "t", "snippet": "@@ -1,1 @@\nx", **more}


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False
