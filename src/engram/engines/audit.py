"""Looking for tampering, once for every SQL engine: history against its hashes, records against history."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence

from engram.engines.rows import DAMAGE, Row, event_of
from engram.engines.salvage import parsed
from engram.errors import Corrupt
from engram.model.change import Finding
from engram.model.codec import Document, Record, RecordType, decode, index
from engram.model.event import BOOKKEEPING, Event, intact
from engram.model.limits import composed
from engram.model.refs import print_handle

MEND = "Mend it: engram doctor --fix"


def check_history(rows: Iterable[Row], mine: Collection[str]) -> Iterator[Finding]:
    """Every envelope against its hash, every payload against its commitment, every link of our own chains.

    What came from another store may have gaps, for it sends only what is shared, and in any order.
    """
    hint = "Compare with a backup; what follows it is unaffected."
    last: dict[str, tuple[int, str]] = {}
    unread: set[str] = set()
    for row in rows:
        if (event := _event_in(row)) is None:
            unread.add(row[1])
            yield Finding("history", f"Event {row[0]} cannot be read: history was changed.", hint)
            continue
        place = (event.position, event.prev)
        position, prev = last.get(event.replica, (0, ""))
        linked = place == (position + 1, prev) or event.prev in unread or event.replica not in mine
        if not intact(event) or not linked:
            told = f"Event {event.seq} ({event.id[:8]}) does not fit the chain: history was changed."
            yield Finding("history", told, hint)
        last[event.replica] = (event.position, event.id)


def check_records(
    rows: Iterable[Row], kept: Iterable[tuple[int, str, str]], mine: Collection[str]
) -> Iterator[Finding]:
    """Every memory (its number, id and document) against what history says it became.

    What a purge took from history cannot be compared, nor can what other stores wrote: the last line about it need
    not be the last word. Where an event cannot be read, nobody knows what it was about, and nothing is compared. Of
    a document that cannot be read `check_row` tells.
    """
    try:
        told, unknown, elsewhere = _documents_from_history(map(event_of, rows), mine)
    except Corrupt:
        return
    missing = {id for id, said in told.items() if said.get("id") and "text" in said} - unknown
    for n, id, doc in kept:
        missing.discard(id)
        if (document := parsed(doc)) is None:
            continue
        said = told.get(id, {})
        names = {name for name in {**document, **said} if _as_kept(name, document) != _as_kept(name, said)}
        names -= BOOKKEEPING
        names -= {"seen"} if id in elsewhere else set()
        if names and id not in unknown:
            handle, fields = print_handle("memory", n), ", ".join(sorted(names))
            message = f"{handle} is not what history made it: {fields} was changed from outside."
            yield Finding("records", message, "Compare with a backup, or forget it.")
    for id in sorted(missing):
        message = f"{id[:13]} is in history, but no longer in the store: it was removed from outside."
        yield Finding("records", message, "Restore a backup.")


def _as_kept(name: str, document: Document) -> object:
    """A field as a record has it now: history still tells a scope in the form in which it was first said."""
    value = document.get(name)
    return composed(value) if name == "scope" and isinstance(value, str) else value


def check_row(type: RecordType, n: int, doc: str, columns: Sequence[object]) -> Finding | None:
    """What is wrong with a record in its table: its document is damaged, or its columns are not those of it."""
    record, handle = record_in(type, doc), print_handle(type, n)
    if record is None:
        return Finding("records", f"The document of {handle} is damaged.", "Restore a backup.")
    if [*index(record).values()] == [*columns]:
        return None
    return Finding("columns", f"The columns of {handle} differ from its document.", MEND, fixable=True)


def record_in(type: RecordType, doc: str) -> Record | None:
    """The record that a document stands for; None where it is none."""
    try:
        return decode(type, json.loads(doc))
    except (*DAMAGE, Corrupt):
        return None


def _event_in(row: Row) -> Event | None:
    """The event in a row; None where it cannot be read."""
    try:
        return event_of(row)
    except Corrupt:
        return None


def is_mendable(derived: Sequence[Finding]) -> bool:
    """Whether what is derived can be made anew: from records that can all be read, and only where something is off.

    Where history disagrees as well nobody asks: what was tampered with is never blessed.
    """
    return bool(derived) and all(finding.fixable for finding in derived)


def _documents_from_history(
    events: Iterable[Event], mine: Collection[str]
) -> tuple[dict[str, Document], set[str], set[str]]:
    """What history says each record became, which it is silent about by now, and which were seen elsewhere too."""
    told: dict[str, Document] = {}
    unknown: set[str] = set()
    elsewhere: set[str] = set()
    for event in events:
        if event.payload is None or event.replica not in mine:
            unknown.update(event.subjects)
            continue
        states = event.note.get("states")
        elsewhere.update(states if isinstance(states, dict) else ())  # what others counted is no edit of ours
        for edit in event.edits:
            told.setdefault(edit.id, {})[edit.field] = edit.new
    return told, unknown, elsewhere
