"""On what kind of file system a folder lies: some do not tell of changes, some cannot share a log."""

from __future__ import annotations

import os
from pathlib import Path

#: Where the disk is another machine's, so that a write-ahead log is not safe.
NETWORK = frozenset({"afs", "cifs", "fuse.sshfs", "nfs", "nfs4", "smb3"})
#: Where changes may be made elsewhere, so that this machine is not told of them.
SILENT = NETWORK | {"9p", "drvfs", "fakeowner", "grpcfuse", "osxfs", "prl_fs", "vboxsf", "virtiofs"}


def kind_of(folder: str) -> str:
    """Return the kind of the file system that `folder` is on, as Linux tells it; elsewhere an empty string."""
    return longest(os.path.realpath(folder), _mounts())


def longest(folder: str, kinds: dict[str, str]) -> str:
    """Return the kind of the longest mount point above `folder`."""
    above = [point for point in kinds if folder == point or folder.startswith(point.rstrip("/") + "/")]
    return kinds[max(above, key=len)] if above else ""


def _mounts() -> dict[str, str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    kinds: dict[str, str] = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) > 4 and after:
            kinds[fields[4].replace("\\040", " ")] = after.split()[0]
    return kinds
