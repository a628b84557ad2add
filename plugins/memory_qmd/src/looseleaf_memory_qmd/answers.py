"""What qmd prints, taken apart: the JSON out of the noise around it."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias

#: What QMD says of one document that it found.
Row: TypeAlias = dict[str, Any]

_NOTHING = re.compile(r"^\s*no results found\b.*$", re.IGNORECASE | re.MULTILINE)
_BEGIN = re.compile(r"^[ \t]*(?=\[)", re.MULTILINE)


def rows_in(stdout: str) -> list[Row] | None:
    """Return the rows that `stdout` holds, whatever stands before or after them; None where there are none to be read.

    Older versions say in words that nothing was found.
    """
    decoder = json.JSONDecoder()
    for begin in _BEGIN.finditer(stdout):
        try:
            value, _ = decoder.raw_decode(stdout, begin.end())
        except ValueError:
            continue
        rows = [row for row in value if isinstance(row, dict)]
        if rows or not value:
            return rows
    return [] if not stdout.strip() or _NOTHING.search(stdout) else None


def updated_in(stdout: str) -> tuple[int, int]:
    """Return how many files an update read, and how many it found gone."""
    counts = re.findall(r"Indexed: (\d+) new, (\d+) updated, \d+ unchanged, (\d+) removed", stdout)
    return sum(int(new) + int(changed) for new, changed, _ in counts), sum(int(gone) for *_, gone in counts)
