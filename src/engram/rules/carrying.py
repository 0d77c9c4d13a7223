"""What leaves a store: which records a place may have, and of each event only the part that is about those.

A record that enters a place after it was made is told whole, as it is now, by an event of its own; what it was
before stays home. So no word of a time when it was private travels.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.model.change import Change, Request
from engram.model.event import Draft, Edit, Event, Payload, canonical
from engram.model.filter import Filter
from engram.model.hashing import sha256
from engram.model.memory import POINTERS, Memory
from engram.model.scope import GLOBAL, Scope
from engram.rules.merge import AGAINST, STATES, State, told_whole

RESTATE = "restate"
"""The action of an event that tells records whole."""


class Reach(NamedTuple):
    """What a place is given: the shared memories of one scope; and private or global ones where a person asked."""

    scope: Scope
    private: bool = False
    everywhere: bool = False  # global memories too
    shared: bool = True  # False where private ones go a way of their own

    def covers(self, scope: Scope, visibility: str) -> bool:
        """Whether what holds there, and is seen so, may go to the place."""
        within = self.scope.contains(scope) if self.scope != GLOBAL else scope == GLOBAL
        wanted = self.shared if visibility == "shared" else self.private
        return (within or (self.everywhere and scope == GLOBAL)) and wanted

    def holds(self, type: str, scope: Scope) -> bool:
        """Whether what comes through the place may be there: in its project, and everywhere where a person asked.

        A session tells of work that may have begun anywhere, and nothing is recalled by it.
        """
        if scope == GLOBAL:
            return self.everywhere or self.scope == GLOBAL or type == "session"
        return self.scope != GLOBAL and self.scope.contains(scope)

    def filters(self) -> list[Filter]:
        """What to look for: everything in these scopes; `covers` decides."""
        here = Filter(scopes=(GLOBAL,)) if self.scope == GLOBAL else Filter(within=self.scope)
        more = [Filter(scopes=(GLOBAL,))] if self.scope != GLOBAL else []
        return [here, *more]


class Watch:
    """Follows records through history, and tells which of them can be told by their events alone.

    A record can if only this replica wrote it, none of its words were purged, and it was in reach all the time.
    """

    def __init__(self, reach: Reach, replica: str, ids: Collection[str], strangers: Collection[str]) -> None:
        self._reach, self._replica, self._ids, self._strangers = reach, replica, ids, strangers
        self._visibility: dict[str, str] = {}
        self._scopes: dict[str, str] = {}
        self.broken: set[str] = set()
        self.strange: set[str] = set()
        """What a stranger has a word in: that is for the stranger to tell."""

    def see(self, event: Event) -> None:
        """Go on by one event."""
        mine = [id for id in event.subjects if id in self._ids]
        if not mine:
            return
        if event.replica in self._strangers:
            self.strange.update(mine)
        if event.replica != self._replica or event.payload is None or STATES in event.note:
            self.broken.update(mine)
            return
        memories = set()
        for edit in event.edits:
            if edit.type != "memory" or edit.id not in self._ids:
                continue
            memories.add(edit.id)
            if edit.field == "visibility":
                self._visibility[edit.id] = edit.new or "private"
            elif edit.field == "scope":
                self._scopes[edit.id] = edit.new or "global"
        for id in memories:
            scope = Scope.parse(self._scopes.get(id, "global"))
            if not self._reach.covers(scope, self._visibility.get(id, "private")):
                self.broken.add(id)


def trespass(event: Event, reach: Reach, known: Callable[[str], Collection[tuple[str, Scope]]]) -> str:
    """Why an event has no business in a place, in this store's words; "" where it has some.

    Through a place its own project is written, and no other: neither may a record be put elsewhere, nor one be
    changed that never was here. `known` tells the types and scopes that a record has or had in this store.
    """
    for type, scope in _places(event):
        if not reach.holds(type, scope):
            return _elsewhere(scope, reach)
    ends = [edit.new for edit in event.edits if edit.field in ("from_id", "to_id")]
    for id in {*event.subjects, *(end for end in ends if isinstance(end, str))}:
        was = known(id)
        if was and not any(reach.holds(type, scope) for type, scope in was):
            return "it is about a memory of another project"
    return ""


def _elsewhere(scope: Scope, reach: Reach) -> str:
    if scope == GLOBAL:
        return "it holds everywhere, which engram sync --git --global lets in"
    return f"it is for {scope}, and here is {reach.scope}"


def _places(event: Event) -> list[tuple[str, Scope]]:
    """The places that an event puts records in, each with the type of the record."""
    made: dict[str, tuple[str, str]] = {
        e.id: ("global", e.type) for e in event.edits if e.field == "id" and e.new and e.type != "relation"
    }
    gone = {edit.id for edit in event.edits if edit.field == "id" and edit.new is None}
    made |= {
        edit.id: (str(edit.new or "global"), edit.type)
        for edit in event.edits
        if edit.field == "scope" and edit.id not in gone
    }
    for id, told in event.note.get(STATES, {}).items():
        if told["type"] != "relation" and told["fields"]["id"][-1]:
            made[id] = (str(told["fields"].get("scope", ["global"])[-1] or "global"), told["type"])
    return [(type, scope) for name, type in made.values() if (scope := _scope(name)) is not None]


def _scope(name: str) -> Scope | None:
    try:
        return Scope.parse(name)
    except Invalid:
        return None  # whoever makes a record of it says what is wrong


def scopes_told(id: str, events: Iterable[Event]) -> list[tuple[str, Scope]]:
    """Where a record was at any time, by its events in this store's words."""
    return [place for event in events for place in _places(_only(event, id))]


