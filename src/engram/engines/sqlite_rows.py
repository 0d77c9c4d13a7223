"""Reading rows: what SQLite keeps, as records and events again."""

import json
from datetime import UTC, datetime
from typing import Any

import apsw

from engram.errors import Corrupt
from engram.model.codec import Record, RecordType, decode
from engram.model.event import Event, Payload
from engram.model.refs import print_handle

Row = tuple[Any, ...]

EVENTS = "SELECT seq, id, envelope, payload FROM event"


def fetch(db: apsw.Connection, sql: str, *values: str | int | None) -> list[Row]:
    """What a query answers. SQLite's values are typed by the schema, which a checker cannot read."""
    return db.execute(sql, values).fetchall()


def record_of(type: RecordType, row: Row) -> Record:
    """The record in a row that begins with its number and its document."""
    handle = print_handle(type, row[0])
    try:
        return decode(type, json.loads(row[1])).known_as(handle)
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
