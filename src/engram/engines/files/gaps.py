"""What history has lost: known from the trail and the chain, and reported until somebody acknowledges it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from engram.engines.files.history import Journal, Line
from engram.engines.files.reading import Edited
from engram.model.event import ACKNOWLEDGED, ADOPTED, Event
from engram.model.refs import print_handle

HASH = 64
"""How long the id of an event is."""

NAMED = 16
"""How much of an event's id is written where it is named: enough to be told apart, and little for many."""

FEW = 5
"""So many lost events are called by name."""

NOTE = "lost"
"""Where an event names those that it stands for."""


class Lost(NamedTuple):
    """An event whose line is torn or gone, and what the trail says of it, if it does."""

    id: str
    op: str = ""
    handles: tuple[str, ...] = ()
    at: str = ""

    def __str__(self) -> str:
        """Its beginning, and what was done to whom and when, as far as it is known."""
        what = " ".join(part for part in (self.op, ", ".join(self.handles[:3])) if part)
        known = ", ".join(part for part in (what, self.at[:16].replace("T", " ")) if part)
        return f"{self.id[:8]} ({known})" if known else self.id[:8]


def lost(journal: Journal, audit: bytes, *, met: bool = False) -> list[Lost]:
    """What the trail or the chain knows, history does not, and nobody acknowledged yet.

    With `met` also what the registry was read for already (see `Scribe`) is left out.
    """
    known = {line.event.id for line in journal.lines}
    seen = _named(journal.lines, (ADOPTED, ACKNOWLEDGED) if met else (ACKNOWLEDGED,))
    told = _told_by(audit, known) if b'"event"' in audit else {}
    for id in missing_links(journal.lines):
        told.setdefault(id, Lost(id))
    return [each for id, each in told.items() if id[:NAMED] not in seen]


def note_of(gap: Sequence[Lost]) -> Mapping[str, object]:
    """How an event names what it stands for."""
    ids = [each.id[:NAMED] for each in gap]
    return {NOTE: ids, "reason": f"lost: {listed(gap)}"} if gap else {}


def _named(lines: Iterable[Line], actions: Sequence[str]) -> set[str]:
    """The beginnings of the ids that events of these actions stand for."""
    notes = (line.event.note for line in lines if line.event.action in actions)
    return {str(id) for note in notes for id in note.get(NOTE, ())}


def _told_by(audit: bytes, known: set[str]) -> dict[str, Lost]:
    """What the trail says of events that are not known."""
    found: dict[str, Lost] = {}
    for raw in audit.split(b"\n"):
        at = raw.find(b'"event": "')
        id = raw[at + 10 : at + 74].decode("ascii", "replace") if at >= 0 else ""
        if len(id) != HASH or id in known:
            continue
        try:
            row = json.loads(raw)
        except (ValueError, RecursionError):
            row = {}
        before = found.get(id, Lost(id))
        handle = (str(row["id"]),) if row.get("id") else ()
        op, time = str(row.get("op") or before.op), str(row.get("ts") or before.at)
        found[id] = Lost(id, op, before.handles + handle, time)
    return found


def missing_links(lines: Sequence[Line]) -> list[str]:
    """The events that the chains of this store go on from, and that have no line."""
    known = {line.event.id for line in lines}
    mine = own(lines)
    prevs = [line.event.prev for line in lines if line.event.replica in mine and line.event.prev]
    return [id for id in dict.fromkeys(prevs) if id not in known]


def own(lines: Iterable[Line]) -> set[str]:
    """The replicas whose lines were written by this store, wherever it lay then."""
    return {line.event.replica for line in lines if line.after.get("home")}


def links(event: Event, position: int, prev: str, known: set[str]) -> bool:
    """Whether an event goes on from the last of its chain, or from one that is missing between the two."""
    if (event.position, event.prev) == (position + 1, prev):
        return True
    return event.position > position + 1 and bool(event.prev) and event.prev not in known


def parted(edited: Iterable[Edited], gap: Sequence[Lost]) -> tuple[list[Edited], list[Edited]]:
    """What a registry says beside history, in two: what lost events did, and what a person's hand did.

    Where the trail does not tell what a lost event did, every item with a uid may be of it: nobody types one.
    """
    ours, by_hand = list[Edited](), list[Edited]()
    for each in edited:
        (ours if _is_told(each, gap) else by_hand).append(each)
    return ours, by_hand


def _is_told(edited: Edited, gap: Sequence[Lost]) -> bool:
    handle = edited.before.handle if edited.before else print_handle("memory", edited.number or 0)
    if any(handle in each.handles for each in gap):
        return True
    return edited.named and any(not each.op for each in gap)


def listed(gap: Sequence[Lost]) -> str:
    """The events by name, the first few of them."""
    more = [f"{len(gap) - FEW} more"] if len(gap) > FEW else []
    return ", ".join([*(str(each) for each in gap[:FEW]), *more])
