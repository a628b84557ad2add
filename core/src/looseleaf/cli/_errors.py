"""Turn what goes wrong into a message and an exit code: 1 it failed, 2 it was asked for wrongly, 130 interrupted."""

from __future__ import annotations

import json
import os
import sys

import click

from ..errors import ConfigError, LooseleafError


def shown_errors(command: click.Command) -> int:
    """Run `command` and return its exit code. With `--json` an error is one JSON value on stdout, too."""
    try:
        value = command.main(standalone_mode=False)
        sys.stdout.flush()
        return value if isinstance(value, int) else 0
    except click.exceptions.Exit as finished:
        return finished.exit_code
    except click.ClickException as error:
        if _wants_json():
            return _as_json(error.format_message(), "UsageError", error.exit_code)
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; what was indexed so far is kept")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of a pipe has gone: nothing to say
        return 0
    except LooseleafError as error:
        code = 2 if isinstance(error, ConfigError) else 1
        if _wants_json():
            return _as_json(str(error), type(error).__name__, code)
        _say(str(error))
        return code


def _wants_json() -> bool:
    return "--json" in sys.argv[1:]


def _as_json(text: str, kind: str, code: int) -> int:
    print(json.dumps({"error": text, "kind": kind}, ensure_ascii=False))
    return code


def _say(text: str) -> None:
    print(f"looseleaf: {text}", file=sys.stderr)
