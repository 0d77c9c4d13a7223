"""Values of other stores as values of ours: times in any of their forms, flags, names, numbers and lists."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engram.errors import Invalid
from engram.interop.forms import UNDATED
from engram.model.limits import EARLIEST, LATEST, LIMITS, check_time, cut, size
from engram.model.memory import clean_tags
from engram.model.scope import Scope

_FRACTION = re.compile(r"(\.\d{6})\d+")
TRUE = frozenset({"true", "t", "1", "yes"})


def time_of(value: Any, name: str = "time") -> datetime | None:  # noqa: ANN401 - as a store has it
    """A time: RFC 3339 with any number of decimals, `YYYY-MM-DD HH:MM:SS`, a date, or seconds since 1970.

    Raises:
        Invalid: when it is none of these.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            time = datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC)
        else:
            time = datetime.fromisoformat(_FRACTION.sub(r"\1", str(value).strip()))
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise Invalid(f"{name} cannot be {str(value)[:60]!r}.", "It is not a time.") from None
    check_time(name, time)
    return time


def moment(*values: Any) -> datetime:  # noqa: ANN401 - as a store has them
    """The first of these that is a time; what has none is undated."""
    for value in values:
        try:
            time = time_of(value)
        except Invalid:
            continue
        if time is not None and EARLIEST <= time < LATEST:
            return time
    return UNDATED


def second(time: datetime | None) -> str | None:
    """A time in RFC 3339, without decimals where it has none."""
    if time is None:
        return None
    return time.isoformat().replace("+00:00", "Z")


def text_of(value: Any) -> str:  # noqa: ANN401 - as above
    """A value as text; nothing is no text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def flag(value: Any) -> bool:  # noqa: ANN401 - as above
    """Whether a value says yes."""
    return value.strip().lower() in TRUE if isinstance(value, str) else bool(value)


def words_of(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    """A list of words: a list, JSON, `{a,b}` as PostgreSQL prints arrays, or words between commas or semicolons."""
    if isinstance(value, str):
        said = value.strip()
        if said.startswith("["):
            try:
                value = json.loads(said)
            except (ValueError, RecursionError):
                value = [said]
        else:
            inner = said[1:-1] if said.startswith("{") and said.endswith("}") else said
            value = [part.strip().strip('"') for part in re.split(r"[,;]", inner)]
    if not isinstance(value, list | tuple):
        return ()
    return clean_tags(text_of(each) for each in value)


def one_line(text: str, field: str) -> str:
    """A text as a field of one line may hold it: cut between characters at its limit."""
    line = " ".join(text.split())
    most = LIMITS[field]
    return line if size(line) <= most else cut(line, most - size("…")) + "…"


def project_of(name: str) -> Scope:
    """The scope of a project of this name; what a scope's name may not hold is written as in an address."""
    from urllib.parse import quote  # noqa: PLC0415 - start-up

    return Scope("project", one_line(re.sub("[%@]", lambda found: quote(found[0], safe=""), name), "key"))


def number(row: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A whole number of a row within its bounds; the default where it is none."""
    try:
        value = int(row.get(name) or default)
    except (TypeError, ValueError, OverflowError):
        return default
    return min(max(value, least), most)
