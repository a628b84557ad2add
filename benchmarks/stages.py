"""What ranking costs: the pipeline over 200 candidates, with temporal decay and MMR on and off.

    python benchmarks/stages.py

Candidates have chunks of 1,600 characters of invented words, scores as a search gives them, and a day each.
"""

from __future__ import annotations

import random
import statistics
import time
from datetime import date, timedelta

from looseleaf import Hit, Query
from looseleaf.pipeline import Pipeline
from looseleaf_memory_core.stages.balanced import Balanced
from looseleaf_memory_core.stages.best_line import BestLine
from looseleaf_memory_core.stages.decay import TemporalDecay
from looseleaf_memory_core.stages.mmr import MaximalMarginalRelevance

CANDIDATES = 200


def candidates(seed: int = 1) -> tuple[str, dict[str, list[Hit]]]:
    """Return a question of four words, and two lists of hits, half of them on both."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("aeioubdfgklmnprstv", k=rng.randint(3, 9))) for _ in range(4000)]
    weights = [1 / (place + 10) for place in range(len(words))]
    hits = []
    for number in range(CANDIDATES):
        bm25, cosine = 12 * rng.random() ** 2, rng.random() ** 2
        signals = {"bm25": bm25, "coverage": bm25 / 12, "matched": 0.5, "exact": 0.0, "cosine": cosine, "similarity": cosine}
        text = "\n".join(" ".join(rng.choices(words, weights, k=13)) for _ in range(20))
        day = date(2026, 2, 10) - timedelta(days=rng.randint(0, 300)) if number % 3 else None
        hits.append(Hit(str(number), f"memory/{number % 60}.md", number, number + 9, text, bm25, signals, day=day))
    question = " ".join([*words[5:8], words[400]])
    return question, {
        "keyword": hits[: CANDIDATES * 3 // 4],
        "vector": [hit.scored(hit.signals["cosine"]) for hit in hits[CANDIDATES // 4 :]],
    }


def main() -> None:
    """Print the median milliseconds of each pipeline."""
    question, lists = candidates()
    decay, mmr = ("temporal-decay", TemporalDecay()), ("mmr", MaximalMarginalRelevance())
    query = Query(question, limit=6, min_score=0.35)
    line = ("best-line", BestLine())
    for name, stages in (
        ("balanced", ()),
        ("balanced, decay", (decay,)),
        ("balanced, decay, mmr", (decay, mmr)),
        ("balanced, best-line", (line,)),
    ):
        pipeline = Pipeline(Balanced.of(), stages)
        taken = []
        for _ in range(200):
            begun = time.perf_counter()
            pipeline.run(lists, query)
            taken.append(1000 * (time.perf_counter() - begun))
        print(f"{name:22} {statistics.median(taken):.2f} ms for {CANDIDATES} candidates (bar: 2 ms with both)")


if __name__ == "__main__":
    main()
