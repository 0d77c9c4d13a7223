"""What a question says about time: an interval, and whether the newest or the oldest is meant.

English, German and the plain ISO forms are read. A wrong interval costs more than none, so words that mean other
things as well need evidence: "in May" and "8 May" are dates, "it may fail" is not; "the latest decision" asks
for the newest, ``latest`` alone is a tag. Where two readings contradict each other, or none is likely, nothing
is said.

Days, weeks (from Monday) and months are those of UTC. The parts of a day ("this morning") are read as the whole
day, because the asker's time zone is not known. A date without a year is the latest one that has begun.

Patterns are compiled on first use, and only those whose words occur: most questions say nothing about time.
"""
# ruff: noqa: RUF001 - typographic quotes and dashes are the subject here, not typing errors

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

LONGEST_READ = 500
"""So many characters of a question are read: what comes later is matter to look at, not the asking."""
FIRST_YEAR, LAST_YEAR = 1970, 2199
"""The years a memory's times may lie in; a date outside of them says nothing."""
FEW = 5
"""How many "a few" are when it sets a limit: rather too many than too few."""

Order = Literal["", "newest", "oldest"]


class Asked(NamedTuple):
    """What a question says about time: a half-open interval in UTC, an order, and the words they were read from."""

    since: datetime | None
    until: datetime | None
    order: Order
    said: str


NOTHING = Asked(None, None, "", "")


def asked(question: str, now: datetime) -> Asked:
    """What the question says about time, seen at `now`; ``NOTHING`` where it is silent or unclear.

    Every string is accepted, and only its first 500 characters are read.
    """
    text = _readable(question)
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    bounds = list(_all_bounds(text, _dates(text), now))
    since = max((each.since for each in bounds if each.since), default=None)
    until = min((each.until for each in bounds if each.until), default=None)
    if since and until and since >= until:  # two dates that exclude each other: a comparison, or a misreading
        bounds, since, until = [], None, None
    places = [(each.start, each.end) for each in bounds]
    order, words = _order(text, places)
    said = ", ".join(" ".join(text[start:end].split()) for start, end in sorted(places + words))
    return Asked(since, until, order, said)


def _readable(question: str) -> str:
    """The beginning of a question up to a whole word, its quotations blanked: a quoted text is looked for."""
    if len(question) > LONGEST_READ:
        question = question[:LONGEST_READ].rpartition(" ")[0]
    if not question.isascii():
        question = question.translate(_LOOKALIKES)
    if any(mark in question for mark in '"`“„«'):
        question = _compiled(_QUOTATIONS).sub(lambda match: "\0" * len(match[0]), question)
    return question


# --- intervals ---


class _Span(NamedTuple):
    """An interval with both ends."""

    since: datetime
    until: datetime


class _Date(NamedTuple):
    """Words that name an interval: where they stand, how it is found from a moment, and what they need."""

    start: int
    end: int
    read: Callable[[datetime], _Span]
    kind: str = ""  # what evidence makes these words a date, see _admitted; "" = they are one
    floats: bool = False  # without a year of its own


class _Lead(NamedTuple):
    """What stands before a date: where it begins, its word, what that means, and which part is meant."""

    start: int
    word: str
    relation: str
    part: str


class _Bounds(NamedTuple):
    """What one date, or a pair of them, says; and from where to where it stands in the text."""

    since: datetime | None
    until: datetime | None
    start: int
    end: int


def _all_bounds(text: str, dates: Sequence[_Date], now: datetime) -> Iterator[_Bounds]:
    """The bounds each date or pair of dates sets, in order; those that do not stand the test are left out."""
    at = 0
    while at < len(dates):
        date, after = dates[at], dates[at + 1] if at + 1 < len(dates) else None
        lead = _lead(text, date.start)
        at += 1
        try:
            if after and _joined(text, lead, date, after):
                at += 1
                if pair := _pair(text, lead, date, after, now):
                    yield pair
            elif _admitted(text, lead, date):
                since, until = _related(text, lead, date, now)
                if since or until:
                    yield _Bounds(since, until, lead.start, date.end)
        except (ValueError, OverflowError):  # no such day, or one that no memory can lie on
            continue


def _joined(text: str, lead: _Lead, first: _Date, second: _Date) -> bool:
    """Whether two dates are said in one breath: between A and B, from A to B, in A or B."""
    joint = _compiled(_JOINTS).fullmatch(text, first.end, second.start)
    if not joint or lead.part or {"weekday", "range"} & {first.kind, second.kind}:
        return False
    if lead.relation in ("between", "from"):
        return (lead.relation == "from") == bool(joint["to"])
    return lead.relation in ("", "in") and _admitted(text, lead, first)


