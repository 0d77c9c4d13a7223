"""Answers as JSON values: one stable shape for every machine that reads us."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engram.model.event import Event
from engram.model.limits import print_time
from engram.model.memory import Memory, standing
from engram.model.record import Record
from engram.model.scope import Scope


def shape(value: Any, at: datetime, view: str) -> Any:  # noqa: ANN401, PLR0911 - any answer becomes any JSON; a line a type
    """The JSON form of an answer or a part of one; every field is always present.

    A memory also tells its handle, its standing at the moment of the answer for a caller on the branch `view`, and
    when it goes stale.
    """
    if isinstance(value, Memory):
        return _memory(value, at, view)
    if isinstance(value, Event):
        return _event(value, at, view)
    if isinstance(value, datetime):
        return print_time(value)
    if isinstance(value, Scope):
        return str(value)
    if hasattr(value, "_asdict"):
        return {name: shape(part, at, view) for name, part in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): shape(part, at, view) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [shape(part, at, view) for part in value]
    if isinstance(value, Record):
        return {name: shape(part, at, view) for name, part in value.__dict__.items()}
    return value


def _memory(memory: Memory, at: datetime, view: str) -> dict[str, Any]:
    said = {name: shape(memory.__dict__[name], at, view) for name in memory.FIELDS}
    stale_at = memory.stale_at
    return {
        "handle": said.pop("handle"),
        **said,
        "standing": standing(memory, at, view),
        "stale_at": None if stale_at is None else print_time(stale_at),
    }


def _event(event: Event, at: datetime, view: str) -> dict[str, Any]:
    said = {name: shape(part, at, view) for name, part in event._asdict().items() if name != "payload"}
    said["purged"] = event.payload is None
    said["edits"] = [edit._asdict() for edit in event.edits]
    said["note"] = dict(event.note)
    return said
