"""What an event did, told for a reader: which memories it changed, and each field in words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from engram.model.event import Edit, Event
from engram.model.evidence import cited_as
from engram.model.memory import Memory
from engram.surfaces.render.answers import HELD, told, undid
from engram.surfaces.render.assets import asset_kept
from engram.surfaces.render.paper import moment

MOST_TOLD = 5
"""Memories whose changes one step tells; of the others it says how many they are."""

UNTOLD = frozenset(
    {
        *("id", "owner", "actor", "created_at", "updated_at", "context", "tier", "source", "learned_by"),
        *("revision", "from_id", "to_id"),
    }
)
"""Fields that every change has, and no reader asks for."""

FIRST = ("text", "summary", "status", "kind", "scope")

IMPLIED = frozenset({"status", "origin", "confidence", "held_for", "decay"})
"""Fields that a memory has by its kind and by who said it: nobody asks for them when it comes or goes."""


ACTS = {"promote": "approve", "propose": "proposal"}
"""Actions as the buttons call them; where they are not named here, by their own word."""

STATES = {"promoted": "approved"}
FIELDS = {"apart": "kept beside others like it"}


class Part(NamedTuple):
    """What one step changed about one memory, or about how two bear on one another."""

    id: str
    name: str
    edits: Sequence[Edit]


class Told(NamedTuple):
    """What one step changed, memory by memory, and which others it was about."""

    parts: Sequence[Part]
    others: Mapping[str, str] = {}  # names by id
    more: int = 0  # memories that are not told of


def told_of(event: Event, handles: Mapping[str, str], of: str = "") -> Told:
    """What an event changed; where it is told on the page of one memory, about that one alone."""
    edits: dict[str, list[Edit]] = {}
    for edit in event.edits:
        if edit.type in ("memory", "relation") and edit.field not in UNTOLD:
            edits.setdefault(edit.id, []).append(edit)
    parts = [Part(id, handles.get(id) or id[:13], _worth(found)) for id, found in edits.items()]
    if of:
        others = {id: handles[id] or id[:13] for id in event.subjects if id != of and id in handles}
        return Told([part for part in parts if part.id == of], others)
    return Told(parts[:MOST_TOLD], more=len(parts[MOST_TOLD:]))


def act(action: str) -> str:
    """What an event is called for a reader: by the word on the button that does it."""
    return ACTS.get(action, action)


def acts(actions: Iterable[str]) -> str:
    """What several events are called, each once, with how often where that is more than once."""
    found = Counter(act(action) for action in actions)
    return ", ".join(f"{what} ({number} times)" if number > 1 else what for what, number in found.items())


def field_named(field: str) -> str:
    """What a field is called in history."""
    return FIELDS.get(field, field.replace("_", " "))


def did(event: Event) -> str:
    """What an event did, in one line and in the words of the buttons."""
    note = event.note
    if event.action == "undo" and not note.get("reason") and "undid" in note:
        return f"took back {acts(undid(note))}"
    return told(event, STATES)


def tells(event: Event) -> bool:
    """Whether what an event changed tells by itself which memory it was about: by its words."""
    return any(edit.type == "memory" and edit.field == "text" for edit in event.edits)


def sessions_in(event: Event) -> set[str]:
    """The sessions that an event began or ended: they are called what they are."""
    return {edit.id for edit in event.edits if edit.type == "session"}


def _worth(edits: Sequence[Edit]) -> list[Edit]:
    """What is worth telling of the edits of one memory, what it says first.

    A field at its default is kept as nothing: of a memory that stays, what it was before is told in its words.
    """
    words = [edit for edit in edits if edit.field == "text"]
    if edits[0].type == "relation":
        return sorted(edits, key=_place)
    if any(edit.old is None or edit.new is None for edit in words):
        edits = [edit for edit in edits if edit.field not in IMPLIED]
    else:
        edits = [edit._replace(old=_usual(edit, edit.old), new=_usual(edit, edit.new)) for edit in edits]
    return sorted(edits, key=_place)


def _usual(edit: Edit, value: object) -> object:
    default = Memory.DEFAULTS.get(edit.field)
    return default if value is None and isinstance(default, str | int | float) and default != "" else value


def _place(edit: Edit) -> int:
    return FIRST.index(edit.field) if edit.field in FIRST else len(FIRST)


def worded(field: str, value: Any) -> str:  # noqa: ANN401 - any value of a field
    """The value of a field in history, as a reader would write it."""
    if field == "citations" and isinstance(value, list):
        return said([_cited(one) for one in value])
    if field == "assets" and isinstance(value, list):
        return "\n".join(asset_kept(one, media=True) for one in value) or said(value)
    if isinstance(value, str):
        return _word(field, value)
    return said(value)


def _word(field: str, value: str) -> str:
    if field == "status":
        return STATES.get(value, said(value))
    if field == "held_for" and value:
        return HELD.get(value, said(value))
    if field.endswith("_at") or field.startswith("valid_"):
        with suppress(ValueError):  # whoever wrote it may not know how a time is written
            return moment(datetime.fromisoformat(value))
    return said(value)


def _cited(kept: object) -> object:
    """A citation as history keeps it, as far as it is one: it may be from anywhere."""
    if not isinstance(kept, dict) or not (kept.get("kind") and kept.get("ref")):
        return kept
    return cited_as(str(kept["kind"]), str(kept["ref"]), str(kept.get("locator") or ""))


def said(value: Any) -> str:  # noqa: ANN401 - any value of a field
    """The value of a field in history, in words."""
    if value is None or value in ("", []):
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {said(each)}" for name, each in value.items())
    return "; ".join(said(each) for each in value) if isinstance(value, list) else str(value)
