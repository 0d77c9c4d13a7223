"""One import under way: a group of records at a time, decided on by rules and committed as a step of a batch."""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, cast

from engram.errors import EngramError, Moved, Unavailable
from engram.interop import theirs
from engram.interop.forms import UNDATED, Foreign, Form, Problem, foreign_id
from engram.model.answers_store import Imported, Preview
from engram.model.change import Change, Request
from engram.model.codec import Traveller
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.relation import Relation
from engram.model.scope import GLOBAL
from engram.model.session import Session, session_ids
from engram.operations.base import Call
from engram.operations.bearing import holder_of, rivals_of, twins_of
from engram.operations.scopes import namesake, scope_named
from engram.recall.meaning import CATCH_UP
from engram.rules import intake
from engram.rules.admission import Known
from engram.rules.changes import claims_of, compose, join
from engram.rules.intake import Here, Intake, Together, is_of_one_heading
from engram.rules.redact import redact
from engram.rules.relations import pair_id

GROUP = 200
"""How many records are committed at a time: what a kill leaves undone is at most so much."""

OUTCOMES = ("new", "held", "proposed", "known", "skipped")
"""What may become of a thing, in the order in which it is told. Every problem is something skipped."""

BY_WORDS = "By their words they are found at once; by their meaning once they have vectors: engram reembed."

MOST_GROUPS = 100_000
MOST_PROBLEMS = 20
MOST_SHOWN = 200
MOST_FORESEEN, MOST_FORESEEN_TEXT = 20_000, 16 * 1024 * 1024
"""How many of the last memories a dry run compares the next one with, beside those in the store, and characters."""


class _Outcome(NamedTuple):
    """One thing as it was found, and what is to become of it."""

    name: str
    record: Traveller
    intake: Intake | None = None
    change: Change | None = None
    problem: str = ""


def called(path: str) -> str:
    """What a person calls the place that an import reads."""
    return "standard input" if path == "-" else path


