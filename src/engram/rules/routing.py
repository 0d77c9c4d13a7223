"""What becomes of everything that waits: what may go live by itself, what a person decides, and what is left alone.

    plan     a route for each memory that waits, with its reason
    carry    the Change that takes these routes

A plan is made anew from what is there when it is carried out, so nobody's decision in between is lost.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from engram.model.answers_work import Route
from engram.model.change import Change, Request
from engram.model.event import ADOPTED
from engram.model.memory import CURATED, UNVOUCHED, HeldFor, Memory, is_unvouched
from engram.model.outline import outline
from engram.model.relation import Relation
from engram.rules.access import is_a_persons
from engram.rules.changes import Step, compose, step
from engram.rules.lifecycle import proposed
from engram.rules.likeness import contradiction
from engram.rules.policy import Policy

REASONS = (
    *("low_risk", "no_conflict"),  # append: tier 1, and tier 2
    *(
        "curated_kind",
        "conflict",
        "edits_curated_node",
        UNVOUCHED,
        "review_all",
        "deleted_branch",
        "forgotten_before",
    ),  # queue
    *(
        "unmerged_branch",
        "expired",
        "stale",
        "already_known",
        "rejected_before",
        "nothing_to_amend",
        "one_at_a_time",
    ),  # skip
)
"""Every reason that a route may have."""

HELD: tuple[HeldFor, ...] = (
    "curated_kind",
    "edits_curated_node",
    UNVOUCHED,
    "review_all",
    "deleted_branch",
    "forgotten_before",
)
"""What admission held for one of these waits for a person, whatever changed since."""

MOST_RIVALS = 100
"""How many live memories of the same outline are compared, at admission and within a batch: the newest.

Most of them may be of other things, such as the ports of ten services, and only one of them contradicted."""


class Beside(NamedTuple):
    """What the store holds that bears on a memory that waits, all of the same owner."""

    amended: Memory | None = None  # what it would change
    base: Memory | None = None  # what that one said when the change was proposed
    twins: tuple[Memory, ...] = ()  # the same text in the same scope, whatever became of it
    rivals: tuple[Memory, ...] = ()  # live ones that may contradict it, and the one that replaced it
    superseded: tuple[Memory, ...] = ()  # what would go out of use with it, by a verdict
    verdicts: tuple[tuple[Relation, Memory], ...] = ()  # that it supersedes another, with the other
    came_by: str = ""  # the action that brought it here, where it is held for a conflict


ALONE = Beside()

TAKEN_IN = (ADOPTED, "import")
"""The actions that bring what another store held: what it contradicts there need not be here."""


def held(memory: Memory, policy: Policy, now: datetime) -> Route | None:
    """The route of a memory that cannot go live whatever else is known; None where that has to be looked at."""
    # Admission holds what comes from outside too; a record that came by another way, such as a file, is judged
    # the same. What is stale would be out of use in the moment it went live.
    outside = memory.learned_by in ("harvest", "import") or is_unvouched(memory.source)
    rows = (
        (memory.staged, "skip", "unmerged_branch"),
        (memory.valid_until is not None and now >= memory.valid_until, "skip", "expired"),
        (memory.held_for in HELD, "queue", memory.held_for),
        (CURATED in (memory.tier, policy.kind(memory.kind).tier), "queue", "curated_kind"),
        (outside, "queue", UNVOUCHED),
        (policy.review_all, "queue", "review_all"),
        (memory.stale_at is not None and now > memory.stale_at, "skip", "stale"),
    )
    return next((Route(memory, action, reason) for holds, action, reason in rows if holds), None)


def plan(
    waiting: Sequence[Memory], beside: Mapping[str, Beside], policy: Policy, now: datetime
) -> tuple[Route, ...]:
    """A route for each memory that waits, in the order given: what goes first counts as live for the next."""
    routes: list[Route] = []
    batch = _Batch()
    for memory in waiting:
        route = held(memory, policy, now) or _judged(memory, beside.get(memory.id, ALONE), batch)
        if route.action == "append":
            batch.add(memory)
        routes.append(route)
    return tuple(routes)


def carry(
    routes: Sequence[Route], beside: Mapping[str, Beside], request: Request, *, last: str = ""
) -> Change | None:
    """The Change that takes these routes; None when there is nothing to do. What is skipped is left as it is.

    Nothing is approved by it: what goes live, goes so by itself. What is queued gets its reason. Where everything
    has its reason already, the step is noted, unless the caller's `last` action was a sync too: undoing it takes
    back nothing, and never the step before it.

    Raises:
        Unconfirmed: when something curated would go live by it.
    """
    steps: list[Step] = []
    for route in routes:
        memory, action, reason = route.memory, route.action, route.reason
        if action == "append":
            steps += go_live(memory, beside.get(memory.id, ALONE), request)
        elif action == "queue" and memory.held_for != reason:
            steps.append(step(memory, request, held_for=reason))
    taken = Counter(route.action for route in routes)
    if not steps and (not taken["queue"] or last == "sync"):
        return None
    told = f"{taken['append']} live, {taken['queue']} for a person"
    queued = tuple(route.memory.id for route in routes if route.action == "queue")
    return compose("sync", request, steps, note={"reason": told}, subjects=None if steps else queued)


def go_live(memory: Memory, beside: Beside, request: Request) -> list[Step]:
    """Let what waited go live by itself; a proposal gives what it changes to the memory it amends, and ends."""
    live = {"status": "promoted", "held_for": "", "branch": ""}
    if not memory.amends or beside.amended is None:
        return [step(memory, request, **live)]
    changed = step(beside.amended, request, **proposed(memory, beside.base, beside.amended))
    return [changed, step(memory, request, **live, replaced_by=beside.amended.id)]


class _Batch:
    """What a plan has let go live so far: the store does not know of it yet."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], Memory] = {}
        self._outlines: dict[tuple[str, str], list[Memory]] = defaultdict(list)
        self._amending: dict[str, Memory] = {}

    def add(self, memory: Memory) -> None:
        """Count a memory as live from here on."""
        place = str(memory.scope)
        self._texts.setdefault((place, memory.digest), memory)
        self._amending[memory.amends] = memory
        if told := outline(memory.text):
            self._outlines[place, told].append(memory)

    def twin(self, memory: Memory) -> Memory | None:
        """What was let go that says the same."""
        return self._texts.get((str(memory.scope), memory.digest))

    def amending(self, memory: Memory) -> Memory | None:
        """What was let go that changes the same memory."""
        return self._amending.get(memory.amends) if memory.amends else None

    def rivals(self, memory: Memory) -> Sequence[Memory]:
        """What was let go that may contradict it."""
        return self._outlines.get((str(memory.scope), outline(memory.text)), ())[-MOST_RIVALS:]


