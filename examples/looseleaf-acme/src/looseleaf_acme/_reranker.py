"""A second-stage reranker: reads question and chunk together, best hits first, for as long as it may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from looseleaf import Hit, Query
from looseleaf.pipeline import falling, total_order


class CrossEncoder:
    """Stands for a model that judges pairs of question and text: the share of the question's trigrams that the text holds."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return how well each text answers its question, in [0, 1]."""
        return [self._share(_trigrams(question), _trigrams(text)) for question, text in pairs]

    @staticmethod
    def _share(wanted: set[str], held: set[str]) -> float:
        return len(wanted & held) / len(wanted) if wanted else 0.0


class Reranker:
    """Puts the best hits into the model's order; what it has no time for stays where it is.

    Scores are only ever lowered, to the one above: what is shown still falls down the list.
    """

    def __init__(self, model: CrossEncoder | None = None, *, batch: int = 8, now: Callable[[], float] = monotonic) -> None:
        self._model = model or CrossEncoder()
        self._batch = batch
        self._now = now

    def __call__(self, hits: Sequence[Hit], query: Query) -> list[Hit]:
        """Return all `hits`; done well before `query.stage_timeout_s`, after which it would be skipped."""
        until = self._now() + 0.5 * query.stage_timeout_s
        ranked = sorted(hits, key=total_order)
        judged: dict[str, float] = {}
        for begin in range(0, len(ranked), self._batch):
            if self._now() >= until:
                break
            part = ranked[begin : begin + self._batch]
            judged.update(zip((hit.id for hit in part), self._model.score([(query.text, hit.text) for hit in part]), strict=True))
        best = sorted(ranked[: len(judged)], key=lambda hit: (-judged[hit.id], *total_order(hit)))
        return falling([*best, *ranked[len(judged) :]])


def _trigrams(text: str) -> set[str]:
    folded = " ".join(text.casefold().split())
    return {folded[place : place + 3] for place in range(len(folded) - 2)}
