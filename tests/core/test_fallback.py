"""PV-08: what fails is left alone for growing pauses."""

from __future__ import annotations

import pytest

from looseleaf import ProviderError
from looseleaf.fallback import Rest, RestingError


def test_pauses_grow_and_end() -> None:
    """5, 10, 20 … 120 seconds; an answer starts anew; asking meanwhile is no failure."""
    now = [0.0]
    rest = Rest(lambda: now[0])
    for length in (5, 10, 20, 40, 80, 120, 120):
        rest.check()
        rest.begin(ProviderError("acme is down."))
        with pytest.raises(RestingError, match=rf"acme is down\. It is asked again in {length} s") as error:
            rest.check()
        rest.begin(error.value)
        now[0] += length
    rest.over()
    rest.begin(ProviderError("acme is down"))
    now[0] += 5
    rest.check()
