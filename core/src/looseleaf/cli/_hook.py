"""Commands that a host calls as a hook: the event comes by stdin, and no error blocks what the hook is about."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import ConfigError, LooseleafError


class HookCommand(click.Command):
    """Never ends with 2, whatever is wrong: Claude Code would block the compaction, or erase what the user has typed."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments."""
        with _never_two():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _never_two():
            return super().invoke(ctx)


def read_event() -> dict[str, Any]:
    """Return the event on stdin, which may be empty.

    Raises:
        LooseleafError: it is no JSON, or nobody gives one.
    """
    if sys.stdin.isatty():
        raise LooseleafError("nothing was given: a host gives this the event of its hook on stdin; see docs/hosts.md")
    try:
        event = json.loads(sys.stdin.buffer.read() or b"{}")
    except ValueError as error:
        raise LooseleafError(f"the event on stdin is no JSON: {error}") from None
    return event if isinstance(event, dict) else {}


@contextmanager
def _never_two() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        raise click.ClickException(error.format_message()) from None
    except ConfigError as error:
        raise LooseleafError(str(error)) from None
