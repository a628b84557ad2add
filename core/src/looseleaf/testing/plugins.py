"""The laws of plugins: what an installed distribution must be like before anything it makes is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from .._catalog import scan
from .._check import CHECKS, subject
from ._law import Law, chosen


def _holds(check: str, make: Callable[[], str]) -> None:
    about = subject(make(), scan())
    broken = [
        finding for finding in CHECKS[check](about) if finding.state == "broken" or (check == "options" and finding.state != "ok")
    ]
    assert not broken, "; ".join(f"{finding.plugin}: {finding.text}" for finding in broken)


_LAWS = tuple(
    Law(f"plugin-{check}", says, look_at, partial(_holds, check), claim="options" if check == "options" else "")
    for check, says, look_at in (
        ("name", "A name is small letters, digits and single hyphens, and nobody else's.", "the entry points in pyproject.toml"),
        (
            "import",
            "Importing the entry point's module loads nothing heavy.",
            "`import numpy` at the top: move it behind the check of the name",
        ),
        ("hook", "The hook of each kind is there, and takes only arguments that the host knows.", "@hookimpl, argument names"),
        ("foreign", "A name that is not its own gets None.", "a hook that does not look at `name`"),
        (
            "makes",
            "Its own name gives what the hook promises; where a key or package is missing, NotConfigured.",
            "a KeyError of os.environ, a method that is missing",
        ),
        ("options", "An option that it does not know is refused with its dotted path.", "looseleaf.settings.parse"),
    )
)


def plugin_laws(*claims: str, waive: Mapping[str, str] | None = None) -> tuple[Law, ...]:
    """Return the laws that an installed distribution must keep. They are called with a function that returns its name.

    Args:
        claims: `options`, for a plugin that has options of its own.
        waive: Reasons by the name of a law that need not hold.
    """
    return chosen(_LAWS, claims, waive)
