"""The dates that a text names, by every form that is read, each as an interval of the calendar."""
# ruff: noqa: RUF001 - typographic quotes and dashes are the subject here, not typing errors

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from engram.recall import timewords_lexicon as lexicon
from engram.recall.timewords_lexicon import compiled

FIRST_YEAR, LAST_YEAR = 1970, 2199
"""The years a memory's times may lie in; a date outside of them says nothing."""
FEW = 5
"""How many "a few" are when it sets a limit: rather too many than too few."""


class Span(NamedTuple):
    """An interval with both ends."""

    since: datetime
    until: datetime


class Date(NamedTuple):
    """Words that name an interval: where they stand, how it is found from a moment, and what they need."""

    start: int
    end: int
    read: Callable[[datetime], Span]
    kind: str = ""  # what evidence makes these words a date, see `timewords._admitted`; "" = they are one
    floats: bool = False  # without a year of its own


# --- calendar ---


def _midnight(year: int, month: int = 1, day: int = 1) -> datetime:
    """The beginning of a day; ValueError where there is no such day, or none that counts."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(year)
    return datetime(year, month, day, tzinfo=UTC)


def _start_of_day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}


def _months(count: int) -> datetime:
    """The first day of a month, counted from the year 0."""
    return _midnight(count // 12, count % 12 + 1)


def calendar(unit: str, moment: datetime, back: int) -> Span:
    """The calendar day, week, weekend, month, quarter or year that lies so many back from a moment."""
    today = _start_of_day(moment)
    if unit in _MONTHS_IN:
        size = _MONTHS_IN[unit]
        count = moment.year * 12 + moment.month - 1
        first = count - count % size - back * size
        return Span(_months(first), _months(first + size))
    if unit == "day":
        since = today - timedelta(days=back)
        days = 1
    else:
        since = today - timedelta(days=today.weekday() + 7 * back)
        days = 7
        if unit == "weekend":
            since += timedelta(days=5)
            days = 2
    _midnight(since.year)
    return Span(since, since + timedelta(days=days))


def _rolling(unit: str, now: datetime, count: int) -> Span:
    """The last so many hours, days, weeks, months or years, up to the end of today."""
    tomorrow = _start_of_day(now) + timedelta(days=1)
    if unit == "hour":
        since = now - timedelta(hours=count)
    elif unit in _MONTHS_IN:
        first = _months(now.year * 12 + now.month - 1 - count * _MONTHS_IN[unit])
        last = _months(first.year * 12 + first.month) - timedelta(days=1)
        since = min(first + timedelta(days=now.day - 1), last)
    else:
        since = _start_of_day(now) - timedelta(days=count * (7 if unit == "week" else 1))
    _midnight(since.year)
    return Span(since, tomorrow)


def _latest(read: Callable[[int], Span]) -> Callable[[datetime], Span]:
    """A reader of a date without a year: the latest year in which it exists and has begun."""

    def latest(now: datetime) -> Span:
        for year in range(now.year, now.year - 9, -1):  # a leap day may be eight years away
            try:
                span = read(year)
            except ValueError:
                continue
            if span.since <= now:
                return span
        raise ValueError(now)

    return latest


def _fixed(span: Callable[[], Span]) -> Callable[[datetime], Span]:
    """A reader of a date that means the same at any moment."""
    return lambda _: span()


# --- the forms of dates ---


class _Form(NamedTuple):
    """One way to write a date: pieces or words of which one must occur, its pattern, and how a match is read."""

    hints: tuple[str, ...]
    pattern: str
    read: Callable[[re.Match[str]], Date | None]
    words: bool = False  # the hints are whole words


def dates(text: str) -> list[Date]:
    """Every date of the text in order; where two forms overlap, the earlier form of the table wins."""
    lower = text.lower()
    words = {word.strip("0123456789.,;:?!()") for word in lower.replace("–", " ").replace("-", " ").split()}
    found: list[Date] = []
    for form in _FORMS:
        if not any(hint in (words if form.words else lower) for hint in form.hints):
            continue
        for match in compiled(form.pattern).finditer(text):
            if any(match.start() < other.end and match.end() > other.start for other in found):
                continue
            if date := form.read(match):
                found.append(date)
    return sorted(found, key=lambda date: date.start)


def _read_numeric(match: re.Match[str]) -> Date | None:
    """2023-05-08 and its like, 8.5.2023, 5/13/2023 where only one reading is possible, 2023-05, 05/2023."""
    if match["slash_year"]:
        one, two = int(match["one"]), int(match["two"])
        if one <= 12 and two <= 12 and one != two:
            return None
        year, month, day = int(match["slash_year"]), min(one, two), max(one, two)
    else:
        year = int(match["year"] or match["dot_year"] or match["my_year"])
        month = int(match["month"] or match["slash_month"] or match["dot_month"] or match["my_month"])
        day = int(match["day"] or match["slash_day"] or match["dot_day"] or 0)
    return Date(*match.span(), _fixed(lambda: _day_or_month(year, month, day, day)))


def _day_or_month(year: int, month: int, day: int, to_day: int) -> Span:
    """Some days of a month, or all of it for day 0."""
    if not day:
        return calendar("month", _midnight(year, month), 0)
    first, last = _midnight(year, month, day), _midnight(year, month, to_day)
    if first > last:
        raise ValueError(day)
    return Span(first, last + timedelta(days=1))


def _read_month(match: re.Match[str]) -> Date | None:
    """A month by its name, with or without a day before or after it and a year."""
    name = match["name"].lower()
    month = lexicon.MONTHS[name]
    day = int(match["day"] or match["day_after"] or 0)
    to_day = int(match["to_day"] or match["to_day_after"] or day)
    start, end = match.span()
    ranging = "range" if to_day != day else ""
    if match["year"]:
        year = int(match["year"])
        return Date(start, end, _fixed(lambda: _day_or_month(year, month, day, to_day)), ranging)
    if day:
        plain = match["name"][0].isupper() or not (len(name) <= 3 or name == "march")
        read = _latest(lambda year: _day_or_month(year, month, day, to_day))
        return Date(start, end, read, ranging if plain else "day", floats=True)
    if len(name) <= 4 and name not in lexicon.SHORT_MONTHS:
        return None
    read = _latest(lambda year: _day_or_month(year, month, 0, 0))
    if not match["which"]:
        return Date(start, end, read, "month", floats=True)
    this = match["which"].lower().startswith(("this", "diese"))
    return Date(start, end, functools.partial(_this_or_last_month, month, this))


def _this_or_last_month(month: int, this: bool, now: datetime) -> Span:
    """This May is the one of this year, if it has begun; last May is the latest that is over."""
    year = now.year if this or month < now.month else now.year - 1
    span = _day_or_month(year, month, 0, 0)
    if span.since > now:
        raise ValueError(month)
    return span


def _read_quarter(match: re.Match[str]) -> Date | None:
    """Q2 2025, 2025-Q2, H1 2025, second quarter of 2025, 2. Quartal, 2025-W14, KW 14."""
    number = match["q"] or match["q_word"] or match["week"] or match["kw"]
    number = lexicon.ORDINALS.get(number.lower()) or int(number.rstrip("."))
    year = match["year"] or match["year_before"]
    halves = (match["letter"] or "").lower() == "h"
    if match["week"] or match["kw"]:
        span = functools.partial(_week, number)
    elif number <= (2 if halves else 4):
        span = functools.partial(_fraction, number, 6 if halves else 3)
    else:
        return None
    if year:
        return Date(*match.span(), _fixed(lambda: span(int(year))))
    kind = "" if match["kw"] else "quarter"
    return None if halves else Date(*match.span(), _latest(span), kind, floats=True)


def _fraction(number: int, size: int, year: int) -> Span:
    first = year * 12 + (number - 1) * size
    return Span(_months(first), _months(first + size))


def _week(number: int, year: int) -> Span:
    _midnight(year)
    since = datetime.fromisocalendar(year, number, 1).replace(tzinfo=UTC)
    return Span(since, since + timedelta(days=7))


def _read_rolling(match: re.Match[str]) -> Date | None:
    """In the last three weeks, over the past month, in den letzten 3 Tagen, seit zwei Wochen."""
    count = _number(match["count"] or match["anzahl"] or match["dauer"] or "one")
    unit = _unit(match["unit"] or match["einheit"] or match["spanne"])
    return Date(*match.span(), lambda now: _rolling(unit, now, count)) if count else None


def _read_ago(match: re.Match[str]) -> Date | None:
    """Three days ago, a year ago, vor zwei Wochen: the calendar day, week, month or year so many back."""
    count, unit = _number(match["count"] or match["anzahl"]), _unit(match["unit"] or match["einheit"])
    if not count:
        return None
    if unit != "hour":
        return Date(*match.span(), lambda now: calendar(unit, now, count), "ago")

    def hours(now: datetime) -> Span:
        return Span(now - timedelta(hours=count + 1), now - timedelta(hours=count - 1))

    return Date(*match.span(), hours, "ago")


def _read_unit(match: re.Match[str]) -> Date | None:
    """This week, last month, the past year, the weekend before last, vorletzte Woche."""
    if match["over"]:
        return Date(*match.span(), lambda now: calendar("weekend", now, 0 if now.weekday() >= 5 else 1))
    which = "vorletzte" if match["before_last"] else match["which"].lower()
    unit = _unit(match["before_last"] or match["unit"])
    if which.endswith("past") and unit != "weekend":
        return Date(*match.span(), lambda now: _rolling(unit, now, 1))
    back = 2 if which.startswith("vorletzte") else 0 if which.startswith(("this", "diese")) else 1
    return Date(*match.span(), lambda now: calendar(unit, now, back))


def _read_day(match: re.Match[str]) -> Date | None:
    """Today, yesterday and their parts."""
    word = match["word"].lower()
    if word.startswith(("last", "letzte")):

        def night(now: datetime) -> Span:
            noon = _start_of_day(now) + timedelta(hours=12)
            return Span(noon - timedelta(days=1), noon)

        return Date(*match.span(), night)
    back = 2 if word.startswith(("the", "day", "vor")) else 1 if word.startswith(("yester", "gestern")) else 0
    sure = back or match["part"] or word.startswith("this")
    return Date(*match.span(), lambda now: calendar("day", now, back), "" if sure else "today")


def _read_weekday(match: re.Match[str]) -> Date | None:
    """Last Monday is the latest one before today; this Monday is the one of this week, if it has come."""
    number = lexicon.WEEKDAYS[match["name"].lower()] - 1
    which = (match["which"] or "").lower()

    def weekday(now: datetime) -> Span:
        back = (now.weekday() - number) % 7
        if which.startswith(("this", "diese")):
            if number > now.weekday():
                raise ValueError(number)
            return calendar("day", now, back)
        return calendar("day", now, back or 7)

    return Date(*match.span(), weekday, "" if which else "weekday")


def _read_year(match: re.Match[str]) -> Date | None:
    """A bare year: the next one at most, no round number, and nothing that is counted."""
    year = int(match["year"])

    def read(now: datetime) -> Span:
        if year > now.year + 1 or year == 2000:
            raise ValueError(year)
        return calendar("year", _midnight(year), 0)

    counted = compiled(lexicon.COUNTED).match(match.string, match.end())
    return (
        None
        if counted and counted["word"].lower() not in lexicon.NOT_COUNTED
        else Date(*match.span(), read, "year")
    )


def _number(word: str) -> int:
    """The number a word stands for, 0 if none."""
    word = word.lower()
    if word.isdecimal():
        return int(word) if len(word) <= 6 else 0
    return FEW if word.endswith(("few", "several", "couple of", "paar")) else lexicon.NUMBERS.get(word, 0)


def _unit(word: str) -> str:
    word = word.lower()
    return next(unit for beginning, unit in lexicon.UNITS.items() if word.startswith(beginning))


_FORMS = (
    _Form(("19", "20", "21"), lexicon.NUMERIC, _read_numeric),
    _Form(("q1", "q2", "q3", "q4", "h1", "h2", "-w", "kw", "quart"), lexicon.QUARTER, _read_quarter),
    _Form(tuple(lexicon.MONTHS), lexicon.MONTH, _read_month, words=True),
    _Form(("last", "past", "previous", "letzten", "vergangenen", "seit"), lexicon.ROLLING, _read_rolling),
    _Form(("ago", "vor "), lexicon.AGO, _read_ago),
    _Form(("week", "month", "quarter", "year", "woche", "monat", "quartal", "jahr"), lexicon.UNIT, _read_unit),
    _Form(("today", "tonight", "yesterday", "night", "this ", "heute", "gestern", "nacht"), lexicon.DAY, _read_day),
    _Form(("day", "tag", "mittwoch", "sonnabend"), lexicon.WEEKDAY, _read_weekday),
    _Form(("199", "20"), lexicon.BARE_YEAR, _read_year),
)
