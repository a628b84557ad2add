"""Read a query as words and quoted phrases: what FTS5 is asked, and nothing of its syntax.

`AND`, `NOT`, `*`, `:` and the rest are words or punctuation here, so any string is a query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from unicodedata import normalize

from ..text import is_unspaced, tokens
from .stopwords import stop_words

_QUOTED = re.compile(r'["“”„«»「」『』]([^"“”„«»「」『』]+)["“”„«»「」『』]')
_IDENTIFIER = re.compile(r"[^\W\d_]\d|\d[^\W\d_]|\w[_./:@#\\=]+\w|[a-z0-9][A-Z]|^--?\w|^[#@]\w")
_UMLAUT = re.compile("[äöüÄÖÜ]|[aouAOU]\u0308")
_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_MOST_TERMS = 64  # a pasted page is a query too: its first words will do

Term = tuple[str, ...]  # adjacent tokens; one for a plain word


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks for.

    Attributes:
        terms: Words to look for, each once, without stop words unless there is nothing else. A compound such as
            `sqlite-vec` is one term of several adjacent tokens.
        exact: Phrases and identifiers of which a hit outranks every similarity: quoted phrases, else identifiers and the
            whole query when it is several words.
        marks: The words as they are written, to be marked in a snippet.
        spellings: The other spelling of German words with umlauts: Gedächtnis is also Gedaechtnis.
    """

    terms: tuple[Term, ...]
    exact: tuple[Term, ...]
    marks: tuple[str, ...] = ()
    spellings: Mapping[Term, Term] = field(default_factory=dict)


def parse_query(text: str) -> ParsedQuery:
    """Return the terms of `text`. Never raises: a query without a word has no terms."""
    quoted = [phrase for found in _QUOTED.findall(text) if (phrase := tuple(tokens(found)))]
    units = [(unit, (unit,) if _is_plain(unit) else tuple(tokens(unit))) for unit in text.split()]
    words: list[Term] = []
    written: dict[Term, str] = {}
    spellings: dict[Term, Term] = {}
    for unit, found in units:
        if found == (unit,):
            words.append(found)
            written[found] = unit
        elif len(found) > 1 and is_unspaced(unit):
            words += [(token,) for token in found]
            written.update(((token,), token) for token in found)
        elif found:
            words.append(found)
            written[found] = _EDGES.sub("", unit)
            if _UMLAUT.search(unit):
                spellings[found] = tuple(tokens(normalize("NFC", unit).translate(_SPELT_OUT)))
    stops = stop_words(words)
    terms = [term for term in words if not stops.issuperset(term)] or words
    exact = quoted
    if not quoted:
        exact = [found for unit, found in units if found and not _is_plain(unit) and _IDENTIFIER.search(unit)]
        whole = tuple(token for _, found in units for token in found)
        if len(whole) > 1:
            exact.append(whole)
    kept = tuple(dict.fromkeys(terms))[:_MOST_TERMS]
    return ParsedQuery(kept, tuple(dict.fromkeys(exact))[:_MOST_TERMS], tuple(written[term] for term in kept), spellings)


def _is_plain(unit: str) -> bool:
    """Tell whether `unit` is small letters from a to z, as most words of a question are: its own token, and no identifier."""
    return unit.isascii() and unit.isalpha() and unit.islower()


def match(*terms: Term, joined: str = "OR") -> str:
    """Return the FTS5 expression for `terms`. Tokens hold neither quotes nor operators, so none can be injected."""
    return f" {joined} ".join(f'"{" ".join(term)}"' for term in terms)
