"""Events for tests of the rules by which stores exchange what they did."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from engram.model.codec import Record
from engram.model.event import Draft, Edit, Event, Head, Payload, edits_between, seal
from rules.world import START


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
