"""Looking for tampering, once for every SQL engine: history against its hashes, records against history."""

from collections.abc import Collection, Iterable, Iterator

from engram.model.change import Finding
from engram.model.codec import Document
from engram.model.event import BOOKKEEPING, Event, intact
from engram.model.refs import print_handle


def check_history(events: Iterable[Event], mine: Collection[str]) -> Iterator[Finding]:
    """Every envelope against its hash, every payload against its commitment, every link of our own chains.

    What came from another store may have gaps, for it sends only what is shared, and in any order.
    """
    last: dict[str, tuple[int, str]] = {}
    for event in events:
        position, prev = last.get(event.replica, (0, ""))
        linked = (event.position, event.prev) == (position + 1, prev) or event.replica not in mine
        if not intact(event) or not linked:
            yield Finding(
                "history",
                f"Event {event.seq} ({event.id[:8]}) does not fit the chain: history was changed.",
                "Compare with a backup; what follows it is unaffected.",
            )
        last[event.replica] = (event.position, event.id)


def check_records(
    events: Iterable[Event], kept: Iterable[tuple[int, Document]], mine: Collection[str]
) -> Iterator[Finding]:
    """Every memory, by its number, against what history says it became.

    What a purge took from history cannot be compared, nor can what other stores wrote: the last line about it need
    not be the last word.
    """
    told, unknown, elsewhere = _told(events, mine)
    missing = {id for id, said in told.items() if said.get("id") and "text" in said} - unknown
    for n, document in kept:
        missing.discard(document["id"])
        said = told.get(document["id"], {})
        names = {name for name in {**document, **said} if document.get(name) != said.get(name)} - BOOKKEEPING
        names -= {"seen"} if document["id"] in elsewhere else set()
        if names and document["id"] not in unknown:
            handle, fields = print_handle("memory", n), ", ".join(sorted(names))
            message = f"{handle} is not what history made it: {fields} was changed from outside."
            yield Finding("records", message, "Compare with a backup, or forget it.")
    for id in sorted(missing):
        message = f"{id[:13]} is in history, but no longer in the store: it was removed from outside."
        yield Finding("records", message, "Restore a backup.")


def _told(events: Iterable[Event], mine: Collection[str]) -> tuple[dict[str, Document], set[str], set[str]]:
    """What history says each record became, which it is silent about by now, and which were seen elsewhere too."""
    told: dict[str, Document] = {}
    unknown: set[str] = set()
    elsewhere: set[str] = set()
    for event in events:
        if event.payload is None or event.replica not in mine:
            unknown.update(event.subjects)
            continue
        elsewhere.update((event.payload.note or {}).get("states", ()))  # what others counted is no edit of ours
        for edit in event.payload.edits:
            told.setdefault(edit.id, {})[edit.field] = edit.new
    return told, unknown, elsewhere
