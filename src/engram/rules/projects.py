"""Moving a project's memories into another: nothing is lost, and what both say is told once.

Where both hold the same text, the better one stays: the one in use, curated or shared before the other, else the
older. It counts how often the text was said; the other is kept, forgotten. Where both hold the same key with other
texts, the last word stays in use and the other is replaced by it: a key is revised, never doubled. Where one says
what a person rejected in the other, it waits for review.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engram.model.change import Change, Request
from engram.model.memory import CURATED, Memory, Standing, standing
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.session import Session
from engram.rules.access import require_confirmation, require_owner, require_person
from engram.rules.changes import HELD_FOR_CONFLICT, Step, any_changed, claims_of, compose, step
from engram.rules.proposals import require_public

BEST_FIRST: tuple[Standing, ...] = (
    *("live", "stale", "scheduled", "staged", "pending", "expired", "replaced", "forgotten", "rejected"),
)
IN_USE: tuple[Standing, ...] = ("live", "stale", "scheduled")
HIDDEN: tuple[Standing, ...] = ("expired", "replaced", "forgotten", "rejected")


class Plan(NamedTuple):
    """What a move would do: the steps, and how many of each."""

    steps: tuple[Step, ...] = ()
    memories: int = 0
    sessions: int = 0
    repeated: int = 0  # the same text on both sides: told once from now on
    replaced: int = 0  # the same key with another text on both sides: the last word stays
    held: int = 0  # rejected on one side: waits for review
    curated: int = 0  # approved ones that move, or leave use: a person confirms it


COUNTS = Plan._fields[1:]
"""What a plan counts, by name."""


def plan_move(
    moving: Sequence[Memory], there: Sequence[Memory], sessions: Sequence[Session], into: Scope, request: Request
) -> Plan:
    """Plan to move memories and sessions of other projects into one; `there` is what the caller has in it.

    Raises:
        Forbidden: when one of them belongs to someone else.
    """
    for memory in (*moving, *there):
        require_owner(request.caller, memory)
    table = _Table(moving, there, into, request)
    held = table.hold_what_was_rejected()
    repeated, replaced = table.settle_claims()
    steps = table.steps()
    gone = [_moved(session, into) for session in sessions]
    return Plan(
        steps=(*steps, *gone),
        memories=len(moving),
        sessions=len(gone),
        repeated=repeated,
        replaced=replaced,
        held=held,
        curated=sum(map(_needs_confirmation, steps)),
    )


def carry_out(plan: Plan, action: str, request: Request, *, sources: Sequence[Scope], into: Scope) -> Change:
    """The one Change that does what was planned.

    Raises:
        Forbidden: when an agent asks.
        Unconfirmed: when approved curated memories are among it, and nobody confirmed.
        Invalid: when the new name holds a credential.
    """
    require_person(request, f"{action} projects")
    require_public(into)
    if plan.curated:
        which = "1 approved memory moves" if plan.curated == 1 else f"{plan.curated:,} approved memories move"
        require_confirmation(request, f"{which} that a person had confirmed.")
    told = {"from": [str(source) for source in sources], "into": str(into)}
    counts = {name: getattr(plan, name) for name in COUNTS}
    return compose(action, request, plan.steps, note={**told, **counts})


class _Table:
    """Every memory concerned, where it will be, and what else changes about it."""

    def __init__(self, moving: Sequence[Memory], there: Sequence[Memory], into: Scope, request: Request) -> None:
        self._request = request
        self._before = {memory.id: memory for memory in (*there, *moving)}
        self._changes: dict[str, dict[str, Any]] = {id: {} for id in self._before}
        for memory in moving:
            self._changes[memory.id]["scope"] = renamed(memory.scope, into)
        self._stands = {
            memory.id: standing(memory, request.now, request.caller.view) for memory in self._before.values()
        }
        self._pointing_at: dict[str, list[Memory]] = defaultdict(list)
        for memory in self._before.values():
            for id in {memory.replaced_by, memory.amends} - {""}:
                self._pointing_at[id].append(memory)

    def hold_what_was_rejected(self) -> int:
        """Let wait what is in use on one side and was rejected on another; returns how many that are."""
        rejected: dict[tuple[Scope, str], set[Scope]] = defaultdict(set)
        for memory in self._before.values():
            if memory.status == "rejected" and not self._amends_its_twin(memory):
                rejected[self._place(memory), memory.digest].add(memory.scope)
        doubted = [
            memory
            for memory in self._of(*IN_USE, "staged", "pending")
            if rejected.get((self._place(memory), memory.digest), set()) - {memory.scope}
        ]
        for memory in doubted:
            self._change(memory, **HELD_FOR_CONFLICT, apart=True)
            self._stands[memory.id] = "pending"
        return len(doubted)

    def settle_claims(self) -> tuple[int, int]:
        """Leave each key and text to one memory; returns how many repeated, and how many gave way."""
        groups: dict[str, list[Memory]] = defaultdict(list)
        for memory in self._before.values():
            moved = replace(memory, **self._changes[memory.id]) if self._changes[memory.id] else memory
            for claim in claims_of(moved):
                groups[claim].append(memory)
        repeated = replaced = 0
        for group in groups.values():
            winner = self._winner(group)
            losers = [memory for memory in group if memory is not winner]
            repeated += self._tell_once(winner, [one for one in losers if one.digest == winner.digest])
            replaced += self._give_way(winner, [one for one in losers if one.digest != winner.digest])
        return repeated, replaced

    def steps(self) -> tuple[Step, ...]:
        """What changes, one step for each memory."""
        return tuple(
            step(self._before[id], self._request, **changes) for id, changes in self._changes.items() if changes
        )

    def _winner(self, group: Sequence[Memory]) -> Memory:
        """Who keeps the claim: of the last word in use, the best of those that say it.

        A rejection keeps it against what is out of use, so that the text cannot return.
        """
        rejected = [memory for memory in group if memory.status == "rejected"]
        if rejected and all(self._stands[memory.id] in HIDDEN for memory in group):
            return min(rejected, key=_age)
        said = min(group, key=lambda one: (self._rank(one), -one.updated_at.timestamp(), one.id))
        same = [memory for memory in group if memory.digest == said.digest]
        return min(
            same, key=lambda one: (self._rank(one), one.tier != CURATED, one.visibility != "shared", *_age(one))
        )

    def _tell_once(self, winner: Memory, losers: Sequence[Memory]) -> int:
        for loser in losers:
            self._change(loser, apart=True)
            if self._stands[loser.id] not in HIDDEN:
                self._change(loser, forgotten_at=self._request.now)
            if winner.status != "rejected":
                self._follow(loser, winner)
        if losers and winner.status != "rejected":
            alike = (winner, *(loser for loser in losers if loser.status != "rejected"))
            self._change(
                winner,
                seen=sum(one.seen for one in alike),
                pinned=any(one.pinned for one in alike),
                importance=max(one.importance for one in alike),
            )
        return len(losers)

    def _give_way(self, winner: Memory, losers: Sequence[Memory]) -> int:
        for loser in losers:
            self._change(loser, apart=True)
            if self._stands[loser.id] in IN_USE and self._stands[winner.id] in IN_USE:
                self._change(loser, replaced_by=winner.id)
        return len(losers)

    def _follow(self, loser: Memory, winner: Memory) -> None:
        """Memories that name one which leaves use (`replaced_by`, `amends`) name the one that stays instead."""
        for memory in self._pointing_at.get(loser.id, ()):
            for name in ("replaced_by", "amends"):
                if getattr(memory, name) == loser.id and memory.id != winner.id:
                    self._change(memory, **{name: winner.id})

    def _of(self, *standings: Standing) -> Iterable[Memory]:
        return (memory for memory in self._before.values() if self._stands[memory.id] in standings)

    def _amends_its_twin(self, rejected: Memory) -> bool:
        """Whether the rejected proposal left the words of its memory as they are: another kind was refused."""
        amended = self._before.get(rejected.amends)
        return amended is not None and amended.digest == rejected.digest

    def _rank(self, memory: Memory) -> int:
        return BEST_FIRST.index(self._stands[memory.id])

    def _place(self, memory: Memory) -> Scope:
        scope: Scope = self._changes[memory.id].get("scope", memory.scope)
        return scope

    def _change(self, memory: Memory, **changes: Any) -> None:  # noqa: ANN401 - any field of a memory
        self._changes[memory.id] |= changes


def renamed(scope: Scope, into: Scope) -> Scope:
    """The place in another project that answers to this one: a run stays a run."""
    return replace(into, run=scope.run)


def _moved(session: Session, into: Scope) -> Step:
    return Step(session, replace(session, scope=renamed(session.scope, into), revision=session.revision + 1))


def _age(memory: Memory) -> tuple[Any, str]:
    return memory.created_at, memory.id


def _needs_confirmation(move: Step) -> bool:
    """Whether an approved curated memory holds elsewhere afterwards, or is no longer in use."""
    before, after = move.before, move.after
    assert isinstance(before, Memory)
    if not before.stands_curated:
        return False
    return any_changed(("scope", "status", "replaced_by"), before, after)
