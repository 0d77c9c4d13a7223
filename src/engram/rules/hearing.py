"""Whose word counts between stores: what an event has to wait for, and each event in this store's own words.

What a stranger makes is held for review, and belongs to whoever takes it in; what a stranger decides waits until a
person has accepted its replica.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from engram.model.event import Edit, Event
from engram.model.limits import print_time
from engram.model.memory import UNVOUCHED
from engram.rules.merge import STATES, states
from engram.rules.redact import redact
from engram.rules.saying import told_by

AHEAD = timedelta(days=1)
"""How far the time of an event may lie ahead of our clock before it has to wait."""

GUARDED = frozenset(
    {"status", "held_for", "approved_by", "owner", "visibility", "scope", "replaced_by", "verified_at", "tier"}
)
"""The fields that only a replica that was accepted may change: a stranger's word about them waits."""

UNHEARD = frozenset({"status", "held_for", "approved_by", "forgotten_by"})
"""Fields that are ignored in what an unaccepted replica made: they say who decided."""


class Trust(NamedTuple):
    """Whose word counts: that of every replica, unless it is a stranger."""

    strangers: Mapping[str, int] = {}  # by replica: the last position that still counts, 0 where nothing does
    owner: str = ""  # to whom what a stranger says belongs
    names: Mapping[str, Mapping[str, str]] = {}  # by replica: what it calls a project → what this store calls it
    bound: Mapping[str, str] = {}  # by replica: the only owner it speaks for, where a server vouches for that
    owners: Mapping[str, Mapping[str, str]] = {}  # by replica: what it calls an owner → what this store does
    vouched: Collection[str] = ()  # servers that were accepted, and whom they let in

    def counts(self, event: Event) -> bool:
        """Whether an event is to be taken at its word."""
        return event.position <= self.strangers.get(event.replica, event.position)


def unready(event: Event, now: datetime) -> str:
    """Why an event has to wait whatever else is known; "" when it need not."""
    if event.action != "purge" and not set(told_of(event)) <= set(event.subjects):
        return "it tells of more than it says it does"
    if is_ahead(event, now):
        return f"it is dated {event.time[:10]}, which has not come yet"
    return ""


def secrets(event: Event) -> str:
    """Why an event has to wait for what it says: it holds what must not be kept; "" when it does not.

    Whoever makes an event takes that out first. One that was made before its form was known, or by a program that
    does not care, is not taken in: its words could not be changed here without breaking its seal.
    """
    kinds = dict.fromkeys(kind for _, said in told_by(event) for kind in redact(said.text, given=said.given).kinds)
    return f"it holds a secret ({', '.join(kinds)}), to be scrubbed where it comes from" if kinds else ""


def is_ahead(event: Event, now: datetime) -> bool:
    """Whether the time of an event lies so far ahead of a clock that one of the two must be wrong."""
    return event.time[:27] > print_time(now + AHEAD)


def distrusted(event: Event, known: Mapping[str, Sequence[Event]], trust: Trust) -> str:
    """Why a stranger's event has to wait for a person to accept its replica; "" when it need not."""
    if trust.counts(event):
        return ""
    if event.action == "purge":
        return "it erases, and its replica is not accepted here"
    told = event.note.get(STATES, {})
    touched: dict[str, set[str]] = {id: {"id"} for id in told}
    for edit in event.edits:
        touched.setdefault(edit.id, set()).add(edit.field)
        if edit.type == "relation" or (edit.field == "id" and edit.new is None):
            return "it judges or removes, and its replica is not accepted here"
    for id, fields in touched.items():
        others = [each for each in known.get(id, ()) if each.replica != event.replica]
        if others or ("id" not in fields and fields & GUARDED):
            return "it changes what others made, or decides, and its replica is not accepted here"
    return ""


def heard(event: Event, trust: Trust) -> Event:
    """An event in this store's words, as far as it counts.

    What a stranger makes is held for review, and belongs to who takes it in. Nobody's words are younger than what
    tells of them: they would never be old.
    """
    event = _dated(_in_our_words(event, trust))
    if trust.counts(event) or event.payload is None:
        return event
    said = {edit.id for edit in event.edits if edit.type == "memory" and edit.field == "id"}
    edits = [each for each in event.edits if each.field not in UNHEARD]
    edits = [each._replace(new=trust.owner) if each.field == "owner" else each for each in edits]
    for id in sorted(said):
        edits += [Edit("memory", id, "held_for", None, UNVOUCHED)]
    note = dict(event.note)
    if STATES in note:
        note[STATES] = {id: _held(told, trust) for id, told in note[STATES].items()}
    return event._replace(payload=event.payload._replace(edits=tuple(edits), note=note))


