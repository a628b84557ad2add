"""The public names, held to the code."""

from __future__ import annotations

import looseleaf


def test_all_is_sorted_and_there() -> None:
    """Every public name can be imported, and the list is in order."""
    assert looseleaf.__all__ == sorted(looseleaf.__all__, key=lambda name: (name.startswith("_") or name[0].islower(), name))
    for name in looseleaf.__all__:
        assert getattr(looseleaf, name) is not None


def test_what_is_mapped_is_what_is_public() -> None:
    """The table of homes and the list of names agree."""
    assert {*looseleaf._MODULE_OF, "__version__"} == set(looseleaf.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A typo is told as Python tells it."""
    assert not hasattr(looseleaf, "Notebok")
