"""What a question says about time: an interval, and whether the newest or the oldest is meant.

English, German and the plain ISO forms are read. A wrong interval costs more than none, so words that mean other
things as well need evidence: "in May" and "8 May" are dates, "it may fail" is not; "the latest decision" asks
for the newest, ``latest`` alone is a tag. Where two readings contradict each other, or none is likely, nothing
is said.

Days, weeks (from Monday) and months are those of UTC. The parts of a day ("this morning") are read as the whole
day, because the asker's time zone is not known. A date without a year is the latest one that has begun.

Patterns are compiled on first use, and only those whose words occur: most questions say nothing about time.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from engram.recall import timewords_lexicon as lexicon
from engram.recall.timewords_dates import Date, Span, calendar, dates
from engram.recall.timewords_lexicon import compiled

LONGEST_READ = 500
"""So many characters of a question are read: what comes later is matter to look at, not the asking."""

Order = Literal["", "newest", "oldest"]


class TimeAsked(NamedTuple):
    """What a question says about time: a half-open interval in UTC, an order, and the words they were read from."""

    since: datetime | None
    until: datetime | None
    order: Order
    said: str


NOTHING = TimeAsked(None, None, "", "")


def asked(question: str, now: datetime) -> TimeAsked:
    """What the question says about time, seen at `now`; ``NOTHING`` where it is silent or unclear.

    Every string is accepted, and only its first 500 characters are read.
    """
    text = _readable(question)
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    bounds = list(_all_bounds(text, dates(text), now))
    since = max((each.since for each in bounds if each.since), default=None)
    until = min((each.until for each in bounds if each.until), default=None)
    if since and until and since >= until:  # two dates that exclude each other: a comparison, or a misreading
        bounds, since, until = [], None, None
    places = [(each.start, each.end) for each in bounds]
    order, words = _order(text, places)
    said = ", ".join(" ".join(text[start:end].split()) for start, end in sorted(places + words))
    return TimeAsked(since, until, order, said)


def _readable(question: str) -> str:
    """The beginning of a question up to a whole word, its quotations blanked: a quoted text is looked for."""
    if len(question) > LONGEST_READ:
        question = question[:LONGEST_READ].rpartition(" ")[0]
    if not question.isascii():
        question = question.translate(lexicon.LOOKALIKES)
    if any(mark in question for mark in '"`“„«'):
        question = compiled(lexicon.QUOTATIONS).sub(lambda match: "\0" * len(match[0]), question)
    return question


# --- intervals ---


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


def _all_bounds(text: str, dates: Sequence[Date], now: datetime) -> Iterator[_Bounds]:
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


def _joined(text: str, lead: _Lead, first: Date, second: Date) -> bool:
    """Whether two dates are said in one breath: between A and B, from A to B, in A or B."""
    joint = compiled(lexicon.JOINTS).fullmatch(text, first.end, second.start)
    if not joint or lead.part or {"weekday", "range"} & {first.kind, second.kind}:
        return False
    if lead.relation in ("between", "from"):
        return (lead.relation == "from") == bool(joint["to"])
    return lead.relation in ("", "in") and _admitted(text, lead, first)


def _pair(text: str, lead: _Lead, first: Date, second: Date, now: datetime) -> _Bounds | None:
    """The interval two joined dates make; None if there is none."""
    early, late = _both(first, second, now)
    joint = compiled(lexicon.JOINTS).fullmatch(text, first.end, second.start)
    whole = lead.relation == "between" or bool(joint and joint["to"]) or early.until == late.since
    if early.since >= late.since or not whole:  # "in 2021 and 2023" leaves out what lies between
        return None
    return _Bounds(early.since, late.until, lead.start, second.end)


def _both(first: Date, second: Date, now: datetime) -> tuple[Span, Span]:
    """Two dates that belong together: one without a year takes it from the other."""
    if second.floats and not first.floats:
        early = first.read(now)
        return early, second.read(early.since + timedelta(days=364))
    late = second.read(now)
    return first.read(late.since if first.floats else now), late


def _related(text: str, lead: _Lead, date: Date, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The bounds a date sets behind the word that leads it."""
    span = _parted(lead.part, date.read(now))
    relation = lead.relation
    if relation in ("more", "less"):
        relation = {"more": "before", "less": "since"}[relation] if date.kind == "ago" else ""
    if relation in ("between", "from") and date.kind == "range":
        relation = "in"
    elif relation == "from" and compiled(lexicon.ONWARDS).match(text, date.end):
        relation = "since"
    if relation == "before" and lead.part == "late":  # before the end of May: its days before the end as well
        relation = "until"
    if relation == "around" and span.until - span.since <= timedelta(days=1):
        span = Span(span.since - timedelta(days=3), span.until + timedelta(days=3))
    table: dict[str, tuple[datetime | None, datetime | None]] = {
        "since": (span.since, None),
        "after": (span.until, None),
        "before": (None, span.since),
        "until": (None, span.until),
        "between": (None, None),
        "not": (None, None),
    }
    return table.get(relation, (span.since, span.until))