def _only(event: Event, id: str) -> Event:
    told = event.note.get(STATES, {})
    note = {STATES: {id: told[id]}} if id in told else {}
    return event._replace(payload=Payload(tuple(e for e in event.edits if e.id == id), note))


def moves(event: Event) -> set[str]:
    """The memories whose reach an event changes."""
    return {each.id for each in event.edits if each.type == "memory" and each.field in ("visibility", "scope")} - {
        each.id for each in event.edits if each.field == "id"
    }


def restated(states: Mapping[str, State], request: Request) -> Change:
    """An event that tells records whole, to a place that knows nothing of them; no record changes."""
    return _noting(
        RESTATE, {STATES: {id: told_whole(state) for id, state in states.items()}}, request, tuple(states)
    )


def enrolled(replica: str, device: str, request: Request) -> Change:
    """An event that tells which replica speaks for the caller from now on; no record changes."""
    return _noting("enrol", {"replica": replica, "device": device}, request)


def _noting(action: str, note: Mapping[str, Any], request: Request, subjects: tuple[str, ...] = ()) -> Change:
    """A Change that leaves every record as it is, and only notes something."""
    return Change(
        Draft(
            action=action,
            actor=request.caller.name,
            at=request.now,
            subjects=subjects,
            owner=request.caller.owner,
            batch=request.batch,
            payload=Payload((), note, request.salt),
        )
    )


def part_of(event: Event, goes: Callable[[str], bool], *, only: Mapping[str, Collection[str]]) -> Event | None:
    """The part of an event that is about records that go along; None when none is.

    `only` names the fields that still go of records that have left. A whole event goes as it is; a part gets a
    commitment and an id of its own, made of nothing but what goes.
    """
    payload = event.payload
    kept = tuple(id for id in event.subjects if goes(id) or (id in only and _touches(event, id, only[id])))
    if not kept or (payload is None and event.action != "purge"):
        return None
    edits = tuple(edit for edit in event.edits if _goes(edit, goes, only))
    note = _note(event, event.note, goes)
    if not (edits or note.get(STATES) or event.action == "purge"):
        return None
    if kept == event.subjects and edits == event.edits and note == event.note:
        return event
    salt = sha256(canonical([payload.salt if payload else "", kept]).encode()).hexdigest()[:32]
    part = Payload(edits, note, salt)
    commitment = sha256(part.print().encode()).hexdigest()
    derived = event._replace(id="", subjects=kept, tier=0, payload=part, commitment=commitment)
    return derived._replace(id=sha256(canonical(derived.envelope()).encode()).hexdigest())


def _touches(event: Event, id: str, fields: Collection[str]) -> bool:
    return any(edit.id == id and edit.field in fields for edit in event.edits)


def _goes(edit: Edit, goes: Callable[[str], bool], only: Mapping[str, Collection[str]]) -> bool:
    if edit.id in only:
        return edit.field in only[edit.id]
    named = [value for value in (edit.old, edit.new) if value] if edit.field in POINTERS else []
    return goes(edit.id) and all(goes(str(id)) for id in named)


def _note(event: Event, note: Mapping[str, Any], goes: Callable[[str], bool]) -> dict[str, Any]:
    """What an event notes beside its edits; the words of a note may be about any of its subjects."""
    if all(goes(id) for id in event.subjects):
        kept = dict(note)
    else:
        kept = {name: value for name, value in note.items() if name == "confirmed"}
        if "digest" in note and goes(event.subjects[0]):
            kept["digest"] = note["digest"]
        if against := [id for id in note.get(AGAINST, ()) if goes(id)]:
            kept[AGAINST] = against
    if STATES in note:
        kept[STATES] = {id: _pointing(told, goes) for id, told in note[STATES].items() if goes(id)}
    return kept


def _pointing(told: Mapping[str, Any], goes: Callable[[str], bool]) -> dict[str, Any]:
    """A state told whole without what it says of memories that stay home."""
    fields = {
        name: value
        for name, value in told["fields"].items()
        if name not in POINTERS or not value[-1] or goes(str(value[-1]))
    }
    return {**told, "fields": fields}


def stayed(memories: Iterable[Memory], reach: Reach) -> dict[str, int]:
    """How many memories stay home, by what keeps them."""
    counts = {"private": 0, "global": 0}
    for memory in memories:
        if not reach.covers(memory.scope, memory.visibility):
            if memory.scope == GLOBAL and reach.scope != GLOBAL and not reach.everywhere:
                counts["global"] += 1
            else:
                counts["private"] += 1
    return {name: count for name, count in counts.items() if count}
