"""Ask for a part of the notes only: by source, by day, by path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from .errors import LooseleafError
from .types import Hit
from .workspace import matches


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a hit must be.

    Attributes:
        sources: Of which sources; empty for all.
        after: Of this day or later; a note without a day is none.
        before: Before this day.
        path: Below this folder, this file, or a glob of shown paths; empty for all.
    """

    sources: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None
    path: str = ""

    def __bool__(self) -> bool:
        return bool(self.sources or self.after or self.before or self.path)

    def takes(self, hit: Hit) -> bool:
        """Tell whether a hit is what was asked for."""
        if self.sources and hit.source not in self.sources:
            return False
        if self.path and not (hit.path == self.path or hit.path.startswith(f"{self.path}/") or matches(hit.path, self.path)):
            return False
        if self.after is None and self.before is None:
            return True
        return (
            hit.day is not None and (self.after is None or hit.day >= self.after) and (self.before is None or hit.day < self.before)
        )


def narrowing(
    sources: Sequence[str] | None = None, after: str | None = None, before: str | None = None, path: str | None = None
) -> Narrowing:
    """Return what arguments of a tool mean.

    Raises:
        LooseleafError: a day is none, or a source is not known.
    """
    for source in sources or ():
        if source not in ("memory", "sessions"):
            raise LooseleafError(f"there is no source {source!r}: they are memory and sessions")
    return Narrowing(
        tuple(sources or ()), _day(after, "after"), _day(before, "before"), (path or "").strip().strip("/").removeprefix("./")
    )


def _day(text: str | None, name: str) -> date | None:
    if text is None or not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise LooseleafError(f"{name} is {text!r}, which is no day: write YYYY-MM-DD") from None
