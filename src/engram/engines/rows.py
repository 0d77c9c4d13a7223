"""What a SQL engine kept, as records and events again; once for every SQL engine."""

import functools
import json
from datetime import UTC, datetime
from typing import Any

from engram.errors import Corrupt
from engram.model.codec import Record, RecordType, decode
from engram.model.event import Event, Payload
from engram.model.refs import print_handle

Row = tuple[Any, ...]

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
    except (ValueError, Corrupt) as error:
        raise Corrupt(
            f"The document of {handle} is damaged.", "Run `engram doctor`; restore a backup or an export."
        ) from error


def _parsed(doc: str) -> Any:  # noqa: ANN401 - any JSON
    """A document as we write it: nothing stands around it, and to look for that would take as long again."""
    document, end = _scanner().raw_decode(doc)
    return document if end == len(doc) else json.loads(doc)


@functools.cache
def _scanner() -> json.JSONDecoder:
    return json.JSONDecoder()


def event_of(row: Row) -> Event:
    """The event in a row of its number, its id, its envelope and its payload."""
    seq, id, envelope, payload = row
    values = json.loads(envelope)
    values["at"] = datetime.fromisoformat(values["at"]).replace(tzinfo=UTC)
    values["subjects"], values["reverses"] = tuple(values["subjects"]), tuple(values["reverses"])
    return Event(id=id, seq=seq, **values, payload=Payload.parse(payload) if payload else None)