class Taking:
    """One import under way: what was decided so far, and the group that is taken in next."""

    def __init__(self, call: Call, path: str, form: Form, scope: str, *, trust: bool, dry_run: bool) -> None:
        self.call, self.path, self.form, self.trust, self.dry_run = call, path, form, trust, dry_run
        self.source = f"import:{os.path.basename(path.rstrip('/'))}"[:120]
        place = scope_named(call, scope) if scope else None
        self.place = place or (GLOBAL if form.placed else call.home)
        self.moved = place  # where a person wants it, whatever it says itself
        request = call.request(confirm=trust)
        self.request: Request = request._replace(confirmed="import" if trust else "")
        self.groups: dict[type[Traveller], list[Foreign]] = {}
        self.aliases: dict[str, str] = {}
        self.coming: dict[str, Memory] = {}
        self.coming_text = 0  # characters
        self.together = Together()
        self.came: set[str] = set()  # the memories that this import made
        self.foreseen: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.scopes: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.problems: list[str] = []
        self.preview: list[Preview] = []
        self.events: list[int] = []
        self.done = self.sessions = self.relations = self.undated = 0
        self.resumed = False

    # what is found

    def take(self, thing: Foreign | Problem) -> None:
        """Take up one thing; whole groups are decided on at once."""
        if isinstance(thing, Problem):
            self._complain(thing.name, thing.message)
            return
        kind = type(thing.record)
        if kind is Relation:  # which is between memories that must be there
            self._settle(Memory)
        group = self.groups.setdefault(kind, [])
        group.append(thing._replace(record=self._placed(thing)))
        if len(group) == GROUP:
            self._settle(kind)

    def finish(self) -> Imported:
        """Take in the last group, and tell what was done."""
        for kind in list(self.groups):
            self._settle(kind)
        self.call.progress(self.done, self.done, "taking in")
        made = self.sessions or self.relations or any(self.outcomes[name] for name in OUTCOMES[:3])
        return Imported(
            at=self.call.now,
            path=self.path,
            outcomes={name: self.outcomes[name] for name in OUTCOMES if self.outcomes[name]},
            problems=tuple(self.problems),
            batch=self.request.batch if made and not self.dry_run else "",
            dry_run=self.dry_run,
            preview=tuple(self.preview),
            form=self.form.name,
            kinds=dict(self.kinds.most_common()),
            scopes=dict(self.scopes.most_common()),
            sessions=self.sessions,
            relations=self.relations,
            dropped=dict(self.dropped.most_common()),
            redacted=dict(self.redacted.most_common()),
            faults=dict(self.faults.most_common(MOST_PROBLEMS)),
            event=self.events[0] if len(self.events) == 1 and not self.resumed else 0,
            hint=self._hint() if made and not self.dry_run else "",
        )

    def _hint(self) -> str:
        return " ".join(filter(None, (self._unembedded(), namesake(self.call))))

    def _unembedded(self) -> str:
        """A hint where more memories lack a vector than the next recall would make by the way."""
        embedder = self.call.embedder
        if embedder is None:
            return ""
        lacking = self.call.engine.lacking(embedder.space, self.call.access, limit=CATCH_UP + 1)
        return BY_WORDS if len(lacking) > CATCH_UP else ""

    def stopped_by(self, error: Unavailable) -> Unavailable:
        """The error that a store refused a group with, and what of the groups before it is there."""
        if not (kept := self._kept(sum(self.outcomes[name] for name in OUTCOMES[:3]))):
            return error
        told = error.message.removesuffix(" Nothing was written.")
        return Unavailable(f"{told} {kept[0]}", f"{error.hint} {kept[1]}")

    def interrupted(self) -> tuple[str, ...]:
        """The same of an import that its person ended: by its events, for its last group may not be counted."""
        events = self.call.engine.events(batch=self.request.batch, limit=MOST_GROUPS)
        return self._kept(len({subject for event in events for subject in event.subjects}))

    def _kept(self, made: int) -> tuple[str, ...]:
        if self.dry_run or not made:
            return ()
        return (
            f"Of {called(self.path)}, {made:,} were taken in before that, and are kept.",
            f"The same import again goes on there; engram undo {self.request.batch} takes them back.",
        )

    def _placed(self, thing: Foreign) -> Traveller:
        """The record where it holds, with the ids it gets here.

        What has no time is dated now, each a microsecond after the one before: the order stays.
        """
        record = thing.record
        if isinstance(record, Session):
            return intake.owned(record, self.request)
        names = ("from_id", "to_id") if isinstance(record, Relation) else ("id",)
        changes: dict[str, Any] = {}
        if thing.ours and not self.trust:
            changes = {name: self._local(thing, getattr(record, name)) for name in names}
        if isinstance(record, Memory):
            place = (self.moved or GLOBAL) if thing.ours else self.place
            if record.scope == GLOBAL and place != GLOBAL:
                changes["scope"] = place
            if record.created_at == UNDATED:
                at = self.call.now + timedelta(microseconds=self.undated)
                self.undated += 1
                changes |= {"created_at": at, "updated_at": at}
        return replace(record, **changes) if changes else record

    def _local(self, thing: Foreign, id: str) -> str:
        """The id for a foreign record: another one where it claims to be ours, and nobody vouches for that."""
        return foreign_id("engram", id) if id in thing.ours else id

    # what becomes of it

    def _settle(self, kind: type[Traveller]) -> None:
        """Decide on the group of a kind and commit it; where somebody was faster, one by one."""
        if not (group := self.groups.pop(kind, [])):
            return
        if not self.done and not self.dry_run:
            self._go_on(group)
        decided = self._decide(group)
        if not self.dry_run:
            try:
                self._commit(decided)
            except Moved:
                decided = [self._alone(one) for one in group]
        for thing, outcome in zip(group, decided, strict=True):
            self._count(thing, outcome)
        self.done += len(group)
        self.call.progress(self.done, 0, "taking in")

    def _go_on(self, group: Sequence[Foreign]) -> None:
        """Be one batch with the same import that was stopped, so that one undo takes back both.

        That is so where the last thing done here was an import that began with what this one begins with.
        """
        last = self.call.engine.events(newest=True, limit=1)
        if not last or last[0].action != "import" or last[0].actor != self.request.caller.name:
            return
        begun = self.call.engine.events(batch=last[0].batch, limit=1)
        if {id for event in begun for id in event.subjects} & {one.record.id for one in group}:
            self.request, self.resumed = self.request._replace(batch=last[0].batch), True

    def _decide(self, group: Sequence[Foreign]) -> list[_Outcome]:
        if not self.dry_run or len(self.coming) > MOST_FORESEEN or self.coming_text > MOST_FORESEEN_TEXT:
            self.coming, self.coming_text, self.together = {}, 0, Together()
        first = group[0].record
        if isinstance(first, Session):
            return self._decide_sessions(group)
        return self._decide_relations(group) if isinstance(first, Relation) else self._decide_memories(group)

    def _commit(self, decided: Sequence[_Outcome]) -> None:
        changes = [one.change for one in decided if one.change is not None]
        if changes:
            commit = self.call.engine.commit(changes[0] if len(changes) == 1 else join(changes))
            self.events.append(commit.event.seq)

    def _alone(self, thing: Foreign) -> _Outcome:
        for _ in range(3):
            (decided,) = self._decide([thing])
            try:
                self._commit([decided])
            except Moved:
                continue
            return decided
        memory = thing.record
        known = Intake("known", memory) if isinstance(memory, Memory) else None
        return _Outcome(thing.name, thing.record, known)  # the same key or text is here under another id

    def _decide_memories(self, group: Sequence[Foreign]) -> list[_Outcome]:
        memories = [cast("Memory", one.record) for one in group]
        spares = [
            foreign_id("proposal", intake.edition(one, own=bool(thing.ours)))
            for thing, one in zip(group, memories, strict=True)
        ]
        wanted = [*(one.id for one in memories), *spares, *(id for thing in group for id in thing.ours)]
        known = self.call.memories(wanted)
        return [self._decided(thing, spare, known) for thing, spare in zip(group, spares, strict=True)]

    def _decided(self, thing: Foreign, spare: str, known: dict[str, Memory]) -> _Outcome:
        name, memory, own = thing.name, cast("Memory", thing.record), bool(thing.ours)
        ids = (*thing.ours, memory.id)  # what was given out from here is known by the id it has here
        same = next((found for id in ids if (found := known.get(id) or self.coming.get(id))), None)
        if same is not None and same.digest == memory.digest and not (own and memory.updated_at > same.updated_at):
            return _Outcome(name, memory, Intake("known", same))
        try:
            there = spare in known or spare in self.coming
            here = Here(same, self._known(memory, own=own), spare, there, self._kindred(memory), self.form.ages)
            done = intake.take_in(memory, here, self.call.policy, self.request, own=own, source=self.source)
        except EngramError as error:
            return _Outcome(name, memory, problem=error.message)
        if done.change is not None:
            put = cast("Memory", done.change.puts[0])
            self.came.add(put.id)
            self.coming_text += len(put.text)
            self.coming |= {put.id: put, **dict.fromkeys(claims_of(put), put)}
            self.together.add(put)
        return _Outcome(name, memory, done, done.change)

    def _known(self, memory: Memory, *, own: bool) -> Known:
        """What bears on a memory: in the store, and among those that come in with it."""
        call, owner = self.call, self.call.caller.owner
        mine = replace(memory, owner=owner) if owner else memory
        twins = twins_of(call, mine, apart=call.policy.kind(memory.kind).apart)
        claimed = [self.coming[claim] for claim in claims_of(mine) if claim in self.coming]
        coming = next((one for one in claimed if one.status != "rejected" and not one.apart), None)
        keyed = (coming or holder_of(call, memory.key, memory.scope)) if memory.key else None
        unsure = not own and memory.status == "pending" and not memory.held_for
        found = rivals_of(call, mine) if self.trust and (unsure or memory.in_use) else []
        # What comes in together was so in one store: only what was here before is held against it, unless that
        # store says nothing of what counts.
        rivals = [one for one in found if one.id not in self.came or (unsure and is_of_one_heading(one, mine))]
        rivals += self.together.rivals(mine) if unsure else ()
        return Known(keyed, (*claimed, *twins), tuple(rivals))

    def _kindred(self, memory: Memory) -> Callable[[Memory], bool]:
        mine = theirs.of(memory)

        def is_another(other: Memory) -> bool:
            its = theirs.of(other)
            return bool(mine.form) and its.form == mine.form and its.id != mine.id

        return is_another

    def _decide_sessions(self, group: Sequence[Foreign]) -> list[_Outcome]:
        sessions = [cast("Session", one.record) for one in group]
        ids = [session_ids(self.call.caller.owner, one.name) for one in sessions]
        known = self.call.exactly("session", [id for each in ids for id in each])
        decided = []
        for thing, session, mine in zip(group, sessions, ids, strict=True):
            here = cast("Session | None", next((known[id] for id in mine if id in known), None))
            try:
                change = intake.take_in_session(session, here, self.request)
            except EngramError as error:
                decided.append(_Outcome(thing.name, session, problem=error.message))
                continue
            known[session.id] = session
            decided.append(_Outcome(thing.name, session, change=change))
        return decided

    def _decide_relations(self, group: Sequence[Foreign]) -> list[_Outcome]:
        """Relations change the memories at their ends, so each sees what the one before it did."""
        said = [cast("Relation", one.record) for one in group]
        ends = {id for one in said for id in self._ends(one)}
        memories = self.call.memories(list(ends))
        pairs = [pair_id(self.call.caller.owner, *self._ends(one)) for one in said]
        known = set(self.call.engine.get("relation", pairs, self.call.access_to("relation")))
        decided = []
        for thing, relation, pair in zip(group, said, pairs, strict=True):
            one = self._related(thing, relation, pair, memories, known)
            known.add(pair)
            memories |= {put.id: put for put in (one.change.puts if one.change else ()) if isinstance(put, Memory)}
            decided.append(one)
        return decided

    def _related(
        self, thing: Foreign, relation: Relation, pair: str, memories: dict[str, Memory], known: set[str]
    ) -> _Outcome:
        name, (first, second) = thing.name, self._ends(relation)
        if pair in known:
            return _Outcome(name, relation)
        called = zip((first, second), thing.ends, strict=True)
        missing = [their or id[:13] for id, their in called if id not in memories and id not in self.foreseen]
        if missing:
            return _Outcome(name, relation, problem=f'It relates to something that is not there: "{missing[0]}".')
        if self.dry_run:
            return _Outcome(name, relation, change=compose("import", self.request, []))
        hides = relation.kind == "supersedes" and self.trust
        events = self.call.engine.events(subject=second, newest=True, limit=1) if hides else []
        fresh = bool(events) and events[0].batch == self.request.batch
        try:
            change = intake.take_in_relation(relation, memories[first], memories[second], self.request, fresh=fresh)
        except EngramError as error:
            return _Outcome(name, relation, problem=error.message)
        return _Outcome(name, relation, change=change)

    def _ends(self, relation: Relation) -> tuple[str, str]:
        return self.aliases.get(relation.from_id, relation.from_id), self.aliases.get(
            relation.to_id, relation.to_id
        )

    # what is told of it

    def _count(self, thing: Foreign, outcome: _Outcome) -> None:
        record = outcome.record
        if outcome.problem:
            self._complain(outcome.name, outcome.problem)
        elif isinstance(record, Session):
            self.sessions += outcome.change is not None
        elif isinstance(record, Relation):
            self.relations += outcome.change is not None
        elif outcome.intake is not None:
            self._count_memory(record, outcome.intake)
        self.dropped.update(thing.dropped)
        if self.dry_run and isinstance(record, Memory) and len(self.preview) < MOST_SHOWN:
            became = outcome.intake.outcome if outcome.intake else "skipped"
            self.preview.append(Preview(redact(record.text[:2000]).text, record.kind, became))

    def _count_memory(self, memory: Memory, done: Intake) -> None:
        self.outcomes[done.outcome] += 1
        self.kinds[memory.kind] += 1
        self.scopes[str(memory.scope)] += 1
        self.redacted.update(done.redacted)
        if done.memory.id != memory.id:
            self.aliases[memory.id] = done.memory.id
        if self.dry_run:
            self.foreseen.add(memory.id)

    def _complain(self, name: str, message: str) -> None:
        self.outcomes["skipped"] += 1
        sort = re.sub(r"'[^']*'|\"[^\"]*\"|(?<![\w-])[\w-]*\d[\w,.-]*", "…", message)
        self.faults[sort.replace("….", "…")] += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{name}: {message}")
