"""Take secrets out of a text that is copied or leaves this machine; the notes and transcripts themselves are never changed."""

from __future__ import annotations

import re
from typing import NamedTuple


class _Shape(NamedTuple):
    """What a kind of secret looks like, and some of it in small letters without which there is none."""

    signs: tuple[str, ...]
    pattern: re.Pattern[str]


_NAMED = (("api", "key"), ("access", "token"), ("auth", "token"))
_PREFIXES = (
    "sk-", "sk_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "akia", "aiza", "hf_", "pypi-", "npm_", ":aa",
    "eyj",
)  # fmt: skip

_SHAPES = (
    _Shape(("-----begin",), re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL)),
    _Shape(
        _PREFIXES,
        re.compile(
            r"\b(?:sk-[\w-]{16,}|sk_(?:live|test)_\w{16,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
            r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|hf_\w{20,}|pypi-[\w-]{20,}|npm_\w{20,}|\d{8,10}:AA[\w-]{30,}"
            r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,})"
        ),
    ),
    _Shape(("bearer ",), re.compile(r"(?<=Bearer )[\w.~+/-]{16,}=*")),
    _Shape(("://",), re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)")),
    _Shape(
        (*(f"{a}{b}{c}" for a, c in _NAMED for b in ("", "_", "-")), "secret", "passw"),
        re.compile(
            r"""(?<![\w-])(?:api[_-]?key|access[_-]?token|auth[_-]?token|secret|passw(?:or)?d|client[_-]?secret)["']?\s*[:=]\s*["']?(?P<value>[^\s"',;]{6,})""",
            re.IGNORECASE,
        ),
    ),
)


def redacted(text: str) -> str:
    """Return `text` with the secrets in it replaced by their first letters."""
    small = text.lower()
    for signs, pattern in _SHAPES:
        if any(sign in small for sign in signs):
            text = pattern.sub(_hidden, text)
    return text


def _hidden(match: re.Match[str]) -> str:
    value = match.groupdict().get("value")
    if value is None:
        return f"{match[0][:4]}***"
    return f"{match[0][: -len(value)]}***"
