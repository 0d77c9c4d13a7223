"""One scan for conflicts, page by page: suspected pairs are proposed, and a model may be asked."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar, cast

from engram.errors import Conflict, Invalid, Unavailable
from engram.model.answers_work import Conflicts, Pair
from engram.model.change import Change
from engram.model.filter import Filter, matches
from engram.model.memory import Memory, standing
from engram.model.refs import is_number
from engram.model.relation import Relation
from engram.operations.base import Call, pages
from engram.operations.bearing import relation_between, rivals_of
from engram.operations.relations import pair_named, pair_ref
from engram.operations.revisions import as_seen
from engram.operations.scopes import in_view
from engram.operations.suspicions import MOST, gathering, is_compared, ready, unjudged
from engram.ports import Embedder, Judge
from engram.recall.meaning import catch_up, require_same
from engram.recall.rivals import rivals
from engram.rules import relations
from engram.rules.changes import compose
from engram.rules.likeness import contradiction
from engram.rules.relations import Verdict
from engram.rules.suspicions import suspicion

PAGE = 100
MOST_SCANNED = 5_000
"""So many memories are gone through at a time; the next scan goes on there."""

MOST_OPEN = 20
"""So many of the newest memories are compared anew for a list: what their saves named is kept nowhere."""

MOST_HELD = 50
AT_ONCE = 8
"""Pairs that a model is asked about in one request."""

MOST_FAILURES = 3
"""After so many answers in a row that were no use, a model is left alone."""

Found = tuple[Memory, Memory, Verdict]
Done = TypeVar("Done")


class Run:
    """One asking: does what was asked for, and counts it."""

    def __init__(self, call: Call, scope: str, *, words: bool, dry_run: bool) -> None:
        self.call, self.words, self.dry_run = call, words, dry_run
        self.scope = in_view(call, scope, everywhere=not scope)
        self.batch = call.new_id()
        self.scanned = self.proposed = self.asked = self.tokens = 0
        self.rest: str | None = None  # where a scan goes on
        self.problems: list[str] = []
        self.ignored = ""  # the pair that was set aside
        self.events: list[int] = []
        self.previewed: list[Pair] = []

    # --- setting aside ---

    def ignore(self, pair: str) -> None:
        """Set a pair aside.

        Raises:
            Conflict: when it was judged.
            NotFound: when there is no such pair.
        """
        ends, _ = pair_named(self.call, pair)
        request = self.call.request(batch=self.batch)

        def decide() -> tuple[Change, None]:
            one, other = as_seen(self.call, ends)
            return relations.ignore(one, other, relation_between(self.call, one.id, other.id), request), None

        if not self.dry_run:
            self._commit(decide)
        self.ignored = pair_ref(*(self.call.memory(id) for id, _ in ends))

    def _commit(self, decide: Callable[[], tuple[Change, Done]]) -> Done:
        commit, done = self.call.decide_and_commit(decide)
        self.events.append(commit.event.seq)
        return done

    # --- scanning ---

    def scan(self, after: str | None) -> None:
        """Compare every memory of the caller's with its nearest, oldest first, and propose what is suspected."""
        call, embedder = self.call, self._embedder()
        total = call.engine.census((), call.access).total
        where = Filter(**self.scope, owner=call.caller.owner, standings=("live",), now=call.now)
        while True:
            page = call.page(where, after=after, limit=PAGE, oldest=True)
            found = (one for memory in page.records for one in self._suspected(memory, embedder))
            # Two that suspect one another are one pair.
            self._propose([*{_ends(one[0], one[1]): one for one in found}.values()])
            self.scanned += len(page.records)
            call.progress(min(self.scanned, total), total, "comparing memories")
            after = page.next
            if after is None or self.scanned >= MOST_SCANNED:
                break
        self.rest = after

    def _suspected(self, memory: Memory, embedder: Embedder | None) -> Iterator[Found]:
        if not is_compared(self.call, memory):
            return
        found = rivals(gathering(self.call, memory, embedder, thorough=True), memory)
        for one in unjudged(self.call, memory, found)[:MOST]:
            pair = _newer_first(memory, one.memory)
            yield *pair, Verdict("conflicts", _why(*pair) or one.why, "", one.score)

    def _embedder(self) -> Embedder | None:
        """What compares by meaning, once every memory has its vector; where that fails, words alone must do."""
        call, embedder = self.call, None if self.words else self.call.embedder
        if embedder is None:
            return None
        try:
            require_same(call.engine.backlog(call.access), embedder.space)
            lacking = call.engine.backlog(call.access)
            if lacking.active is None or lacking.lacking:
                catch_up(call.engine, embedder, call.access, most=MOST_SCANNED)
        except (Conflict, Unavailable) as error:
            self.problems.append(f"Compared by words alone: {error.message}")
            return None
        return embedder

    def _propose(self, found: Sequence[Found]) -> None:
        """Keep suspicions, unless somebody was faster."""
        request = self.call.request(batch=self.batch)

        def fresh() -> list[Found]:
            return [one for one in found if relation_between(self.call, one[0].id, one[1].id) is None]

        def decide() -> tuple[Change, int]:
            new = fresh()
            return relations.propose(new, request), len(new)

        if self.dry_run:
            known = {one.pair for one in self.previewed}
            pairs = [_pair(first, second, "proposed", said) for first, second, said in found]
            self.previewed += [one for one in pairs if one.pair not in known]
            self.proposed = len(self.previewed)
        elif fresh():
            self.proposed += self._commit(decide)

    # --- asking ---

    def ask(self, budget: int) -> None:
        """Let the model say what it thinks of every proposal that no model was asked about."""
        judge = self.call.harvesting.judge
        assert judge is not None
        failures = 0
        waiting = self._unasked()
        total = len(waiting)
        for at in range(0, total, AT_ONCE):
            some = waiting[at : at + AT_ONCE]
            texts = [(first.text, second.text) for _, first, second in some]
            if self.dry_run:
                self.tokens += judge.cost(texts)
                self.asked += len(some)
                continue
            said = judge.judge(texts, budget - self.tokens)
            self.tokens += said.tokens
            if said.problem:
                self.problems.append(f"{said.problem} {said.hint}".strip())
                failures += 1
            else:
                failures = 0
                self.asked += len(said.verdicts)
                self._advise(
                    judge,
                    [
                        (some[one.pair], Verdict(one.kind, one.reason, "", one.confidence, judge.name))
                        for one in said.verdicts
                    ],
                )
            self.call.progress(min(at + AT_ONCE, total), total, "asking the model")
            if said.over or failures >= MOST_FAILURES:
                break

    def _unasked(self) -> list[tuple[Relation, Memory, Memory]]:
        """Proposals without a model's word, the newer memory of each first; in a dry run also what would be one."""
        kept = [
            (relation, *_newer_first(*pair))
            for relation, *pair in self._pairs(self._relations())
            if relations.is_undecided(relation) and not relation.model and self._in_use(*pair)
        ]
        for one in self.previewed:
            relation = Relation(
                id=one.pair,
                from_id=one.first.id,
                to_id=one.second.id,
                kind="conflicts",
                created_at=self.call.now,
                updated_at=self.call.now,
            )
            kept.append((relation, one.first, one.second))
        return kept

    def _advise(self, judge: Judge, said: Sequence[tuple[tuple[Relation, Memory, Memory], Verdict]]) -> None:
        """Keep a model's words as proposals; a pair that somebody judged meanwhile stays judged."""
        request = self.call.request(batch=self.batch)

        def decide() -> tuple[Change, None]:
            steps = []
            for (old, first, second), verdict in said:
                known = relation_between(self.call, old.from_id, old.to_id)
                if known is not None and relations.is_undecided(known):
                    steps.append(relations.advise(known, first, second, verdict, request))
            return compose("advise", request, steps, note={"model": judge.name}), None

        if said:
            self._commit(decide)

    # --- listing ---

    def told(self, limit: int, after: str | None, *, settled: bool) -> Conflicts:
        """Everything that was done, and a page of what waits for a verdict; or of what needs none any more."""
        held = {} if settled else {_ends(one.first, one.second): one for one in self._held()}
        shown = _shown(after)
        first = {} if settled or shown is None else {**held, **self._not_kept(held)}
        pairs = list(first.values())[shown : (shown or 0) + limit]
        if shown is not None:
            after = str(shown + limit) if len(pairs) == limit else None  # a full page; else what is kept comes next
        access = self.call.access_to("relation")
        while len(pairs) < limit:
            page = self.call.engine.scan("relation", self._mine(), access, after=after, limit=limit - len(pairs))
            for relation, one, other in self._pairs(cast("tuple[Relation, ...]", page.records)):
                if _ends(one, other) not in held and settled != self._is_open(relation, one, other):
                    pairs.append(_kept(relation, one, other))
            if (after := page.next) is None:
                break
        return self._answer(pairs, after, settled=settled)

    def told_of(self, pair: str) -> Conflicts:
        """Everything that was done, and this pair alone, whatever is known of it.

        Raises:
            Invalid: when the two are one.
            NotFound: when there is no such pair.
        """
        one, other = (self.call.memory(id) for id, _ in pair_named(self.call, pair)[0])
        if one.id == other.id:
            raise Invalid("A pair is of two memories.", "Name two: FIRST~SECOND.")
        return self._answer([self._known(one, other)], None, settled=False)

    def _known(self, one: Memory, other: Memory) -> Pair:
        """Two memories as one of them waits, as a verdict or a proposal is kept, or as they are suspected."""
        for late, against in ((one, other), (other, one)):
            if late.waiting and late.held_for == "conflict":
                rivals_now = {each.id for each in rivals_of(self.call, late)}
                if against.id in rivals_now and (held := self._waiting(late, against)):
                    return held
        if kept := relation_between(self.call, one.id, other.id):
            return _kept(kept, *((one, other) if kept.from_id == one.id else (other, one)))
        newer, older = _newer_first(one, other)
        if found := suspicion(newer, older):
            return _pair(newer, older, "open", Verdict("conflicts", found.why, "", found.score))
        return _pair(newer, older, "none", Verdict("related"))

    def _answer(self, pairs: Sequence[Pair], after: str | None, *, settled: bool) -> Conflicts:
        return Conflicts(
            at=self.call.now,
            pairs=tuple(pairs),
            next=after,
            scanned=self.scanned,
            proposed=self.proposed,
            asked=self.asked,
            tokens=self.tokens,
            problems=tuple(dict.fromkeys(self.problems)),
            dry_run=self.dry_run,
            batch=self.batch if self.events else "",
            event=self.events[0] if len(self.events) == 1 else 0,
            ignored=self.ignored,
            settled=settled,
            rest=self.rest or "",
        )

    def _not_kept(self, held: Collection[frozenset[str]]) -> dict[frozenset[str], Pair]:
        """What a list shows that is no relation yet: what a scan would propose, and what saves named."""
        found: dict[frozenset[str], Pair] = {}
        for one in (*self.previewed, *self._open()):
            ends = _ends(one.first, one.second)
            if ends not in held:
                found.setdefault(ends, one)
        return found

    def _held(self) -> Iterator[Pair]:
        """What waits for review because it contradicts something that is in use, unless it was set aside."""
        mine = Filter(**self.scope, owner=self.call.caller.owner)
        where = mine._replace(standings=("pending",), held_for="conflict", now=self.call.now)
        page = self.call.page(where, limit=MOST_HELD)
        for one in page.records:
            for other in rivals_of(self.call, one):
                if found := self._waiting(one, other):
                    yield found

    def _waiting(self, one: Memory, other: Memory) -> Pair | None:
        """A pair of which the first waits, if it contradicts the other and the two were not set aside."""
        if other.id == one.id or not (why := contradiction(other.text, one.text)):
            return None
        known = relation_between(self.call, one.id, other.id)
        if known is not None and known.status == "ignored":
            return None
        kind = known.kind if known and known.from_id == one.id else "conflicts"
        return _pair(one, other, "held", Verdict(kind, why))

    def _open(self) -> Iterator[Pair]:
        """What the newest memories may be at odds with: what saves of them would name, and nobody has judged."""
        call, embedder = self.call, None if self.words else ready(self.call)
        where = Filter(**self.scope, owner=call.caller.owner, standings=("live",), now=call.now)
        page = call.page(where, limit=MOST_OPEN)
        for memory in page.records:
            if is_compared(call, memory):
                for one in unjudged(call, memory, rivals(gathering(call, memory, embedder), memory))[:MOST]:
                    pair = _newer_first(memory, one.memory)
                    yield _pair(*pair, "open", Verdict("conflicts", _why(*pair) or one.why, "", one.score))

    def _is_open(self, relation: Relation, one: Memory, other: Memory) -> bool:
        """Whether somebody may still want to do something about a pair."""
        if not self._in_use(one, other):
            return False
        if relation.status == "proposed":
            return relation.kind in relations.TELLING
        return (relation.kind, relation.status) == ("conflicts", "judged")

    def _in_use(self, *pair: Memory) -> bool:
        gone = ("forgotten", "rejected", "replaced", "expired")
        return all(standing(one, self.call.now, self.call.caller.view) not in gone for one in pair)

    def _mine(self) -> Filter:
        return Filter(owner=self.call.caller.owner)

    def _relations(self) -> Iterator[Relation]:
        for page in pages(self.call, "relation", self._mine(), oldest=False):
            yield from cast("tuple[Relation, ...]", page)

    def _pairs(self, some: Iterable[Relation]) -> Iterator[tuple[Relation, Memory, Memory]]:
        """Relations with both their memories, where these may be read and one of them is in scope."""
        here = Filter(**self.scope)
        for relation in some:
            ends = self.call.memories([relation.from_id, relation.to_id])
            first, second = ends.get(relation.from_id), ends.get(relation.to_id)
            if first and second and (matches(first, here) or matches(second, here)):
                yield relation, first, second


def _shown(after: str | None) -> int | None:
    """How many pairs that are no relation yet were on the pages before; None where all of them were."""
    return int(after or 0) if after is None or is_number(after) else None


def _ends(one: Memory, other: Memory) -> frozenset[str]:
    """What makes two pairs the same one, whichever way they are told."""
    return frozenset((one.id, other.id))


def _newer_first(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    late = relations.newcomer(one, other)
    return (one, other) if late is one else (other, one)


def _why(newer: Memory, older: Memory) -> str:
    """What is suspected of a pair, told from the newer to the older, whichever of them was looked at."""
    found = suspicion(newer, older)
    return found.why if found else ""


def _pair(first: Memory, second: Memory, status: str, verdict: Verdict) -> Pair:
    return Pair(
        first,
        second,
        verdict.kind,
        status,
        verdict.reason,
        verdict.confidence or 0.0,
        pair_ref(first, second),
        verdict.model,
    )


def _kept(relation: Relation, first: Memory, second: Memory) -> Pair:
    said = Verdict(relation.kind, relation.reason, "", relation.confidence, relation.model)
    return _pair(first, second, relation.status, said)
