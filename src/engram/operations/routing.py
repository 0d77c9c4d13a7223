"""Routing what waits: sync takes what may go live by itself, queue shows what a person has to decide."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from engram.errors import Moved
from engram.model.answers import Brief, Queue, Route, Routed
from engram.model.caller import REVIEWER
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.operations import parameters as p
from engram.operations.base import TRIES, Call, every, operation, require_between
from engram.operations.memories import MOST_LISTED, rivals_of, superseded_by, twins_of
from engram.operations.reviews import base_of
from engram.operations.scopes import in_view
from engram.recall.views import view
from engram.rules.kinds import KINDS, quiet
from engram.rules.routing import Beside, carry, held, plan


@operation("POST /v1/sync", "engram sync", "engram sync --apply", writes=True, human=True)
def sync(call: Call, *, scope: p.OnlyScope = "", apply: p.Apply = False) -> Routed:
    """Route what waits: live by itself, on to a person, or left alone; each with its reason.

    Needed where autopromote is off, or something has changed since a memory was held. What is curated, comes from
    outside or contradicts something live always waits for a person.
    """
    if not apply:
        routes, _ = _planned(call, scope)
        counts = _counted(routes)
        return Routed(call.now, routes, counts=counts, hint=_next_step(counts))
    return _carried_out(call, scope)


@operation("GET /v1/queue", "engram queue", "engram queue --json")
def queue(call: Call, *, scope: p.OnlyScope = "", limit: p.Limit = 20) -> Queue:
    """Show what waits for a person, and why."""
    require_between("limit", limit, 1, MOST_LISTED)
    routes, _ = _planned(call, scope, anyones=REVIEWER in call.caller.roles)
    stay = [route for route in routes if route.action != "append"]
    free = len(routes) - len(stay)
    hint = f"{free} more {'needs' if free == 1 else 'need'} nobody: engram sync --apply." if free else ""
    return Queue(call.now, tuple(stay[:limit]), total=len(stay), hint=hint)


def agent_view(call: Call) -> Brief:
    """What the agent files of the caller's project should say: live memories in view, within the budget.

    What comes on demand only, summaries of sessions, and what is personal stay out: such a file is read by others.
    """
    where = Filter(
        **in_view(call, ""),
        except_kinds=(*quiet(call.policy.kinds or KINDS), "summary"),
        standings=("live",),
        now=call.now,
    )
    return view(list(every(call, where)), budget=call.budget, now=call.now)


def _planned(call: Call, scope: str, *, anyones: bool = False) -> tuple[tuple[Route, ...], dict[str, Beside]]:
    """The routes of all that waits, oldest first, and what each was compared with."""
    where = Filter(
        **in_view(call, scope, everywhere=not scope),
        standings=("pending", "staged"),
        owner=None if anyones else call.caller.owner,
        now=call.now,
    )
    waiting = list(every(call, where))
    free = [one for one in waiting if held(one, call.policy, call.now) is None]
    beside = {one.id: _beside(call, one) for one in free}
    return plan(waiting, beside, call.policy, call.now), beside


def _beside(call: Call, memory: Memory) -> Beside:
    found = call.engine.get("memory", [memory.amends], call.access) if memory.amends else {}
    amended = cast("Memory | None", found.get(memory.amends))
    steps = superseded_by(call, memory, call.request())
    return Beside(
        amended=amended,
        base=base_of(call, amended, memory) if amended else None,
        twins=twins_of(call, memory),
        rivals=tuple(rivals_of(call, memory)),
        superseded=tuple(each.before for each in steps if isinstance(each.before, Memory)),
    )


def _carried_out(call: Call, scope: str, tries: int = TRIES) -> Routed:
    """Plan and commit; where somebody else was faster, look again and plan again."""
    routes, beside = _planned(call, scope)
    counts = _counted(routes)
    done = Routed(call.now, routes, applied=True, counts=counts, hint=_next_step(counts, applied=True))
    change = carry(routes, beside, call.request())
    if change is None:
        return done
    try:
        event = call.engine.commit(change).event
    except Moved:
        if tries == 1:
            raise
        return _carried_out(call, scope, tries - 1)
    return done._replace(routes=_as_they_are(call, routes), event=event.seq)


def _as_they_are(call: Call, routes: Sequence[Route]) -> tuple[Route, ...]:
    now = call.engine.get("memory", [route.memory.id for route in routes], call.access)
    return tuple(route._replace(memory=cast("Memory", now.get(route.memory.id, route.memory))) for route in routes)


def _counted(routes: Sequence[Route]) -> Mapping[str, int]:
    counted = Counter(route.action for route in routes)
    return {action: counted[action] for action in ("append", "queue", "skip")}


def _next_step(counts: Mapping[str, int], *, applied: bool = False) -> str:
    if counts["append"] and not applied:
        return "Do it: engram sync --apply."
    return "Decide about the others: engram review." if counts["queue"] else ""
