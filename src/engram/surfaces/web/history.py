"""The history page: what was done to everything one may read, and undo for each step."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.responses import HTMLResponse, Response

from engram.errors import Unconfirmed
from engram.model.answers import Undone
from engram.model.event import Edit, Event
from engram.model.memory import Memory
from engram.surfaces.paper import count, cut
from engram.surfaces.web.frame import DONE, HEADERS, Asked, Page, Tab

TABS = (Tab("history", "/history", "History", "h"),)

UNDONE = "engram-undone"
"""What a page hears beside when something came back, so that lists show it again."""

MOST_TOLD = 5
"""Memories whose changes one step tells; of the others it says how many they are."""

MOST_NAMED = 2
"""Memories that an undo names by their handles."""

UNTOLD = frozenset({"id", "owner", "actor", "created_at", "updated_at", "context", "tier", "source", "revision"})
"""Fields that every change has, and no reader asks for."""

FIRST = ("text", "summary", "status", "kind", "scope")

IMPLIED = frozenset({"status", "origin", "confidence", "held_for", "decay", "learned_by"})
"""Fields that a new memory has by its kind and by who said it: its page tells them."""


class Part(NamedTuple):
    """What one step changed about one memory."""

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
    for edit in event.payload.edits if event.payload else ():
        if edit.type == "memory" and edit.field not in UNTOLD:
            edits.setdefault(edit.id, []).append(edit)
    parts = [Part(id, handles.get(id) or id[:13], _worth(found)) for id, found in edits.items()]
    if of:
        others = {id: handles[id] or id[:13] for id in event.subjects if id != of and id in handles}
        return Told([part for part in parts if part.id == of], others)
    return Told(parts[:MOST_TOLD], more=len(parts[MOST_TOLD:]))


def tells(event: Event) -> bool:
    """Whether what an event changed tells by itself which memory it was about: by its words."""
    return (
        any(edit.type == "memory" and edit.field == "text" for edit in event.payload.edits)
        if event.payload
        else False
    )


def _worth(edits: Sequence[Edit]) -> list[Edit]:
    """What is worth telling of the edits of one memory, what it says first.

    A field at its default is kept as nothing: of a memory that stays, what it was before is told in its words.
    """
    words = [edit for edit in edits if edit.field == "text"]
    if any(edit.old is None for edit in words):
        edits = [edit for edit in edits if edit.field not in IMPLIED]
    elif all(edit.new is not None for edit in words):
        edits = [edit._replace(old=_usual(edit, edit.old), new=_usual(edit, edit.new)) for edit in edits]
    return sorted(edits, key=_place)


def _usual(edit: Edit, value: object) -> object:
    default = Memory.DEFAULTS.get(edit.field)
    return default if value is None and isinstance(default, str | int) and default != "" else value


def _place(edit: Edit) -> int:
    return FIRST.index(edit.field) if edit.field in FIRST else len(FIRST)


def show(asked: Asked) -> Response:
    """What was done, newest first, a page at a time."""
    before = asked.said("before")
    found = asked.engram.history(limit=20, before=int(before) if before.isdecimal() else None)
    template = "history_rows.html" if asked.part else "history.html"
    return asked.show(
        template, at=found.at, title="History", here="history", found=found, told_of=told_of, tells=tells, of=None
    )


def undo(asked: Asked) -> Response:
    """Take one event back, or all that was done to a memory since."""
    try:
        undone = asked.engram.undo(
            asked.said("event"), memory=asked.said("memory"), confirm=asked.said("confirm") == "yes"
        )
    except Unconfirmed as error:
        if not asked.part or not asked.said("event").isdecimal():
            raise
        question = asked.word(
            error.message, int(asked.said("event")), again="Yes, I confirm it", confirm="yes", tone="asks"
        )
        return HTMLResponse(question, headers=HEADERS)
    # What is done again is a decision like any other, and is taken back as one.
    took_back = [event.seq for event in undone.events if event.action != "undo"]
    answer = asked.done("", told(undone), undone.event, back="/history", took_back=took_back)
    answer.headers["HX-Trigger"] = f"{DONE}, {UNDONE}"
    return answer


def told(undone: Undone) -> str:
    """What an undo did, in a line."""
    what = ", ".join(dict.fromkeys(event.action for event in undone.events))
    if len(undone.memories) == 1:
        return f"Took back {what} of {undone.memories[0].handle}: {cut(undone.memories[0].text, 60)}"
    if 1 < len(undone.memories) <= MOST_NAMED:
        return f"Took back {what} of {' and '.join(one.handle for one in undone.memories)}."
    of = f" of {count(len(undone.memories), 'memory', 'memories')}" if undone.memories else ""
    return f"Took back {what}{of}."


PAGES = (Page("GET", "/history", show), Page("POST", "/undo", undo))
