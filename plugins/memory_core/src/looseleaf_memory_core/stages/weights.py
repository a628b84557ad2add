"""The share of meaning and of words in a fused score, as config gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class Weights:
    """The share of each side; they sum to 1.

    Attributes:
        vector: Of meaning, in [0, 1].
        text: Of words.
    """

    vector: float
    text: float

    prompt: ClassVar[bool] = True
    usual: ClassVar[tuple[float, float]] = (0.5, 0.5)

    @classmethod
    def of(cls, vector: float | None = None, text: float | None = None) -> Self:
        """Return a ranker with the weights of config, each in [0, 1], divided by their sum; unset or 0 / 0 is its own default.

        A single weight that is set gives the other side the rest.
        """
        if vector is None and text is None:
            vector, text = cls.usual
        elif vector is None:
            vector = 1 - (text or 0.0)
        elif text is None:
            text = 1 - vector
        total = vector + (text or 0.0)
        if not total:
            vector, text = cls.usual
            total = 1.0
        return cls(vector / total, (text or 0.0) / total)
