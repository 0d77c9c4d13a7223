"""Records to documents and back, and the columns an engine may filter them by."""

import functools
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from engram.errors import Corrupt, EngramError
from engram.model import text as words
from engram.model.apikey import ApiKey
from engram.model.limits import print_time
from engram.model.memory import Asset, Citation, Context, Memory
from engram.model.outline import outline
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session

RecordType = Literal["memory", "session", "relation", "apikey"]
Record = Memory | Session | Relation | ApiKey
Traveller = Memory | Session | Relation
Document = dict[str, Any]

RECORDS: Mapping[RecordType, type[Record]] = {
    "memory": Memory,
    "session": Session,
    "relation": Relation,
    "apikey": ApiKey,
}
TRAVELLERS: tuple[Literal["memory", "session", "relation"], ...] = ("memory", "session", "relation")
"""What may leave a store, or come into it from elsewhere: the keys of a server never do."""

_NAMES: Mapping[type[Record], RecordType] = {made: name for name, made in RECORDS.items()}


def type_of(record: Record) -> RecordType:
    """The name under which engines keep this record."""
    return _NAMES[type(record)]


def encode(record: Record) -> Document:
    """The record as JSON values; fields at their default are left out, so documents stay small."""
    document: Document = {}
    values = record.__dict__
    for name, default, write, _ in _forms(type_of(record)):
        value = values[name]
        if value != default:
            document[name] = write(value) if write else value
    return document


def decode(type: RecordType, document: Mapping[str, Any]) -> Record:
    """The record a document stands for; `decode(t, encode(r)) == r`.

    Raises:
        Corrupt: when the document is no such record, or has a field this version does not know.
    """
    values: dict[str, Any] = {}
    known = _reading(type)
    try:
        for name, value in document.items():
            read = known[name]
            values[name] = read(value) if read and value is not None else value
        return RECORDS[type].of(values)
    except (KeyError, TypeError, ValueError, AttributeError, EngramError) as error:
        why = f"nobody knows its field {error}" if isinstance(error, KeyError) else str(error).removesuffix(".")
        raise Corrupt(
            f"A {type} cannot be read: {why}.",
            "It may come from a newer Engram: upgrade, or run `engram doctor`.",
        ) from error


def index(record: Record) -> dict[str, str | int | None]:
    """Column → value: all that engines may filter and order by. Empty text is "", absent is None."""
    if isinstance(record, Memory):
        return _memory_columns(record)
    if isinstance(record, Session):
        scope, created = record.scope, record.started_at
    else:
        scope, created = GLOBAL, record.created_at
    return {
        "owner": record.owner,
        "visibility": "private",
        "workspace": scope.workspace,
        "scope": str(scope),
        "place": scope.place,
        "created_at": print_time(created),
    }


def searchable(memory: Memory) -> tuple[str, str, str, str]:
    """The text columns of the word index, as terms joined by spaces: key and kind, summary, tags, text."""
    return (
        " ".join(words.terms(f"{memory.key} {memory.kind}")),
        " ".join(words.terms(memory.summary)),
        " ".join(words.terms("\n".join(memory.tags))),
        " ".join(words.terms(memory.text)),
    )


def strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def _memory_columns(memory: Memory) -> dict[str, str | int | None]:
    scope = memory.scope
    return {
        "owner": memory.owner,
        "visibility": memory.visibility,
        "workspace": scope.workspace,
        "scope": str(scope),
        "place": scope.place,
        "created_at": print_time(memory.created_at),
        "updated_at": print_time(memory.updated_at),
        "key": memory.key,
        "digest": memory.digest,
        "imprint": memory.imprint,
        "outline": outline(memory.text),
        "kind": memory.kind,
        "tags": "\n".join(("", *memory.tags, "")),
        "session": memory.session,
        "amends": memory.amends,
        "origin": memory.origin,
        "pinned": int(memory.pinned),
        "importance": memory.importance,
        "status": memory.status,
        "held_for": memory.held_for,
        "branch": memory.branch,
        "replaced_by": memory.replaced_by,
        "forgotten_at": _print(memory.forgotten_at),
        "valid_from": _print(memory.valid_from),
        "valid_until": _print(memory.valid_until),
        "stale_at": _print(memory.stale_at),
    }


def _print(time: datetime | None) -> str | None:
    return None if time is None else print_time(time)


def _time(value: str) -> datetime:
    time = datetime.fromisoformat(value)
    if time.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return time if time.tzinfo is UTC else time.astimezone(UTC)


def _tuple(value: Any) -> tuple[Any, ...]:  # noqa: ANN401 - the texts of a list
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list")
    return tuple(value)


def _parts(value: Any) -> Document:  # noqa: ANN401 - a citation, an asset or a context
    return {name: got for name, got in value.__dict__.items() if got}


_Write = Callable[[Any], Any]
_TIMES = (
    *("valid_from", "valid_until", "forgotten_at", "created_at", "updated_at", "verified_at", "reworded_at"),
    *("started_at", "ended_at", "expires_at", "revoked_at"),
)
_CONVERTERS: dict[str, tuple[_Write, _Write]] = {
    "scope": (str, Scope.parse),
    "tags": (list, _tuple),
    "can": (list, _tuple),
    "citations": (
        lambda many: [_parts(one) for one in many],
        lambda many: tuple(Citation(**one) for one in many),
    ),
    "assets": (lambda many: [_parts(one) for one in many], lambda many: tuple(Asset(**one) for one in many)),
    "context": (_parts, lambda one: Context(**one)),
    **dict.fromkeys(_TIMES, (print_time, _time)),
}

_Form = tuple[str, Any, _Write | None, _Write | None]
_NO_DEFAULT = object()


@functools.cache
def _forms(type: RecordType) -> tuple[_Form, ...]:
    """Per field: its name, its default, and how it is written and read."""
    record = RECORDS[type]
    return tuple(
        (name, record.DEFAULTS.get(name, _NO_DEFAULT), *_CONVERTERS.get(name, (None, None)))
        for name in record.FIELDS
        if name != "handle"
    )


@functools.cache
def _reading(type: RecordType) -> dict[str, _Write | None]:
    return {name: read for name, _, _, read in _forms(type)}
