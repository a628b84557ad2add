"""Everything that looseleaf raises on purpose. Catch `LooseleafError` to catch all of it.

LooseleafError
├── ConfigError          the settings are wrong; holds every problem found, not just the first
├── PluginError          a plugin is missing, broken, or gave back something that is not what its hook promises
│   └── NotConfigured    it is in order but lacks a key, a model or a program; `auto` goes on to the next
├── ProviderError        an embedding provider refused or failed; says whether trying again can help
│   └── TextTooLong      one text is over the model's limit; cut it and try again
├── ReadRefused          `memory_get` was asked for something that is not a memory file
├── StoreError           the index cannot be opened, read or written
└── StageError           a ranker or post-processor broke its contract (raised in strict mode only)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class LooseleafError(Exception):
    """Base of all errors raised on purpose. The message says what happened, where, and what to do next."""


def told(error: Exception) -> str:
    """Return what `error` says; one that is not ours gets its kind, too."""
    return str(error) if isinstance(error, LooseleafError) else f"{type(error).__name__}: {error}"


class Problem(NamedTuple):
    """One fault in the settings: the dotted key, where it was read, and what is wrong with it."""

    key: str
    origin: str
    text: str

    def __str__(self) -> str:
        return f"{self.key}: {self.text} (from {self.origin})" if self.origin else f"{self.key}: {self.text}"


class ConfigError(LooseleafError):
    """The settings are wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        title = "The configuration has a problem" if count == 1 else f"The configuration has {count} problems"
        super().__init__("\n  ".join([f"{title}:", *map(str, self.problems)]))


class PluginError(LooseleafError):
    """A plugin cannot be used.

    Attributes:
        kind: What it was to be: `memory`, `embedder`, `ranker`, `postprocessor` or `extension`.
        name: The name that was selected.
        origin: Distribution, version and entry-point value, or an empty string when nothing of that name is installed.
    """

    def __init__(self, text: str, *, kind: str = "", name: str = "", origin: str = "") -> None:
        self.kind, self.name, self.origin = kind, name, origin
        super().__init__(text)


class NotConfigured(PluginError):
    """A plugin is installed but something it needs is absent: a key, a model file, a program."""


class ProviderError(LooseleafError):
    """An embedding provider refused or failed.

    Attributes:
        retryable: Whether the same request may succeed later.
        status: HTTP status, or None when there was no answer.
    """

    def __init__(self, text: str, *, retryable: bool = False, status: int | None = None) -> None:
        self.retryable, self.status = retryable, status
        super().__init__(text)


class TextTooLong(ProviderError):
    """A text is longer than the model takes."""


class ReadRefused(LooseleafError):
    """A path is not a memory file, or not one that may be read from here.

    Attributes:
        path: The path as it was asked for.
        reason: Why, in words that do not reveal what lies there.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path!r} cannot be read: {reason}")


class StoreError(LooseleafError):
    """The index cannot be opened, read or written. The notes themselves are untouched."""


class StageError(LooseleafError):
    """A ranker or post-processor broke its contract."""
