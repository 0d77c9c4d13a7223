"""One step of history: the audit line, the undo step and the unit of sync.

An event is an immutable envelope without content, chained by hash, and a payload that purge may delete.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from engram.model.codec import Document, Record, RecordType, encode, type_of
from engram.model.hashing import sha256
from engram.model.limits import print_time

Json = Any

_print = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode

ADOPTED = "adopted"
"""The action by which a store of another program is taken in as it is: nothing was done, so nothing is undone."""

EDITED = "edited"
"""The action by which what a person wrote into the text of a store is taken in."""

ACKNOWLEDGED = "acknowledge"
"""The action by which a person takes note that events are lost: history goes on without them."""

PURGED = "purge"
"""The action by which records are erased: its subjects are those that are gone for good."""

BOOKKEEPING = frozenset({"revision", "updated_at"})
"""Fields that say a record moved, not what moved: never part of an edit."""


class Edit(NamedTuple):
    """One field of one record, before and after. A whole new record starts with `id`: None → its id."""

    type: RecordType
    id: str
    field: str
    old: Json
    new: Json


class Payload(NamedTuple):
    """What an event did, in full: it holds content, and purge deletes it."""

    edits: tuple[Edit, ...] = ()
    note: Mapping[str, Json] | None = None
    salt: str = ""

    def print(self) -> str:
        """The canonical text, which the envelope's commitment is made over."""
        edits = [[e.type, e.id, e.field, e.old, e.new] for e in self.edits]
        return canonical({"edits": edits, "note": dict(self.note or {}), "salt": self.salt})

    @staticmethod
    def parse(text: str) -> "Payload":
        """Read the canonical text back."""
        value = json.loads(text)
        return Payload(tuple(Edit(*each) for each in value["edits"]), value["note"], value["salt"])


class Draft(NamedTuple):
    """An event as a rule writes it, before a store gives it its place in history."""

    action: str
    actor: str
    at: datetime
    subjects: tuple[str, ...]
    owner: str = ""
    tier: int = 0
    batch: str = ""
    reverses: tuple[str, ...] = ()  # the events this one undoes
    payload: Payload = Payload()


class Event(NamedTuple):
    """A sealed event. `id` is the hash of the envelope, `seq` the local position in commit order."""

    id: str
    seq: int
    replica: str
    position: int
    prev: str
    time: str  # hybrid logical: never runs backwards within a store
    at: datetime
    actor: str
    action: str
    subjects: tuple[str, ...]
    tier: int
    batch: str
    reverses: tuple[str, ...]
    commitment: str
    owner: str = ""  # the identity that acted: it decides who may read of memories that are gone
    payload: Payload | None = None  # None once purged

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What it changed; empty once purged."""
        return self.payload.edits if self.payload else ()

    @property
    def note(self) -> Mapping[str, Json]:
        """What else was noted of it; empty once purged."""
        return (self.payload.note if self.payload else None) or {}

    def envelope(self) -> Document:
        """The immutable, content-free part: what the hash is made over."""
        return {
            "action": self.action,
            "actor": self.actor,
            "at": print_time(self.at),
            "batch": self.batch,
            "commitment": self.commitment,
            "owner": self.owner,
            "position": self.position,
            "prev": self.prev,
            "replica": self.replica,
            "reverses": list(self.reverses),
            "subjects": list(self.subjects),
            "tier": self.tier,
            "time": self.time,
        }


class Head(NamedTuple):
    """The end of a store's own chain: what the next event is chained to."""

    replica: str
    position: int = 0
    prev: str = ""
    time: str = ""
    seq: int = 0


def canonical(value: Json) -> str:
    """JSON with sorted keys and no spaces: equal values, equal bytes."""
    return _print(value)


def seal(draft: Draft, head: Head) -> tuple[Event, Head, str, str]:
    """Give a draft its place after `head`; also returns the new head and the texts of envelope and payload."""
    payload = draft.payload.print()
    unsealed = Event(
        id="",
        seq=head.seq + 1,
        replica=head.replica,
        position=head.position + 1,
        prev=head.prev,
        time=tick(head.time, draft.at),
        at=draft.at,
        actor=draft.actor,
        owner=draft.owner,
        action=draft.action,
        subjects=draft.subjects,
        tier=draft.tier,
        batch=draft.batch,
        reverses=draft.reverses,
        commitment=_hash(payload),
        payload=draft.payload,
    )
    envelope = canonical(unsealed.envelope())
    event = Event(_hash(envelope), *unsealed[1:])
    return event, Head(event.replica, event.position, event.id, event.time, event.seq), envelope, payload


def intact(event: Event) -> bool:
    """Whether the envelope is the one its id was made from, and the payload, if any, the one committed to."""
    if event.id != _hash(canonical(event.envelope())):
        return False
    return event.payload is None or event.commitment == _hash(event.payload.print())


def tick(last: str, now: datetime) -> str:
    """The next hybrid logical time: the wall clock, or the last time plus one where the clock fell behind."""
    wall = print_time(now)
    if not last or wall > last[:27]:
        return f"{wall}.000000"
    return f"{last[:27]}.{int(last[28:], 16) + 1:06x}"


def edits_between(before: Record | None, after: Record | None) -> tuple[Edit, ...]:
    """The edits that turn one state of a record into another; None is "does not exist"."""
    known = before or after
    if known is None:
        return ()
    old, new = encode(before) if before else {}, encode(after) if after else {}
    names = [name for name in {**old, **new} if name not in BOOKKEEPING and old.get(name) != new.get(name)]
    return tuple(Edit(type_of(known), known.id, name, old.get(name), new.get(name)) for name in names)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
