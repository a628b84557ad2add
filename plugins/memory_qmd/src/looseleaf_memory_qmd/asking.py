"""Put one question to QMD: through the daemon or the command line, as its version wants it, and once more with fewer words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from time import monotonic
from typing import NamedTuple

from looseleaf import Note, StoreError
from looseleaf.settings.surface import Qmd

from .answers import Row, rows_in
from .command import Command, TimeoutStoreError, failure
from .daemon import Daemon
from .question import keyword_line, meaning_line, single_words

_ALL_AT_ONCE = (2, 8, 3)  # from here on each of several collections is searched; before, only the best of all were filtered
_LINES = (2, 0, 0)  # from here on `query` takes `lex:` lines, which need no model
_AT_LEAST_S = 0.2


class Answer(NamedTuple):
    """Rows, best first, and what has to be said."""

    rows: list[Row]
    notes: list[Note]


class Questions:
    """Asks QMD.

    Args:
        command: How it is run.
        options: `memory.qmd`.
        daemon: A running one, or None for a process a question.
    """

    def __init__(self, command: Command, options: Qmd, daemon: Daemon | None) -> None:
        self._command = command
        self._options = options
        self._daemon = daemon

    def ask(self, text: str, collections: Sequence[str], limit: int) -> Answer:
        """Return what QMD finds for `text`; where no document has all words, what has some.

        Raises:
            NotConfigured: there is no qmd.
            StoreError: it failed or was too slow. "Collection not found" is in the text where that is the reason.
        """
        ends = monotonic() + self._options.limits.timeout_ms / 1000
        mode, notes = self._mode()
        rows = self._rows(mode, text, collections, limit, ends, notes)
        words = single_words(text)
        if not rows and words and words != [keyword_line(text)] and ends - monotonic() > _AT_LEAST_S:
            rows = self._some_words(words, collections, limit, ends, notes)
            if rows:
                notes.append(Note("fewer-words", "no note holds all of these words; these hold some"))
        return Answer(rows, notes)

    def _mode(self) -> tuple[str, list[Note]]:
        """Return the way to search; without models it is by words, whatever config says."""
        mode = self._options.search_mode
        if mode == "search" or self._command.has_models():
            return mode, []
        text = f"searched by words: QMD's models are not there, which searchMode {mode} needs. Run `qmd pull`, or set searchMode to search."
        return "search", [Note("no-models", text)]

    def _rows(self, mode: str, text: str, collections: Sequence[str], limit: int, ends: float, notes: list[Note]) -> list[Row]:
        line, meaning = keyword_line(text), meaning_line(text)
        if self._daemon:
            kinds = {"search": [("lex", line)], "vsearch": [("vec", meaning)], "query": [("lex", line), ("vec", meaning)]}[mode]
            rerank = mode == "query" and self._options.rerank is not False
            return _by_daemon(self._daemon, kinds, collections, limit, ends, rerank=rerank)
        options = ["--no-rerank"] if mode == "query" and self._options.rerank is False else []
        asked = line if mode == "search" else meaning
        if self._command.version() >= _ALL_AT_ONCE:
            return self._by_command([mode, *options], asked, collections, limit, ends, notes)
        each = [self._by_command([mode, *options], asked, [name], limit, ends, notes) for name in collections]
        return _in_turns(each)[:limit]

    def _some_words(
        self, words: Sequence[str], collections: Sequence[str], limit: int, ends: float, notes: list[Note]
    ) -> list[Row]:
        if self._daemon:
            return _by_daemon(self._daemon, [("lex", word) for word in words], collections, limit, ends, rerank=False)
        version = self._command.version()
        if version >= _ALL_AT_ONCE or (version >= _LINES and len(collections) == 1):
            lines = "\n".join(f"lex: {word}" for word in words)
            return self._by_command(["query", "--no-rerank"], lines, collections, limit, ends, notes)
        each: list[list[Row]] = []
        for word in words:
            for name in collections:
                if ends - monotonic() < _AT_LEAST_S:
                    break
                each.append(self._by_command(["search"], word, [name], limit, ends, notes))
        return _in_turns(each)[:limit]

    def _by_command(
        self, words: Sequence[str], text: str, collections: Sequence[str], limit: int, ends: float, notes: list[Note]
    ) -> list[Row]:
        if not text:
            return []
        left = ends - monotonic()
        if left <= 0:
            raise TimeoutStoreError(f"qmd {words[0]} took longer than {self._options.limits.timeout_ms / 1000:g} s")
        named = chain.from_iterable(("-c", name) for name in collections)
        # No --min-score: in a small index every score is 0. The two dashes keep a question from being read as an option.
        done = self._command.run(*words, "--json", "-n", str(limit), *named, "--", text, timeout_s=left)
        rows = rows_in(done.stdout)
        if done.code != 0:
            if not rows:  # no rows and a bad end is a failure, whatever was printed
                raise failure(f"qmd {words[0]}", done)
            notes.append(
                Note("qmd-aborted", f"qmd {words[0]} {done.ended or f'ended with code {done.code}'} after it had answered")
            )
        if rows is None:
            raise StoreError(f"qmd {words[0]} printed something that is no JSON: {done.stdout.strip()[:80]!r}")
        return rows


def _by_daemon(
    daemon: Daemon, kinds: Sequence[tuple[str, str]], collections: Sequence[str], limit: int, ends: float, *, rerank: bool
) -> list[Row]:
    searches = [{"type": kind, "query": query} for kind, query in kinds if query]
    if not searches:
        return []
    return daemon.ask(searches, collections, limit, rerank=rerank, timeout_s=max(_AT_LEAST_S, ends - monotonic()))


def _in_turns(each: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the first of each list, then the second of each, and so on, each document once."""
    unique: dict[object, Row] = {}
    for some in zip_longest(*each):
        for row in some:
            if row is not None:
                unique.setdefault((row.get("file"), row.get("docid")), row)
    return list(unique.values())