def _pair(text: str, lead: _Lead, first: _Date, second: _Date, now: datetime) -> _Bounds | None:
    """The interval two joined dates make; None if there is none."""
    early, late = _both(first, second, now)
    joint = _compiled(_JOINTS).fullmatch(text, first.end, second.start)
    whole = lead.relation == "between" or bool(joint and joint["to"]) or early.until == late.since
    if early.since >= late.since or not whole:  # "in 2021 and 2023" leaves out what lies between
        return None
    return _Bounds(early.since, late.until, lead.start, second.end)


def _both(first: _Date, second: _Date, now: datetime) -> tuple[_Span, _Span]:
    """Two dates that belong together: one without a year takes it from the other."""
    if second.floats and not first.floats:
        early = first.read(now)
        return early, second.read(early.since + timedelta(days=364))
    late = second.read(now)
    return first.read(late.since if first.floats else now), late


def _related(text: str, lead: _Lead, date: _Date, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The bounds a date sets behind the word that leads it."""
    span = _parted(lead.part, date.read(now))
    relation = lead.relation
    if relation in ("more", "less"):
        relation = {"more": "before", "less": "since"}[relation] if date.kind == "ago" else ""
    if relation in ("between", "from") and date.kind == "range":
        relation = "in"
    elif relation == "from" and _compiled(_ONWARDS).match(text, date.end):
        relation = "since"
    if relation == "before" and lead.part == "late":  # before the end of May: its days before the end as well
        relation = "until"
    if relation == "around" and span.until - span.since <= timedelta(days=1):
        span = _Span(span.since - timedelta(days=3), span.until + timedelta(days=3))
    table: dict[str, tuple[datetime | None, datetime | None]] = {
        "since": (span.since, None),
        "after": (span.until, None),
        "before": (None, span.since),
        "until": (None, span.until),
        "between": (None, None),
        "not": (None, None),
    }
    return table.get(relation, (span.since, span.until))


def _parted(part: str, span: _Span) -> _Span:
    """The beginning, middle or end of an interval, or the week a day lies in, before it or after it."""
    day = timedelta(days=1)
    if part in ("early", "mid", "late"):
        days = (span.until - span.since) // day
        at = {"early": 0, "mid": 1, "late": 2}[part]
        return _Span(span.since + days * at // 3 * day, span.since + days * (at + 1) // 3 * day)
    if part == "week of":
        return _calendar("week", span.since, 0)
    if part == "week before":
        return _Span(span.since - 7 * day, span.since)
    if part == "week after":
        return _Span(span.until, span.until + 7 * day)
    return span


def _lead(text: str, start: int) -> _Lead:
    """What stands right before a date."""
    match = _compiled(_LEADS).search(text, max(0, start - 80), start)
    if match is None:
        return _Lead(start, "", "", "")
    word = " ".join((match["word"] or "").lower().split())
    part = " ".join((match["part"] or "").lower().split())
    relation = _RELATIONS.get(word, "")
    if match["not"] or match["count"] or (match["two"] and relation == "between"):
        relation = "not"  # "two weeks before 8 May" is one day, but which one depends on the story
    if match["year"] and not relation:
        word = relation = "in"
    return _Lead(match.start() if match[0] else start, word, relation, _PARTS.get(part, "some" if part else ""))


def _admitted(text: str, lead: _Lead, date: _Date) -> bool:
    """Whether the words are a date at all, by what stands around them."""
    if date.kind in ("", "ago", "range"):
        return True
    if date.kind in ("today", "weekday"):
        return _is_one_day(text, lead, date)
    if date.kind == "day":
        return bool(lead.part) or lead.relation not in ("", "not", "more", "less")
    return bool(lead.part) or _is_period(text, lead, date)


def _is_one_day(text: str, lead: _Lead, date: _Date) -> bool:
    """Whether today or a weekday is the day something happened, not the one on which it always does."""
    if date.kind == "weekday" and lead.word not in ("on", "since", "am", "seit"):
        return False
    if lead.relation in ("since", "until"):
        return True
    german = _compiled(_GERMAN_DAYS).match(text, date.start)
    past, habit = (_GERMAN_PAST, _GERMAN_HABITS) if german else (_ENGLISH_PAST, _ENGLISH_HABITS)
    return not _compiled(habit).search(text) or bool(_compiled(past).search(text))


def _is_period(text: str, lead: _Lead, date: _Date) -> bool:
    """Whether a bare month, quarter or year is one: no verb, no person, and none that comes every year."""
    if date.kind == "month" and _compiled(_NO_MONTH).match(text, date.end):
        return False
    if date.kind == "month" and lead.relation != "in" and _compiled(_NAME_AND_VERB).match(text, date.end):
        return False
    led = lead.word in _LEADS_OF_PERIODS
    if not led and lead.relation == "from":
        led = _compiled(_ONWARDS).match(text, date.end) is not None
    return led and not _compiled(_RECURRING).search(text)


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


def _calendar(unit: str, moment: datetime, back: int) -> _Span:
    """The calendar day, week, weekend, month, quarter or year that lies so many back from a moment."""
    today = _start_of_day(moment)
    if unit in _MONTHS_IN:
        size = _MONTHS_IN[unit]
        count = moment.year * 12 + moment.month - 1
        first = count - count % size - back * size
        return _Span(_months(first), _months(first + size))
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
    return _Span(since, since + timedelta(days=days))


def _rolling(unit: str, now: datetime, count: int) -> _Span:
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
    return _Span(since, tomorrow)


def _latest(read: Callable[[int], _Span]) -> Callable[[datetime], _Span]:
    """A reader of a date without a year: the latest year in which it exists and has begun."""

    def latest(now: datetime) -> _Span:
        for year in range(now.year, now.year - 9, -1):  # a leap day may be eight years away
            try:
                span = read(year)
            except ValueError:
                continue
            if span.since <= now:
                return span
        raise ValueError(now)

    return latest


def _fixed(span: Callable[[], _Span]) -> Callable[[datetime], _Span]:
    """A reader of a date that means the same at any moment."""
    return lambda _: span()


# --- the forms of dates ---


class _Form(NamedTuple):
    """One way to write a date: pieces or words of which one must occur, its pattern, and how a match is read."""

    hints: tuple[str, ...]
    pattern: str
    read: Callable[[re.Match[str]], _Date | None]
    words: bool = False  # the hints are whole words


def _dates(text: str) -> list[_Date]:
    """Every date of the text in order; where two forms overlap, the earlier form of the table wins."""
    lower = text.lower()
    words = {word.strip("0123456789.,;:?!()") for word in lower.replace("–", " ").replace("-", " ").split()}
    found: list[_Date] = []
    for form in _FORMS:
        if not any(hint in (words if form.words else lower) for hint in form.hints):
            continue
        for match in _compiled(form.pattern).finditer(text):
            if any(match.start() < other.end and match.end() > other.start for other in found):
                continue
            if date := form.read(match):
                found.append(date)
    return sorted(found, key=lambda date: date.start)


def _read_numeric(match: re.Match[str]) -> _Date | None:
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
    return _Date(*match.span(), _fixed(lambda: _day_or_month(year, month, day, day)))


def _day_or_month(year: int, month: int, day: int, to_day: int) -> _Span:
    """Some days of a month, or all of it for day 0."""
    if not day:
        return _calendar("month", _midnight(year, month), 0)
    first, last = _midnight(year, month, day), _midnight(year, month, to_day)
    if first > last:
        raise ValueError(day)
    return _Span(first, last + timedelta(days=1))


def _read_month(match: re.Match[str]) -> _Date | None:
    """A month by its name, with or without a day before or after it and a year."""
    name = match["name"].lower()
    month = _MONTHS[name]
    day = int(match["day"] or match["day_after"] or 0)
    to_day = int(match["to_day"] or match["to_day_after"] or day)
    start, end = match.span()
    ranging = "range" if to_day != day else ""
    if match["year"]:
        year = int(match["year"])
        return _Date(start, end, _fixed(lambda: _day_or_month(year, month, day, to_day)), ranging)
    if day:
        plain = match["name"][0].isupper() or not (len(name) <= 3 or name == "march")
        read = _latest(lambda year: _day_or_month(year, month, day, to_day))
        return _Date(start, end, read, ranging if plain else "day", floats=True)
    if len(name) <= 4 and name not in _SHORT_MONTHS:
        return None
    read = _latest(lambda year: _day_or_month(year, month, 0, 0))
    if not match["which"]:
        return _Date(start, end, read, "month", floats=True)
    this = match["which"].lower().startswith(("this", "diese"))
    return _Date(start, end, functools.partial(_this_or_last_month, month, this))


def _this_or_last_month(month: int, this: bool, now: datetime) -> _Span:
    """This May is the one of this year, if it has begun; last May is the latest that is over."""
    year = now.year if this or month < now.month else now.year - 1
    span = _day_or_month(year, month, 0, 0)
    if span.since > now:
        raise ValueError(month)
    return span


def _read_quarter(match: re.Match[str]) -> _Date | None:
    """Q2 2025, 2025-Q2, H1 2025, second quarter of 2025, 2. Quartal, 2025-W14, KW 14."""
    number = match["q"] or match["q_word"] or match["week"] or match["kw"]
    number = _ORDINALS.get(number.lower()) or int(number.rstrip("."))
    year = match["year"] or match["year_before"]
    halves = (match["letter"] or "").lower() == "h"
    if match["week"] or match["kw"]:
        span = functools.partial(_week, number)
    elif number <= (2 if halves else 4):
        span = functools.partial(_fraction, number, 6 if halves else 3)
    else:
        return None
    if year:
        return _Date(*match.span(), _fixed(lambda: span(int(year))))
    kind = "" if match["kw"] else "quarter"
    return None if halves else _Date(*match.span(), _latest(span), kind, floats=True)


def _fraction(number: int, size: int, year: int) -> _Span:
    first = year * 12 + (number - 1) * size
    return _Span(_months(first), _months(first + size))


def _week(number: int, year: int) -> _Span:
    _midnight(year)
    since = datetime.fromisocalendar(year, number, 1).replace(tzinfo=UTC)
    return _Span(since, since + timedelta(days=7))


def _read_rolling(match: re.Match[str]) -> _Date | None:
    """In the last three weeks, over the past month, in den letzten 3 Tagen, seit zwei Wochen."""
    count = _number(match["count"] or match["anzahl"] or match["dauer"] or "one")
    unit = _unit(match["unit"] or match["einheit"] or match["spanne"])
    return _Date(*match.span(), lambda now: _rolling(unit, now, count)) if count else None


def _read_ago(match: re.Match[str]) -> _Date | None:
    """Three days ago, a year ago, vor zwei Wochen: the calendar day, week, month or year so many back."""
    count, unit = _number(match["count"] or match["anzahl"]), _unit(match["unit"] or match["einheit"])
    if not count:
        return None
    if unit != "hour":
        return _Date(*match.span(), lambda now: _calendar(unit, now, count), "ago")

    def hours(now: datetime) -> _Span:
        return _Span(now - timedelta(hours=count + 1), now - timedelta(hours=count - 1))

    return _Date(*match.span(), hours, "ago")


def _read_unit(match: re.Match[str]) -> _Date | None:
    """This week, last month, the past year, the weekend before last, vorletzte Woche."""
    if match["over"]:
        return _Date(*match.span(), lambda now: _calendar("weekend", now, 0 if now.weekday() >= 5 else 1))
    which = "vorletzte" if match["before_last"] else match["which"].lower()
    unit = _unit(match["before_last"] or match["unit"])
    if which.endswith("past") and unit != "weekend":
        return _Date(*match.span(), lambda now: _rolling(unit, now, 1))
    back = 2 if which.startswith("vorletzte") else 0 if which.startswith(("this", "diese")) else 1
    return _Date(*match.span(), lambda now: _calendar(unit, now, back))


def _read_day(match: re.Match[str]) -> _Date | None:
    """Today, yesterday and their parts."""
    word = match["word"].lower()
    if word.startswith(("last", "letzte")):

        def night(now: datetime) -> _Span:
            noon = _start_of_day(now) + timedelta(hours=12)
            return _Span(noon - timedelta(days=1), noon)

        return _Date(*match.span(), night)
    back = 2 if word.startswith(("the", "day", "vor")) else 1 if word.startswith(("yester", "gestern")) else 0
    sure = back or match["part"] or word.startswith("this")
    return _Date(*match.span(), lambda now: _calendar("day", now, back), "" if sure else "today")


def _read_weekday(match: re.Match[str]) -> _Date | None:
    """Last Monday is the latest one before today; this Monday is the one of this week, if it has come."""
    number = _WEEKDAYS[match["name"].lower()] - 1
    which = (match["which"] or "").lower()

    def weekday(now: datetime) -> _Span:
        back = (now.weekday() - number) % 7
        if which.startswith(("this", "diese")):
            if number > now.weekday():
                raise ValueError(number)
            return _calendar("day", now, back)
        return _calendar("day", now, back or 7)

    return _Date(*match.span(), weekday, "" if which else "weekday")


def _read_year(match: re.Match[str]) -> _Date | None:
    """A bare year: the next one at most, no round number, and nothing that is counted."""
    year = int(match["year"])

    def read(now: datetime) -> _Span:
        if year > now.year + 1 or year == 2000:
            raise ValueError(year)
        return _calendar("year", _midnight(year), 0)

    counted = _compiled(_COUNTED).match(match.string, match.end())
    return None if counted and counted["word"].lower() not in _NOT_COUNTED else _Date(*match.span(), read, "year")


def _number(word: str) -> int:
    """The number a word stands for, 0 if none."""
    word = word.lower()
    if word.isdecimal():
        return int(word) if len(word) <= 6 else 0
    return FEW if word.endswith(("few", "several", "couple of", "paar")) else _NUMBERS.get(word, 0)


def _unit(word: str) -> str:
    word = word.lower()
    return next(unit for beginning, unit in _UNITS.items() if word.startswith(beginning))


# --- newest, oldest ---


def _order(text: str, places: Sequence[tuple[int, int]]) -> tuple[Order, list[tuple[int, int]]]:
    """Whether the newest or the oldest is asked for, outside of the dates already read; not both."""
    lower = text.lower()
    found: dict[Order, list[tuple[int, int]]] = {}
    orders: tuple[tuple[Order, tuple[str, ...], str], ...] = (
        ("newest", _NEWEST_HINTS, _NEWEST),
        ("oldest", _OLDEST_HINTS, _OLDEST),
    )
    for order, hints, pattern in orders:
        if not any(hint in lower for hint in hints):
            continue
        spans = [match.span(match.lastgroup or 0) for match in _compiled(pattern).finditer(text)]
        if spans := [(a, b) for a, b in spans if not any(a < end and b > start for start, end in places)]:
            found[order] = spans
    if "oldest" in found and _compiled(_CONTRAST).search(text):
        return "", []
    return next(iter(found.items())) if len(found) == 1 else ("", [])


# --- words ---


def _numbered(lines: str) -> dict[str, int]:
    """Words by the number of their line."""
    return {word: number for number, line in enumerate(lines.split("|"), 1) for word in line.split()}


def _named(lines: dict[str, str]) -> dict[str, str]:
    """Words, separated by commas, by the name of their line."""
    return {word: name for name, line in lines.items() for word in line.split(",")}


_MONTHS = _numbered(
    "january januar jänner jan|february februar feber feb|march märz maerz ma\u0308rz mar|april apr|may mai"
    "|june juni jun|july juli jul|august aug|september sept sep|october oktober oct okt|november nov"
    "|december dezember dec dez"
)
_SHORT_MONTHS = ("may", "mai", "june", "juni", "july", "juli", "märz")
"""Names of up to four letters that are whole; an abbreviation needs a day or a year (dec and oct are bases)."""
_WEEKDAYS = _numbered(
    "monday montag|tuesday dienstag|wednesday mittwoch|thursday donnerstag|friday freitag"
    "|saturday samstag sonnabend|sunday sonntag"
)
_NUMBERS = _numbered(
    "one a an ein eine einem einer|two zwei|three drei|four vier|five fünf|six sechs|seven sieben|eight acht"
    "|nine neun|ten zehn|eleven elf|twelve zwölf"
)
_ORDINALS = _numbered("first ersten erstes|second zweiten zweites|third dritten drittes|fourth vierten viertes")
_UNITS = {
    "hour": "hour", "stunde": "hour", "day": "day", "tag": "day", "weekend": "weekend", "wochenende": "weekend",
    "week": "week", "woche": "week", "month": "month", "monat": "month", "quart": "quarter", "year": "year",
    "jahr": "year",
}  # fmt: skip
"""Beginning of a word → unit; the longer of two that begin alike comes first."""
_RELATIONS = _named(
    {
        "in": "in,on,during,throughout,of,im,am,während",
        "since": "since,seit,ab",
        "before": "before,prior to,vor",
        "after": "after,nach",
        "until": "until,till,up to,through,by,as of,bis,bis zum",
        "from": "from,von,vom",
        "between": "between,zwischen",
        "around": "around,circa",
        "more": "more than,over",
        "less": "less than",
    }
)
_LEADS_OF_PERIODS = (
    "in", "during", "throughout", "since", "before", "prior to", "after", "until", "till", "up to",
    "im", "während", "seit", "ab", "vor", "nach", "bis",
)  # fmt: skip
"""The words that make a bare month, quarter or year a date; after *of*, *by* or *from* it may be a name."""
_PARTS = _named(
    {
        "early": "early,beginning of,start of,anfang,beginn",
        "mid": "mid,middle of,mitte",
        "late": "late,end of,ende",
        "week of": "week of,woche vom,woche um",
        "week before": "week before,woche vor",
        "week after": "week after,woche nach",
    }
)
_LOOKALIKES = str.maketrans("ſıİ", "siI")
"""Letters that a pattern takes for ASCII when it ignores case, but ``lower`` does not."""
_NOT_COUNTED = ("was", "is", "has", "does", "as", "this", "its", "us", "vs", "these")
_NEWEST_HINTS = (
    "latest", "recent", "newest", "last", "now", "current", "moment", "present", "these days", "lately", "neu",
    "jüngst", "aktuell", "zuletzt", "letzt", "kürzlich", "derzeit", "zur", "heutzutage", "jetzt",
)  # fmt: skip
_OLDEST_HINTS = ("first", "original", "initial", "earliest", "beginning", "ursprünglich", "anf", "erst", "früheste")


# --- patterns, each compiled by _compiled: case is ignored, and so is white space ---

# A word of time is no part of a path, an address, an option, a call or a name of code.
_L = r"(?<![\w./@#$:=\\-])"
_R = r"(?![\w(/@$=\\-]|\.\w)"
_S = r"(?:['’]s)?"
_YEAR = r"(?:19|20|21)\d\d"
_OF = r"(?:the\s+|dem\s+|den\s+)?"
_OWN = r"(?:the|our|your|my|his|her|their|its)"


@functools.cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE | re.VERBOSE)


def _any(words: Iterable[str]) -> str:
    """An alternation of words, the longest first, with spaces of any width."""
    return "|".join(word.replace(" ", r"\s+") for word in sorted(words, key=len, reverse=True))


_QUOTATIONS = r"\"[^\"]*\" | `[^`]*` | “[^”]*” | „[^“”]*[“”] | «[^»]*»"
_LEADS = rf"""{_L}
    (?:(?P<not>not|except|besides|nicht|außer)\s+)?
    (?:(?P<two>differences?|conflict|agreement|conversation|unterschied)\s+)?
    (?:(?P<count>days?|weeks|months?|years?|hours?|tage?n?|wochen|monate?n?|jahre?n?)\s+(?=before|after|vor|nach))?
    (?:(?P<word>{_any(_RELATIONS)})\s+)?
    (?:(?:the|dem|den|der|des|back|(?P<year>year|jahre?s?))\s+){{0,3}}
    (?:(?P<part>{_any(_PARTS)}
        |(?:first|second|third|fourth|last|ersten|zweiten|letzten)\s+(?:week|weekend|half|days|hälfte)\s+(?:of|in)
        |(?:spring|summer|autumn|fall|winter|rest|course|month|most)\s+of)
    (?:\s+|-){_OF})?\Z"""
_JOINTS = rf"\s*,?\s*(?:(?P<to>to|until|till|through|bis(?:\s+zum)?|-|–|—)|and|or|und|oder|&|/)\s*{_OF}"
_ONWARDS = r"\s+(?:on|onwards?|an)\b(?!\s+\w+day)"

_CLOCK = r"(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_NUMERIC = rf"""(?<!version\ ){_L}(?:
    (?P<year>{_YEAR})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d){_CLOCK})?|/(?P<slash_month>\d\d)/(?P<slash_day>\d\d))
    |(?P<dot_day>\d\d?)\.\s?(?P<dot_month>\d\d?)\.\s?(?P<dot_year>{_YEAR})
    |(?P<one>\d\d?)/(?P<two>\d\d?)/(?P<slash_year>{_YEAR})
    |(?P<my_month>0[1-9]|1[0-2])/(?P<my_year>20[1-9]\d)
    ){_R}(?!\.\.)"""
_RANK, _TO = r"(?:st|nd|rd|th|\.)?", r"\s*(?:-|–|to|bis|and|und)\s*"
_MONTH = rf"""(?:{_L}|(?<=\bmid-))
    (?:(?P<day>\d\d?){_RANK}(?:{_TO}(?P<to_day>\d\d?){_RANK})?\s*(?:of\s+)?(?<!\d)
    |(?P<which>this|last|past|(?:letzte|diese|vorige|vergangene)[nrm]?)\s+)?
    (?P<name>{_any(_MONTHS)})(?!['’]\d)\b\.?
    (?:\s+(?:the\s+)?(?P<day_after>\d\d?){_RANK}(?:{_TO}(?P<to_day_after>\d\d?){_RANK})?
        (?![\d:%]|[.,](?!{_YEAR})\d|\s*(?:%|times|x\b)))?
    (?:\s*,?\s*(?:of\s+)?(?P<year>\d{{4}})(?!\d))?{_R}"""
_QUARTER = rf"""{_L}(?:
    (?:(?P<year_before>{_YEAR})[\s-]?)?(?:(?P<letter>[qh])(?P<q>[1-4])|w(?P<week>\d\d))(?(year_before)|(?<=[qh]\d))
    |kw\s?(?P<kw>\d\d?)
    |(?P<q_word>{_any(_ORDINALS)}|[1-4]\.)\s+(?:quarter|quartals?)
    )(?:(?:\s+(?:of\s+|in\s+|des\s+jahres\s+)?|/|-)(?P<year>{_YEAR}))?{_R}"""
_EINHEIT = r"stunden?|tage?n?|wochen?|monate?n?|jahre?n?|quartale?n?"
_ROLLING = rf"""{_L}(?:
    (?:(?:in|over|within|during|throughout)\s+(?:the\s+|these\s+)?(?:last|past|previous)|for\s+the\s+past)\s+
        (?:(?P<count>\d{{1,6}}|a\s+few|a?\s*couple\s+of|\w+)\s+)?
        (?P<unit>hour|day|week|month|year|quarter)(?(count)s?)(?!\s+of\b)
    |(?:in|während)\s+de[nr]\s+(?:letzten|vergangenen)\s+(?P<anzahl>ein\s+paar|\w+)\s+(?P<einheit>{_EINHEIT})
    |seit\s+(?P<dauer>ein\s+paar|\w+)\s+(?P<spanne>{_EINHEIT})
    ){_S}{_R}"""
_AGO = rf"""{_L}(?:(?P<count>\d{{1,6}}|{_any(_NUMBERS)})\s+(?P<unit>hour|day|week|month|quarter|year)s?\s+ago
    |vor\s+(?P<anzahl>\w+)\s+(?P<einheit>{_EINHEIT})){_R}"""
_UNIT = rf"""{_L}(?:
    (?P<which>(?:the\s+|this\s+)past|this|last|past|previous|(?:diese|letzte|vorletzte|vorige|vergangene)[nrms]?)\s+
        (?P<unit>weekend|week|month|quarter|year|wochenendes?|woche|monats?|quartals?|jahre?s?)
    |(?:the\s+)?(?P<before_last>week|weekend|month|quarter|year)\s+before\s+last
    |(?P<over>over\s+the\s+weekend)
    ){_S}(?!\s+(?:of|der|des|im)\b){_R}"""
_DAY = rf"""{_L}(?P<word>(?:the\s+)?day\s+before\s+yesterday|yesterday|last\s+night|today|tonight
    |this\s+(?:morning|afternoon|evening)|vorgestern|gestern|heute|letzte\s+nacht){_S}
    (?P<part>\s+(?:morning|afternoon|evening|night|morgen|früh|vormittag|mittag|nachmittag|abend|nacht))?{_R}"""
_WEEKDAY = rf"""{_L}(?:(?P<which>last|this|past|(?:letzte|diese|vorige|vergangene)[nrm]?)\s+)?
    (?P<name>{_any(_WEEKDAYS)}){_R}(?!['’]s
    |\s+(?:of|the|den|dem|in|im)\b|\s*,?\s*\d|\s*,?\s*(?:{_any(_MONTHS)})\b|\s+(?:last|this|next|letzte|diese|nächste))"""
_BARE_YEAR = rf"(?:{_L}|(?<=\bmid-))(?P<year>(?:199|20\d)\d)(?!,\d|\s*[%°]){_R}"
_COUNTED = r"""\s*(?P<word>\w+s|[kmgt]i?b|ms|px|bit|byte|seiten|zeilen|tagen?|stunden|minuten|\w*sekunden|mal
    |zeichen|anfragen|versuchen?|einträgen?|dateien)\b"""
"""The word after a number, where it is something of which there may be 2022."""

_NO_MONTH = r"['’]s\b | \s+(?:be|have|not|need|cause|only|also|still|fail)\b"
"""After a bare *may*: its verb; after a name: what is hers."""
_NAME_AND_VERB = r"""\s+(?:\w{3,}ed|left|came|took|was|is|has|had|went|became|said|told|wrote|got|made|quit|did|does
    |kam|ging|hat|ist|war|wurde)\b"""
"""After June, April and the like: what a person did, so that "before June left" is no date."""
_RECURRING = r"\b(?:every|each|yearly|annually|jede[nsr]?|jährlich)\b"
_GERMAN_DAYS = r"heute|\w+(?:tag|abend)\b|mittwoch"
_ENGLISH_HABITS = r"""\b(?:every|each|always|usually|normally|typically|should|can|could|must|may|ever|next|will|is
    |are|am|do|does|runs?|uses?|allowed)\b"""
"""Words of what is so in general: "do we deploy on Friday" asks for a rule, not for a day."""
_ENGLISH_PAST = r"\b(?:did|was|were|had|happened|(?:have|has)\s+(?:i|we|you|they|he|she|it|been|the|any\w+))\b"
_GERMAN_HABITS = r"""\b(?:jede[nrsm]?|immer|üblicherweise|normalerweise|soll\w*|kann|können|darf|dürfen|muss|müssen
    |nächste\w*|nutz\w+|verwende\w*|benutz\w+|läuft|laufen|gilt|gelten|wird|werden|mach\w+|steht|deploye\w*)\b"""
_GERMAN_PAST = r"\b(?:hat|habe|haben|hast|habt|hatte\w*|wurden?|war|waren|passiert|geschehen)\b"

_EVENT = r"""(?:decision|incident|outage|release|deploy(?:ment)?|meeting|retro(?:spective)?|post-?mortem|discussion
    |conversation|stand-?up|session)"""
_RUNNING = r"(?:directory|working|folder|path|user|branch|time|date|year|process|thread|line|row|page|scope|shell)"
"""What is current to a program: a question for these asks for an instruction, not for a state."""
_NEWEST = rf"""{_L}(?P<said>
    (?:(?<!at\ ){_OWN}\s+(?:very\s+)?|\A\s*)(?:latest|newest)(?!\s+(?:tag|first|image|stable|lts)\b)
    |(?:{_OWN}\s+)?most\s+recent(?:ly)?(?!\s+(?:first|used)\b)
    |(?<!least\ )(?<!most\ )(?:recently|lately)(?!\s+(?:used|viewed|opened)\b)
    |(?:the\s+)?last\s+time(?!\s*(?:zone|stamp|out|limit|frame|slot|step|series))
    |{_OWN}\s+last\s+{_EVENT}(?!\s+(?:ids?|tokens?|keys?|cookies?|notes?)\b)
    |(?<=what\ is\ )(?:the|our)\s+(?:\w+\s+)?current(?!\s+{_RUNNING}\b)
    |(?<!the\ )currently(?!\s+(?:selected|logged|focused|checked)\b)
    |right\s+now|as\s+of\s+now|nowadays|these\s+days|at\s+the\s+moment|at\s+present|presently
    |(?<=\w\ )(?<!until\ )(?<!till\ )(?<!by\ )(?<!from\ )(?<!even\ )(?<!just\ )(?<!for\ )(?<!than\ )(?<!right\ )
        now(?=\s*[?.!]*\s*\Z)
    |(?:der|die|das|den|dem|des|unser\w*|mein\w*)\s+(?:aller)?(?:neue?ste|aktuellste|jüngste)[nrms]?
    |zuletzt|(?:das|beim|zum)\s+letzten?\s+mal|kürzlich|neulich|in\s+letzter\s+zeit
    |momentan|derzeit|zurzeit|zur\s+zeit|heutzutage|aktuell|im\s+moment
    |(?<=\w\ )(?<!bis\ )(?<!ab\ )(?<!von\ )jetzt(?=\s*[?.!]*\s*\Z)
    ){_R}"""
_NOT_MINE = "".join(
    rf"(?<!\b{word})" for word in ("the", "a", "our", "my", "his", "her", "their", "your", "'s", "’s")
)
_OLDEST = rf"""{_L}(?P<said>originally|initially|in\s+the\s+beginning(?!\s+of)|at\s+first(?=\s*[?.!,]|\s*\Z)
    |(?<!at\ )(?:the|our|my)\s+(?:very\s+)?earliest(?!\s+(?:supported|possible|version|date)\b)
    |(?<!for\ )(?:the|our|my)\s+(?:very\s+)?first\s+(?:time|attempt|version|{_EVENT})
    |(?:(?<=was\ )|(?<=were\ ))(?:the|our)\s+(?:original|initial)
    |ursprünglich|anfangs|anfänglich|erstmals|(?:zum\s+ersten|das\s+erste)\s+mal|(?:der|die|das)\s+früheste[nrms]?
    ){_R}
    |\b(?:did|when\s+(?:was|were))\b[^.?!]{{0,60}}?{_NOT_MINE}\s+(?P<verb>first)\s+
        (?!name|argument|arg\b|call\b|line|column|row|element|item|step|time|thing|place|class|parameter
        |(?:of|and|in|on|to|or|then)\b)\w
    |\bwhen\b[^.?!]{{0,80}}?\s(?P<once>for\s+the\s+first\s+time)\b"""
_CONTRAST = r"\b(?:now|current(?:ly)?|today|vs|versus|jetzt|heute|aktuell)\b"
"""Words that set the present against the beginning: then both ends are asked for."""

_FORMS = (
    _Form(("19", "20", "21"), _NUMERIC, _read_numeric),
    _Form(("q1", "q2", "q3", "q4", "h1", "h2", "-w", "kw", "quart"), _QUARTER, _read_quarter),
    _Form(tuple(_MONTHS), _MONTH, _read_month, words=True),
    _Form(("last", "past", "previous", "letzten", "vergangenen", "seit"), _ROLLING, _read_rolling),
    _Form(("ago", "vor "), _AGO, _read_ago),
    _Form(("week", "month", "quarter", "year", "woche", "monat", "quartal", "jahr"), _UNIT, _read_unit),
    _Form(("today", "tonight", "yesterday", "night", "this ", "heute", "gestern", "nacht"), _DAY, _read_day),
    _Form(("day", "tag", "mittwoch", "sonnabend"), _WEEKDAY, _read_weekday),
    _Form(("199", "20"), _BARE_YEAR, _read_year),
)
