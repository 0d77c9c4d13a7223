"""What was done, and taking it back: history and undo."""

from typing import cast

from engram.errors import Conflict, Moved, NotFound
from engram.model.answers import Chronicle, Undone
from engram.model.change import Change
from engram.model.codec import RECORDS, Record
from engram.model.event import Event, Payload
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.operations import parameters as p
from engram.operations.base import Call, every, newest, operation, require_between
from engram.rules.undo import reversed_by
from engram.rules.undo import undo as take_back

MOST_STEPS = 1000


@operation("GET /v1/history", "engram history --limit 10", "engram history mem-0001")
def history(
    call: Call, memory: p.HistoryOf = "", *, limit: p.Limit = 20, before: p.BeforeEvent = None
) -> Chronicle:
    """Show what was done, newest first: to one memory, or to everything you may read."""
    require_between("limit", limit, 1, MOST_STEPS)
    subject = call.memory(memory).id if memory else None
    found = call.engine.events(subject=subject, newest=True, after=before or 0, limit=limit + 1)
    events = [_readable(call, event) for event in found[:limit]]
    ids = dict.fromkeys(id for event in events if event for id in event.subjects)
    undone = reversed_by(call.engine.events(newest=True, limit=10 * MOST_STEPS))
    return Chronicle(
        at=call.now,
        events=tuple(event for event in events if event),
        handles={id: record.handle for id, record in call.engine.get("memory", ids, call.access).items()},
        undone=tuple(event.id for event in events if event and event.id in undone),
        next=found[limit - 1].seq if len(found) > limit else None,
    )


@operation(
    "POST /v1/undo",
    "engram undo",
    "engram undo --last 3",
    "engram undo 12",
    writes=True,
    human=True,
)
def undo(
    call: Call,
    event: p.EventRef = "",
    *,
    last: p.Last = 1,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Undone:
    """Take back the last action, the last few, or any one that nothing later stands on.

    Naming the event of an undo does what was undone again.
    """
    del token
    if (earlier := call.replayed()) is not None:
        undone = tuple(one for one in newest(call) if one.id in earlier.reverses)
        return _undone(call, undone, earlier)
    require_between("last", last, 1, MOST_STEPS)
    request = call.request(confirm=confirm)

    def decide() -> tuple[Change, tuple[Event, ...]]:
        events = _named(call, str(event)) if event else _last(call, last)
        ids = dict.fromkeys(id for one in events for id in one.subjects)
        current: dict[str, Record] = {}
        for type in RECORDS:
            current |= call.engine.get(type, ids, call.access)
        made = [id for one in events for id in one.subjects if one.action in ("remember", "import")]
        waiting = [each for id in made for each in every(call, Filter(amends=id)) if each.id not in ids]
        return take_back(events, current, request, dependents=waiting), events

    try:
        commit, events = call.settle(decide)
    except Moved:
        raise Conflict(
            "Cannot undo that: another memory has taken its key or its text since.",
            "Forget or revise that one first; engram list shows it.",
        ) from None
    return _undone(call, events, commit.event)


def _undone(call: Call, events: tuple[Event, ...], done: Event) -> Undone:
    found = call.engine.get("memory", done.subjects, call.access)
    return Undone(
        at=call.now,
        events=events,
        memories=cast("tuple[Memory, ...]", tuple(found.values())),
        gone=tuple(id for id in done.subjects if id not in found),
        event=done.seq,
    )


def _named(call: Call, ref: str) -> tuple[Event, ...]:
    """The event by number or beginning of its id, or all events of a batch."""
    if ref.isascii() and ref.isdigit() and len(ref) < 16:
        fits = call.engine.events(after=int(ref) - 1, limit=1) if int(ref) else []
        fits = [one for one in fits if one.seq == int(ref)]
    elif batch := call.engine.events(batch=ref, limit=100_000):
        return tuple(one for one in batch if _readable(call, one))
    else:
        fits = [one for one in newest(call) if len(ref) >= 4 and one.id.startswith(ref)]
    fits = [one for one in fits if _readable(call, one)]
    if not fits:
        raise NotFound(f"There is no event {ref!r}.", "See the numbers: engram history.")
    if len(fits) > 1:
        raise Conflict(f"{ref} fits {len(fits)} events.", "Give its number from engram history.")
    if fits[0].id in reversed_by(list(newest(call))):
        raise Conflict(f"Event {fits[0].seq} is undone already.", "To do it again, undo the undo: engram history.")
    return (fits[0],)


def _last(call: Call, count: int) -> tuple[Event, ...]:
    """The events of the last actions that still stand; one action may have several events."""
    batches: dict[str, list[Event]] = {}
    undone: set[str] = set()
    for event in newest(call):
        if event.id not in undone:
            undone.update(event.reverses)
        if event.action == "undo" or event.id in undone or event.owner != call.caller.owner:
            continue
        if event.batch not in batches and len(batches) == count:
            break
        batches.setdefault(event.batch, []).append(event)
    if len(batches) < count:
        known = f"only {len(batches)} can be" if batches else "there is nothing to"
        raise Conflict(f"Cannot undo {count}: {known} undo{'ne' if batches else ''}.", "See engram history.")
    return tuple(event for events in batches.values() for event in events)


def _readable(call: Call, event: Event) -> Event | None:
    """The event, if its every subject may be read; of what is gone only the one who acted is told."""
    existing = {id for type in RECORDS for id in call.engine.get(type, event.subjects, call.access)}
    if event.owner == call.caller.owner:
        return event
    # Sharing a memory shares what it says now, not what was said about it before.
    return event._replace(payload=Payload()) if existing.issuperset(event.subjects) else None
