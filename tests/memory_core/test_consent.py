"""Notes that have vectors are not sent to a paid provider unasked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from looseleaf._run import run
from looseleaf.testing import HashEmbedder
from looseleaf_memory_core.slot import CoreSlot


class Paid(HashEmbedder):
    """Costs money."""

    paid = True


def test_a_change_to_a_paid_provider_waits_for_a_word(opened: Callable, write: Callable) -> None:
    """A note says how to agree; search goes on with words; `--force` or autoReindex agrees, and then nothing is asked again."""
    write("MEMORY.md", "the gateway")
    notebook = opened()
    settings = notebook.settings
    free, paid = HashEmbedder(32), Paid(64)
    run(CoreSlot(settings, free).sync(), inline=True)

    slot = CoreSlot(settings, paid)
    report = run(slot.sync(), inline=True)
    assert paid.requests == []
    assert report.pending == 1
    assert [note.code for note in report.notes] == ["consent"]
    assert "looseleaf index --force" in report.notes[0].text
    assert run(replace(notebook, slot=slot).search("gateway"), inline=True).hits

    report = run(slot.sync(force=True), inline=True)
    assert (report.pending, len(paid.requests)) == (0, 1)
    write("memory/new.md", "the printer")
    report = run(slot.sync(), inline=True)
    assert (report.pending, report.notes, len(paid.requests)) == (0, (), 2)


def test_a_first_index_needs_no_word(opened: Callable, write: Callable) -> None:
    """Whoever sets a key means it to be used; autoReindex says so for changes, too."""
    write("MEMORY.md", "the gateway")
    settings = opened({"sync": {"autoReindex": True}}).settings
    paid = Paid(64)
    assert run(CoreSlot(settings, paid).sync(), inline=True).pending == 0
    other = Paid(16)
    assert run(CoreSlot(settings, other).sync(), inline=True).pending == 0
    assert len(other.requests) == 1