def _dated(event: Event) -> Event:
    """The event with no words that are worded later than it tells of them."""
    whole = event.note.get(STATES, {})
    if event.payload is None or not (whole or any(each.field == "reworded_at" for each in event.edits)):
        return event
    edits = tuple(
        each._replace(new=_by_then(each.new, event.time)) if each.field == "reworded_at" else each
        for each in event.edits
    )
    note = dict(event.note)
    if whole:
        note[STATES] = {id: _told_by_then(told, event.time) for id, told in whole.items()}
    return event._replace(payload=event.payload._replace(edits=edits, note=note))


def _told_by_then(told: Mapping[str, Any], time: str) -> Mapping[str, Any]:
    """A record told whole, worded no later than its stamp says, nor than the telling: a stamp may say anything."""
    if not (worded := told["fields"].get("reworded_at")):
        return told
    *stamp, moment = worded
    return {**told, "fields": {**told["fields"], "reworded_at": [*stamp, _by_then(moment, min(stamp[0], time))]}}


def _by_then(moment: Any, time: str) -> Any:  # noqa: ANN401 - any JSON value
    """A moment, or where that is later than the time of an event, the moment of that."""
    return min(moment, time[:27]) if isinstance(moment, str) else moment


def out_of_turn(id: str, events: Sequence[Event], trust: Trust) -> frozenset[str]:
    """The ids of a record's events that do not count, because an accepted server says whose the record is.

    Until the server was accepted, its records looked like one's own and could be changed here. The server lets only
    the owner change them, so what others said counts no more; only joins and erasures still do.
    """
    told = [event for event in events if event.replica in trust.vouched and event.payload is not None]
    if len(told) == len(events) or not told:
        return frozenset()
    state = states(heard(event, trust) for event in told).get(id)
    owner = state.values().get("owner") if state else None
    if owner is None or owner == trust.owner:
        return frozenset()
    kept = ("join", "purge")
    return frozenset(e.id for e in events if e.replica not in trust.vouched and e.action not in kept)


def _in_our_words(event: Event, trust: Trust) -> Event:
    """The event with the names that this store has for projects and owners that its replica calls otherwise."""
    by = event.replica
    if event.payload is None or not (by in trust.names or by in trust.bound or by in trust.owners):
        return event

    def ours(field: str, told: object) -> object:
        if field == "scope":
            return _renamed(told, trust.names.get(by, {}))
        if field == "owner" and told is not None:
            return trust.bound.get(by, trust.owners.get(by, {}).get(str(told), told))
        return told

    edits = tuple(each._replace(new=ours(each.field, each.new)) for each in event.edits)
    note = dict(event.note)
    if STATES in note:
        note[STATES] = {id: _retold(told, ours) for id, told in note[STATES].items()}
    return event._replace(payload=event.payload._replace(edits=edits, note=note))


def _retold(told: Mapping[str, Any], ours: Callable[[str, object], object]) -> dict[str, Any]:
    fields = {name: [*value[:3], ours(name, value[-1])] for name, value in told["fields"].items()}
    return {**told, "fields": fields}


def _renamed(told: object, names: Mapping[str, str]) -> object:
    """A scope as this store calls it; its run stays."""
    if not isinstance(told, str) or (name := told.partition("@")[0]) not in names:
        return told
    return names[name] + told[len(name) :]


def _held(told: Mapping[str, Any], trust: Trust) -> dict[str, Any]:
    if told.get("type") != "memory":
        return dict(told)
    fields = {n: v for n, v in told["fields"].items() if n not in UNHEARD}
    fields["held_for"] = [*told["fields"]["id"][:3], UNVOUCHED]
    fields["owner"] = [*told["fields"]["id"][:3], trust.owner]
    return {**told, "fields": fields}


def told_of(event: Event) -> list[str]:
    """The records that an event tells of, by an edit or whole."""
    return list(dict.fromkeys([*(edit.id for edit in event.edits), *event.note.get(STATES, {})]))
