"""What is stored scrubbed of its secrets: where they stand, and clean copies in the place of what holds them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, cast

from engram.model.answers_store import Scrubbed, ScrubRow
from engram.model.change import Change, Commit, Request
from engram.model.codec import Record, RecordType
from engram.model.event import Event
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.model.relation import Relation
from engram.model.session import Session
from engram.operations.base import PAGE, Call, every, newest, pages
from engram.operations.bearing import relations_of, replaced_by
from engram.operations.erasing import erasure_note
from engram.rules import lifecycle, scrubbing
from engram.rules.redact import redact
from engram.rules.saying import Said, told_by
from engram.rules.sessions import called

Kinds = tuple[str, ...]

MOST_NUMBERS = 5

TOO_FIRM = (
    "{} cannot be scrubbed: a name that history is chained by holds a secret. A store made anew is without it:"
    " engram export FILE, then engram import FILE --trust into a new one."
)


class Held(NamedTuple):
    """What the caller's records and history hold that must not be kept, by what has to go for it.

    `memories` are those whose history or relations hold it, by id: what they say now is not looked at here. `loose`
    are relations of memories that are gone, `gone` the ids of what only history still tells of. `firm` are the
    numbers of events whose envelopes hold it, which nothing can change.
    """

    memories: Mapping[str, Kinds]
    sessions: Sequence[tuple[Session, Kinds]]
    loose: Sequence[tuple[Relation, Kinds]]
    gone: Mapping[str, Kinds]
    firm: Sequence[int]


class _History(NamedTuple):
    """What history tells that must not be kept, by id and in notes about some ids; and the ends of relations."""

    told: dict[str, Kinds]
    noted: list[tuple[tuple[str, ...], Kinds]]
    ends: dict[str, tuple[str, ...]]
    firm: list[int]


def held_by(call: Call) -> Held:
    """Look through the caller's history, sessions and relations."""
    past = _history(call)
    sessions = {one.id: cast("Session", one) for one in _all(call, "session", Filter(owner=call.caller.owner))}
    relations = {one.id: cast("Relation", one) for one in _all(call, "relation", Filter(owner=call.caller.owner))}
    ends = past.ends | {id: (one.from_id, one.to_id) for id, one in relations.items()}
    found = past.told
    found |= {id: kinds for id, one in (sessions | relations).items() if (kinds := scrubbing.hidden(one))}
    there = _there(call, {*found, *(id for ids, _ in past.noted for id in ids)}, ends)
    for ids, kinds in past.noted:  # what is gone already is the least loss
        found.setdefault(min(ids, key=lambda each: (each in there, each in sessions)), kinds)
    memories: dict[str, Kinds] = {}
    loose: list[tuple[Relation, Kinds]] = []
    gone: dict[str, Kinds] = {}
    for id, kinds in found.items():
        mine = [each for each in (id, *ends.get(id, ())) if there.get(each) == call.caller.owner]
        if mine:
            memories[mine[0]] = kinds
        elif id in relations:
            loose.append((relations[id], kinds))
        elif id not in sessions and id not in there:
            gone[id] = kinds
    worked = [(one, found[id]) for id, one in sessions.items() if id in found]
    return Held(memories, worked, loose, gone, past.firm)


def _there(call: Call, ids: Iterable[str], ends: Mapping[str, Sequence[str]]) -> dict[str, str | None]:
    """The owner of every memory that is there, of these and of those that relations among them are about."""
    wanted = sorted({each for id in ids for each in (id, *ends.get(id, ()))})
    groups = (tuple(wanted[at : at + PAGE]) for at in range(0, len(wanted), PAGE))
    return {one.id: one.owner for group in groups for one in _all(call, "memory", Filter(ids=group))}


def _all(call: Call, type: RecordType, where: Filter) -> Iterator[Record]:
    return chain.from_iterable(pages(call, type, where))


def _history(call: Call) -> _History:
    past = _History({}, [], {}, [])
    harmless: set[int] = set()

    def kinds_of(said: Said) -> Kinds:
        if hash(said) in harmless:
            return ()
        if not (kinds := redact(said.text, given=said.given).kinds):
            harmless.add(hash(said))
        return kinds

    for event in newest(call):
        if event.owner == call.caller.owner:
            if any(kinds_of(Said(name, given=True)) for name in (event.actor, *event.subjects)):
                past.firm.append(event.seq)
            _note_ends(event, past.ends)
            for id, said in told_by(event):
                if id not in past.told and (kinds := kinds_of(said)):
                    _keep(past, event, id, kinds)
    return past


def _keep(past: _History, event: Event, id: str, kinds: Kinds) -> None:
    if id:
        past.told[id] = kinds
    elif event.subjects:
        past.noted.append((event.subjects, kinds))