def _judged(memory: Memory, beside: Beside, batch: _Batch) -> Route:
    """The route of a memory that nothing of its own holds, by what is known beside it."""
    if (left := _left_alone(memory, beside, batch)) is not None:
        return left
    if beside.superseded:  # only a person puts something out of use
        return Route(memory, "queue", "conflict", beside.superseded[0])
    for other in (*beside.rivals, *batch.rivals(memory)):
        if other.id in (memory.id, memory.amends):
            continue
        if other.id == memory.replaced_by or contradiction(other.text, memory.text):
            return Route(memory, "queue", "conflict", other)
    if memory.held_for == "conflict" and beside.came_by in TAKEN_IN:
        return Route(memory, "queue", "conflict")
    return Route(memory, "append", "low_risk" if memory.tier == 1 else "no_conflict")


def _left_alone(memory: Memory, beside: Beside, batch: _Batch) -> Route | None:
    if memory.amends:
        if beside.amended is None or not beside.amended.in_use:
            return Route(memory, "skip", "nothing_to_amend", beside.amended)
        # A person may have reworded or approved it since an agent proposed to change it.
        if beside.amended.tier == CURATED or (is_a_persons(beside.amended) and not is_a_persons(memory)):
            return Route(memory, "queue", "edits_curated_node", beside.amended)
        first = batch.amending(memory)
        return Route(memory, "skip", "one_at_a_time", first) if first is not None else None
    others = [twin for twin in beside.twins if twin.id != memory.id]
    for twin in others:
        if twin.status == "rejected" and not twin.amends:
            return Route(memory, "skip", "rejected_before", twin)
    known = next((twin for twin in others if twin.in_use), None) or batch.twin(memory)
    if known is not None and not memory.apart:
        return Route(memory, "skip", "already_known", known)
    return None
