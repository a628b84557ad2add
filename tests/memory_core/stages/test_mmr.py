"""MMR: the seeds' router notes, every script, and the lazy choice that is the greedy one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Hit, Query
from looseleaf._run import run
from looseleaf.testing.strategies import hits, plain_texts
from looseleaf_memory_core.stages.mmr import MaximalMarginalRelevance, similarity
from looseleaf_memory_core.text import words

ROUTER = {
    "02-10": ("Configured Omada router, set VLAN 10 for IoT devices", 0.92),
    "02-08": ("Configured Omada router, moved IoT to VLAN 10", 0.89),
    "02-05": ("Set up AdGuard DNS on 192.168.10.2", 0.85),
    "network": ("Router: Omada ER605, AdGuard: 192.168.10.2, VLAN 10: IoT", 0.83),
}


def jaccard(first: str, second: str) -> float:
    return similarity(words(first), words(second), same=first == second)


def test_the_seeds_similarities() -> None:
    """behaviour.md §14: the six pairs of the router notes."""
    pairs = {pair: jaccard(*(ROUTER[name][0] for name in pair)) for pair in combinations(ROUTER, 2)}
    wanted = (0.545, 0.125, 0.357, 0.0625, 0.385, 0.357)
    assert list(pairs.values()) == pytest.approx(wanted, abs=5e-4)


def test_the_seeds_router_notes() -> None:
    """At lambda 0.7 the three that are shown are 02-10, network and 02-05; the near-duplicate of 02-08 is not."""
    notes = [Hit(name, f"memory/{name}.md", 1, 1, text, score) for name, (text, score) in ROUTER.items()]
    shown = MaximalMarginalRelevance(0.7)(notes, Query("router setup", limit=3))[:3]
    assert shown[0].id == "02-10"
    assert {hit.id for hit in shown} == {"02-10", "network", "02-05"}


def test_chinese_notes_are_neither_all_equal_nor_all_different() -> None:
    """CJ-06: similarity comes from pairs of characters, between 0 and 1."""
    assert 0 < jaccard("路由器配置完成", "路由器已经重启") < 1
    assert jaccard("路由器配置完成", "今天吃火锅") == 0


@pytest.mark.parametrize("text", ["हिन्दी में नोट", "ภาษาไทยและอื่นๆ", "日本語のメモ", "한국어 메모", "مذكرة بالعربية"])
def test_every_script_has_words(text: str) -> None:
    """CJ-08: marks stay inside words; a text of any script is like itself and unlike another."""
    assert len(words(text)) > 1
    assert jaccard(text, text) == 1
    assert jaccard(text, "something else") == 0


def test_texts_without_a_word_are_alike_only_if_equal() -> None:
    """Two empty sets say nothing."""
    assert jaccard("***", "…—") == 0
    assert jaccard("***", "***") == 1


@given(hits(text=plain_texts()), st.integers(1, 9), st.sampled_from([0.0, 0.3, 0.7, 0.9]))
def test_the_lazy_choice_is_the_greedy_one(given_hits: list[Hit], limit: int, weight: float) -> None:
    """Comparing only where it can matter takes the hits that comparing all with all would take."""
    best = max((hit.score for hit in given_hits), default=0) or 1.0
    left, taken = list(given_hits), []
    while left and len(taken) < limit:
        worth = [
            weight * hit.score / best - (1 - weight) * max((jaccard(hit.text, other.text) for other in taken), default=0)
            for hit in left
        ]
        taken.append(left.pop(worth.index(max(worth))))
    lazy = MaximalMarginalRelevance(weight)(given_hits, Query("q", limit=limit))
    if len(given_hits) > 2:
        assert [hit.id for hit in lazy] == [hit.id for hit in [*taken, *left]]


def test_the_flag_turns_it_on(opened: Callable, write: Callable) -> None:
    """`hybrid.mmr.enabled`: a near-copy makes room for another note."""
    write("memory/a.md", "gateway router vlan ten at home")
    write("memory/b.md", "gateway router vlan ten at home again")
    write("memory/c.md", "gateway of the office printer is elsewhere, says the caretaker")
    for flags, shown in (({}, "b"), ({"mmr": {"enabled": True, "lambda": 0.2}}, "c")):
        notebook = opened({"query": {"hybrid": flags, "maxResults": 2}})
        run(notebook.sync(), inline=True)
        result = run(notebook.search("gateway router"), inline=True)
        assert [found.hit.path for found in result.hits] == ["memory/a.md", f"memory/{shown}.md"]
