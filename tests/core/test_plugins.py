"""Selecting, loading and checking plugins."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf import AgentSettings, NotConfigured, PluginError
from looseleaf._catalog import scan
from looseleaf._plugins import Plugins


@pytest.fixture
def plugins(agent: Callable[..., AgentSettings], site: Path) -> Callable[..., Plugins]:
    return lambda **config: Plugins(scan(), agent(plugins=config))


def test_a_selected_plugin_is_loaded_and_others_are_not(plugins) -> None:
    """PL-01: a broken plugin that nobody selected changes nothing."""
    assert plugins().embedder("fake").fingerprint == "fake:one"
    assert "fake_broken" not in sys.modules
    assert "fake_odd" not in sys.modules


def test_a_broken_plugin_is_named_with_its_distribution(plugins) -> None:
    """PL-05: the error names distribution, version, value and cause."""
    with pytest.raises(
        PluginError, match=r"fake-broken 0\.3 \(fake_broken\) cannot be imported: ImportError: libmissing"
    ) as caught:
        plugins().embedder("broken")
    assert caught.value.kind == "embedder"
    assert isinstance(caught.value.__cause__, ImportError)


def test_a_name_claimed_twice_names_both(plugins) -> None:
    """PL-04: neither of two distributions wins in silence."""
    with pytest.raises(PluginError, match=r"claimed by fake-.*twin.* and fake-.*twin"):
        plugins().memory("twin-slot", None)


def test_the_twin_s_other_plugins_still_work(plugins) -> None:
    """A conflict hurts only the name in conflict."""
    assert plugins().embedder("twin").fingerprint == "fake:one"


def test_an_unknown_name_lists_the_installed_ones(plugins) -> None:
    """PV-26, PL-06: the message gives the known names, the nearest and the entry-point group."""
    with pytest.raises(
        PluginError, match=r"no embedder called 'bundeld' is installed. Did you mean 'bundled'\?.*looseleaf\.embedder"
    ):
        plugins().embedder("bundeld")


def test_a_hook_with_a_wrong_argument_is_refused_and_rolled_back(plugins) -> None:
    """Nothing half-registered stays behind: another plugin still answers."""
    mine = plugins()
    with pytest.raises(PluginError, match=r"does not fit the hooks.*temperature"):
        mine.embedder("wrong-arguments")
    assert mine.embedder("fake").fingerprint == "fake:one"


@pytest.mark.parametrize(
    ("name", "says"),
    [("silent", "gave nothing"), ("raises", "ZeroDivisionError: division by zero"), ("half", "lacks limits, embed, aclose")],
)
def test_what_a_factory_gives_is_checked(plugins, name: str, says: str) -> None:
    """PL-10: the author is told what is missing."""
    with pytest.raises(PluginError, match=says):
        plugins().embedder(name)


def test_a_ranker_must_be_callable(plugins) -> None:
    """A factory that gives a number is refused."""
    with pytest.raises(PluginError, match="gave a int, which cannot be called"):
        plugins().ranker("half")


def test_a_factory_is_never_asked_for_another_s_name(plugins) -> None:
    """Only the selected distribution answers, even when others are loaded."""
    mine = plugins()
    mine.embedder("fake")
    with pytest.raises(PluginError, match="gave nothing"):
        mine.embedder("silent")


def test_a_missing_key_is_told_apart(plugins) -> None:
    """NotConfigured reaches whoever asked, who may go on to another."""
    with pytest.raises(NotConfigured):
        plugins().embedder("keyless")


def test_extensions_wrap_in_the_order_of_config(plugins) -> None:
    """The first listed extension is the outermost."""
    mine = plugins(extensions=["outer", "inner"])
    mine.embedder("fake")
    from fake_wrapper import PASSED

    assert PASSED == ["outer", "inner", "inner done", "outer done"]


@pytest.mark.parametrize(
    ("config", "state", "reason"),
    [
        ({"slots": {"memory": "fake-slot"}}, "selected", "selected"),
        ({"slots": {"memory": "none"}}, "off", "memory slot disabled"),
        ({"slots": {"memory": "memory-core"}}, "off", 'memory slot set to "memory-core"'),
        ({"slots": {"memory": "fake-slot"}, "deny": ["fake-slot"]}, "off", "blocked by denylist"),
        ({"slots": {"memory": "fake-slot"}, "deny": ["fake-good"]}, "off", "blocked by denylist"),
        ({"slots": {"memory": "fake-slot"}, "entries": {"fake-slot": {"enabled": False}}}, "off", "disabled in config"),
        ({"slots": {"memory": "fake-slot"}, "enabled": False}, "off", "plugins disabled"),
        ({"slots": {"memory": "fake-slot"}, "allow": ["somebody"]}, "selected", "selected"),
        ({"slots": {"memory": "memory-core"}, "allow": ["somebody"]}, "off", "not in allowlist"),
    ],
)
def test_every_state_of_a_slot_has_its_reason(plugins, config: dict, state: str, reason: str) -> None:
    """PL-08: deny and `enabled: false` beat the slot, the slot beats the allow list."""
    slot = config["slots"]["memory"]
    states = plugins(**config).states({"memory": set() if slot == "none" else {slot}})
    (mine,) = [item for item in states if item.entry.name == "fake-slot"]
    assert (mine.state, mine.reason) == (state, reason)


def test_an_embedder_outside_the_allow_list_is_refused(plugins) -> None:
    """The allow list holds for all but the selected slot and what is bundled."""
    with pytest.raises(PluginError, match="not in allowlist"):
        plugins(allow=["somebody"]).embedder("fake")
    assert plugins(allow=["fake-good"]).embedder("fake")
    assert plugins(allow=["somebody"]).ranker("balanced")


def test_conflicts_are_always_listed(plugins) -> None:
    """PL-09: a name claimed twice shows as a conflict even when nobody selected it; nothing vanishes in silence."""
    states = [item for item in plugins().states({"memory": {"memory-core"}}) if item.entry.name == "twin-slot"]
    assert [item.state for item in states] == ["conflict", "conflict"]
