"""Vectors of texts that are gone: kept, within limits, so that nothing is paid for twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from looseleaf._run import run
from looseleaf.testing import HashEmbedder
from looseleaf_memory_core.slot import CoreSlot
from looseleaf_memory_core.store.database import connect


@pytest.fixture
def sync(opened: Callable, write: Callable) -> Callable[..., tuple[HashEmbedder, int]]:
    """Write notes, sync with these limits, and return the embedder and how many vectors are kept."""

    def make(texts: list[str], cache: dict[str, Any], dimensions: int = 8) -> tuple[HashEmbedder, int]:
        for number in range(6):
            write(f"memory/{number}.md", texts[number] if number < len(texts) else "")
        settings = opened({"cache": cache}).settings
        embedder = HashEmbedder(dimensions)
        assert run(CoreSlot(settings, embedder).sync(), inline=True).pending == 0
        db = connect(settings.database)
        kept = int(db.execute("SELECT count(*) FROM embedding").get)
        db.close()
        return embedder, kept

    return make


def test_a_text_that_comes_back_is_not_paid_for_again(sync: Callable) -> None:
    """Without limits everything is kept."""
    assert sync(["one", "two", "three"], {})[1] == 3
    assert sync(["one"], {})[1] == 3
    embedder, kept = sync(["one", "two", "three"], {})
    assert (embedder.requests, kept) == ([], 3)


def test_the_least_recently_used_go_first(sync: Callable) -> None:
    """CA-01: not the oldest; `a` came after `b`, but `b` stood in a note for longer."""
    keep = {"maxEntries": 9}
    for texts in (["b"], ["b", "a"], ["b"], ["c"]):
        sync(texts, keep)
    assert sync(["c"], {"maxEntries": 2})[1] == 2
    assert sync(["c", "b"], keep)[0].requests == []
    assert sync(["c", "a"], keep)[0].requests == [["a"]]


def test_a_lower_limit_holds_at_once(sync: Callable) -> None:
    """CA-01: at the next sync, although no note has changed."""
    sync(["one", "two", "three"], {})
    sync(["one"], {})
    assert sync(["one"], {"maxEntries": 2})[1] == 2
    assert sync(["one"], {"enabled": False})[1] == 1


def test_status_tells_what_is_kept(sync: Callable, opened: Callable) -> None:
    """CA-02: entries and bytes, those of texts that are gone, too."""
    sync(["one", "two"], {})
    sync(["one"], {})
    assert run(opened().status(), inline=True).details["cache"] == {"entries": 2, "bytes": 64}


def test_what_the_notes_need_stays(sync: Callable) -> None:
    """maxEntries counts all; what is in a note is never removed."""
    sync(["one", "two", "three", "four"], {})
    assert sync(["four"], {"maxEntries": 2})[1] == 2
    embedder, _ = sync(["four", "one"], {"maxEntries": 2})  # newest notes are embedded first, so `one` was the last
    assert embedder.requests == []
    embedder, kept = sync(["one", "two", "three"], {"maxEntries": 2})
    assert sum(map(len, embedder.requests)) == 2
    assert kept == 3


def test_bytes_are_a_limit_too(sync: Callable) -> None:
    """CA-02: eight dimensions are 32 bytes."""
    sync(["one", "two", "three", "four"], {})
    assert sync(["one"], {"maxBytes": 96})[1] == 3
    assert sync(["one"], {"maxBytes": 1})[1] == 1


def test_other_embedders_vectors_go_last(sync: Callable) -> None:
    """First texts that are gone, then what another embedder made of those that are there."""
    sync(["one", "two", "gone"], {}, 8)
    assert sync(["one", "two"], {"maxEntries": 4}, 16)[1] == 4
    assert sync(["one", "two"], {"maxEntries": 2}, 16)[1] == 2
    assert sync(["one", "two"], {}, 16)[0].requests == []


def test_without_a_cache_nothing_that_is_gone_is_kept(sync: Callable) -> None:
    """`cache.enabled: false`."""
    sync(["one", "two"], {})
    assert sync(["one"], {"enabled": False})[1] == 1
