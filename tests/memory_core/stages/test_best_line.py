"""Best line: words that stand together count more than the same words far apart."""

from __future__ import annotations

import pytest

from looseleaf import Hit, Query
from looseleaf.testing import Law, postprocessor_laws
from looseleaf_memory_core.stages.best_line import BestLine


@pytest.mark.parametrize("law", postprocessor_laws("keeps-all", neutral=lambda: BestLine(0.0)))
def test_it_keeps_the_laws(law: Law) -> None:
    """Nothing is dropped, no score rises, and without weight nothing changes."""
    law(BestLine)


def test_words_in_one_line_come_before_words_far_apart() -> None:
    """Of two hits with nearly equal scores; what is shown still falls down the list."""
    apart = Hit("apart", "a.md", 1, 3, "The gateway is old.\nNothing.\nThe printer has a port.", 0.80)
    together = Hit("together", "b.md", 1, 3, "Nothing.\nThe gateway listens on this port.\nNothing.", 0.75)
    ranked = BestLine()([apart, together], Query("gateway port"))
    assert [hit.id for hit in ranked] == ["together", "apart"]
    assert [hit.score for hit in ranked] == [0.75, 0.75]


def test_it_reads_every_script() -> None:
    """Pairs of characters stand for words in Chinese."""
    apart = Hit("apart", "a.md", 1, 2, "路由器在书房。\n端口还没有决定。", 0.80)
    together = Hit("together", "b.md", 1, 1, "路由器的端口是八十。", 0.79)
    assert BestLine()([apart, together], Query("路由器端口"))[0].id == "together"


def test_where_words_explain_nothing_it_stays_out() -> None:
    """A question in another language than the notes: chance hits in one line move little."""
    near = Hit("near", "a.md", 1, 1, "irgendwas", 0.60, {"coverage": 0.0})
    chance = Hit("chance", "b.md", 1, 1, "the port", 0.55, {"coverage": 0.01})
    assert BestLine()([near, chance], Query("the port"))[0].id == "near"
