"""Normalise and segment text for FTS5: one function for the index and for the query.

The result is fed to FTS5's `porter ascii` tokenizer, which lowers and splits ASCII by itself, stems English words and takes
every other character as part of a word. So ASCII passes through untouched, and only runs of other characters are rewritten:
compatibility forms and case are folded, accents of Latin and Greek letters dropped, marks of other scripts kept inside their
words, and scripts written without spaces cut into overlapping pairs.
"""

from __future__ import annotations

import re
from itertools import pairwise
from unicodedata import category, decimal, normalize

from looseleaf.redaction import redacted

#: Raised whenever the same text gives other tokens: part of the index fingerprint.
VERSION = 1

_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]")
_CASES = bytes(65 if 65 <= b <= 90 else 97 if 97 <= b <= 122 or 48 <= b <= 57 else 32 for b in range(256))
_TOKEN = re.compile(r"[0-9a-z\x80-\U0010ffff]+")

# Scripts whose words are not parted by spaces (Hangul is, but its particles stick to the word).
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_LETTERS = str.maketrans({
    **dict(zip("ıłøđħŧŋðæœþё", ("i", "l", "o", "d", "h", "t", "n", "d", "ae", "oe", "th", "е"), strict=True)),
    **dict.fromkeys("آأإٱ", "ا"), "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ـ": "",
})  # fmt: skip
_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")

_PLAIN, _MARK, _PAIRED = range(3)

_runs: dict[str, str] = {}
_chars: dict[str, tuple[int, str]] = {}


def segment(text: str) -> str:
    """Return `text` with its words parted by ASCII characters, ready for FTS5's `porter ascii` tokenizer.

    Any string is accepted: lone surrogates and NULs become spaces. The same words always give the same tokens, whatever
    their Unicode form, so the result for the index and for a query can be compared.
    """
    if text.isascii():
        return _split_humps(text)
    return _FOREIGN.sub(_rewrite, _split_humps(normalize("NFC", text)))


def tokens(text: str) -> list[str]:
    """Return the tokens that FTS5 would see in `text`, before stemming."""
    return _TOKEN.findall(segment(text).encode().lower().decode())  # ASCII alone, as FTS5: Cherokee folds to its capitals


def words(text: str) -> frozenset[str]:
    """Return the words of `text` for comparing it with others: folded, identifiers whole, pairs where words are not spaced."""
    folded = text if text.isascii() else _FOREIGN.sub(_rewrite, normalize("NFC", text))
    return frozenset(_TOKEN.findall(folded.encode().lower().decode()))


def is_unspaced(word: str) -> bool:
    """Tell whether `word` holds a script that is cut into pairs (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese)."""
    return _UNSPACED.search(word) is not None


def clean(text: str) -> str:
    """Return `text` as embedders take it: no lone surrogates, which they cannot encode, and no NULs, which end a C string."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")


def outgoing(text: str) -> str:
    """Return `text` as it leaves this machine: without secrets, and never empty, for no provider takes that."""
    sent = redacted(clean(text))
    return sent if sent.strip() else "."


def _rewrite(match: re.Match[str]) -> str:
    run = match[0]
    known = _runs.get(run)
    if known is None:
        if len(_runs) > 50_000:
            _runs.clear()
        known = _runs[run] = _fold(run)
    return known


def _fold(run: str) -> str:
    out: list[str] = []
    pairs: list[str] = []  # grapheme clusters of the unspaced run that is being read
    for char in normalize("NFKC", run).casefold():
        known = _chars.get(char)
        if known is None:
            known = _chars[char] = _classify(char)
        kind, text = known
        if kind == _PAIRED:
            pairs.append(text)
        elif kind == _MARK and pairs:  # of a vowel, a tone, or a dakuten that has no composed form
            pairs[-1] += char
        else:
            if pairs:
                out.append(_pair_up(pairs))
                pairs = []
            out.append(text)
    if pairs:
        out.append(_pair_up(pairs))
    folded = "".join(out)
    return " ".join(map(_stem_arabic, folded.split(" "))) if "ل" in folded else folded


def _classify(char: str) -> tuple[int, str]:
    """Return how `char` is treated, and what stands for it outside a run of pairs."""
    kind = category(char)
    if _UNSPACED.match(char) and kind[0] in "LM":
        return (_MARK if kind[0] == "M" else _PAIRED), char
    if char.isascii():
        return _PLAIN, char
    return (_MARK if kind[0] == "M" else _PLAIN), _letter(char, kind)


def _letter(char: str, kind: str) -> str:
    if kind == "Nd":
        return str(decimal(char))
    if kind[0] == "L":
        base = normalize("NFD", char)[0]
        # Latin and Greek drop their accents; й, ガ and others are letters of their own.
        return (base if base < "\u0400" else char).translate(_LETTERS)
    if kind[0] == "N":
        return char
    if kind[0] == "M":
        accent = "\u0300" <= char <= "\u036f" or "\u0591" <= char <= "\u05c7" or "\u064b" <= char <= "\u0670"
        return "" if accent or "\ufe00" <= char <= "\ufe0f" else char
    if kind == "So":
        return f" {char} "
    return "" if kind == "Cf" and char != "\u200b" else " "  # joiners and soft hyphens stand inside words


def _pair_up(clusters: list[str]) -> str:
    pairs = map("".join, pairwise(clusters)) if len(clusters) > 1 else clusters
    return f" {' '.join(pairs)} "


def _stem_arabic(word: str) -> str:
    for article in _ARTICLES:
        if word.startswith(article) and len(word) - len(article) >= 3:
            return word[len(article) :]
    return word


def _split_humps(text: str) -> str:
    """Put the parts of each camelCase word before it: `memorySearch` is found whole, as `memory` and as `search`."""
    cases = text.encode("ascii", "replace").translate(_CASES)  # a: small or digit, A: capital, blank: others
    at = cases.find(b"aA")
    if at < 0:
        return text
    out: list[str] = []
    done = 0
    while at >= 0:
        start = cases.rfind(b" ", done, at) + 1 or done
        end = cases.find(b" ", at)
        end = end if end >= 0 else len(text)
        word = text[start:end]
        out += text[done:start], " ".join(_HUMP.findall(word)), " ", word
        done = end
        at = cases.find(b"aA", end)
    return "".join(out) + text[done:]
