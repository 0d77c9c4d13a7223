"""What a field may hold: every limit, the checks that enforce it, and the sentences that explain it."""

import functools
import re
import unicodedata
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta

from engram.errors import Invalid

KIB = 1024

LIMITS: dict[str, int] = {
    "text": 64 * KIB,
    "summary": 512,
    "key": 120,
    "scope": 256,
    "source": 128,
    "kind": 64,
    "tag": 128,
    "ref": 1024,
    "locator": 128,
    "pin": 128,
    "excerpt": 16 * KIB,
    "name": 256,
    "reason": 2 * KIB,
    "context": 1024,
    "token": 256,
}
"""Field → most UTF-8 bytes. The exact limit is accepted; nothing is ever cut silently."""

LONGEST_SHOWN = 240
"""Characters up to which a text is shown itself where memories are told in brief; a longer one by its summary."""

MOST_TAGS = 128
MOST_CITATIONS = 50
MOST_ASSETS = 50

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)

DECAY_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}
LONGEST_DECAY_HOURS = 200 * DECAY_HOURS["y"]


@functools.cache
def _control() -> re.Pattern[str]:
    # Tab, line feed and carriage return are text; the other C0 and C1 codes and DEL can
    # repaint a terminal or end a protocol line, and lone surrogates have no UTF-8 form.
    return re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def size(value: str) -> int:
    """Length in UTF-8 bytes, as every limit counts it."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def cut(value: str, most: int) -> str:
    """As much of a text as fits into so many bytes: whole characters, and none that has no form in UTF-8."""
    return value[:most] if value.isascii() else value.encode("utf-8", "ignore")[:most].decode("utf-8", "ignore")


def composed(value: str) -> str:
    """A name as it is kept and asked for, in NFC: names that look the same are the same, however typed."""
    return value if value.isascii() else unicodedata.normalize("NFC", value)


def storable(value: str) -> bool:
    """Whether a store can be asked for this text: no field holds NUL or lone surrogates, and some engines fail."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return "\x00" not in value


def check_text(field: str, value: str, *, limit: int | None = None, lines: bool = False) -> None:
    """Check a string field for type, forbidden characters and size.

    Raises:
        Invalid: naming the field, the limit and the size.
    """
    if not isinstance(value, str):
        raise Invalid(f"{field} must be text, not {type(value).__name__}.")
    if not value:
        return
    if not value.isprintable():
        _check_characters(field, value, lines=lines)
    most = LIMITS[field] if limit is None else limit
    if len(value) * 4 > most and (got := size(value)) > most:
        raise Invalid(
            f"{field} is {got:,} bytes; the limit is {most:,} bytes.",
            "Shorten it, or split it into several memories.",
        )


def _check_characters(field: str, value: str, *, lines: bool) -> None:
    if bad := _control().search(value):
        if "\ud800" <= bad[0] <= "\udfff":
            raise Invalid(f"{field} is not UTF-8 at position {bad.start()}.", "Convert it to UTF-8 first.")
        raise Invalid(
            f"{field} contains the control character U+{ord(bad[0]):04X} at position {bad.start()}.",
            "Remove it; only tab and line breaks are accepted.",
        )
    if not lines and ("\n" in value or "\r" in value):
        raise Invalid(f"{field} must be a single line.", "Put longer prose into the text.")


def check_owner(value: str | None) -> None:
    """Check the name of an owner; absent is no name, and readable by nobody.

    Raises:
        Invalid: when it is no text, or too long.
    """
    if value is not None:
        check_text("owner", value, limit=LIMITS["name"])


