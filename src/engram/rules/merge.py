"""Joining what several replicas did: per field the last writer wins, and erasure beats everything.

The result is the same in any order and however often a part arrives (law 9).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from engram.model.event import Edit, Event

COUNTER = "seen"

NONE: Mapping[str, Any] = MappingProxyType({})


class Stamp(NamedTuple):
    """When and where a value was written: what last means. Ties on time go to the greater replica, then event."""

    time: str
    replica: str
    event: str


class State(NamedTuple):
    """What is known of one record: every field with its stamp, what each replica counted, and whether erased."""

    fields: Mapping[str, tuple[Stamp, Any]] = NONE
    counts: Mapping[str, int] = NONE  # event → how many times it saw the memory
    erased: bool = False

    def values(self) -> dict[str, Any]:
        """The fields as they stand."""
        values = {name: value for name, (_, value) in self.fields.items() if value is not None}
        if self.erased or ("id" in self.fields and "id" not in values):
            return {}
        count = sum(self.counts.values())
        return {**values, COUNTER: count} if count else values


def merge(one: State, other: State) -> State:
    """What both know together: commutative, associative and idempotent."""
    if one.erased or other.erased:
        return State(erased=True)
    fields = dict(one.fields)
    for name, (stamp, value) in other.fields.items():
        if name not in fields or fields[name][0] < stamp:
            fields[name] = (stamp, value)
    return State(fields, {**one.counts, **other.counts})


def states(events: Iterable[Event]) -> dict[str, State]:
    """What a set of events says about each record, whatever their order."""
    known: dict[str, State] = {}
    for event in events:
        for id, state in _said(event).items():
            known[id] = merge(known.get(id, State()), state)
    return known


def _said(event: Event) -> dict[str, State]:
    if event.action == "purge":
        return {id: State(erased=True) for id in event.subjects}
    stamp = Stamp(event.time, event.replica, event.id)
    said: dict[str, State] = {}
    edits = event.payload.edits if event.payload else ()
    for id in dict.fromkeys(edit.id for edit in edits):
        mine = {edit.field: edit for edit in edits if edit.id == id}
        fields = {name: (stamp, edit.new) for name, edit in mine.items() if name != COUNTER}
        said[id] = State(fields, {event.id: _grown(mine)})
    return said


def _grown(edits: Mapping[str, Edit]) -> int:
    """By how much an event made the count of a record grow: a making begins it, a removal takes it all."""
    old, new = (getattr(edits.get(COUNTER), side, None) or 1 for side in ("old", "new"))
    whole = edits.get("id")
    if whole is not None:
        return new if whole.old is None else -old
    return new - old if COUNTER in edits else 0
