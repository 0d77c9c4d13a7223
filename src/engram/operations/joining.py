"""Taking in events of other stores: everything they are about is made anew from all that is known of it.

One commit keeps the events as they are, puts the records that follow from them, and settles what has to be settled.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from engram.model.change import Change
from engram.model.codec import RECORDS, Record, type_of
from engram.model.event import Event
from engram.model.filter import Filter
from engram.model.memory import Memory, standing
from engram.model.outline import outline
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import Session
from engram.operations.base import PAGE, Call, every, pages
from engram.operations.bearing import rivals_of
from engram.operations.blobs import named_by, tidy
from engram.recall import history
from engram.rules import carrying, hearing, joining
from engram.rules.carrying import Reach
from engram.rules.changes import claims_of
from engram.rules.hearing import Trust
from engram.rules.joining import Joined
from engram.rules.merge import Stamp, State
from engram.rules.relations import pair_id


class Joining:
    """Takes in events for one caller. `trust` is asked anew each time: whose word counts may change."""

    def __init__(self, call: Call, trust: Callable[[], Trust], reach: Reach | None = None) -> None:
        """With a reach, nothing is taken in that has no business there."""
        self._call, self._trust, self._reach = call, trust, reach
        self._erased: dict[str, bool] = {}
        self.applied = 0
        self.uncounted: set[str] = set()  # changes of this store's own to what turned out to be somebody else's
        self.held = 0  # memories that wait now, because they contradict what is in use

    def expect_erased(self, ids: Iterable[str]) -> None:
        """Say that an erasure of these records is among what comes: their words are not waited for."""
        self._erased.update(dict.fromkeys(ids, True))

    def take_in(self, events: Sequence[Event], parts: Collection[str]) -> list[joining.Waiting]:
        """Take in what can be of some events, in one commit; answers with what has to wait, and why."""

        def decide() -> tuple[Change | None, tuple[_Prepared, dict[str, set[str]]]]:
            prepared = self._prepared(events, parts)
            erase = prepared.change.erase if prepared.change else ()
            return prepared.change, (prepared, self._attached_to(erase))

        commit, (prepared, attached) = self._call.decide_and_commit(decide)
        for owner, hashes in attached.items():
            tidy(self._call, owner, hashes)
        if commit and prepared.change:
            self.applied += len(prepared.change.past.events) if prepared.change.past else 0
            self.held += prepared.held
        return prepared.waits

    def _attached_to(self, ids: Collection[str]) -> dict[str, set[str]]:
        """What was ever attached to memories that go, by their owners: it goes with them."""
        found: dict[str, set[str]] = {}
        for record in self.records(ids).values() if ids else ():
            if isinstance(record, Memory) and record.owner is not None:
                found.setdefault(record.owner, set()).update(named_by([record], self.events_of(record.id)))
        return {owner: hashes for owner, hashes in found.items() if hashes}

    def preview(self, events: Sequence[Event], parts: Collection[str]) -> list[joining.Waiting]:
        """What would have to wait of some events, and why; nothing is taken in."""
        return self._prepared(events, parts).waits

    def _prepared(self, events: Sequence[Event], parts: Collection[str]) -> "_Prepared":
        ids = dict.fromkeys(id for event in events for id in event.subjects)
        known = {id: self.events_of(id) for id in ids}
        fresh, waits = self._fresh(events, parts, known, self.records(ids) if self._reach else {})
        erase = {id for event in fresh if event.action == "purge" for id in event.subjects}
        return self._decided(known, fresh, erase, waits)

    def _fresh(
        self,
        events: Sequence[Event],
        parts: Collection[str],
        known: Mapping[str, Sequence[Event]],
        here: Mapping[str, Record],
    ) -> tuple[list[Event], list[joining.Waiting]]:
        fresh, waits = [], []
        for event in events:
            mine = [each for id in event.subjects for each in known[id]]
            twin = (e for e in mine if (e.replica, e.position) == (event.replica, event.position))
            whole = any(set(e.subjects) >= set(event.subjects) for e in twin) if event.id in parts else False
            if whole or not event.subjects or any(each.id == event.id for each in mine):
                continue
            lost = event.payload is None and event.action != "purge"
            if lost and not any(self.is_erased(id) for id in event.subjects):
                waits.append(joining.Waiting(event, "its words are not there"))
            elif why := self._trespass(event, known, here):
                waits.append(joining.Waiting(event, why))
            else:
                fresh.append(event)
        return fresh, waits

    def _trespass(self, event: Event, known: Mapping[str, Sequence[Event]], here: Mapping[str, Record]) -> str:
        """Why an event has no business here; `here` has the records among those that `known` tells of."""
        trust, reach = self._trust(), self._reach
        if reach is None or hearing.unready(event, self._call.now):
            return ""

        def places(id: str) -> list[tuple[str, Scope]]:
            record = here.get(id) if id in known else self.records([id]).get(id)
            if not isinstance(record, Memory | Session):
                return []
            now: list[tuple[str, Scope]] = [(type_of(record), record.scope)]
            if reach.holds(*now[0]):
                return now
            told = (hearing.heard(each, trust) for each in known.get(id) or self.events_of(id))
            return [*now, *carrying.scopes_told(id, told)]

        owner = trust.bound.get(event.replica)
        touched = [here[id] for id in event.subjects if id in here] if owner is not None else []
        if any(getattr(record, "owner", owner) != owner for record in touched):
            return "it is about what belongs to somebody else"
        return carrying.trespass(hearing.heard(event, trust), reach, places)

    def _decided(
        self,
        known: dict[str, list[Event]],
        fresh: Sequence[Event],
        erase: Collection[str],
        waits: list[joining.Waiting],
        *,
        action: str = "",
    ) -> "_Prepared":
        """What to commit so that these records are what all events say."""
        trust = self._trust()
        current = self.records(known)
        joined = joining.join(known, fresh, current, trust, self._call.now)
        waits = [*waits, *joined.waiting]
        erased = {id for id in erase if any(id in e.subjects for e in joined.taken if e.action == "purge")}
        for id in erased:
            self._erased[id] = True
        more: dict[str, Record] = {}
        for id in erased:
            more |= {each.id: each for each in self._relations_of(id) if each.id not in erased}
            more |= {each.id: each for each in every(self._call, Filter(replaced_by=id))}
        current |= {id: record for id, record in more.items() if id not in current}
        after = {**{id: record for id, record in more.items() if id not in joined.after}, **joined.after}
        after = {id: self._freed(record, joined.taken) for id, record in after.items()}
        joined = joined._replace(after=after)
        counting = {id: self._counting(id, joined, known, trust) for id in joined.after}
        settled = self._settled(joined, known, counting, current)
        gone = erased | {id for id, record in after.items() if record is None and id in more}
        change = joining.change_of(
            joined,
            current | settled.around,
            settled.moved,
            self._call.request(),
            why=settled.why,
            erase=sorted(gone),
            action=action,
            counts=settled.counts,
            against=settled.against,
        )
        return _Prepared(change, waits, settled.held)

    def _freed(self, record: Record | None, taken: Sequence[Event]) -> Record | None:
        if record is None:
            return None
        names = (
            [record.replaced_by]
            if isinstance(record, Memory)
            else [record.from_id, record.to_id]
            if isinstance(record, Relation)
            else []
        )
        erased = [id for id in names if id and self.is_erased(id)]
        return joining.freed(record, erased, lambda: (*self.events_of(record.id), *taken))

    def _settled(
        self,
        joined: Joined,
        known: Mapping[str, Sequence[Event]],
        counting: Mapping[str, Sequence[Event]],
        current: Mapping[str, Record],
    ) -> "_Settled":
        """What this store has to settle beside.

        Two memories in one place, rings, words nobody approved, and what contradicts a memory in use.
        """
        memories = {id: record for id, record in joined.after.items() if isinstance(record, Memory)}
        around: dict[str, Record] = {}
        for memory in list(memories.values()):
            for holder in self._holders(memory):
                if holder.id not in joined.after:
                    around[holder.id] = holder
        everyone = memories | cast("dict[str, Memory]", dict(around))
        alike = joining.aliases(everyone.values())
        now = everyone | dict(alike.moved)
        chain = self._chain(now)
        around |= {id: memory for id, memory in chain.items() if id not in joined.after}
        ring = joining.rings({**chain, **now}, lambda each: self._replaced_at(each, joined, known))
        now |= ring.moved
        held = {
            id: joining.held_again(memory)
            for id, memory in now.items()
            if id in memories and joining.unapproved(memory, counting[id])
        }
        now |= held
        fresh = [now[id] for id, memory in memories.items() if not self._was_in_use(current.get(id), memory)]
        odd = self._at_odds(fresh, now, joined, known)
        around |= {late.id: late for late, _ in odd if late.id not in joined.after}
        waits = {late.id: joining.held_for_conflict(now.get(late.id, late)) for late, _ in odd}
        now |= waits
        twins, counts = joining.counted({**chain, **now}, lambda each: self._state(each, joined, known))
        why = [*alike.why, *ring.why, *(["unapproved"] if held else []), *(["conflict"] if waits else [])]
        against = tuple(dict.fromkeys(early.id for _, early in odd))
        moved = {**alike.moved, **ring.moved, **held, **waits, **twins}
        return _Settled(moved, why, around, counts, against, len(waits))

    def _was_in_use(self, before: Record | None, after: Memory) -> bool:
        """Whether a memory counted here before, in these words: then it was compared with the others already."""
        return isinstance(before, Memory) and before.text == after.text and self._is_live(before)

    def _is_live(self, memory: Memory) -> bool:
        return standing(memory, self._call.now, self._call.caller.view) == "live"

    def _at_odds(
        self,
        fresh: Sequence[Memory],
        now: Mapping[str, Memory],
        joined: Joined,
        known: Mapping[str, Sequence[Event]],
    ) -> list[tuple[Memory, Memory]]:
        """Pairs of which one comes into use and both cannot hold, unless somebody decided about them.

        Each has the one that waits first. One's own alone: what others' memories are is theirs to settle.
        """
        mine = [one for one in fresh if one.owner == self._call.caller.owner and self._is_live(one)]
        coming: dict[str, list[Memory]] = {}
        for memory in mine:
            coming.setdefault(outline(memory.text), []).append(memory)
        found: dict[str, tuple[Memory, Memory]] = {}
        for memory in sorted(mine, key=lambda one: (one.created_at, one.id)):
            if not (told := outline(memory.text)):
                continue
            here = (now.get(one.id, one) for one in rivals_of(self._call, memory))
            rivals = {one.id: one for one in (*here, *coming[told]) if self._is_live(one)}
            for rival in sorted(rivals.values(), key=lambda one: (one.created_at, one.id)):
                pair = joining.at_odds(memory, rival)
                if (
                    pair
                    and not ({memory.id, rival.id} & found.keys())
                    and not self._is_judged(*pair, joined, known)
                ):
                    found[pair[0].id] = pair
        return list(found.values())

    def _is_judged(self, late: Memory, early: Memory, joined: Joined, known: Mapping[str, Sequence[Event]]) -> bool:
        """Whether somebody has said of two that are at odds that both count: by a verdict, or by approving."""
        pair = pair_id(self._call.caller.owner, late.id, early.id)
        judged = joined.after.get(pair) or self.records([pair]).get(pair)
        if isinstance(judged, Relation) and judged.status != "proposed":
            return True
        told = [
            [*(known.get(one.id) or self.events_of(one.id)), *(e for e in joined.taken if one.id in e.subjects)]
            for one in (late, early)
        ]
        return joining.is_decided(late, early, *told)

    def _counting(self, id: str, joined: Joined, known: Mapping[str, Sequence[Event]], trust: Trust) -> list[Event]:
        """The events of a record by those who may change it; this store's own that do not count are noted."""
        told = [*known.get(id, ()), *(event for event in joined.taken if id in event.subjects)]
        mute = hearing.out_of_turn(id, told, trust)
        own = self._call.engine.replica() if mute else ""
        unheard = (event for event in told if event.id in mute and event.replica == own)
        self.uncounted |= {event.id for event in unheard if event.edits}
        return [event for event in told if event.id not in mute]

    def _holders(self, memory: Memory) -> Iterator[Memory]:
        """Memories that hold, or would hold, the place of this one."""
        if not (claims := claims_of(memory)):
            return
        where = Filter(owner=memory.owner, scopes=(memory.scope,))
        clauses = [where._replace(digest=memory.digest)]
        clauses += [where._replace(key=memory.key)] if memory.key else []
        for clause in clauses:
            for found in every(self._call, clause):
                if found.id != memory.id and set(claims_of(found)) & set(claims):
                    yield found

    def _chain(self, memories: Mapping[str, Memory]) -> dict[str, Memory]:
        """What replaced these memories, what replaced that, and so on, as far as it is not among them."""
        found: dict[str, Memory] = {}
        wanted = {memory.replaced_by for memory in memories.values() if memory.replaced_by} - memories.keys()
        while wanted:
            got = self._call.memories(wanted)
            found |= got
            wanted = {one.replaced_by for one in got.values() if one.replaced_by} - memories.keys() - found.keys()
        return found

    def _replaced_at(self, id: str, joined: Joined, known: Mapping[str, Sequence[Event]]) -> Stamp:
        return self._state(id, joined, known).fields.get("replaced_by", (Stamp("9", "", ""), ""))[0]

    def _state(self, id: str, joined: Joined, known: Mapping[str, Sequence[Event]]) -> State:
        """What is known of a record, with what is being taken in."""
        state = joined.states.get(id)
        if state is None:
            record = self.records([id]).get(id)
            state = joining.state_of(id, known.get(id) or self.events_of(id), record, self._trust())
        return state

    def events_of(self, id: str) -> list[Event]:
        """Everything that is known of a record, in the order in which it came here."""
        return list(history.events(self._call.engine, subject=id, at_once=PAGE))

    def records(self, ids: Iterable[str]) -> dict[str, Record]:
        """The records that are here, by id, of whatever type."""
        wanted = list(ids)
        found: dict[str, Record] = {}
        for type in RECORDS:
            got = self._call.exactly(type, wanted)
            found |= {ref: record for ref, record in got.items() if record.id == ref}
        return found

    def is_erased(self, id: str) -> bool:
        """Whether a record was purged, here or by what is being taken in."""
        if id not in self._erased:
            purged = any(event.action == "purge" and id in event.subjects for event in self.events_of(id))
            self._erased[id] = purged and not self.records([id])
        return self._erased[id]

    def _relations_of(self, id: str) -> list[Relation]:
        found = pages(self._call, "relation", Filter(touches=(id,)))
        return [record for page in found for record in page if isinstance(record, Relation)]

    def history(self, after: int = 0) -> Iterator[Event]:
        """All of history after a local number."""
        return history.events(self._call.engine, after=after, at_once=PAGE)

    def refold(self, replica: str) -> "Refolded":
        """Make every record anew that a replica has a word in: what it means here has changed."""
        ids = {id for event in self.history() if event.replica == replica for id in event.subjects}
        wanted = sorted(ids)
        done = Refolded()
        for at in range(0, len(wanted), PAGE):
            part = self._refold(wanted[at : at + PAGE])
            done = Refolded(done.changed + part.changed, done.live + part.live, held=done.held + part.held)
        return done._replace(uncounted=len(self.uncounted))

    def _refold(self, ids: Sequence[str]) -> "Refolded":
        """Make some records anew, in one commit."""

        def decide() -> tuple[Change | None, tuple[_Prepared, dict[str, Record]]]:
            known = {id: self.events_of(id) for id in ids}
            prepared = self._decided(known, (), (), [])
            return prepared.change, (prepared, self.records(known))

        commit, (prepared, before) = self._call.decide_and_commit(decide)
        if not (commit and prepared.change):
            return Refolded()
        puts = prepared.change.puts
        live = [one for one in puts if _is_promoted(one) and not _is_promoted(before.get(one.id))]
        return Refolded(len(puts) + len(prepared.change.drops), len(live), held=prepared.held)


class Refolded(NamedTuple):
    """How many records are others than before, how many memories came into use by it, and what counts no more."""

    changed: int = 0
    live: int = 0
    uncounted: int = 0  # changes of this store's own to what is somebody else's
    held: int = 0  # memories that wait now, because they contradict what is in use


def _is_promoted(record: Record | None) -> bool:
    return isinstance(record, Memory) and record.status == "promoted"


class _Settled(NamedTuple):
    """The memories to change and why; `around`: others read for it; `against`: what the held ones contradict."""

    moved: dict[str, Memory]
    why: list[str]
    around: dict[str, Record]
    counts: dict[str, dict[str, Any]]
    against: tuple[str, ...]
    held: int


class _Prepared(NamedTuple):
    change: Change | None
    waits: list[joining.Waiting]
    held: int = 0
