"""What a third party's tests look like: its objects, and the laws of their kinds."""

import pytest

from looseleaf import Hit, Query
from looseleaf.testing import embedder_laws, memory_laws, plugin_laws, postprocessor_laws
from looseleaf_acme._embedder import Acme, Options
from looseleaf_acme._reranker import Reranker
from looseleaf_acme._scrapbook import Scrapbook


@pytest.mark.parametrize("law", embedder_laws("unit", "split", others=[lambda: Acme(Options(dimensions=64))]))
def test_embedder(law):
    law(lambda: Acme(Options()))


@pytest.mark.parametrize("law", memory_laws())
def test_scrapbook(law):
    law(lambda workspace, state_dir: Scrapbook(workspace))


@pytest.mark.parametrize("law", postprocessor_laws("keeps-all"))
def test_reranker(law):
    law(Reranker)


@pytest.mark.parametrize("law", plugin_laws())
def test_distribution(law):
    law(lambda: "looseleaf-acme")


def test_the_reranker_stops_in_time():
    clock = iter([0.0, 0.1, 0.9, 1.1])
    hits = [Hit(str(number), "a.md", number, number, "router" if number == 3 else "cake", 1 - number / 10) for number in range(6)]
    ranked = Reranker(batch=2, now=lambda: next(clock))(hits, Query("router", stage_timeout_s=2.0))
    assert [hit.id for hit in ranked] == ["3", "0", "1", "2", "4", "5"]
