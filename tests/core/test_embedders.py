"""Which embedder config means, and who steps in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import PluginError
from looseleaf._catalog import scan
from looseleaf._embedders import Embedders, configured_embedders
from looseleaf._plugins import Plugins


@pytest.fixture
def chosen(site: Path, agent: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Embedders]:
    def choose(provider: str, fallback: str = "none", auto: tuple[str, ...] = ()) -> Embedders:
        monkeypatch.setattr("looseleaf._embedders.AUTO", auto)
        settings = agent({"provider": provider, "fallback": fallback})
        return configured_embedders(Plugins(scan(), settings), settings, {})

    return choose


def test_a_missing_key_goes_on_to_the_next(chosen: Callable[..., Embedders]) -> None:
    """Under `auto` only NotConfigured moves on, and the reasons are kept where nobody is left."""
    found = chosen("auto", auto=("keyless", "not-installed", "fake"))
    assert (found.provider, found.notes) == ("fake", ())
    assert chosen("auto", auto=("keyless",)).notes[0].text == "searching by words only: ACME_KEY is not set. Set it."


def test_any_other_error_is_told(chosen: Callable[..., Embedders]) -> None:
    """A provider that fails for another reason does not quietly give way."""
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        chosen("auto", auto=("raises", "fake"))


def test_words_alone(chosen: Callable[..., Embedders]) -> None:
    """`none` asks for nobody, whatever the fallback."""
    assert chosen("none", "fake") == Embedders()


def test_one_that_cannot_be_made_is_stood_in_for(chosen: Callable[..., Embedders]) -> None:
    """The fallback is then the embedder, and the answer says for whom and why."""
    found = chosen("keyless", "fake")
    assert found.embedder is not None
    assert found.provider == "fake"
    assert found.stands_in is not None
    assert found.stands_in == ("keyless", "ACME_KEY is not set. Set it.")
    assert found.notes[0].text == "fake stands in for keyless: ACME_KEY is not set. Set it."


def test_both_may_fail(chosen: Callable[..., Embedders]) -> None:
    """Words are left, and both reasons are told."""
    found = chosen("raises", "keyless")
    assert found.embedder is None
    assert "ZeroDivisionError" in found.notes[0].text
    assert "And the fallback: ACME_KEY is not set" in found.notes[0].text


def test_a_fallback_that_cannot_step_in_is_told_before_it_has_to(chosen: Callable[..., Embedders]) -> None:
    """While the first works, too."""
    found = chosen("fake", "keyless")
    assert (found.provider, found.fallback) == ("fake", None)
    assert found.notes[0].text == "nobody steps in when fake fails: ACME_KEY is not set. Set it."


def test_nobody_stands_in_for_himself(chosen: Callable[..., Embedders]) -> None:
    """A fallback of the same name is none."""
    assert chosen("fake", "fake").fallback is None
    assert chosen("auto", "fake", auto=("fake",)).fallback is None
