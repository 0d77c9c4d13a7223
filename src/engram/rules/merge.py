"""Joining what several replicas did: per field the last writer wins, and erasure beats everything.

The result is the same in any order and however often a part arrives (law 9).
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from engram.model.event import Edit, Event
from engram.model.record import NONE

COUNTER = "seen"

STATES = "states"
"""The note of an event that tells records whole: what was known of each, with the stamps it had."""

AGAINST = "conflicts"
"""The note of an event that lets memories wait: which others they contradict."""


class Stamp(NamedTuple):
    """When and where a value was written: what last means. Ties on time go to the greater replica, then event."""

    time: str
    replica: str
    event: str


class State(NamedTuple):
    """What is known of one record: every field with its stamp, what each replica counted, and whether erased."""

    fields: Mapping[str, tuple[Stamp, Any]] = NONE
    counts: Mapping[str, int] = NONE  # time and replica → how many times it saw the memory then
    erased: bool = False
    type: str = ""

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
    # Two stores that write under one name may count at the same moment: then the greater count stands.
    both = {key: max(count, other.counts[key]) for key, count in one.counts.items() if key in other.counts}
    return State(fields, {**one.counts, **other.counts, **both}, type=max(one.type, other.type))


def told_whole(state: State) -> dict[str, Any]:
    """A state as JSON, for an event that tells a record to whoever knows nothing of it."""
    fields = {name: [*stamp, value] for name, (stamp, value) in state.fields.items()}
    return {"type": state.type, "fields": fields, "counts": dict(state.counts)}


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
    by_record: dict[str, dict[str, Edit]] = {}
    for edit in event.edits:
        by_record.setdefault(edit.id, {})[edit.field] = edit
    for id, mine in by_record.items():
        fields = {name: (stamp, edit.new) for name, edit in mine.items() if name != COUNTER}
        type = next(iter(mine.values())).type
        said[id] = State(fields, {f"{event.time}/{event.replica}": _grown(mine)}, type=type)
    for id, told in event.note.get(STATES, {}).items():
        said[id] = merge(said.get(id, State()), _retold(told, stamp))
    return said


def _retold(told: Mapping[str, Any], latest: Stamp) -> State:
    """A state that was told whole; nobody can have known of anything later than the telling."""
    fields = {
        name: (min(Stamp(*map(str, stamp)), latest), value) for name, (*stamp, value) in told["fields"].items()
    }
    return State(fields, {str(key): int(count) for key, count in told["counts"].items()}, type=str(told["type"]))


def _grown(edits: Mapping[str, Edit]) -> int:
    """By how much an event made the count of a record grow: a making begins it, a removal takes it all."""
    old, new = (getattr(edits.get(COUNTER), side, None) or 1 for side in ("old", "new"))
    whole = edits.get("id")
    if whole is not None:
        return new if whole.old is None else -old
    return new - old if COUNTER in edits else 0