def check_whole(field: str, value: int, least: int) -> None:
    """Check that a number is a whole one, and not too small.

    Raises:
        Invalid: when it is neither.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Invalid(f"{field} cannot be {value!r}.", f"It is a whole number from {least} on.")


def check_choice(field: str, value: str, choices: Iterable[str]) -> None:
    """Check that a word is one of a closed list.

    Raises:
        Invalid: listing the choices.
    """
    if value not in choices:
        raise Invalid(f"{field} cannot be {value!r}.", "Use one of: " + ", ".join(sorted(choices)) + ".")


def check_time(field: str, value: datetime | None) -> None:
    """Check that a time is absent, or in UTC and between 1970 and 2200.

    Raises:
        Invalid: when it is naive or absurd.
    """
    if value is None:
        return
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise Invalid(f"{field} must be a time with a time zone.")
    if value.tzinfo is not UTC:
        raise Invalid(f"{field} must be in UTC.", "Convert it with .astimezone(datetime.UTC).")
    if not EARLIEST <= value < LATEST:
        raise Invalid(f"{field} is {value.date()}, outside 1970 to 2199.", "Leave it empty for no bound.")


@functools.lru_cache(maxsize=256)
def parse_decay(decay: str) -> timedelta | None:
    """How long a memory stays fresh after it was last verified; None for `none`, which never goes stale.

    Raises:
        Invalid: when it is not a whole number followed by h, d, w, m or y.
    """
    if not isinstance(decay, str):
        raise Invalid(f"decay cannot be {decay!r}.", "Write something like 180d, or none.")
    if decay == "none":
        return None
    hours = _hours(decay)
    if hours is None:
        raise Invalid(
            f"decay cannot be {decay!r}.",
            "Write a whole number and h, d, w, m or y, such as 180d or 2y; or none.",
        )
    if not 0 < hours <= LONGEST_DECAY_HOURS:
        raise Invalid(f"decay {decay!r} is outside 1h to 200y.", "Use none for what never goes stale.")
    return timedelta(hours=hours)


def _hours(span: str) -> int | None:
    """A span such as 12h, 30d, 8w, 6m or 1y in hours; None where the text is none."""
    count, unit = span[:-1], span[-1:]
    is_span = count.isascii() and count.isdigit() and len(count) <= 7 and unit in DECAY_HOURS
    return int(count) * DECAY_HOURS[unit] if is_span else None


WHOLE_DAY, AGO, AHEAD = "whole day", "ago", "ahead"
"""What the type of a moment carries beside its prose: that a plain date means all of that day, that a span such as
7d is counted back from now, or that it is counted forward."""

_SPANS = {AGO: "; or how long ago: 12h, 7d, 2w, 6m or 1y", AHEAD: "; or how long from now: 12h, 7d, 2w, 6m or 1y"}


def end_of_day(day: datetime) -> datetime:
    """The last moment of a day in UTC."""
    return day.replace(hour=23, minute=59, second=59, microsecond=999_999)


def parse_moment(field: str, value: str, marks: Collection[str]) -> datetime | str:
    """Read a moment as its type's `marks` allow: a time, a date, or a span, which stays the text it is.

    A span means a time only once it is known when it is asked: `at_moment` tells. Until then a request that is sent
    again is the same request.

    Raises:
        Invalid: when it is none of them, or absurd.
    """
    spans = [told for mark, told in _SPANS.items() if mark in marks]
    hours = _hours(value.strip()) if spans else None
    if hours is None:
        return parse_time(field, value, whole_day=WHOLE_DAY in marks, other="".join(spans))
    if not 0 < hours <= LONGEST_DECAY_HOURS:
        raise Invalid(f"{field} {value!r} is outside 1h to 200y.", "Leave it empty for no bound.")
    return value.strip()


def at_moment(field: str, said: datetime | str, marks: Collection[str], now: datetime) -> datetime:
    """The time that a moment means when it is asked for now.

    Raises:
        Invalid: when it is a text that means none, a time without a time zone, or absurd.
    """
    read = parse_moment(field, said, marks) if isinstance(said, str) else said
    if isinstance(read, str):
        span = timedelta(hours=_hours(read) or 0)
        read = now - span if AGO in marks else now + span
    elif isinstance(read, datetime) and read.tzinfo is not None:
        read = _in_utc(field, read)
    check_time(field, read)
    return read


def parse_time(field: str, value: str, *, whole_day: bool = False, other: str = "") -> datetime:
    """Read an RFC 3339 time or a plain date: midnight UTC, or with `whole_day` the end of that day.

    `other` ends the hint: what could have been written besides.

    Raises:
        Invalid: when it is neither, or absurd.
    """
    try:
        time = datetime.fromisoformat(value.strip())
        if whole_day and len(value.strip()) <= len("2026-05-01"):
            time = end_of_day(time)
    except ValueError:
        hint = f"Write 2026-05-01 or 2026-05-01T12:00:00Z{other}."
        raise Invalid(f"{field} cannot be {value!r}.", hint) from None
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else _in_utc(field, time)
    check_time(field, time)
    return time


def _in_utc(field: str, time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise Invalid(f"{field} is {time}, outside 1970 to 2199.", "Leave it empty for no bound.") from None


@functools.lru_cache(maxsize=1024)
def print_time(time: datetime) -> str:
    """RFC 3339 in UTC with microseconds: fixed width, so that text order is time order."""
    return time.isoformat(timespec="microseconds")[:26] + "Z"
