"""Faulty post-processors: of temporal decay, of MMR, and of any kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import exp

from looseleaf.pipeline import total_order
from looseleaf.testing import postprocessor_laws
from looseleaf_memory_core.stages import mmr
from looseleaf_memory_core.stages.decay import TemporalDecay
from looseleaf_memory_core.stages.mmr import MaximalMarginalRelevance

from . import Mutant


class FutureGrows(TemporalDecay):
    def factor(self, day, today):
        return 2.0 ** (-(today - day).days / self.half_life_days) if day else 1.0


class WithoutLn2(TemporalDecay):
    def factor(self, day, today):
        return exp(-max(0, (today - day).days) / self.half_life_days) if day else 1.0


class FutureAgesToo(TemporalDecay):
    def factor(self, day, today):
        return 2.0 ** (-abs((today - day).days) / self.half_life_days) if day else 1.0


class EvergreenAges(TemporalDecay):
    def __call__(self, hits, query):
        return super().__call__([hit._replace(day=hit.day or date(2026, 2, 1)) for hit in hits], query)


class DayInUtc(TemporalDecay):
    def factor(self, day, today):
        utc = today.replace(day=today.day - 1)  # half past midnight in Berlin is yesterday in UTC
        return super().factor(day, utc)


class AsksTheClock(TemporalDecay):
    def factor(self, day, today):
        return super().factor(day, datetime.now(UTC).date())


class LinearDecay(TemporalDecay):
    def factor(self, day, today):
        return max(0.0, 1 - max(0, (today - day).days) / (2 * self.half_life_days)) if day else 1.0


class NotSorted(TemporalDecay):
    def __call__(self, hits, query):
        aged = {hit.id: hit for hit in super().__call__(hits, query)}
        return [aged[hit.id] for hit in sorted(hits, key=total_order)]


class DropsTheFaded(TemporalDecay):
    def __call__(self, hits, query):
        return [hit for hit in super().__call__(hits, query) if hit.score > 0.3 or not hit.day]


class AsciiWordsOnly(MaximalMarginalRelevance):
    def __call__(self, hits, query):
        whole = {hit.id: hit for hit in hits}
        ascii_only = [hit._replace(text=" ".join(re.findall("[a-z0-9_]+", hit.text.lower()))) for hit in hits]
        return [whole[hit.id] for hit in super().__call__(ascii_only, query)]


class WordlessAreEqual(MaximalMarginalRelevance):
    def __call__(self, hits, query):
        whole = {hit.id: hit for hit in hits}
        emptied = [hit if mmr.words(hit.text) else hit._replace(text="") for hit in hits]
        return [whole[hit.id] for hit in super().__call__(emptied, query)]


class MinMaxRelevance(MaximalMarginalRelevance):
    def __call__(self, hits, query):
        whole = {hit.id: hit for hit in hits}
        low, high = min((hit.score for hit in hits), default=0.0), max((hit.score for hit in hits), default=0.0)
        scaled = [hit.scored((hit.score - low) / (high - low) if high > low else 1.0) for hit in hits]
        return [whole[hit.id] for hit in super().__call__(scaled, query)]


class CutsAtTheLimit(MaximalMarginalRelevance):
    def __call__(self, hits, query):
        return super().__call__(hits, query)[: query.limit]


class ScoreOfTheChoice(MaximalMarginalRelevance):
    def __call__(self, hits, query):
        best = max((hit.score for hit in hits), default=1.0) or 1.0
        return [hit.scored(self.weight * hit.score / best) for hit in super().__call__(hits, query)]


class WorstFirst(MaximalMarginalRelevance):
    def __call__(self, hits, query):
        return super().__call__(hits, query)[::-1]


class LooksAhead(MaximalMarginalRelevance):
    def __call__(self, hits, query):
        ranked = super().__call__(hits, query)
        return ranked[:1] + ranked[1 : query.limit][::-1] + ranked[query.limit :]


@dataclass
class Plain:
    """Sorts, and has one fault."""

    def __call__(self, hits, query):
        return sorted(hits, key=total_order)


class MinMaxScores(Plain):
    def __call__(self, hits, query):
        best = max((hit.score for hit in hits), default=1.0) or 1.0
        return super().__call__([hit.scored(hit.score / best) for hit in hits], query)


class PopsItsInput(Plain):
    def __call__(self, hits, query):
        if hits:
            hits.pop()
        return super().__call__(hits, query)


class GivesTwice(Plain):
    def __call__(self, hits, query):
        return super().__call__(hits, query) + list(hits)[:1]


class Invents(Plain):
    def __call__(self, hits, query):
        return [hit._replace(id=f"{hit.path}:{hit.start}") for hit in super().__call__(hits, query)]


class CutsTexts(Plain):
    def __call__(self, hits, query):
        return [hit._replace(text=hit.text[:2]) for hit in super().__call__(hits, query)]


class TiesAsTheyCome(Plain):
    def __call__(self, hits, query):
        return sorted(hits, key=lambda hit: -hit.score)


class OnePerFile(Plain):
    def __call__(self, hits, query):
        return list({hit.path: hit for hit in reversed(super().__call__(hits, query))}.values())[::-1]


class HalvesEachTime(Plain):
    def __call__(self, hits, query):
        return super().__call__([hit.scored(hit.score / 2) for hit in hits], query)


class DividesByNothing(Plain):
    def __call__(self, hits, query):
        best = max((hit.score for hit in hits), default=1.0)
        return super().__call__([hit.scored(min(hit.score, hit.score / best)) for hit in hits], query)


class PutsANanIn(Plain):
    def __call__(self, hits, query):
        return super().__call__([hit.scored(hit.score or float("nan")) for hit in hits], query)


DECAY = postprocessor_laws("sorts", "keeps-all", "independent", half_life=30)
MMR = postprocessor_laws("keeps-all", "greedy", "diverse", "independent", neutral=lambda: MaximalMarginalRelevance(1.0))
PLAIN = postprocessor_laws("sorts", "keeps-all", "idempotent")
SOUND = [
    Mutant("TemporalDecay", "", DECAY, TemporalDecay),
    Mutant("MaximalMarginalRelevance", "", MMR, MaximalMarginalRelevance),
    Mutant("Plain", "", PLAIN, Plain),
]
MUTANTS = [
    Mutant(kind.__name__, law, laws, kind)
    for laws, faults in (
        (
            DECAY,
            {
                FutureGrows: "stage-scores-fall",
                WithoutLn2: "stage-ages",
                FutureAgesToo: "stage-ages",
                EvergreenAges: "stage-ages",
                DayInUtc: "stage-ages",
                AsksTheClock: "stage-ages",
                LinearDecay: "stage-ages",
                NotSorted: "stage-sorts",
                DropsTheFaded: "stage-keeps-all",
            },
        ),
        (
            MMR,
            {
                AsciiWordsOnly: "stage-diverse",
                WordlessAreEqual: "stage-diverse",
                MinMaxRelevance: "stage-independent",
                CutsAtTheLimit: "stage-keeps-all",
                ScoreOfTheChoice: "stage-scores-fall",
                WorstFirst: "stage-greedy",
                LooksAhead: "stage-greedy",
            },
        ),
        (
            PLAIN,
            {
                MinMaxScores: "stage-scores-fall",
                PopsItsInput: "stage-pure",
                GivesTwice: "stage-subset",
                Invents: "stage-subset",
                CutsTexts: "stage-faithful",
                TiesAsTheyCome: "stage-blind",
                OnePerFile: "stage-keeps-all",
                HalvesEachTime: "stage-idempotent",
                DividesByNothing: "stage-scores-fall",
                PutsANanIn: "stage-scores-fall",
            },
        ),
    )
    for kind, law in faults.items()
]
