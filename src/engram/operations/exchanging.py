"""One exchange with a place: what others left there is taken in, and what is new here is left for them.

Loaded only where somebody syncs. `docs/sync.md` says what lies in a place; rules of joining and carrying decide.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from engram.errors import Conflict, Corrupt, Invalid
from engram.model.answers_sync import Synced
from engram.model.change import Change, Past
from engram.model.event import Draft, Event, Head, Payload
from engram.model.filter import Filter
from engram.model.scope import GLOBAL
from engram.operations.base import PAGE, Call, every
from engram.operations.carrying import Found, Ours, canonical_reach, project_told
from engram.operations.joining import Joining
from engram.operations.replicas import Replicas, signed_by
from engram.ports import Ledger
from engram.recall import history
from engram.rules import carrying, hearing, joining
from engram.rules.carrying import Reach, Watch
from engram.sync import chunks, keys
from engram.sync.chunks import Chunk, Header
from engram.sync.place import Card, Place

RESTATED_AT_ONCE = 50
"""How many records one event tells whole."""

MOST_PREVIEWED = 100
"""How many chunks are looked through to say what of them would wait."""

MOST_TOLD = 20
"""How many problems an answer names."""


class Tally:
    """What an exchange has done so far."""

    def __init__(self) -> None:
        self.wrote = self.sent = self.read = self.erased = self.attached = 0
        self.waiting: dict[str, int] = {}
        self.problems: list[str] = []

    def wait(self, why: str) -> None:
        """One more event that waits, and why."""
        self.waiting[why] = self.waiting.get(why, 0) + 1

    def problem(self, words: str) -> None:
        """Something that was skipped."""
        if words not in self.problems:
            self.problems.append(words)


class Exchange:
    """One exchange between a store and a place. Nothing is lost where it is stopped: the next one goes on."""

    def __init__(
        self, call: Call, ledger: Ledger, place: Place, name: str, reach: Reach, *, served: bool = False
    ) -> None:
        """With `served`, the place is a server's, whose cards say whose the replicas are."""
        self._served = served
        self._call, self._ledger, self._place, self._reach = call, ledger, place, reach
        self._facts = ledger.part("places").setdefault(name, {})
        self._replicas = Replicas(ledger, call.caller.owner)
        self._read: dict[str, int] = dict.fromkeys(self._facts.get("read", ()), 1)
        self._joining = Joining(call, self._replicas.trust, reach)
        self._purged: set[str] = set()
        self._in_question: set[str] = set()  # replicas that show another key than the one that counts
        self._name = name
        self.tally = Tally()

    def run(self, *, dry: bool = False, take: bool = True, give: bool = True) -> Synced:
        """Take in, give out, and take away the words of what was erased; in a dry run, only say what would be."""
        self._meet()
        self._look_at_clock()
        if dry:
            self._preview()
        else:
            self._look_at_own()
            for replica in self._replicas.learn_anew(str(self._reach.scope), self._name):
                self._joining.refold(replica)
        if take and not dry:
            self._incoming()
        stay = self._outgoing(dry=dry) if give else {}
        if not (give or dry):
            self._take_words_away(self._found())
        if not dry:
            self._facts["scope"], self._facts["at"] = str(self._reach.scope), str(self._call.now)
        return self._answer(stay, dry=dry)

    def _meet(self) -> None:
        """Take note of who is here. A server that shows another key than the one that counts vouches for nobody."""
        cards = self._place.cards().values()
        counting = (card for card in cards if card.you is not None and self._replicas.accepts(card))
        server = next((card.replica for card in counting), "") if self._served else ""
        for card in cards:
            mine = card.replica == self._call.engine.replica()
            if not mine and not self._replicas.meet(card, str(self._call.now), server=server):
                self._in_question.add(card.replica)
                self.tally.problem(
                    f"Replica {card.replica[:8]} shows another key than before, {keys.fingerprint(card.key)}: the"
                    " first one counts until a person accepts that one (engram replicas)."
                )

    def _look_at_clock(self) -> None:
        """Say where our own history is ahead of its time: times only go on, so others wait for all that follows."""
        for newest in self._call.engine.events(newest=True, limit=1):
            if hearing.is_ahead(newest, self._call.now):
                self.tally.problem(
                    f"This store's own history is dated {newest.time[:10]}: a clock was wrong, and others take in"
                    " nothing it says before that day. Way out: engram export, then engram import --trust in a new"
                    " store."
                )

    def _answer(self, stay: Mapping[str, int], *, dry: bool) -> Synced:
        tally = self.tally
        waits = (("event waits" if n == 1 else "events wait", n, why) for why, n in tally.waiting.items())
        return Synced(
            at=self._call.now,
            place=self._name,
            scope=str(self._reach.scope),
            wrote=tally.wrote,
            sent=tally.sent,
            read=tally.read,
            applied=self._joining.applied,
            uncounted=len(self._joining.uncounted),
            held=self._joining.held,
            erased=tally.erased,
            waiting=tuple(f"{n:,} {what}: {why}." for what, n, why in waits),
            problems=tuple(tally.problems[:MOST_TOLD]),
            stayed=stay,
            private=self._reach.private,
            everywhere=self._reach.everywhere,
            strangers=tuple(self._replicas.strangers()),
            other_names=tuple(self._replicas.other_names(self._name)),
            dry_run=dry,
            left_files=tally.attached,
        )

    # taking in

    def _unread(self) -> list[tuple[str, str]]:
        """Chunks of others that were not taken in whole, in the order of their writers' history."""
        found: list[tuple[int, str, str]] = []
        own = self._call.engine.replica()
        for replica in self._place.replicas():
            for stray in self._place.strays(replica):
                self.tally.problem(f"{replica[:8]}/{stray}: it is not a chunk, and is left alone.")
            for name in self._place.chunk_names(replica) if replica != own else ():
                if name in self._read:
                    continue
                try:
                    found.append((self._place.header(replica, name).last, replica, name))
                except Invalid as error:
                    self.tally.problem(f"{replica[:8]}/{name[:12]}: {error.message}; skipped.")
        return [(replica, name) for _, replica, name in sorted(found)]

    def _chunk(self, replica: str, name: str, *, words: bool = True, before: bool = False) -> Chunk | None:
        """A chunk that can be believed: signed with its replica's key.

        One that was read before may be signed with a key that was replaced since; with `before`, any may.
        """
        mine = replica == self._call.engine.replica()
        theirs = self._replicas.verify(replica, before=before or name in self._read)
        verify = signed_by(self._ledger.key.public) if mine else theirs
        if verify is None:
            self.tally.problem(f"{replica[:8]}/{name[:12]}: its replica has not introduced itself; skipped.")
            return None
        try:
            return self._place.chunk(replica, name, verify, words=words)
        except Invalid as error:
            if replica not in self._in_question and not self._is_outdated(replica, name):
                self.tally.problem(f"{replica[:8]}/{name[:12]}: {error.message}; skipped.")
            return None

    def _is_outdated(self, replica: str, name: str) -> bool:
        """Whether a chunk was signed with a key that was replaced: its replica tells the same anew."""
        try:
            header = self._place.header(replica, name)
        except Invalid:
            return False
        now, before = self._replicas.verify(replica), self._replicas.verify(replica, before=True)
        signed = header.signed(), header.signature
        return now is not None and before is not None and before(*signed) and not now(*signed)

    def _incoming(self) -> None:
        unread = self._unread()
        self._look_ahead(unread)
        self._report_forks(unread)
        left, before = unread, len(unread) + 1
        while left and len(left) < before:  # what waits for another chunk has its turn when that was read
            before = len(left)
            self.tally.waiting.clear()
            left = [each for each in left if not self._take_in_chunk(*each, total=len(unread))]

    def _look_ahead(self, unread: Sequence[tuple[str, str]]) -> None:
        """What has to be known before anything is taken in: what is erased, and what others call this project."""
        trust = self._replicas.trust()
        for replica, name in unread:
            chunk = self._chunk(replica, name, words=False)
            if chunk is None:
                continue
            theirs = project_told(chunk.header.reach)
            if theirs and self._reach.scope.level == "project":
                self._replicas.learn(replica, theirs, str(self._reach.scope), self._name)
            for event in chunk.events:
                if event.action == "purge" and trust.counts(event) and not hearing.unready(event, self._call.now):
                    self._joining.expect_erased(event.subjects)

    def _preview(self) -> None:
        """Count what is there to read, and say what of it would wait; of very much only how much it is."""
        unread = self._unread()
        self.tally.read = len(unread)
        if len(unread) > MOST_PREVIEWED:
            return
        self._look_ahead(unread)
        found = [chunk for each in unread if (chunk := self._chunk(*each)) is not None]
        events = [event for chunk in found for event in chunk.events]
        for each in self._joining.preview(events, {id for chunk in found for id in chunk.parts}):
            self.tally.wait(each.why)

    def _report_forks(self, unread: Sequence[tuple[str, str]]) -> None:
        for replica in dict.fromkeys(replica for replica, _ in unread):
            ids: dict[int, str] = {}
            for name in self._place.chunk_names(replica):
                chunk = self._chunk(replica, name, words=False)
                for event in chunk.events if chunk else ():
                    if chunk and event.id in chunk.parts:
                        continue
                    if ids.setdefault(event.position, event.id) != event.id:
                        self.tally.problem(
                            f"Replica {replica[:8]} has two histories from {event.position} on: a store was copied."
                            " Both are kept; the copy goes on under a new name when it syncs."
                        )
                        break

    def _take_in_chunk(self, replica: str, name: str, *, total: int) -> bool:
        """Take in what can be; True when nothing of the chunk is left to wait."""
        chunk = self._chunk(replica, name)
        if chunk is None:
            return False
        try:
            waits = self._joining.take_in(chunk.events, chunk.parts)
        except (Conflict, Corrupt, Invalid) as error:
            self.tally.problem(f"{replica[:8]}/{name[:12]}: {error.message} It is tried again by the next sync.")
            return False
        for each in waits:
            self.tally.wait(each.why)
        if waits:
            return False
        self._read[name] = 1
        self._facts["read"] = list(self._read)
        self._ledger.keep()
        self.tally.read += 1
        self._call.progress(self.tally.read, total, "chunks read")
        return True

    # ourselves

    def _look_at_own(self) -> None:
        """Where another store writes under our name, it is a copy of ours, or we of it: we take a new name."""
        own = self._call.engine.replica()
        written = set(self._facts.get("written", ()))
        strange = [name for name in self._place.chunk_names(own) if name not in written] if own else []
        for name in strange:
            chunk = self._chunk(own, name, words=False)
            if chunk is None:
                continue
            whole = [event for event in chunk.events if event.id not in chunk.parts]
            if all(any(e.id == event.id for e in self._joining.events_of(event.subjects[0])) for event in whole):
                self._facts["written"] = [*self._facts.get("written", ()), name]
                continue
            self._rename(own)
            return

    def _rename(self, own: str) -> None:
        request = self._call.request()
        draft = Draft(
            "renew", request.caller.name, request.now, (), owner=request.caller.owner, batch=request.batch,
            payload=Payload((), {"was": own}, request.salt),
        )  # fmt: skip
        self._call.engine.commit(Change(draft=draft, past=Past((), Head(self._call.new_id()))))
        self._facts["renamed"] = [*self._facts.get("renamed", ()), own]
        self._facts["written"] = []
        card = Card(own, self._ledger.key.public, self._call.syncing.device)
        self._replicas.meet(card, str(self._call.now))
        self.tally.problem(
            f"Another store writes as {own[:8]}: one is a copy of the other. This one has a new name."
        )

    # giving out

    def _outgoing(self, *, dry: bool) -> dict[str, int]:
        ours = Ours(self._call, self._reach)
        self.tally.attached = ours.attached
        found = self._found()
        told, strange = self._to_restate(ours, found)
        entering = ours.ids - found.carried - strange
        start = 0
        if told and not dry:
            start = self._restate(sorted(told))
        own = self._call.engine.replica()
        if own and not dry:
            self._give(own, ours, found, told=told, plain=entering - told, start=start)
            self._take_words_away(found)
            self._facts.pop("renamed", None)
            self._facts["reach"] = [self._reach.private, self._reach.everywhere]
        if dry:
            self.tally.sent = len(entering & ours.memories)
            unsent = self._carried(own, ours, found, told) if own else ()
            self.tally.wrote = sum(1 for _ in unsent) + bool(told)
        return ours.stayed

    def _found(self) -> Found:
        own, trust = self._call.engine.replica(), self._replicas.trust()
        carried: set[str] = set()
        mine: set[str] = set()
        erased: set[str] = set()
        headers: list[tuple[int, int, str]] = []
        for replica in self._place.replicas():
            if replica in trust.strangers:
                continue
            for name in self._place.chunk_names(replica):
                chunk = self._chunk(replica, name, words=False)
                if chunk is None:
                    continue
                subjects = {id for event in chunk.events for id in event.subjects}
                carried |= subjects
                erased |= {id for event in chunk.events if event.action == "purge" for id in event.subjects}
                if replica == own:
                    mine |= subjects
                    headers.append((chunk.header.last, chunk.header.first, name))
        headers.sort()
        covered = tuple((first, last) for last, first, _ in headers if last)
        last = headers[-1][2] if headers else ""
        return Found(frozenset(carried), frozenset(mine), covered, last, frozenset(erased))

    def _to_restate(self, ours: Ours, found: Found) -> tuple[set[str], set[str]]:
        """The records that this place has to be told whole: their events would tell too little, or too much.

        The second set are those that a stranger wrote too, so that we cannot tell them.
        """
        own = self._call.engine.replica()
        entering = ours.ids - found.carried
        end = found.end
        watch = Watch(self._reach, own, entering, self._replicas.trust().strangers)
        again: set[str] = set()
        renamed = set(self._facts.get("renamed", ()))
        for event in self._joining.history(0 if entering or renamed or found.gaps else self._seq_of(own, end)):
            watch.see(event)
            inside = ours.ids.intersection(event.subjects)
            if event.replica in renamed:
                again |= inside
            if event.replica != own or found.covers(event.position):
                continue
            again |= carrying.moves(event) & ours.ids
            if event.position < end:
                again |= inside
            if event.action == "purge":
                again |= self._companions(event) & ours.ids
        # A session or a verdict that others told of here may hold a word of ours that nobody was told yet.
        for id in (ours.ids & found.carried) - found.mine - ours.memories:
            if any(event.replica == own and event.position <= end for event in self._joining.events_of(id)):
                again.add(id)
        was = self._facts.get("reach", [False, False])
        if (self._reach.private and not was[0]) or (self._reach.everywhere and not was[1]):
            again |= ours.ids & found.mine if found.mine else set()
        told = (watch.broken & entering) | (again & found.carried) | (again & watch.broken)
        told |= {id for id, ends in ours.relations.items() if id in entering and ends & told}
        told |= {id for each in told & ours.memories for id in self._pointing_to(each)} & ours.ids
        return told - watch.strange, watch.strange

    def _pointing_to(self, id: str) -> set[str]:
        """Memories that name this one (`replaced_by`, `amends`): while it stayed home, nobody was told so."""
        clauses = (Filter(replaced_by=id), Filter(amends=id))
        return {memory.id for clause in clauses for memory in every(self._call, clause)}

    def _companions(self, purge: Event) -> set[str]:
        """Records that had an event in common with what was purged: its words went with the others'."""
        return {id for gone in purge.subjects for event in self._joining.events_of(gone) for id in event.subjects}

    def _restate(self, ids: Sequence[str]) -> int:
        """Tell records whole, by events of our own; returns the number of the first."""
        first = 0
        trust = self._replicas.trust()
        for at in range(0, len(ids), RESTATED_AT_ONCE):
            some = ids[at : at + RESTATED_AT_ONCE]
            current = self._joining.records(some)
            states = {id: joining.state_of(id, self._joining.events_of(id), current.get(id), trust) for id in some}
            event = self._call.engine.commit(carrying.restated(states, self._call.request())).event
            first = first or event.seq
        return first

    def _seq_of(self, own: str, position: int) -> int:
        """The local number of our own event at a position; 0 when there is none."""
        if not position:
            return 0
        told = history.events(self._call.engine, newest=True, at_once=PAGE)
        return next((event.seq for event in told if event.replica == own and event.position <= position), 0)

    def _give(
        self,
        own: str,
        ours: Ours,
        found: Found,
        *,
        told: Collection[str],
        plain: Collection[str],
        start: int,
    ) -> None:
        """Leave chunks of what no chunk covers yet, and the earlier history of what is told for the first time."""
        end = found.end
        gap = min([*found.gaps, end + 1])
        new = self._carried(own, ours, found, told, start)
        previous, first = found.last, gap
        for group in chunks.grouped(new):
            last = group[-1][0].position
            previous = self._leave(own, group, first, last, previous)
            first = last + 1
        if plain and end:
            old = (
                (part, part.id != event.id)
                for event in self._joining.history()
                if event.replica == own and event.position <= end
                if (part := carrying.part_of(event, lambda each: each in plain, only={})) is not None
            )
            for group in chunks.grouped(old):
                previous = self._leave(own, group, 0, 0, previous)

    def _carried(
        self,
        own: str,
        ours: Ours,
        found: Found,
        told: Collection[str],
        start: int = 0,
    ) -> Iterator[tuple[Event, bool]]:
        """What goes of our own events that no chunk covers yet, each with whether it is a part.

        What is told whole goes from the event numbered `start` on, which tells it.
        """
        end = found.end
        left = {id: ("forgotten_at",) for id in found.mine - ours.ids if self._here(id)}
        for event in self._joining.history(self._seq_of(own, end)):
            if event.replica != own or event.position <= end:
                continue

            def goes(id: str, *, late: bool = bool(start) and event.seq >= start) -> bool:
                if id in ours.ids:
                    return late or id not in told
                return id in found.carried and id not in left and not self._here(id)

            part = carrying.part_of(event, goes, only=left)
            if part is not None:
                self._purged.update(part.subjects if part.action == "purge" else ())
                yield part, part.id != event.id

    def _here(self, id: str) -> bool:
        return bool(self._joining.records([id]))

    def _leave(self, own: str, group: Sequence[tuple[Event, bool]], first: int, last: int, previous: str) -> str:
        """Write a chunk, and remember that it is ours."""
        key = self._ledger.key
        reach = canonical_reach(self._reach)
        header = Header(own, first, last, previous, 0, "", reach)
        written = chunks.write(group, header, key.sign)
        self._place.introduce(Card(own, key.public, self._call.syncing.device))
        self._place.add(own, written)
        self._facts["written"] = [*self._facts.get("written", ()), written.name]
        self._ledger.keep()
        self.tally.wrote += 1
        self.tally.sent += len(group)
        self._call.progress(self.tally.sent, 0, "events sent")
        return written.name

    def _take_words_away(self, found: Found) -> None:
        """Take what was erased out of the files of every replica: whoever comes first does it, in the same way."""
        erased = found.erased | self._purged
        if not erased or (self._facts.get("cleaned") == len(erased) and not (self.tally.read or self.tally.wrote)):
            return
        self._facts["cleaned"] = len(erased)
        for replica in self._place.replicas():
            for name in self._place.chunk_names(replica):
                chunk = self._chunk(replica, name, before=True)
                gone = [
                    event.id
                    for event in (chunk.events if chunk else ())
                    if event.payload is not None and event.action != "purge" and erased.intersection(event.subjects)
                ]
                if gone:
                    self.tally.erased += self._place.erase(replica, name, gone)


def exchange_in(
    call: Call, folder: str, *, private: bool | None = None, everywhere: bool | None = None, keep: bool = True
) -> Exchange:
    """An exchange with the place in a repository, and what it is given there; what is asked is remembered.

    Raises:
        Invalid: when there is no such folder.
    """
    place = Place(folder)
    ledger = call.syncing.ledger()
    known = ledger.part("places")
    facts = known.get(place.root, {})
    wanted = {
        "private": facts.get("private", False) if private is None else private,
        "global": facts.get("global", False) if everywhere is None else everywhere,
    }
    scope = call.syncing.place(place.root)
    if scope == GLOBAL and not wanted["global"]:
        raise Invalid(
            f"{place.root} is not a project.", "Name the folder of a repository, or give it a name: engram init."
        )
    if keep:
        known.setdefault(place.root, {}).update(wanted)
    return Exchange(call, ledger, place, place.root, Reach(scope, wanted["private"], wanted["global"]))
