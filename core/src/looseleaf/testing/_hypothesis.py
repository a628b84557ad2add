"""Tell Hypothesis what `st.from_type(Hit)` and its like mean; its entry point calls this when Hypothesis is imported."""

from __future__ import annotations


def register() -> None:
    """Register the strategies, once their types are asked for."""
    from hypothesis import strategies as st

    from ..types import Hit, Query
    from . import strategies

    st.register_type_strategy(Hit, lambda _: strategies.hits().filter(bool).map(lambda hits: hits[0]))
    st.register_type_strategy(Query, lambda _: strategies.queries())
