"""A question in QMD's words: what QMD would take for an option, an operator or an open quote is a word again."""

from __future__ import annotations

import re

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+(?:[-_.'][^\W{_CJK}]+)*")
_LEADING = re.compile(r"(?<!\S)-+(?=\S)")  # before a word it would exclude it
_INNER = re.compile(r"(?<=\w)-(?=\w)")
_MOST = 8


def keyword_line(text: str) -> str:
    """Return `text` as one line for QMD's keyword search."""
    line = _LEADING.sub("", " ".join(text.split()))
    return line if line.count('"') % 2 == 0 else line.replace('"', " ").strip()


def meaning_line(text: str) -> str:
    """Return `text` for QMD's search by meaning, which takes a hyphen inside a word for an exclusion."""
    return _INNER.sub(" ", keyword_line(text)).replace('"', " ").strip()


def single_words(text: str) -> list[str]:
    """Return what of `text` can be looked for by itself, the most telling first: pairs of Chinese characters, and long words.

    They stand for all words where no document has all of them.
    """
    words: list[str] = []
    for run in _WORD.findall(keyword_line(text)):
        if re.match(f"[{_CJK}]", run):
            words += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        else:
            words.append(run)
    unique = sorted(dict.fromkeys(words), key=lambda word: (word.isascii(), -len(word)))
    longest = max(map(len, unique), default=0)
    telling = [word for word in unique if not word.isascii() or 2 * len(word) > longest]
    return (telling if len(telling) > 1 else unique[:2])[:_MOST]
