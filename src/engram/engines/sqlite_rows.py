"""Reading rows: what SQLite keeps, as records and events again."""

import functools
import json
from datetime import UTC, datetime
from typing import Any

import apsw

from engram.errors import Corrupt
from engram.model.codec import Record, RecordType, decode
from engram.model.event import Event, Payload
from engram.model.refs import print_handle

Row = tuple[Any, ...]

RECENT, SHORT = 4096, 2048
"""How many records are kept as read, and up to which length of a document: some ten megabytes at most."""

EVENTS = "SELECT seq, id, envelope, payload FROM event"


def fetch(db: apsw.Connection, sql: str, *values: str | int | None) -> list[Row]:
    """What a query answers. SQLite's values are typed by the schema, which a checker cannot read."""
    return db.execute(sql, values).fetchall()


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
        return decode(type, json.loads(doc)).known_as(handle)
    except (ValueError, Corrupt) as error:
        raise Corrupt(
            f"The document of {handle} is damaged.", "Run `engram doctor`; restore a backup or an export."
        ) from error


def event_of(row: Row) -> Event:
    """The event in a row of `EVENTS`."""
    seq, id, envelope, payload = row
    values = json.loads(envelope)
    values["at"] = datetime.fromisoformat(values["at"]).replace(tzinfo=UTC)
    values["subjects"], values["reverses"] = tuple(values["subjects"]), tuple(values["reverses"])
    return Event(id=id, seq=seq, **values, payload=Payload.parse(payload) if payload else None)


def meta(db: apsw.Connection, name: str) -> Any:  # noqa: ANN401 - whatever SQLite kept
    """A fact about the store itself, or None."""
    found = fetch(db, "SELECT value FROM meta WHERE name = ?", name)
    return found[0][0] if found else None


def set_meta(db: apsw.Connection, name: str, value: str | int) -> None:
    """Keep a fact about the store itself."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
