"""Where things are: the config file, the state, the notes, the index."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

OPENCLAW_FILE = "openclaw.json"
_OPENCLAW = Path("~/.openclaw")


def find_config(config: str | os.PathLike[str] | None, environ: Mapping[str, str], home: Path | None) -> Path | None:
    """Return the config file: the one that is named, else the user's own, else OpenClaw's; None if there is none."""
    named = config or environ.get("LOOSELEAF_CONFIG")
    if named:
        return expanded(os.fspath(named))
    base = home or Path.home()
    usual = (base / ".looseleaf" / "looseleaf.json5", base / ".openclaw" / OPENCLAW_FILE)
    return next((path for path in usual if path.is_file()), None)


def state_folder(environ: Mapping[str, str], home: Path | None = None) -> Path:
    """Return where what can be rebuilt is kept."""
    named = environ.get("LOOSELEAF_STATE_DIR")
    return expanded(named) if named else (home or Path.home()) / ".looseleaf"


def openclaw_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where OpenClaw keeps its state."""
    named = environ.get("OPENCLAW_STATE_DIR")
    return Path(named or f"{environ.get('HOME') or '~'}/.openclaw").expanduser()


def usual_workspace() -> Path:
    """Return this folder, or OpenClaw's workspace where this one holds no memory and that is there."""
    here = Path.cwd()
    theirs = _OPENCLAW.expanduser() / "workspace"
    looks_like_one = any((here / name).exists() for name in ("MEMORY.md", "memory.md", "memory"))
    return theirs if not looks_like_one and theirs.is_dir() else here


def database(agent: str, path: str | None, workspace: Path, state: Path, configured: Path | None, *, is_first: bool) -> Path:
    """Return where the index is: each agent and each workspace has one of its own, whatever `store.path` says.

    Args:
        agent: Its id.
        path: `store.path`.
        workspace: Of the agent.
        state: The state folder.
        configured: The workspace that config gives it, or None.
        is_first: Whether it is the agent that is meant where none is named, to which `path` belongs.
    """
    name = agent
    if workspace != configured and (configured or not path):  # a workspace given by hand
        from hashlib import blake2b

        name += "-" + blake2b(os.fsencode(workspace), digest_size=4).hexdigest()
    if not path:
        return state / "memory" / f"{name}.sqlite"
    if "{agentId}" in path:
        return expanded(path.replace("{agentId}", name))
    file = expanded(path)
    return file if is_first and name == agent else file.with_stem(f"{file.stem}-{name}")


def expanded(path: str) -> Path:
    """Return `path` absolute, with `~` as the home."""
    return Path(os.path.abspath(os.path.expanduser(path)))
