"""What was done, and taking it back: history and undo."""

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from engram.errors import Conflict, EngramError, Invalid, Moved, NotFound, Unconfirmed
from engram.model.answers import Chronicle, Undone
from engram.model.change import Change, Request
from engram.model.codec import RECORDS, Record
from engram.model.event import ACKNOWLEDGED, ADOPTED, PURGED, Event, Payload
from engram.model.filter import Filter
from engram.model.memory import CURATED, POINTERS, Memory
from engram.model.refs import is_number
from engram.model.relation import Relation
from engram.operations import parameters as p
from engram.operations.base import (
    Call,
    elsewhere,
    every,
    last_event,
    newest,
    operation,
    require_between,
)
from engram.operations.gone import remains
from engram.recall import history as recorded
from engram.rules.access import hears, is_keeper
from engram.rules.undo import LASTING, reversed_by
from engram.rules.undo import undo as take_back

if TYPE_CHECKING:
    from engram.rules.hearing import Trust

MOST_STEPS = 1000
MOST_AT_ONCE = 400
"""How many records an undo takes back in one step; an import may have brought in any number."""

MOST_EVENTS = (1 << 63) - 1
"""The last number that any engine can give an event."""

LEAST_READ, MOST_PAGES = 100, 100
"""How many events are read at a time at least and how often, where a caller may read few of them."""

MOST_WEIGHED = 20
"""Records and events up to which history finds out whether they can be undone."""

LONGEST_ABOUT = 120
"""Characters of a memory that tell which one an event was about."""

LEFT_OUT = Payload(note={"left": "out"})
"""Stands for what an event did, where that is read again when it is needed."""

UNSAID = frozenset({"undo", "join", "restate", "renew", "enrol", ADOPTED, ACKNOWLEDGED})
"""Actions that nobody asks for by themselves: undo passes over them to the last thing that somebody did."""


@operation("GET /v1/history", "engram history --limit 10", "engram history mem-0001")
def history(
    call: Call, memory: p.HistoryOf = "", *, limit: p.Limit = 20, before: p.BeforeEvent = None
) -> Chronicle:
    """Show what was done, newest first.

    Of one memory, or of everything you may read.
    """
    require_between("limit", limit, 1, MOST_STEPS)
    if before is not None:
        require_between("before", before, 0, MOST_EVENTS)
    of = call.memory(memory) if memory else None
    subject = of.id if of else None
    told, after, read = _page(call, subject, before or 0, limit)
    pairs = _pairs(call, told)
    ids = dict.fromkeys([id for event in told for id in _named_in(event)])
    ids |= dict.fromkeys(end for pair in pairs.values() for end in pair)
    if before and told:
        read = list(_since(call, told[-1].seq, subject))
    undone = reversed_by([event for event in read if told and event.seq > told[-1].seq])
    known = call.memories(ids)
    met = call.sync.ledger().part("replicas") if call.sync else {}
    return Chronicle(
        at=call.now,
        events=tuple(told),
        handles={id: memory.handle for id, memory in known.items()},
        about={id: memory.gist[:LONGEST_ABOUT] for id, memory in known.items()},
        devices={one.replica: str(met[one.replica]["device"]) for one in told if one.replica in met},
        people={one.replica: name for one in told if (name := met.get(one.replica, {}).get("name"))},
        undone=tuple(event.id for event in told if event.id in undone),
        final=tuple(event.seq for event in told if event.id not in undone and _is_final(call, event)),
        out_of_reach=tuple(_out_of_reach(call, of, told)) if of else (),
        next=after,
        pairs={id: pair for id, pair in pairs.items() if known.keys() >= {*pair}},
    )


def _pairs(call: Call, events: Sequence[Event]) -> dict[str, tuple[str, str]]:
    """The two memories of each relation that events were about: as it is, or as it was made where it is gone."""
    made: dict[str, dict[str, str]] = {}
    for event in events:
        for edit in event.edits:
            if edit.type == "relation":
                made.setdefault(edit.id, {})[edit.field] = str(edit.new or edit.old)
    known = call.relations(made)
    there = {id: (one.from_id, one.to_id) for id, one in known.items()}
    return {
        id: (one["from_id"], one["to_id"]) for id, one in made.items() if {"from_id", "to_id"} <= one.keys()
    } | there


def _named_in(event: Event) -> Iterator[str]:
    """The records that an event was about, and those that what it changed refers to."""
    yield from event.subjects
    for edit in event.edits:
        if edit.field in POINTERS:
            yield from (str(id) for id in (edit.old, edit.new) if id)


def _is_final(call: Call, *events: Event) -> bool:
    """Whether undo would refuse the caller these events as things stand; where they are many, it is not tried."""
    subjects = {id for event in events for id in event.subjects}
    if not call.caller.human or max(len(subjects), len(events)) > MOST_WEIGHED:
        return False
    try:
        _reversal(call, events, call.request(confirm=True))
    except EngramError:
        return True
    return False


