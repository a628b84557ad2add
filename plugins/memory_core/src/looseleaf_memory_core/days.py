"""The days that a question asks about: "on 10 February", "am 7. Juli 2025", "2月10日", "2026-02-10", "yesterday".

Only what can hardly mean anything else: a month without a day or year counts where its name is no other word.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

_MONTHS = {
    "en": "january february march april may june july august september october november december",
    "en short": "jan feb mar apr may jun jul aug sep oct nov dec",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "tr": "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "hi": "जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
}
_NUMBER = {name: number for names in _MONTHS.values() for number, name in enumerate(names.split(), 1)}
# Names that are words of their own, or too short to be trusted alone.
_AMBIGUOUS = {"march", "mars", "mart", "marca", "august", "ocak", "kasım", *(name for name in _NUMBER if len(name) < 4)}
_RELATIVE = {
    0: "today heute vandaag oggi hoy hoje idag dzisiaj сегодня bugün आज 今天 今日 오늘",
    1: "yesterday gestern gisteren ieri ayer ontem igår wczoraj вчера dün 昨天 昨日 어제",
    2: "vorgestern eergisteren anteayer anteontem позавчера 前天 一昨日 그저께",
}
_AGO = {word: days for days, words in _RELATIVE.items() for word in words.split()}
_UNSPACED_AGO = tuple(word for word in _AGO if not word[0].isascii() and ord(word[0]) >= 0x3000)
_SEPARATORS = re.compile(r"[\s,.;:!?()\"'/-]+")


@cache  # compiled when a question first names a day: that takes longer than most searches
def _in_figures() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(r"(?<!\d)(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)"),
        re.compile(r"(?<!\d)(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?!\d)"),
        re.compile(r"(?:(?P<year>\d{4})\s*[年년]\s*)?(?<!\d)(?P<month>\d{1,2})\s*[月월](?:\s*(?P<day>\d{1,2})\s*[日号號일])?"),
    )


@cache
def _by_name() -> tuple[re.Pattern[str], ...]:
    name = rf"(?<!\w)(?P<name>{'|'.join(sorted(_NUMBER, key=len, reverse=True))})(?!\w)\.?"
    year = r"(?P<year>\d{4})(?!\d)"
    patterns = (
        rf"(?<![\w.])(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s+(?:of\s+|de\s+)?{name}(?:,?\s+(?:de\s+|del\s+)?{year})?",
        rf"{name}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\w)(?:,?\s+{year})?",
        rf"{name},?\s+(?:de\s+|del\s+|of\s+)?{year}",
        name,
    )
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


class Asked(NamedTuple):
    """A day or month that a question names; parts that it does not name are None."""

    year: int | None
    month: int
    day: int | None

    def fits(self, day: date) -> float:
        """Return how well `day` is what was asked for: 1 for the day itself, 0.5 for one of the month, else 0."""
        if self.month != day.month or self.year not in (None, day.year):
            return 0.0
        return 0.5 if self.day is None else float(self.day == day.day)


def asked_days(text: str, today: date) -> tuple[Asked, ...]:
    """Return the days that `text` asks about, each once; impossible ones are none."""
    words = set(_SEPARATORS.split(text.lower()))
    found: dict[Asked, None] = {}
    patterns = (_in_figures() if any(map(str.isdigit, text)) else ()) + (() if words.isdisjoint(_NUMBER) else _by_name())
    rest = text
    for pattern in patterns:
        for match in pattern.finditer(rest):
            parts = match.groupdict()
            name = (parts.get("name") or "").lower()
            day, year = parts.get("day"), parts.get("year")
            if name in _AMBIGUOUS and not (day or year):
                continue
            asked = _possible(year, _NUMBER[name] if name else int(parts["month"]), day)
            if asked:
                found[asked] = None
        rest = pattern.sub(_blank, rest)  # what is read is not read again
    ago = words & _AGO.keys()
    if not text.isascii():
        ago.update(word for word in _UNSPACED_AGO if word in text)
    for days in sorted(_AGO[word] for word in ago):
        then = today - timedelta(days=days)
        found[Asked(then.year, then.month, then.day)] = None
    return tuple(found)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _possible(year: str | None, month: int, day: str | None) -> Asked | None:
    try:
        date(int(year) if year else 2024, month, int(day) if day else 1)  # 2024 has a 29 February
    except ValueError:
        return None
    return Asked(int(year) if year else None, month, int(day) if day else None)
