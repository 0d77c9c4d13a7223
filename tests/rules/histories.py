"""Events for tests of the rules by which stores exchange what they did."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from engram.model.codec import Record
from engram.model.event import Draft, Edit, Event, Head, Payload, edits_between, seal
from engram.model.memory import Memory
from engram.model.relation import Relation
from engram.model.session import Session
from engram.rules.merge import STATES, states, told_whole
from rules.world import PERSON, START


def said(
    replica: str,
    *edits: Edit,
    action: str = "revise",
    subjects: Sequence[str] = (),
    note: Mapping[str, Any] | None = None,
    seconds: float = 0,
    position: int = 1,
    tier: int = 1,
) -> Event:
    """An event of a replica, about what its edits are about unless told otherwise."""
    about = tuple(subjects) or tuple(dict.fromkeys(edit.id for edit in edits))
    payload = Payload(edits, note or {}, f"salt of {replica} at {seconds}")
    draft = Draft(action, "tester", START + timedelta(seconds=seconds), about, tier=tier, payload=payload)
    return seal(draft, Head(replica, position - 1))[0]


def making(*records: Record, replica: str = "mine", **more: Any) -> Event:
    """The event that made some records."""
    edits = [edit for each in records for edit in edits_between(None, each)]
    return said(replica, *edits, action="remember", **more)


def changing(field: str, new: object, old: object = None, *, id: str = "memory-1") -> Edit:
    """An edit of one field of a memory."""
    return Edit("memory", id, field, old, new)


def telling(record: Memory | Session, replica: str, **more: Any) -> Event:
    """An event that tells a record whole."""
    known = states([making(record, replica=replica, **more)])[record.id]
    return said(replica, action="restate", subjects=(record.id,), note={STATES: {record.id: told_whole(known)}})


def relation(first: str = "memory-1", second: str = "memory-2", **fields: Any) -> Relation:
    values = {"id": "rel-1", "kind": "supersedes", "owner": PERSON.owner, "created_at": START, "updated_at": START}
    return Relation(from_id=first, to_id=second, **(values | fields))


def session(**fields: Any) -> Session:
    return Session(**{"id": "ses-1", "owner": PERSON.owner, "started_at": START} | fields)