def _out_of_reach(call: Call, memory: Memory, told: Sequence[Event]) -> Iterator[int]:
    """The events of a memory to which undo cannot take it back now; also those it is at already."""
    found = call.engine.events(subject=memory.id, newest=True, limit=MOST_STEPS + 1)
    known = {one.id for one in _readable(call, found)}
    for event in told:
        later = _standing_after(event.seq, found, known)
        if not later or _is_final(call, *later):
            yield event.seq


def _page(call: Call, subject: str | None, before: int, limit: int) -> tuple[list[Event], int | None, list[Event]]:
    """The newest readable events before one, where the next page begins, and all that was read for it.

    What others did leaves no gap.
    """
    found: list[Event] = []
    read: list[Event] = []
    step = limit + 1  # mostly all of it may be read; each event can be about very many records
    for _ in range(MOST_PAGES):
        page = call.engine.events(subject=subject, newest=True, after=before, limit=step)
        found += _readable(call, page)
        read += map(_light, page)
        if len(found) > limit:
            return found[:limit], found[limit - 1].seq, read
        if len(page) < step:
            return found, None, read
        before, step = page[-1].seq, max(step, LEAST_READ)
    return found, before, read


@operation(
    "POST /v1/undo",
    "engram undo",
    "engram undo --last 3",
    "engram undo 12",
    "engram undo 12 --memory mem-0001",
    writes=True,
    human=True,
)
def undo(
    call: Call,
    event: p.EventRef = "",
    *,
    memory: p.UndoOf = "",
    last: p.Last = 1,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Undone:
    """Take back what was done last, or any one event.

    The last action, the last few, or any event that no later change depends on. Undoing an undo redoes what it took
    back.
    """
    del token
    if (earlier := call.replayed()) is not None:
        return _undone_before(call, earlier)
    require_between("last", last, 1, MOST_STEPS)
    request = call.request(confirm=confirm)

    def chosen() -> tuple[Event, ...]:
        if memory:
            return _after(call, str(event), call.memory(memory))
        return _named(call, str(event)) if event else _last(call, last)

    told = chosen()
    if len(steps := _in_steps(told)) == 1:
        done, told = _take_back(call, chosen, request)
        return _undone(call, told, done, done.subjects, again=_again(call, done))
    ids = tuple(dict.fromkeys(id for one in told for id in one.subjects))
    for number, step in enumerate(steps, 1):
        # The token goes with the last step: a retry finds all of it done, or goes on.
        asking = call if number == len(steps) else call._replace(token=None)
        done, _ = _take_back(asking, lambda: step, request, frozenset(ids))  # noqa: B023 - called at once
        call.progress(number, len(steps), "taking back")
    return _undone(call, told, done, ids, again=_again(call, done, batch=True))


def _undone_before(call: Call, done: Event) -> Undone:
    """The first answer again, of all the steps that the undo took."""
    steps = _in_batch(call, done.batch)
    taken = {id for step in steps for id in step.reverses}
    events = tuple(islice((one for one in newest(call) if one.id in taken), len(taken)))
    ids = tuple(dict.fromkeys(id for step in steps for id in step.subjects))
    return _undone(call, events, done, ids, again=_again(call, done, batch=len(steps) > 1))


def _again(call: Call, done: Event, *, batch: bool = False) -> str:
    """How to do again what an undo took back, as it can be typed; several steps go by their batch."""
    command = f"engram undo {done.batch if batch else done.seq}"
    if done.tier < CURATED:
        return command
    try:
        _reversal(call, (done,), call.request())
    except Unconfirmed:
        return f"{command} --confirm"
    return command


def _in_steps(events: tuple[Event, ...]) -> list[tuple[Event, ...]]:
    """Events in steps of a size that fits into memory, the newest first; almost always it is one."""
    steps: list[list[Event]] = [[]]
    size = 0
    for event in events:
        if steps[-1] and size + len(event.subjects) > MOST_AT_ONCE:
            steps.append([])
            size = 0
        steps[-1].append(event)
        size += len(event.subjects)
    return [tuple(step) for step in steps]


def _take_back(
    call: Call, chosen: Callable[[], tuple[Event, ...]], request: Request, touched: Collection[str] = ()
) -> tuple[Event, tuple[Event, ...]]:
    """Undo some events in one Change; where it was killed between two, undoing again goes on.

    `touched` are the records of all the steps that an undo takes, where it takes several.
    """

    def decide() -> tuple[Change, tuple[Event, ...]]:
        events = tuple(_whole(call, one) for one in chosen())
        return _reversal(call, events, request, touched), events

    try:
        commit, events = call.decide_and_commit(decide)
    except Moved:
        raise Conflict(
            "Cannot undo that: another memory has taken its key or its text since.",
            "Forget or revise that one first; engram list shows it.",
        ) from None
    return commit.event, events


def _reversal(call: Call, events: tuple[Event, ...], request: Request, touched: Collection[str] = ()) -> Change:
    """The Change that takes some events back, as things stand; other Changes take the rest of `touched` back."""
    ids = dict.fromkeys(id for one in events for id in one.subjects)
    current: dict[str, Record] = {}
    for type in RECORDS:
        current |= call.exactly(type, ids)
    edits = (edit for one in events for edit in one.edits)
    made = [edit.id for edit in edits if edit.type == "memory" and edit.field == "id" and edit.old is None]
    waiting = [one for id in made for one in every(call, Filter(amends=id)) if one.id not in ids]

    def replaced(id: str) -> list[Memory]:
        others = (one for one in every(call, Filter(replaced_by=id, amends="")) if one.id not in touched)
        return [one for one in others if _was_replaced_after(call, one.id, min(event.seq for event in events))]

    def removed_by(id: str) -> int:
        return next((event.seq for event in call.engine.events(subject=id, newest=True, limit=1)), 0)

    return take_back(
        events,
        current,
        request,
        dependents=[one for one in waiting if one.id not in touched],
        replaced=replaced,
        told=_told_by_several(call),
        removed_by=removed_by,
    )


def _was_replaced_after(call: Call, id: str, seq: int) -> bool:
    later = takewhile(lambda event: event.seq > seq, newest(call, id))
    edits = (edit for event in later for edit in event.edits)
    return any(edit.id == id and edit.field == "replaced_by" for edit in edits)


def _told_by_several(call: Call) -> Callable[[str], Sequence[Event]]:
    """A function that gives all events of a record, in this store's words; none where no other store has a word."""

    @functools.cache
    def trust() -> "Trust | None":
        if not call.sync or not _others(call):
            return None
        from engram.operations.replicas import Replicas  # noqa: PLC0415 - start-up

        return Replicas(call.sync.ledger(), call.caller.owner).trust()

    @functools.cache
    def told(id: str) -> Sequence[Event]:
        from engram.rules.hearing import heard  # noqa: PLC0415 - start-up

        whose = trust()
        return [heard(event, whose) for event in newest(call, id)] if whose else ()

    return told


def how_many(call: Call) -> int:
    """How many events there are: all of them to whoever looks after the store, to others those they may read."""
    if is_keeper(call.caller):
        return last_event(call)
    found = recorded.events(call.engine, at_once=MOST_STEPS)
    return sum(len(_readable(call, page)) for page in iter(lambda: list(islice(found, MOST_STEPS)), []))


def _whole(call: Call, event: Event) -> Event:
    """The event with what it did, where only its envelope was kept at hand."""
    return event if event.payload != LEFT_OUT else call.engine.events(after=event.seq - 1, limit=1)[0]


def _light(event: Event) -> Event:
    """The envelope of an event that did so much that many of them would fill the memory."""
    return event._replace(payload=LEFT_OUT) if len(event.subjects) > 20 and event.payload else event


def _undone(call: Call, events: tuple[Event, ...], done: Event, ids: tuple[str, ...], *, again: str = "") -> Undone:
    found = call.memories(ids)
    return Undone(
        at=call.now,
        events=events,
        memories=tuple(found.values()),
        gone=tuple(id for id in ids if id not in found),
        event=done.seq,
        again=again or f"engram undo {done.seq}",
    )


def _named(call: Call, ref: str) -> tuple[Event, ...]:
    """The event by number or beginning of its id, or all events of a batch."""
    if is_number(ref):
        fits = call.engine.events(after=int(ref) - 1, limit=1) if int(ref) else []
        fits = [one for one in fits if one.seq == int(ref)]
    elif batch := _batch(call, ref):
        return batch
    elif call.engine.events(batch=ref, limit=1):
        raise Conflict("That is undone already.", "To do it again, undo the undo: engram history.")
    else:
        fits = [one for one in newest(call) if len(ref) >= 4 and one.id.startswith(ref)]
    known = {one.id for one in _readable(call, fits)}
    fits = [one for one in fits if one.id in known]
    if not fits:
        raise NotFound(f"There is no event {ref!r}.", "See the numbers: engram history.")
    if len(fits) > 1:
        raise Conflict(f"{ref} fits {len(fits)} events.", "Give its number from engram history.")
    if fits[0].id in reversed_by(list(_since(call, fits[0].seq))):
        raise Conflict(f"Event {fits[0].seq} is undone already.", "To do it again, undo the undo: engram history.")
    return (fits[0],)


def _after(call: Call, ref: str, memory: Memory) -> tuple[Event, ...]:
    """What was done to a memory after an event of its own, the newest first, as far as it still stands."""
    if not is_number(ref):
        raise Invalid(
            f"{ref!r} is not the number of an event.", f"See the numbers: engram history {memory.handle}."
        )
    found = call.engine.events(subject=memory.id, newest=True, limit=MOST_STEPS + 1)
    if int(ref) not in {one.seq for one in found}:
        raise NotFound(f"{memory.handle} has no event {ref}.", f"See the numbers: engram history {memory.handle}.")
    if not (standing := _standing_after(int(ref), found, {one.id for one in _readable(call, found)})):
        raise Conflict(f"{memory.handle} is as it was after event {ref}.", "Nothing needs to be taken back.")
    return standing


def _standing_after(seq: int, found: Sequence[Event], known: Collection[str]) -> tuple[Event, ...]:
    """Those of a memory's events after a step that are still in force, and which the caller may know of."""
    later = [one for one in found if one.seq > seq]
    undone, ids = reversed_by(later), {one.id for one in later}
    # An undo among them of something among them is no change between then and now.
    within = [one for one in later if one.reverses and ids.issuperset(one.reverses)]
    return tuple(one for one in later if one.id not in undone and one not in within and one.id in known)


def _batch(call: Call, ref: str) -> tuple[Event, ...]:
    """The events of a batch that still stand, the newest first."""
    found = _in_batch(call, ref)
    if not found:
        return ()
    undone = reversed_by(list(_since(call, found[0].seq)))
    known = {one.id for one in _readable(call, found)}
    return tuple(one for one in reversed(found) if one.id not in undone and one.id in known)


def _in_batch(call: Call, batch: str) -> list[Event]:
    """Every event of a batch, the oldest first."""
    return [_light(event) for event in recorded.events(call.engine, batch=batch, at_once=50)]


def _since(call: Call, seq: int, subject: str | None = None) -> Iterator[Event]:
    """What was done after an event, the newest first; to one record alone, for whoever undoes touches it too."""
    for event in newest(call, subject):
        if event.seq <= seq:
            return
        yield _light(event)


def _last(call: Call, count: int) -> tuple[Event, ...]:
    """The events of the last actions that still stand; one action may have several events."""
    batches: dict[str, list[Event]] = {}
    undone: set[str] = set()
    others = _others(call)
    for event in newest(call):
        if event.id not in undone:
            undone.update(event.reverses)
        unsaid = event.action in UNSAID or event.action in LASTING
        if unsaid or event.id in undone or event.owner != call.caller.owner:
            continue
        if event.replica in others or (call.caller.workspace is not None and not _readable(call, [event])):
            continue
        if event.batch not in batches and len(batches) == count:
            break
        batches.setdefault(event.batch, []).append(_light(event))
    if len(batches) < count:
        few = f"Cannot undo {count} actions: only {len(batches)} can be undone."
        raise Conflict(few if batches else "There is nothing to undo.", "See engram history.")
    return tuple(event for events in batches.values() for event in events)


def _others(call: Call) -> set[str]:
    """Stores that this one exchanges memories with: the last thing done there is not ours to take back unnamed."""
    known = call.sync.ledger().part("replicas") if call.sync else {}
    return {replica for replica, facts in known.items() if facts["state"] != "own"}


def _here(call: Call, found: Mapping[str, Record]) -> Iterator[str]:
    """Those of some relations that are not of another workspace: a relation is where its ends are."""
    ends = {ref: (one.from_id, one.to_id) for ref, one in found.items() if isinstance(one, Relation)}
    away = elsewhere(call, {id for pair in ends.values() for id in pair}) if ends else set()
    return (ref for ref, pair in ends.items() if not away.intersection(pair))


def _readable(call: Call, events: Sequence[Event]) -> list[Event]:
    """Those of some events whose every subject may be read.

    Of what is gone only the one who acted is told, and where it was: in the workspace it stood in.
    """
    subjects = dict.fromkeys(id for event in events for id in event.subjects)
    owners: dict[str, str | None] = {}
    for type in RECORDS:  # memories first, as most of them are
        found = call.exactly(type, [id for id in subjects if id not in owners])
        known = _here(call, found) if type == "relation" else found
        owners |= {id: found[id].owner for id in known}
    own = [event for event in events if event.owner == call.caller.owner and event.action != PURGED]
    gone = remains(call, {id for event in own for id in event.subjects if id not in owners})
    told = []
    for event in events:
        absent = [id for id in event.subjects if id not in owners]
        if event.owner != call.caller.owner:
            heard = hears(call.caller, event, [owners.get(id) for id in event.subjects])
            told += [] if absent else [event if heard else event._replace(payload=Payload())]
        elif event.action == PURGED or gone.keys() >= {*absent}:
            told.append(event)
    return told
