"""One memory as an item of memory.v1: the twelve keys in their order, then what they do not tell.

What the twelve keys tell is never said twice: a further field of ours stands only where the memory differs from
what its twelve keys imply. Keys of other programs are kept as they are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from engram.errors import EngramError, Invalid
from engram.model.codec import Document, decode, encode
from engram.model.event import BOOKKEEPING
from engram.model.hashing import sha256
from engram.model.limits import parse_decay, print_time, storable
from engram.model.memory import CURATED, Memory, Standing, standing
from engram.model.record import replace
from engram.model.refs import handle_number
from engram.model.scalars import (
    Fields,
    print_quoted,
    print_value,
    print_word,
    read_scalar,
    remark_of,
    split_fields,
)
from engram.model.scope import GLOBAL, Scope

TWELVE = (
    *("id", "fact", "kind", "source", "confidence", "learned_by", "learned_at", "last_verified"),
    *("decay", "status", "risk_tier", "dest"),
)
OURS = {"uid": "id", "state": "status"} | {
    name: name
    for name in Memory.FIELDS
    if name not in {"id", "status", "text", "kind", "source", "confidence", "learned_by", "decay", "tier", "handle"}
}
"""Further key → field of a memory."""

_TOLD_BY = {name: name for name in ("kind", "source", "confidence", "learned_by", "decay")} | {
    "text": "fact",
    "tier": "risk_tier",
    "created_at": "learned_at",
    "verified_at": "last_verified",
}
"""Field of a memory → the one of the twelve keys that tells it alone."""

NEVER = "never_stale"
LONGEST_DECAY = "200y"
"""How memory.v1 says a horizon that never comes; `never_stale` says that it was meant."""

LATER = ("project", "superseded_by", "superseded_at", "superseded_reason")
"""Keys of a later release of another program: understood where we can, and kept as they are."""

LOG_TITLE = "# Memory log\n\nNewest first. Auto-captured, low-risk facts.\n\n"
"""How memory-log.md begins, below its front matter."""

STATUS: Mapping[Standing, str] = {
    "live": "promoted",
    "pending": "pending",
    "staged": "pending",
    "scheduled": "pending",
    "stale": "stale",
    "expired": "stale",
    "rejected": "rejected",
    "forgotten": "rejected",
    "replaced": "rejected",
}
"""Standing → status: whether it counts, may yet count, needs a new look, or is out."""

AGES = ("pending", "promoted", "stale")
"""The statuses a promoted memory goes through by the mere passing of time."""

_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ]00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?)?")


class Style(NamedTuple):
    """How a file writes its list: the indent of the dashes, and whether an empty line parts the items."""

    indent: str = "  "
    gap: bool = True


class Item(NamedTuple):
    """An item as it was read: the memory that its keys tell of, and the word that stands there as its status.

    What that word means where the other keys say otherwise, a rule decides (see `ports.Hands`). `settled`
    says that writing the memory again would tell the same.
    """

    handle: str
    memory: Memory
    status: str
    others: tuple[str, ...] = ()
    named: bool = False  # it has a uid of its own
    settled: bool = True
    lacks: frozenset[str] = frozenset()  # those of the twelve keys that it does not have
    further: frozenset[str] = frozenset()  # the fields that further keys of ours tell


def status_of(memory: Memory, now: datetime) -> str:
    """Where a memory stands, in the words of memory.v1."""
    return STATUS[standing(memory, now)]


def record_of(memory: Memory, handle: str, now: datetime) -> dict[str, Any]:
    """A memory as the twelve keys, in their order."""
    dest = "memory.md" if memory.approved_by else "memory-log.md"  # what a person approved is curated
    return {
        "id": handle,
        "fact": memory.text,
        "kind": memory.kind,
        "source": memory.source,
        "confidence": memory.confidence,
        "learned_by": memory.learned_by,
        "learned_at": memory.created_at.date().isoformat(),
        "last_verified": memory.verified_at.date().isoformat() if memory.verified_at else None,
        "decay": LONGEST_DECAY if memory.decay == "none" else memory.decay,
        "status": status_of(memory, now),
        "risk_tier": memory.tier,
        "dest": dest if memory.status == "promoted" else None,
    }


# the queue


def reason_in(envelope: str | bytes) -> str | None:
    """Why an envelope of the queue says that its memory waits, in its own words; None where it is no JSON.

    Both forms are read: with the reason under `routing`, and beside the memory.
    """
    outer = _told_in(envelope)
    if outer is None:
        return None
    routing = outer.get("routing")
    reason = (routing if isinstance(routing, dict) else outer).get("reason")
    return reason if isinstance(reason, str) and storable(reason) else ""


def item_in(envelope: str | bytes, style: Style) -> str:
    """The memory that an envelope of the queue tells of, as an item to be read; "" where it tells of none.

    Both forms are read: the record itself, and with the record inside. What has no id, says nothing, or cannot be
    written down is no memory.
    """
    told = _told_in(envelope) or {}
    record = told.get("memory", told)
    if not isinstance(record, dict) or not all(isinstance(record.get(name), str) for name in ("id", "fact")):
        return ""
    pad = f"{style.indent}  "
    lines = [f"{pad}{name}: {print_value(record[name])}\n" for name in (*TWELVE, *LATER) if name in record]
    block = f"{style.indent}- {''.join(lines)[len(pad) :]}"
    return block if storable(block) else ""


def _told_in(envelope: str | bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(envelope)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else {}


# writing


def print_item(memory: Memory, handle: str, now: datetime, style: Style, others: tuple[str, ...] = ()) -> str:
    """The item as lines, each ended; `others` are comments and the keys that are not ours, as they stand there."""
    told, pad = record_of(memory, handle, now), f"{style.indent}  "
    if memory.replaced_by and any(line.startswith(f"{pad}superseded_by:") for line in others):
        told["status"] = "superseded"
    elif not memory.replaced_by:
        others = tuple(line for line in others if not line.startswith(f"{pad}superseded_"))
    keys = [line.removeprefix(pad) for line in others if line.startswith(pad)]
    lines = [f"{pad}{name}: {_print(name, value)}" for name, value in told.items()]
    lines += [f"{pad}{name}: {print_value(value)}" for name, value in _further(memory, told, keys).items()]
    return f"{style.indent}- " + "".join(f"{line}\n" for line in (*lines, *others))[len(pad) :]


def print_record(told: Mapping[str, Any], style: Style) -> str:
    """A record alone as an item: its keys in their order, and nothing of ours beside."""
    pad = f"{style.indent}  "
    return f"{style.indent}- " + "".join(f"{pad}{name}: {_print(name, told[name])}\n" for name in told)[len(pad) :]


def read_record(block: str, style: Style) -> dict[str, Any]:
    """What an item says, key by key, as text or null; for whoever needs it as it stands.

    Raises:
        Invalid: when a line belongs to no key.
    """
    return {name: read_scalar(raw) for name, raw in split_fields(_lines_of(block), len(style.indent) + 2) if name}


def _print(name: str, value: Any) -> str:  # noqa: ANN401 - one of the twelve
    if value is None:
        return "null"
    if name == "fact":
        return print_quoted(value)
    if name == "confidence":
        return f"{value:.2f}".removesuffix("0")
    if name in ("source", "kind", *LATER):
        return print_word(str(value))
    return str(value)


def _further(memory: Memory, told: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """What the twelve keys do not tell of a memory; null where they tell too much. `keys` are not ours."""
    fields: Fields = [(name, [line]) for line in keys for name, _, line in [line.partition(": ")]]
    kept, implied = encode(memory), encode(_implied({**told}, _later(fields)))
    fields_of = {name: field for name, field in OURS.items() if kept.get(field) != implied.get(field)}
    further = {name: kept.get(field) for name, field in fields_of.items()}
    if memory.decay == "none":
        further[NEVER] = True
    if "state" in further:
        further["state"] = memory.status
    further["updated_at"] = kept["updated_at"]
    if memory.updated_at == _last_moment(memory):
        del further["updated_at"]
    return further


# reading


def read_item(block: str, style: Style, now: datetime) -> Item:
    """The item of a block of lines that begins with its dash, as it stands there.

    `now` dates what does not say when it was learned; nothing else depends on it.

    Raises:
        Invalid: naming the key and what is wrong with it.
    """
    width = len(style.indent) + 2
    fields = split_fields(_lines_of(block), width)
    ours = {*TWELVE, *OURS, NEVER}
    values: dict[str, Any] = {}
    for name, raw in fields:
        if name in values:
            keep = "Where a merge left both: engram doctor --fix keeps both."
            raise Invalid(f"{name} appears twice.", keep, field=name)
        if name in ours:
            values[name] = _value(name, raw)
    pad = " " * width
    others = [line for name, raw in fields if name not in ours for line in _kept(name, raw, pad)]
    others += [f"{pad}{remark}" for name, raw in fields if name in ours and (remark := remark_of(raw))]
    return _item(values, tuple(others), _later(fields), now)


def halves(block: str, style: Style) -> tuple[str, str] | None:
    """The two items that a merge made one of, whose keys stand twice; None where it is no such item.

    Each has the keys that stand once, and of the others the first or the second.
    """
    pad = f"{style.indent}  "
    try:
        fields = split_fields(_lines_of(block), len(pad))
    except Invalid:
        return None
    counts = Counter(name for name, _ in fields if name)
    if not counts or max(counts.values()) != 2:
        return None
    pair = []
    for side in (0, 1):
        seen: Counter[str] = Counter()
        lines: list[str] = []
        for name, raw in fields:
            if name and (counts[name] == 1 or seen[name] == side):
                lines += [f"{pad}{name}: {raw[0]}".rstrip(), *raw[1:]]
            seen[name] += 1
        pair.append(f"{style.indent}- " + "".join(f"{line}\n" for line in lines)[len(pad) :])
    return pair[0], pair[1]


def _lines_of(block: str) -> list[str]:
    """The lines of an item, without its dash."""
    lines = block.rstrip("\n").split("\n")
    return [lines[0].replace("-", " ", 1), *lines[1:]]


def _value(name: str, raw: list[str]) -> Any:  # noqa: ANN401 - as it stands there
    try:
        value = read_scalar(raw)
    except Invalid as error:
        raise Invalid(f"{name} cannot be read: {error.message}", error.hint, field=name) from None
    if isinstance(value, str) and not storable(value):
        raise Invalid(f"{name} cannot be {value!r}.", "Write it without what is no character.", field=name)
    return value


def _kept(name: str, raw: list[str], pad: str) -> list[str]:
    """The lines of a comment or of a key that is not ours, as they stand in the file."""
    if not name:
        return [line for line in raw if line.strip()]
    return [f"{pad}{name}: {raw[0]}".rstrip(), *raw[1:]]


def _later(fields: Fields) -> dict[str, Any]:
    later = {name: _value(name, raw) for name, raw in fields if name in LATER}
    for name in ("project", "superseded_by"):
        if not isinstance(value := later.get(name), str | None):
            raise Invalid(f"{name} cannot be {value!r}.", "Write a text, or leave it out.", field=name)
    return later


def _item(values: Mapping[str, Any], others: tuple[str, ...], later: Mapping[str, Any], now: datetime) -> Item:
    told = _checked({"learned_at": now.date().isoformat(), **values})
    try:
        implied = encode(_implied(told, later))
    except Invalid as error:
        raise Invalid(error.message, error.hint, field=_key_of(error.field, values)) from None
    document = dict(implied)
    for name, field in OURS.items():
        if name in values and (name not in ("state", *BOOKKEEPING) or values[name] is not None):
            document[field] = _typed(field, values[name])
            if document[field] is None:
                del document[field]
    if values.get(NEVER) == "true" and told["decay"] == LONGEST_DECAY:
        document["decay"] = "none"
    _let_dates_speak(document, told)
    memory = _decoded(document, implied, values)
    if not values.get("updated_at"):
        memory = replace(memory, updated_at=_last_moment(memory))
    settled = bool(told["id"]) and {*TWELVE} <= values.keys()
    lacks = frozenset(name for name in TWELVE if values.get(name) is None)
    further = frozenset(OURS[name] for name in values if name in OURS)
    return Item(
        str(told["id"] or ""), memory, str(told["status"]), others, "uid" in values, settled, lacks, further
    )


def _decoded(document: Document, implied: Document, values: Mapping[str, Any]) -> Memory:
    """The memory of a document; `implied` is what it would be without our further keys.

    Raises:
        Invalid: naming the key that stands in the way.
    """
    try:
        memory = decode("memory", document)
    except EngramError as error:
        if isinstance(why := error.__cause__, EngramError):
            wrong = why.field if isinstance(why, Invalid) else ""
            raise Invalid(why.message, why.hint, field=_key_of(wrong, values)) from None
        for name, field in OURS.items():  # a value of a wrong kind says so in no words of ours
            if name in values and field in document and not _fits(implied | {field: document[field]}):
                may = "See what it may be in docs/format.md."
                raise Invalid(f"{name} cannot be {values[name]!r}.", may, field=name) from None
        raise Invalid("the item is not a memory.", "See docs/format.md.") from None
    assert isinstance(memory, Memory)
    return memory


def _key_of(field: str, values: Mapping[str, Any]) -> str:
    """The key that tells of a field, of those that an item has; "" where none does."""
    keys = [*(name for name, told in OURS.items() if told == field), _TOLD_BY.get(field, "")]
    return next((name for name in keys if name in values), "")


def _fits(document: Document) -> bool:
    try:
        decode("memory", document)
    except EngramError:
        return False
    return True


def _typed(field: str, value: Any) -> Any:  # noqa: ANN401 - as JSON has it
    """A further field as its document has it: YAML's words for numbers and truth were read as text."""
    if field in ("importance", "seen", "revision") and isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() else value
    if field in ("apart", "pinned"):
        return {"true": True, "false": False}.get(value, value)
    if field == "tags" and isinstance(value, str):
        return [value]
    wanted = _SHAPES.get(field)
    if wanted and value is not None and not isinstance(value, wanted):
        raise Invalid(f"{field} cannot be {value!r}.", "See docs/format.md.", field=field)
    return value


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The twelve keys with what a missing one means, each of its type.

    Raises:
        Invalid: for the first that is not.
    """
    told = _DEFAULTS | {name: values[name] for name in TWELVE if name in values}
    for name, value in told.items():
        try:
            told[name] = _READERS[name](value)
        except (TypeError, ValueError):
            raise Invalid(f"{name} cannot be {value!r}.", _FORMS.get(name, ""), field=name) from None
    if told["id"] and handle_number("memory", told["id"]) is None:
        number = "Write mem- and a number, or leave it out for a new one."
        raise Invalid(f"id cannot be {told['id']!r}.", number, field="id")
    try:
        parse_decay(told["decay"])
    except Invalid as error:
        raise Invalid(error.message, error.hint, field="decay") from None
    if told["status"] not in (*AGES, "rejected", "superseded"):
        words = "Use pending, promoted, rejected or stale."
        raise Invalid(f"status cannot be {told['status']!r}.", words, field="status")
    return told


def _implied(told: Mapping[str, Any], later: Mapping[str, Any]) -> Memory:
    """The memory that the twelve keys tell of, when nothing else is said.

    These are the defaults of the form, and no decision: `_further` leaves out what is as they say, and reading
    puts it back.
    """
    status: Any = "promoted" if told["status"] in ("stale", "superseded") else told["status"]
    made, verified = _midnight(told["learned_at"]), _midnight(told["last_verified"])
    assert made
    project = later.get("project")
    return Memory(
        id=_implied_id(told),
        text=told["fact"],
        kind=told["kind"],
        source=told["source"],
        confidence=told["confidence"],
        learned_by=told["learned_by"],
        origin="said" if told["learned_by"] == "manual" else "inferred",
        owner="",
        status=status,
        tier=told["risk_tier"],
        held_for="curated_kind" if status == "pending" and told["risk_tier"] == CURATED else "",
        approved_by="manual" if status == "promoted" and told["dest"] == "memory.md" else "",
        decay=told["decay"],
        created_at=made,
        verified_at=verified,
        updated_at=made,
        scope=Scope("project", project) if project else GLOBAL,
        replaced_by=later.get("superseded_by") or "" if told["status"] == "superseded" else "",
    )


def _implied_id(told: Mapping[str, Any]) -> str:
    """An id for an item that has none of ours: the same wherever the same text is read first."""
    said = sha256(f"memory.v1 {told['id']} {told['learned_at']} {told['fact']}".encode()).hexdigest()
    return f"{said[:8]}-{said[8:12]}-8{said[13:16]}-a{said[17:20]}-{said[20:32]}"


def is_stripped(item: Item, memory: Memory, now: datetime) -> bool:
    """Whether a program that drops keys of others has written an item of this memory: our own would name it."""
    return not item.named and memory.id != _implied_id(record_of(memory, item.handle, now))


def _let_dates_speak(document: Document, told: Mapping[str, Any]) -> None:
    """Where a person changed a date, the moment beside it that we keep gives way."""
    for date, field in (("learned_at", "created_at"), ("last_verified", "verified_at")):
        kept = document.get(field)
        if (kept or "")[:10] != (told[date] or ""):
            moment = _midnight(told[date])
            document.pop(field, None)
            if moment:
                document[field] = print_time(moment)


def _last_moment(memory: Memory) -> datetime:
    """When a memory was updated last, where nothing says otherwise."""
    moments = (memory.created_at, memory.verified_at, memory.reworded_at)
    return max(moment for moment in moments if moment)


def _midnight(date: str | None) -> datetime | None:
    return datetime.fromisoformat(date).replace(tzinfo=UTC) if date else None


def _date(value: Any) -> str:  # noqa: ANN401 - whatever stands there
    found = _DATE.fullmatch(value)
    if not found:
        raise ValueError
    datetime.fromisoformat(found[1])
    return str(found[1])


def _text(value: Any) -> str:  # noqa: ANN401 - as above
    if not isinstance(value, str):
        raise TypeError
    return value


def _fact(value: Any) -> str:  # noqa: ANN401 - as above
    """What is said, with a plain end of line for the one that no memory may hold."""
    said = _text(value).replace("\x85", "\n")
    if not said.strip():
        raise ValueError
    return said


_DEFAULTS: dict[str, Any] = {
    "id": None,
    "fact": None,
    "kind": "preference",
    "source": "manual",
    "confidence": "0.5",
    "learned_by": "manual",
    "learned_at": None,
    "last_verified": None,
    "decay": "180d",
    "status": "pending",
    "risk_tier": "1",
    "dest": None,
}
_SHAPES: Mapping[str, type] = {"tags": list, "citations": list, "assets": list, "context": dict}
"""Fields that are no single value."""

_FORMS = {
    "fact": "Write what is to be remembered.",
    "learned_at": "Write a date without a time, such as 2026-01-15.",
    "last_verified": "Write a date without a time, such as 2026-01-15, or null.",
    "confidence": "Write a number between 0 and 1.",
    "risk_tier": "Write 1, 2 or 3.",
}
_READERS: dict[str, Any] = {
    "id": lambda value: None if value is None else _text(value),
    "fact": _fact,
    "kind": _text,
    "source": _text,
    "confidence": float,
    "learned_by": _text,
    "learned_at": _date,
    "last_verified": lambda value: None if value is None else _date(value),
    "decay": _text,
    "status": _text,
    "risk_tier": int,
    "dest": lambda value: value,
}
