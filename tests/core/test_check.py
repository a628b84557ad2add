"""`looseleaf plugins check`: what an author is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import PluginError
from looseleaf._catalog import scan
from looseleaf._check import CHECKS, subject


def found(distribution: str, check: str) -> dict[str, tuple[str, str]]:
    return {item.plugin: (item.state, item.text) for item in CHECKS[check](subject(distribution, scan()))}


def test_a_sound_distribution_is_in_order(site: Path) -> None:
    """Nothing is broken, each plugin is named."""
    about = subject("fake_good", scan())
    findings = [finding for check in CHECKS.values() for finding in check(about)]
    assert {finding.state for finding in findings} <= {"ok", "note"}
    assert {finding.plugin for finding in findings} >= {"fake", "fake-slot", "fake-ranker", "fake-stage"}


def test_a_broken_import_is_a_finding(site: Path) -> None:
    """No traceback: the last line of what Python said, and every other check goes on."""
    state, text = found("fake-broken", "import")["fake_broken"]
    assert state == "broken"
    assert "cannot be imported" in text
    assert found("fake-broken", "makes") == {}


def test_wrong_arguments_are_named(site: Path) -> None:
    """Which argument is unknown, and which there are."""
    ((state, text),) = set(found("fake-signature", "hook").values())
    assert state == "broken"
    assert "but can be given" in text


def test_a_name_that_is_taken_is_named_with_its_owner(site: Path) -> None:
    """PL-04: both distributions are in the message."""
    assert any("also claimed by fake-other-twin" in text for _, text in found("fake-twin", "name").values())


def test_an_unknown_distribution_lists_those_there_are(site: Path) -> None:
    """And says why a new entry point may not show."""
    with pytest.raises(PluginError, match=r"no installed distribution called 'nope'.*fake-good.*installed again"):
        subject("nope", scan())