def _parted(part: str, span: Span) -> Span:
    """The beginning, middle or end of an interval, or the week a day lies in, before it or after it."""
    day = timedelta(days=1)
    if part in ("early", "mid", "late"):
        days = (span.until - span.since) // day
        at = {"early": 0, "mid": 1, "late": 2}[part]
        return Span(span.since + days * at // 3 * day, span.since + days * (at + 1) // 3 * day)
    if part == "week of":
        return calendar("week", span.since, 0)
    if part == "week before":
        return Span(span.since - 7 * day, span.since)
    if part == "week after":
        return Span(span.until, span.until + 7 * day)
    return span


def _lead(text: str, start: int) -> _Lead:
    """What stands right before a date."""
    match = compiled(lexicon.LEADS).search(text, max(0, start - 80), start)
    if match is None:
        return _Lead(start, "", "", "")
    word = " ".join((match["word"] or "").lower().split())
    part = " ".join((match["part"] or "").lower().split())
    relation = lexicon.RELATIONS.get(word, "")
    if match["not"] or match["count"] or (match["two"] and relation == "between"):
        relation = "not"  # "two weeks before 8 May" is one day, but which one depends on the story
    if match["year"] and not relation:
        word = relation = "in"
    return _Lead(
        match.start() if match[0] else start, word, relation, lexicon.PARTS.get(part, "some" if part else "")
    )


def _admitted(text: str, lead: _Lead, date: Date) -> bool:
    """Whether the words are a date at all, by what stands around them."""
    if date.kind in ("", "ago", "range"):
        return True
    if date.kind in ("today", "weekday"):
        return _is_one_day(text, lead, date)
    if date.kind == "day":
        return bool(lead.part) or lead.relation not in ("", "not", "more", "less")
    return bool(lead.part) or _is_period(text, lead, date)


def _is_one_day(text: str, lead: _Lead, date: Date) -> bool:
    """Whether today or a weekday is the day something happened, not the one on which it always does."""
    if date.kind == "weekday" and lead.word not in ("on", "since", "am", "seit"):
        return False
    if lead.relation in ("since", "until"):
        return True
    german = compiled(lexicon.GERMAN_DAYS).match(text, date.start)
    past, habit = (
        (lexicon.GERMAN_PAST, lexicon.GERMAN_HABITS) if german else (lexicon.ENGLISH_PAST, lexicon.ENGLISH_HABITS)
    )
    return not compiled(habit).search(text) or bool(compiled(past).search(text))


def _is_period(text: str, lead: _Lead, date: Date) -> bool:
    """Whether a bare month, quarter or year is one: no verb, no person, and none that comes every year."""
    if date.kind == "month" and compiled(lexicon.NO_MONTH).match(text, date.end):
        return False
    if date.kind == "month" and lead.relation != "in" and compiled(lexicon.NAME_AND_VERB).match(text, date.end):
        return False
    led = lead.word in lexicon.LEADS_OF_PERIODS
    if not led and lead.relation == "from":
        led = compiled(lexicon.ONWARDS).match(text, date.end) is not None
    return led and not compiled(lexicon.RECURRING).search(text)


# --- newest, oldest ---


def _order(text: str, places: Sequence[tuple[int, int]]) -> tuple[Order, list[tuple[int, int]]]:
    """Whether the newest or the oldest is asked for, outside of the dates already read; not both."""
    lower = text.lower()
    found: dict[Order, list[tuple[int, int]]] = {}
    orders: tuple[tuple[Order, tuple[str, ...], str], ...] = (
        ("newest", lexicon.NEWEST_HINTS, lexicon.NEWEST),
        ("oldest", lexicon.OLDEST_HINTS, lexicon.OLDEST),
    )
    for order, hints, pattern in orders:
        if not any(hint in lower for hint in hints):
            continue
        spans = [match.span(match.lastgroup or 0) for match in compiled(pattern).finditer(text)]
        if spans := [(a, b) for a, b in spans if not any(a < end and b > start for start, end in places)]:
            found[order] = spans
    if "oldest" in found and compiled(lexicon.CONTRAST).search(text):
        return "", []
    return next(iter(found.items())) if len(found) == 1 else ("", [])
