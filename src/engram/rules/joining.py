"""Taking in what other stores did: events become records again, the same ones in whatever order they arrive.

A record is what all known events say of it together (`rules.merge`). Where that leaves two memories in one place,
a ring of memories that hide one another, two that contradict each other, or words that nobody approved, the store
settles it with an event of its own, which travels like any other: so all stores end up equal once everything has
been everywhere.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from engram.errors import EngramError
from engram.model.change import ABSENT, Change, Past, Request
from engram.model.codec import TRAVELLERS, Record, RecordType, decode, encode, type_of
from engram.model.event import BOOKKEEPING, Draft, Event, Payload, edits_between
from engram.model.memory import CURATED, UNVOUCHED, Memory
from engram.model.record import NONE, replace
from engram.model.relation import Relation
from engram.rules.access import is_a_persons
from engram.rules.changes import CONTENT, HELD_FOR_CONFLICT, claims_of
from engram.rules.hearing import Trust, distrusted, heard, out_of_turn, secrets, told_of, unready
from engram.rules.likeness import contradiction
from engram.rules.merge import AGAINST, COUNTER, STATES, Stamp, State, merge, states, told_whole
from engram.rules.relations import newcomer


class Waiting(NamedTuple):
    """An event that cannot be taken in yet, and why."""

    event: Event
    why: str


class Joined(NamedTuple):
    """What a set of events makes of records: each before and after, and the events that cannot be taken in yet."""

    taken: tuple[Event, ...]
    waiting: tuple[Waiting, ...]
    states: Mapping[str, State]
    after: Mapping[str, Record | None]


def join(
    known: Mapping[str, Sequence[Event]],
    fresh: Sequence[Event],
    current: Mapping[str, Record],
    trust: Trust,
    now: datetime,
) -> Joined:
    """What becomes of the records that fresh events are about; `known` are the earlier events of each of them.

    An event waits that is about a record nobody has told us of yet, that makes a record we cannot read, that a
    stranger may not say, whose time has not come, or that holds a secret. What waits changes nothing.
    """
    waiting: list[Waiting] = []
    taken: list[Event] = []
    for event in fresh:
        why = unready(event, now) or distrusted(event, known, trust) or secrets(event)
        if why:
            waiting.append(Waiting(event, why))
        else:
            taken.append(event)
    while True:
        told, after, faults = _folded(known, taken, current, trust)
        if not faults:
            return Joined(tuple(taken), tuple(waiting), told, after)
        late = [event for event in taken if any(id in faults for id in told_of(event))]
        waiting += [Waiting(event, next(faults[id] for id in told_of(event) if id in faults)) for event in late]
        if not late:  # what was here before cannot be read: it stays as it is
            readable = {id: record for id, record in after.items() if id not in faults}
            return Joined(tuple(taken), tuple(waiting), told, readable)
        taken = [event for event in taken if event not in late]


def _folded(
    known: Mapping[str, Sequence[Event]], taken: Sequence[Event], current: Mapping[str, Record], trust: Trust
) -> tuple[dict[str, State], dict[str, Record | None], dict[str, str]]:
    news = states(heard(event, trust) for event in taken)
    about: dict[str, list[Event]] = {}
    for event in taken if trust.vouched else ():
        for id in event.subjects:
            about.setdefault(id, []).append(event)
    told: dict[str, State] = {}
    after: dict[str, Record | None] = {}
    faults: dict[str, str] = {}
    for id in {**known, **news}:
        mine = known.get(id, ())
        if mute := out_of_turn(id, [*mine, *about.get(id, ())], trust):
            mine = [event for event in mine if event.id not in mute]
            counting = (heard(event, trust) for event in about.get(id, ()) if event.id not in mute)
            news[id] = states(counting).get(id, State())
        state = told[id] = merge(state_of(id, mine, current.get(id), trust), news.get(id, State()))
        if not state.erased and "id" not in state.fields:
            if id in news:
                faults[id] = "what it is about has not arrived"
            continue
        try:
            after[id] = record_of(state)
        except EngramError as error:
            faults[id] = error.message
        except (TypeError, ValueError) as error:  # values that cannot even be compared
            faults[id] = f"it makes no sense: {error}"
    return told, after, faults


def state_of(id: str, events: Iterable[Event], current: Record | None, trust: Trust) -> State:
    """What is known of one record. Where a purge took the words of an event, what it did is read off the record."""
    events = list(events)
    mute = out_of_turn(id, events, trust)
    events = [event for event in events if event.id not in mute]
    state = states(heard(event, trust) for event in events).get(id, State())
    lost = [event for event in events if event.payload is None and event.action != "purge"]
    if state.erased or not lost or current is None:
        return state
    stamp = max(Stamp(event.time, event.replica, event.id) for event in lost)
    document, values = encode(current), state.values()
    names = [n for n in {**document, **values} if n not in BOOKKEEPING and n != COUNTER]
    fields = {n: (stamp, document.get(n)) for n in names if document.get(n) != values.get(n)}
    grown = document.get(COUNTER, 1) - values.get(COUNTER, 0)
    counts = {f"{stamp.time}/{stamp.replica}": grown} if "seen" in type(current).FIELDS and grown else {}
    type_ = state.type or type_of(current)
    return merge(State(state.fields, {**state.counts, **counts}, type=type_), State(fields, type=type_))


def record_of(state: State) -> Record | None:
    """The record that a state stands for; None when there is none any more. Its revision is the first.

    Raises:
        Corrupt: when it cannot be read: it may come from a newer Engram.
    """
    values = _sensible(state)
    if not values:
        return None
    times = [stamp.time[:27] for stamp, _ in state.fields.values()] + [key[:27] for key in state.counts]
    if state.type in ("memory", "relation"):
        values["updated_at"] = max(times)
    if state.type != "memory":
        values.pop(COUNTER, None)
    return decode(_type(state), values)


def _type(state: State) -> RecordType:
    return next((type for type in TRAVELLERS if type == state.type), "memory")


def _sensible(state: State) -> dict[str, Any]:
    """The values that hold together: of two that cannot both be so, the one that was written first is left out.

    Two moments may come from two clocks, of which one is fast: which was written first, the stamps tell.
    """
    values = state.values()
    if values.get("valid_from") and values.get("valid_until") and values["valid_from"] >= values["valid_until"]:
        values.pop(min(("valid_from", "valid_until"), key=lambda name: state.fields[name][0]))
    if values.get("ended_at") and values["ended_at"] < values.get("started_at", ""):
        values.pop("ended_at")
    verified, worded = values.get("verified_at", ""), values.get("reworded_at", "")
    if verified and verified < worded and state.fields["verified_at"][0] < state.fields["reworded_at"][0]:
        values.pop("verified_at")  # elsewhere, and not what it says now
    return values


class Settling(NamedTuple):
    """What has to be settled beside the joining itself: memories as they are to be, and why."""

    moved: Mapping[str, Memory]
    why: tuple[str, ...] = ()


def aliases(memories: Iterable[Memory]) -> Settling:
    """Two memories in one place: the lower id stays, and the other leads to it from now on.

    A rejected text keeps its place, so that it cannot return, and so does what a person forgot, unless a person
    says it; what waits gives way to what is in use, and what an agent said to what a person did. Where the later of
    two texts under one key is in the one that gives way, it becomes the wording of the one that stays; but a
    person's word is reworded by a person alone.
    """
    places: dict[str, list[Memory]] = {}
    for memory in memories:
        for claim in claims_of(memory):
            places.setdefault(claim, []).append(memory)
    moved: dict[str, Memory] = {}
    for several in places.values():
        stays, *others = sorted(several, key=_rank)
        for other in others:
            moved[other.id] = replace(other, replaced_by=stays.id, apart=True)
        if others and (later := _later_wording(stays, others)):
            moved[stays.id] = _worded_as(later, stays)
    return Settling(moved, ("same place",) if moved else ())


def counted(
    memories: Mapping[str, Memory], state: Callable[[str], State]
) -> tuple[dict[str, Memory], dict[str, dict[str, Any]]]:
    """Add the `seen` counts of twins to the memory that stays.

    Each count keeps the moment and the replica it was made at: however many stores tell it, it counts once.
    Returns those that stay, as they are to be, and what to tell of each (see `merge.STATES`).
    """
    stays: dict[str, Memory] = {}
    told: dict[str, dict[str, Any]] = {}
    for twin in memories.values():
        root = _root(twin, memories)
        if root is None or twin.held_for == UNVOUCHED:
            continue
        mine = state(root.id)
        known = {**mine.counts, **told.get(root.id, {}).get("counts", {})}
        more = {key: count for key, count in state(twin.id).counts.items() if count > known.get(key, 0)}
        if not more or "id" not in mine.fields:
            continue
        grown = sum(count - known.get(key, 0) for key, count in more.items())
        before = stays.get(root.id, root)
        stays[root.id] = replace(before, seen=before.seen + grown)
        counts = {**told.get(root.id, {}).get("counts", {}), **more}
        which = {name: mine.fields[name] for name in ("id", "scope") if name in mine.fields}
        told[root.id] = told_whole(State(which, counts, type="memory"))
    return stays, told


def _root(twin: Memory, memories: Mapping[str, Memory]) -> Memory | None:
    """The memory that a twin of it leads to in the end; None where it leads to none, or only replaces it."""
    at, seen = twin, {twin.id}
    while at.apart and (above := memories.get(at.replaced_by)) and above.id not in seen and _is_twin(twin, above):
        at = above
        seen.add(at.id)
    return at if at is not twin else None


def _is_twin(one: Memory, other: Memory) -> bool:
    same_place = (one.owner, one.scope) == (other.owner, other.scope)
    return same_place and (one.digest == other.digest or bool(one.key and one.key == other.key))


def _rank(memory: Memory) -> tuple[int, bool, bool, bool, str]:
    waits, theirs = memory.status != "promoted", is_a_persons(memory)
    put_away = bool(memory.forgotten_by) and memory.forgotten_at is not None
    # What a person put away is in the way of all but what a person says.
    firm = 0 if memory.status == "rejected" else 1 if theirs and memory.in_use else 2 if put_away else 3
    return firm, memory.held_for == UNVOUCHED, waits, not theirs, memory.id


def _later_wording(stays: Memory, others: Sequence[Memory]) -> Memory | None:
    taken = [each for each in others if is_a_persons(each) or not is_a_persons(stays)]
    if not taken:
        return None
    latest = max(taken, key=lambda each: (each.updated_at, each.id))
    fits = stays.status == latest.status == "promoted" and CURATED not in (stays.tier, latest.tier)
    newer = latest.updated_at > stays.updated_at and latest.text != stays.text
    return latest if fits and newer and latest.forgotten_at is None else None


def _worded_as(later: Memory, memory: Memory) -> Memory:
    """A memory in the words of another, which are as old and as verified as they were there."""
    content = {name: getattr(later, name) for name in CONTENT}
    worded = later.reworded_at or later.created_at
    return replace(memory, **content, reworded_at=worded, verified_at=later.verified_at)


def rings(memories: Mapping[str, Memory], written: Callable[[str], Stamp]) -> Settling:
    """Memories that replace one another in a ring would all be hidden: what was said first gives way.

    `written` tells when a memory was said to be replaced.
    """
    moved: dict[str, Memory] = {}
    for id in memories:
        ring, at = [id], memories[id].replaced_by
        while at in memories and at not in ring:
            ring.append(at)
            at = memories[at].replaced_by
        if at == id and not any(each in moved for each in ring):
            first = min(ring, key=written)
            moved[first] = replace(memories[first], replaced_by="")
    return Settling(moved, ("ring",) if moved else ())


def unapproved(memory: Memory, events: Iterable[Event]) -> bool:
    """Whether a curated memory would be live in words that no person confirmed: edited here, approved there."""
    if not memory.stands_curated:
        return False
    said = [event for event in events if event.payload is not None]
    approvals = [e for e in said if _wrote(e, memory.id, ("status",), "promoted") and _confirmed(e)]
    if not approvals:
        return not any(told_of(e) and e.note.get(STATES) for e in said)
    approval = max(approvals, key=lambda event: (event.time, event.replica))
    if approval.note.get("digest") == memory.digest:
        return False
    worded = [event for event in said if _wrote(event, memory.id, ("text",), memory.text)]
    return not any(
        each.id == approval.id
        or _confirmed(each)
        or (each.replica == approval.replica and each.position < approval.position)
        for each in worded
    )


def _wrote(event: Event, id: str, fields: Collection[str], value: object) -> bool:
    return any(edit.id == id and edit.field in fields and edit.new == value for edit in event.edits)


def _confirmed(event: Event) -> bool:
    return bool(event.note.get("confirmed"))


def held_again(memory: Memory) -> Memory:
    """A curated memory whose words nobody approved, back in review."""
    return replace(memory, status="pending", held_for="curated_kind", approved_by="")


def at_odds(one: Memory, other: Memory) -> tuple[Memory, Memory] | None:
    """Two memories that plainly contradict each other, the one that has to wait first; None where both may stand.

    The later one waits, as if both had been said to one store: every store picks the same one, whichever of the
    two it knew first, so two that meet never take both out of use. A private one gives way to a shared one: what
    nobody else knows of holds nothing of theirs.
    """
    private = [each for each in (one, other) if each.visibility == "private"]
    late = private[0] if len(private) == 1 else newcomer(one, other)
    early = one if late is other else other
    same_place = (one.owner, one.scope) == (other.owner, other.scope) and one.id != other.id
    return (late, early) if same_place and contradiction(early.text, late.text) else None


def is_decided(late: Memory, early: Memory, told: Sequence[Event], beside: Sequence[Event]) -> bool:
    """Whether somebody let the later of two that are at odds count, knowing of the earlier one.

    `told` are the events of the later one, `beside` those of the earlier. It was held against that one and came
    into use since, or was approved where that one had been dealt with before.
    """
    used = [event for event in told if _wrote(event, late.id, ("status",), "promoted")]
    held = [event for event in told if early.id in _against(event)]
    if any(since.time >= event.time for event in held for since in used):
        return True
    return any(
        event.action == "promote" and each.replica == event.replica and each.position < event.position
        for event in used
        for each in beside
    )


def _against(event: Event) -> Collection[str]:
    """The memories that an event notes as contradicted; what another store notes may be anything."""
    noted = event.note.get(AGAINST)
    return noted if isinstance(noted, list | tuple) else ()


def held_for_conflict(memory: Memory) -> Memory:
    """A memory that contradicts an earlier one, in review."""
    return replace(memory, **HELD_FOR_CONFLICT)


def change_of(
    joined: Joined,
    current: Mapping[str, Record],
    settled: Mapping[str, Memory],
    request: Request,
    *,
    why: Sequence[str] = (),
    action: str = "",
    erase: Collection[str] = (),
    counts: Mapping[str, Any] = NONE,
    against: Collection[str] = (),
) -> Change | None:
    """The Change that takes everything in at once; None where nothing changes.

    `settled` are memories as this store settles them, told by an event of its own that comes after the others;
    `counts` is what it tells of how often they were said (see `counted`), and `against` which memories those that
    it holds contradict.
    """
    after: dict[str, Record | None] = {**joined.after}
    after |= {id: replace(memory, updated_at=request.now) for id, memory in settled.items()}
    puts, drops = [], []
    for id, record in after.items():
        before = current.get(id)
        if record is None and before is not None:
            drops.append((type_of(before), id))
        elif record is not None and not same_record(before, record):
            puts.append(replace(record, revision=before.revision + 1 if before else 1))
    moved = {record.id: record for record in puts if isinstance(record, Memory)}
    taken = tuple(_without_words(event, erase) for event in joined.taken)
    noted = {"why": list(why), STATES: dict(counts), AGAINST: list(against)}
    draft = _settled_by(joined, settled, current, request, noted=noted, action=action)
    if not (puts or drops or taken or draft):
        return None
    if not taken and draft is None:
        draft = Draft("join", request.caller.name, request.now, tuple(r.id for r in puts), request.caller.owner)
    touched = {record.id for record in puts} | {id for _, id in drops}
    return Change(
        draft=draft,
        puts=tuple(puts),
        drops=tuple(drops),
        expects={id: current[id].revision if id in current else ABSENT for id in touched},
        claims={id: claims_of(memory) for id, memory in moved.items()},
        erase=tuple(erase),
        past=Past(tuple((event, None) for event in taken)) if taken else None,
    )


def _settled_by(
    joined: Joined,
    settled: Mapping[str, Memory],
    current: Mapping[str, Record],
    request: Request,
    *,
    noted: Mapping[str, Any],
    action: str,
) -> Draft | None:
    edits = [
        edit
        for id, memory in settled.items()
        for edit in edits_between(joined.after.get(id, current.get(id)), memory)
        if edit.field != COUNTER
    ]
    if not (edits or action or noted[STATES]):
        return None
    note = {name: told for name, told in noted.items() if told}
    return Draft(
        action or "join",
        request.caller.name,
        request.now,
        tuple(settled),
        owner=request.caller.owner,
        tier=max((memory.tier for memory in settled.values()), default=0),
        batch=request.batch,
        payload=Payload(tuple(edits), note, request.salt),
    )


def _without_words(event: Event, erase: Collection[str]) -> Event:
    return event._replace(payload=None) if any(id in erase for id in event.subjects) else event


def same_record(before: Record | None, after: Record | None) -> bool:
    """Whether two records say the same; when they were last touched, and how often, is no matter."""
    if before is None or after is None:
        return before is after
    one, two = encode(before), encode(after)
    return {n: v for n, v in one.items() if n not in BOOKKEEPING} == {
        n: v for n, v in two.items() if n not in BOOKKEEPING
    }


def freed(record: Record, erased: Collection[str], history: Callable[[], Iterable[Event]]) -> Record | None:
    """A record without what was erased: nothing is replaced by it, and no verdict is about it.

    A twin of it stands for itself again, unless its own `history` says that it stands apart: the words that made it
    a twin may go with what was erased, and whoever has not heard them never will.
    """
    if isinstance(record, Memory) and record.replaced_by in erased:
        return replace(record, replaced_by="", apart=record.apart and _stands_apart(record.id, erased, history()))
    if isinstance(record, Relation) and (record.from_id in erased or record.to_id in erased):
        return None
    return record


def _stands_apart(id: str, erased: Collection[str], history: Iterable[Event]) -> bool:
    left = (event for event in history if not any(subject in erased for subject in event.subjects))
    return bool(states(left).get(id, State()).values().get("apart"))
