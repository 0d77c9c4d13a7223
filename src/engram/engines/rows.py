"""Rows of a SQL engine back into records and events; once for every SQL engine."""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from engram.engines.where import Clause, held
from engram.errors import Corrupt
from engram.model.change import Change
from engram.model.codec import Record, RecordType, decode
from engram.model.event import Event, Payload
from engram.model.memory import Memory
from engram.model.query import Backlog, Page, Space
from engram.model.refs import ambiguous, print_handle, write_cursor

Row = tuple[Any, ...]

EVENTS = "SELECT seq, id, envelope, payload FROM event"
"""What `event_of` reads."""

MOST_COUNTED = 1_000_000
"""Beyond so many memories that lack a vector nobody counts on."""

DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading raises where somebody has changed what was kept."""

COMPARE = "Run `engram doctor`; restore a backup or an export."

RECENT, SHORT = 4096, 2048
"""How many records are kept as read, and up to which length of a document: some ten megabytes at most."""


def record_of(type: RecordType, row: Row) -> Record:
    """The record in a row that begins with its number and its document."""
    n, doc = row[:2]
    return _recent(type, n, doc) if len(doc) <= SHORT else _read(type, n, doc)


@functools.lru_cache(maxsize=RECENT)
def _recent(type: RecordType, n: int, doc: str) -> Record:
    """What was read before need not be read again: records never change, and the same document is the same one."""
    return _read(type, n, doc)


def _read(type: RecordType, n: int, doc: str) -> Record:
    handle = print_handle(type, n)
    try:
        return decode(type, _parsed(doc)).known_as(handle)
    except (*DAMAGE, Corrupt) as error:
        raise Corrupt(f"The document of {handle} is damaged.", COMPARE) from error


def _parsed(doc: str) -> Any:  # noqa: ANN401 - any JSON
    """A document as we write it: nothing stands around it, and to look for that would take as long again."""
    document, end = _scanner().raw_decode(doc)
    return document if end == len(doc) else json.loads(doc)


@functools.cache
def _scanner() -> json.JSONDecoder:
    return json.JSONDecoder()


def event_of(row: Row) -> Event:
    """The event in a row of its number, its id, its envelope and its payload.

    Raises:
        Corrupt: when it is damaged.
    """
    seq, id, envelope, payload = row
    try:
        values = json.loads(envelope)
        values["at"] = datetime.fromisoformat(values["at"]).replace(tzinfo=UTC)
        values["subjects"], values["reverses"] = tuple(values["subjects"]), tuple(values["reverses"])
        event = Event(id=id, seq=seq, **values, payload=Payload.parse(payload) if payload else None)
        _require_names(event)
    except DAMAGE as error:
        raise Corrupt(f"Event {seq} is damaged.", COMPARE) from error
    return event


def _require_names(event: Event) -> None:
    edits, note = (event.payload.edits, event.payload.note) if event.payload else ((), None)
    names = (*event.subjects, *(name for edit in edits for name in edit[:3]))
    if not all(isinstance(name, str) for name in names) or not isinstance(note, dict | None):
        raise TypeError("what names a record is text")


def place_term(p: int) -> str:
    """A place as a term of the word index; no text makes a term that begins with a colon."""
    return f":{p}"


def handles_of(change: Change, numbers: Mapping[str, int]) -> dict[str, str]:
    """The handles of the memories that a Change puts, by their ids."""
    memories = [record.id for record in change.puts if isinstance(record, Memory)]
    return {id: print_handle("memory", numbers[id]) for id in memories if id in numbers}


def page_of(type: RecordType, rows: Sequence[Row], limit: int) -> Page:
    """A page of rows (number, document, time, id), of which one more than the limit was asked for."""
    page = rows[:limit]
    more = len(rows) > limit and bool(page)
    return Page(tuple(record_of(type, row) for row in page), write_cursor(*page[-1][2:]) if more else None)


def the_one(ref: str, rows: Sequence[Row]) -> Row | None:
    """The row (number, document, id) whose id is this, or begins so; the first four were asked for, in order.

    Raises:
        Conflict: when there are several.
    """
    if len(rows) > 1 and rows[0][2] != ref:
        raise ambiguous(ref, [row[2] for row in rows])
    return rows[0] if rows else None


def backlog_of(spaces: Sequence[Row]) -> Backlog:
    """The backlog told by rows of model, length, prefix and count: the active space, then a coming one."""
    named = dict(zip(("active", "coming"), (Space(*row[:3]) for row in spaces), strict=False))
    counts = [row[3] for row in spaces] + [0, 0]
    return Backlog(**named, lacking=counts[0], remaining=counts[1])


def outdated(spaces: Sequence[int], wanted: int | None, lacked: Callable[[int], bool]) -> Sequence[int]:
    """Which of two spaces goes after vectors were kept, if one does.

    Once no memory lacks a vector in the coming one (`lacked` tells), the one before it; and where the active one is
    wanted again, what was coming.
    """
    if len(spaces) < 2:
        return ()
    if wanted == spaces[0]:
        return spaces[1:]
    return () if lacked(spaces[-1]) else spaces[:-1]


def tallied(rows: int, words: int | None, space: int | None, vectors: int) -> dict[str, int]:
    """How many memories each part of a store has, without the parts that are not there."""
    found = {"rows": rows, "full_text": words, "vectors": None if space is None else vectors}
    return {name: number for name, number in found.items() if number is not None}


def events_where(after: int, subject: str | None, batch: str | None, *, newest: bool, among: str = "") -> Clause:
    """The WHERE clause of a part of history; `among` is what also holds of its subjects."""
    clauses: list[tuple[str, str | int]] = [("seq < ?" if newest and after else "seq > ?", after)]
    if subject is not None:
        clauses.append((f"seq IN (SELECT seq FROM subject WHERE {among}id = ?)", subject))
    if batch is not None:
        clauses.append(("batch = ?", batch))
    return " AND ".join(sql for sql, _ in clauses), [held(value) for _, value in clauses]


def whole(halves: bytes) -> bytes:
    """A vector that was kept as float16, as an embedder gives it."""
    import struct  # noqa: PLC0415 - start-up

    count = len(halves) // 2
    return struct.pack(f"<{count}f", *struct.unpack(f"<{count}e", halves))
