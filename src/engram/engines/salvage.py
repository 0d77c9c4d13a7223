"""How damaged stores are read: the signs of a record, and records rebuilt from what is left of history."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress

from engram.model.codec import Document, RecordType
from engram.model.event import PURGED, Edit

TRIES = 2_000
"""So many rows in a row may be unreadable before a table is given up."""

SIGNS: dict[RecordType, frozenset[str]] = {
    "memory": frozenset({"id", "text", "owner", "created_at", "updated_at"}),
    "session": frozenset({"id", "owner", "started_at"}),
    "relation": frozenset({"id", "from_id", "to_id"}),
}
"""What a document of each type has: by this it is known wherever it is found."""


def parsed(text: object) -> Document | None:
    """The object that a text is in JSON, if it is one."""
    with suppress(ValueError, TypeError, RecursionError):
        found = json.loads(text)  # type: ignore[arg-type] # what is no text is refused here
        if isinstance(found, dict):
            return found
    return None


def newest(found: Iterable[Document]) -> Iterator[tuple[RecordType, Document]]:
    """The records among some objects, each in the form of its highest revision."""
    best: dict[tuple[RecordType, str], Document] = {}
    for document in found:
        for type, signs in SIGNS.items():
            if signs <= document.keys() and isinstance(document["id"], str):
                known = best.get((type, document["id"]))
                if known is None or _revision(document) >= _revision(known):
                    best[type, document["id"]] = document
    for (type, _), document in best.items():
        yield type, document


def told_by_history(found: Iterable[Document]) -> Iterator[tuple[RecordType, Document]]:
    """Memories that only what events did still tells of, as far as their beginning is among it."""
    made: dict[str, Document] = {}
    for document in found:
        for edit in document["edits"] if isinstance(document.get("edits"), list) else ():
            if isinstance(edit, list) and len(edit) == len(Edit._fields) and edit[0] == "memory":
                _, id, field, _, new = edit
                made.setdefault(str(id), {"revision": 1})[str(field)] = new
    for document in made.values():
        document.setdefault("updated_at", document.get("created_at"))
        if document.keys() >= SIGNS["memory"] and document["id"]:
            yield "memory", {name: value for name, value in document.items() if value is not None}


def purged(found: Iterable[Document]) -> set[str]:
    """The ids of what was purged, as far as envelopes of history are among some objects."""
    gone = set[str]()
    for document in found:
        if document.get("action") == PURGED and "commitment" in document:
            subjects = document.get("subjects")
            gone.update(map(str, subjects) if isinstance(subjects, list) else ())
    return gone


def _revision(document: Document) -> int:
    revision = document.get("revision", 0)
    return revision if isinstance(revision, int) else 0
