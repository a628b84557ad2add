"""Implementations with one fault each, and the law that has to find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from looseleaf.testing import Law


class Mutant(NamedTuple):
    """One fault: what it is, the law that finds it, the laws it is tried on, and how it is made."""

    name: str
    law: str
    laws: tuple[Law, ...]
    make: Callable[..., Any]