def _note_ends(event: Event, ends: dict[str, tuple[str, ...]]) -> None:
    """Keep the two memories that a relation is told to be about."""
    for edit in event.edits:
        if edit.type == "relation" and edit.field in ("from_id", "to_id"):
            ends[edit.id] = (*ends.get(edit.id, ()), *(str(each) for each in (edit.old, edit.new) if each))


def scrub(call: Call, *, confirm: bool, dry_run: bool) -> Scrubbed:
    """Put clean copies in the place of what the caller has that holds a secret, and tell what was done."""
    request = call.request(confirm=confirm)
    held = held_by(call)
    found: Counter[str] = Counter()
    done: list[Commit] = []
    rows = [_scrubbed(call, *each, None if dry_run else request, done) for each in _unclean(call, held)]
    sessions = [_scrubbed_session(call, *each, None if dry_run else request, done) for each in held.sessions]
    for row in (*rows, *sessions):
        found.update(row.removed)
    for kinds in (*(kinds for _, kinds in held.loose), *held.gone.values()):
        found.update(kinds)
    remains = len(held.loose) + len(held.gone)
    if not dry_run:
        for relation, _ in held.loose:
            done.append(call.engine.commit(scrubbing.erase_alone(relation, request)))
        # An event that told of several was erased with the first of them: so it is looked again.
        done += [call.engine.commit(lifecycle.purge_all((), request, remains=(id,))) for id in held_by(call).gone]
    places = [place for commit in done for place in commit.places]
    places += [TOO_FIRM.format(numbers(held.firm))] if held.firm else []
    return Scrubbed(
        at=call.now,
        memories=tuple(rows),
        sessions=tuple(sessions),
        removed=dict(found.most_common()),
        remains=remains,
        dry_run=dry_run,
        traces=sum(commit.traces or 0 for commit in done),
        places=tuple(dict.fromkeys(places)),
        note=erasure_note(call),
    )


def numbers(events: Sequence[int]) -> str:
    """Events by their numbers: the first of them, and how many more."""
    first = ", ".join(map(str, sorted(events)[:MOST_NUMBERS]))
    more = f" and {len(events) - MOST_NUMBERS:,} more" if len(events) > MOST_NUMBERS else ""
    return f"Event {first}" if len(events) == 1 else f"Events {first}{more}"


def _unclean(call: Call, held: Held) -> Iterator[tuple[Memory, scrubbing.Clean]]:
    """Every memory of the caller that holds a secret, now, in earlier words or in relations, and its clean copy."""
    for memory in list(every(call, Filter(owner=call.caller.owner))):
        clean = scrubbing.cleaned(memory, held.memories.get(memory.id, ()))
        if clean.removed:
            yield memory, clean


def _scrubbed(
    call: Call, memory: Memory, clean: scrubbing.Clean, request: Request | None, done: list[Commit]
) -> ScrubRow:
    """Put the copy of a memory in its place; without a request it is only told what would be."""
    copy = clean.copy
    if request is not None:
        copy, commit = _replaced(call, memory, copy, request)
        done.append(commit)
        call.progress(len(done), 0, "scrubbing")
    return ScrubRow(memory.called, copy.handle if copy else "", clean.removed)


def _replaced(call: Call, memory: Memory, copy: Memory | None, request: Request) -> tuple[Memory | None, Commit]:
    """Put the copy of a memory in its place: first the copy, then the erasure; who is stopped between goes on."""

    def put() -> Change:
        assert copy is not None
        return scrubbing.put_copy(
            memory,
            copy,
            request,
            relations=relations_of(call, memory.id),
            proposals=tuple(every(call, Filter(amends=memory.id, owner=memory.owner))),
            replaced=replaced_by(call, memory),
        )

    def erased() -> Change:
        return scrubbing.erase(memory, _stored(call, copy), request, relations=relations_of(call, memory.id))

    if copy is not None and _stored(call, copy) is None:
        _commit(call, put)
    commit = _commit(call, erased)
    now = _stored(call, copy)
    if now is not None:
        call.engine.commit(scrubbing.tell(now, request))
    return now, commit


def _scrubbed_session(
    call: Call, session: Session, kinds: Kinds, request: Request | None, done: list[Commit]
) -> ScrubRow:
    """Put the copy of a session in its place; without a request it is only told what would be."""
    copy = scrubbing.cleaned_session(session)
    if request is not None:
        if copy is not None and not call.exactly("session", [copy.id]):
            _commit(call, lambda: scrubbing.put_session(session, copy, request))
        done.append(_commit(call, lambda: scrubbing.erase_alone(session, request)))
    return ScrubRow(shown(session), copy.name if copy else "", kinds)


def _commit(call: Call, decide: Callable[[], Change]) -> Commit:
    commit, _ = call.decide_and_commit(lambda: (decide(), None))
    return commit


def shown(session: Session) -> str:
    """What a session is called, without what must not be shown."""
    return called(session.name or session.id)


def _stored(call: Call, copy: Memory | None) -> Memory | None:
    return call.memories([copy.id]).get(copy.id) if copy else None
