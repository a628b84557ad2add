"""A law: a property that every implementation of a kind must have, told in one sentence and tried on hundreds of examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

#: Waived laws that did not hold in this process, with their reasons; the pytest plugin shows them.
WAIVED: dict[str, str] = {}
#: Makes what a law is tried on; called anew for every example.
Factory = Callable[..., Any]


@dataclass(frozen=True)
class Law:
    """One law. Calling it with a factory tries it, and raises `AssertionError` with the counterexample where it does not hold.

    Attributes:
        name: Stable, `kind-property`.
        says: What must hold, in a sentence.
        look_at: Where to look first when it does not.
        check: Called with the factory (or what `around` makes of it) and one drawn value for each of `strategies`.
        strategies: What is drawn; empty for a law that needs no examples.
        claim: What an object must claim for the law to apply; empty for laws that follow from the contract.
        around: What all examples of one run share: an embedder is loaded once, not a hundred times.
        waived: Why it need not hold, or an empty string.
        examples: How many are tried; None is Hypothesis' own default.
    """

    name: str
    says: str
    look_at: str
    check: Callable[..., None]
    strategies: Mapping[str, SearchStrategy[Any]] = field(default_factory=dict)
    claim: str = ""
    around: Callable[[Factory], AbstractContextManager[Any]] = nullcontext
    waived: str = ""
    examples: int | None = None

    @property
    def __name__(self) -> str:
        """The name, by which pytest shows it."""
        return self.name

    def __call__(self, factory: Factory, *, max_examples: int | None = None) -> None:
        """Try the law on what `factory` makes.

        A waived law must fail: pytest shows it as an expected failure with its reason, and a waiver that is no longer needed fails.
        """
        try:
            self._try(factory, max_examples)
        except Exception as error:
            if self.waived:
                import pytest

                WAIVED[self.name] = self.waived
                pytest.xfail(f"{self.name} is waived: {self.waived}")
            error.add_note(f"\nThe law {self.name!r} does not hold.\nIt says: {self.says}\nLook at: {self.look_at}")
            raise
        if self.waived:
            raise AssertionError(f"{self.name} holds: its waiver ({self.waived}) is no longer needed, take it away")

    def _try(self, factory: Factory, max_examples: int | None) -> None:
        with self.around(factory) as shared:
            if not self.strategies:
                self.check(shared)
                return

            def law(**drawn: Any) -> None:
                self.check(shared, **drawn)

            count = max_examples or self.examples
            options: dict[str, Any] = {"max_examples": count} if count else {}
            quiet = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False, **options)
            quiet(given(**self.strategies)(law))()


def chosen(laws: Sequence[Law], claims: Sequence[str], waive: Mapping[str, str] | None) -> tuple[Law, ...]:
    """Return the laws that hold for everything, and those of `claims`, with the waivers entered.

    Raises:
        ValueError: a claim or waived law is not known, or a waiver gives no reason.
    """
    known = {law.claim for law in laws if law.claim}
    if unknown := sorted(set(claims) - known):
        raise ValueError(f"nothing is called {unknown[0]!r}; what can be claimed: {', '.join(sorted(known))}")
    applying = [law for law in laws if not law.claim or law.claim in claims]
    waive = waive or {}
    names = [law.name for law in applying]
    if unknown := sorted(set(waive) - set(names)):
        raise ValueError(f"no law that applies is called {unknown[0]!r}; they are: {', '.join(names)}")
    if unreasoned := [name for name, reason in waive.items() if not reason.strip()]:
        raise ValueError(f"the waiver of {unreasoned[0]!r} needs a reason")
    return tuple(replace(law, waived=waive.get(law.name, "")) for law in applying)
