"""Read a config file: JSON first, then JSON5. The file is never written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Problem

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|\s+)
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{}\[\],:"'/]+|/)
      | (?P<mark>[{}\[\],:])""",
    re.VERBOSE | re.DOTALL,
)


def read_config(path: Path) -> tuple[dict[str, Any], list[Problem]]:
    """Return the object that `path` holds, and a warning for each key given twice.

    Raises:
        ConfigError: the file cannot be read, or does not hold an object.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError([Problem("config", str(path), f"the file is not UTF-8: {error.reason} at byte {error.start}")]) from None
    except OSError as error:
        raise ConfigError([Problem("config", str(path), f"the file cannot be read: {error.strerror or error}")]) from None
    data = _parse(text, path)
    if not isinstance(data, dict):
        raise ConfigError([Problem("config", str(path), f"the file must hold an object, not {_kind(data)}")])
    twice = [Problem(key, str(path), "the key is given twice; the last value counts") for key in _doubled_keys(text)]
    return data, twice


def _parse(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ConfigError([Problem("config", str(path), "the file is nested too deeply")]) from None
    except ValueError:
        import pyjson5

        try:
            return pyjson5.decode(text)
        except pyjson5.Json5Exception as error:
            message = str(error.args[0] if error.args else error)
            raise ConfigError([Problem("config", str(path), f"the file is not JSON5: {_with_line(message, text)}")]) from None


def _with_line(message: str, text: str) -> str:
    place = re.search(r"near (\d+)", message)
    if not place:
        return message
    before = text[: int(place[1])]
    return f"{message} (line {before.count(chr(10)) + 1})"


def _doubled_keys(text: str) -> list[str]:
    """Return the dotted keys that stand twice in one object; parsers keep the last in silence."""
    doubled: list[str] = []
    objects: list[tuple[str, set[str] | None]] = []
    last, key = "", ""
    for token in _TOKEN.finditer(text):
        if token["text"]:
            last = token["text"].strip("\"'")
        elif token["mark"] == ":" and objects:
            prefix, seen = objects[-1]
            if seen is None:
                continue
            key = f"{prefix}.{last}" if prefix else last
            if last in seen:
                doubled.append(key)
            seen.add(last)
        elif token["mark"] == "{" or token["mark"] == "[":
            objects.append((key, set() if token["mark"] == "{" else None))
        elif token["mark"] in ("}", "]") and objects:
            key = objects.pop()[0]
    return doubled


def _kind(value: object) -> str:
    return {list: "a list", str: "text", type(None): "nothing"}.get(type(value), "a " + type(value).__name__)
