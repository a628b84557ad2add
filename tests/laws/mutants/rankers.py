"""Faulty rankers. The sound one: the weighted sum of a hit's scores, 0 for a list it is not on."""

from __future__ import annotations

import random
from math import fsum
from typing import ClassVar

from looseleaf.pipeline import total_order
from looseleaf.testing import ranker_laws

from . import Mutant


class Sound:
    """The weighted mean of the scores."""

    def __init__(self, keyword=0.5, vector=0.5):
        self.weights = {"keyword": keyword, "vector": vector}

    def scores(self, lists):
        by_hit = {}
        for source, hits in lists.items():
            for hit in hits:
                by_hit.setdefault(self.key(hit), []).append(self.weight(source) * self.score(hit, hits))
        return {key: self.total(parts) for key, parts in by_hit.items()}

    def key(self, hit):
        return hit.id

    def weight(self, source):
        return self.weights[source]

    def score(self, hit, hits):
        return hit.score

    def total(self, parts):
        return fsum(parts)

    def union(self, lists):
        return {hit.id: hit for source in sorted(lists) for hit in lists[source]}

    def order(self, hits):
        return sorted(hits, key=total_order)

    def __call__(self, lists, query):
        scores = self.scores(lists)
        return self.order([hit.scored(scores[self.key(hit)]) for hit in self.union(lists).values()])


class SwappedWeights(Sound):
    def weight(self, source):
        return self.weights["vector" if source == "keyword" else "keyword"]


class WeightTurnedRound(Sound):
    def weight(self, source):
        weight = self.weights[source]
        return weight if weight in (0.0, 1.0) else 1 - weight


class MinMaxOfEachList(Sound):
    def score(self, hit, hits):
        scores = [other.score for other in hits]
        low, high = min(scores), max(scores)
        return (hit.score - low) / (high - low) if high > low else 1.0


class InnerJoin(Sound):
    def union(self, lists):
        every = super().union(lists)
        filled = [hits for hits in lists.values() if hits]
        return {key: hit for key, hit in every.items() if all(any(key == other.id for other in hits) for hits in filled)}


class UnstableTies(Sound):
    def order(self, hits):
        return sorted(hits, key=lambda hit: (-hit.score, int(hit.id) * 7 % 5))


class TiesInDictOrder(Sound):
    def union(self, lists):
        return {hit.id: hit for hits in lists.values() for hit in hits}

    def order(self, hits):
        return sorted(hits, key=lambda hit: -hit.score)


class WorstFirst(Sound):
    def order(self, hits):
        return sorted(hits, key=lambda hit: (hit.score, hit.path, hit.start, hit.id))


class NaNOfEqualScores(Sound):
    def score(self, hit, hits):
        scores = [other.score for other in hits]
        spread = max(scores) - min(scores)
        return (hit.score - min(scores)) / spread if spread else float("nan")


class ToldApartByPlace(Sound):
    def key(self, hit):
        return hit.path, hit.start

    def union(self, lists):
        return {self.key(hit): hit for source in sorted(lists) for hit in lists[source]}


class SortsItsInput(Sound):
    def __call__(self, lists, query):
        for hits in lists.values():
            hits.sort(key=total_order)
        return super().__call__(lists, query)


class WritesSignals(Sound):
    def union(self, lists):
        every = super().union(lists)
        for hit in every.values():
            if hit.signals:
                hit.signals["seen"] = 1.0
        return every


class DropsZeros(Sound):
    def order(self, hits):
        return [hit for hit in super().order(hits) if hit.score > 0]


class SumNotMean(Sound):
    def weight(self, source):
        return 1.0


class PlacesAsTheyCome(Sound):
    def score(self, hit, hits):
        return 1 / (1 + hits.index(hit))


class PlacesAndScores(Sound):
    def score(self, hit, hits):
        return 0.9 / (1 + sorted(hits, key=total_order).index(hit)) + 0.1 * hit.score


class SmallBonusForExact(Sound):
    def __call__(self, lists, query):
        ranked = super().__call__(lists, query)
        return self.order([hit.scored(hit.score + 0.2 * hit.signals.get("exact", 0)) for hit in ranked])


class RemembersTheLastAnswer(Sound):
    def __init__(self, keyword=0.5, vector=0.5):
        super().__init__(keyword, vector)
        self.calls = 0

    def __call__(self, lists, query):
        self.calls += 1
        return [hit.scored(hit.score / self.calls) for hit in super().__call__(lists, query)]


class DistanceAsSimilarity(Sound):
    def score(self, hit, hits):
        return 1 - hit.score


class NegativeWeight(Sound):
    def weight(self, source):
        return -0.4 if source == "vector" else 0.6


class RisingCostsPlaces(Sound):
    def score(self, hit, hits):
        return hit.score if hit.score < 0.9 else 0.3


class CutsTexts(Sound):
    def order(self, hits):
        return [hit._replace(text=hit.text[:3]) for hit in super().order(hits)]


class GivesTwice(Sound):
    def order(self, hits):
        ordered = super().order(hits)
        return ordered + ordered[:1]


class RandomTies(Sound):
    random: ClassVar = random.Random(1)

    def order(self, hits):
        return sorted(hits, key=lambda hit: (-hit.score, self.random.random()))


class SumInListOrder(Sound):
    def total(self, parts):
        total = 0.1
        for part in parts:
            total = (total + part) / 2
        return total


def _laws(kind):
    return ranker_laws(
        "unit", "unanimous", "monotone", weighted=lambda weights: kind(keyword=weights["keyword"], vector=weights["vector"])
    )


def _mutant(kind, law, laws=None):
    return Mutant(kind.__name__, law, laws or _laws(kind), kind)


SOUND = Mutant("Sound", "", _laws(Sound), Sound)
MUTANTS = [
    _mutant(SwappedWeights, "ranker-weight-one"),
    _mutant(WeightTurnedRound, "ranker-weight-monotone"),
    _mutant(MinMaxOfEachList, "ranker-comparable", ranker_laws("comparable")),
    _mutant(InnerJoin, "ranker-union"),
    _mutant(UnstableTies, "ranker-order"),
    _mutant(TiesInDictOrder, "ranker-order"),
    _mutant(WorstFirst, "ranker-one-source"),
    _mutant(NaNOfEqualScores, "ranker-order"),
    _mutant(ToldApartByPlace, "ranker-union"),
    _mutant(SortsItsInput, "ranker-pure"),
    _mutant(WritesSignals, "ranker-pure"),
    _mutant(DropsZeros, "ranker-union"),
    _mutant(SumNotMean, "ranker-unit"),
    _mutant(PlacesAsTheyCome, "ranker-blind"),
    _mutant(PlacesAndScores, "ranker-rank-based", ranker_laws("rank-based")),
    _mutant(SmallBonusForExact, "ranker-exact-first", ranker_laws("exact-first")),
    _mutant(RemembersTheLastAnswer, "ranker-pure"),
    _mutant(DistanceAsSimilarity, "ranker-one-source"),
    _mutant(NegativeWeight, "ranker-unanimous"),
    _mutant(RisingCostsPlaces, "ranker-monotone"),
    _mutant(CutsTexts, "ranker-faithful"),
    _mutant(GivesTwice, "ranker-union"),
    _mutant(RandomTies, "ranker-pure"),
    _mutant(SumInListOrder, "ranker-blind"),
]
