"""Where waiting memories go: sync makes live what needs no review, queue shows what a person has to decide."""

from collections import Counter
from collections.abc import Mapping, Sequence

from engram.model.answers import Brief
from engram.model.answers_work import Drift, Queue, Route, Routed
from engram.model.change import Change
from engram.model.diffs import unified
from engram.model.evidence import BROKEN, verdict_of
from engram.model.filter import Filter, matches
from engram.model.memory import Memory
from engram.model.record import replace
from engram.operations import parameters as p
from engram.operations.base import Call, every, newest, operation, require_between
from engram.operations.bearing import beside_of
from engram.operations.citing import checked
from engram.operations.memories import MOST_LISTED
from engram.operations.reviews import would_replace
from engram.operations.scopes import in_view, unplaced
from engram.ports import Paged, able
from engram.recall.views import view
from engram.rules.kinds import quiet
from engram.rules.routing import Beside, carry, held, plan


@operation("POST /v1/sync", "engram sync", "engram sync --apply", writes=True, human=True)
def sync(call: Call, *, scope: p.OnlyScope = "", apply: p.Apply = False) -> Routed:
    """Decide where waiting memories go: live, to a person, or nowhere yet.

    Each with its reason. Needed if autopromote is off, or if something has changed since a memory was held. What is
    curated, comes from outside or contradicts something live always waits for a person. Pages made from memories
    are brought up to date too. Without --apply it only shows what would change.
    """
    if apply:
        done, drift = _carried_out(call, scope), _drift(call, write=True)
        return done._replace(drift=drift, refreshed=tuple(each.path for each in drift))
    routes, _ = _planned(call, scope)
    counts, drift = _counted(routes), _drift(call)
    return Routed(call.now, routes, counts=counts, drift=drift, hint=next_step(counts, drift))


def _drift(call: Call, *, write: bool = False) -> tuple[Drift, ...]:
    """The pages that an engine keeps for people and that do not say what is remembered; most engines keep none."""
    paged = able(call.engine, Paged)
    pages = paged.pages(write=write) if paged else ()
    return tuple(Drift(each.path, "\n".join(unified(each.path, each.before, each.after))) for each in pages)


@operation("GET /v1/queue", "engram queue", "engram queue --json")
def queue(call: Call, *, scope: p.OnlyScope = "", limit: p.Limit = 20) -> Queue:
    """Show what waits for a person, why, and what its approval would replace."""
    require_between("limit", limit, 1, MOST_LISTED)
    routes, _ = _planned(call, scope, anyones=call.caller.judges())
    stay = [route for route in routes if route.action != "append"]
    free = len(routes) - len(stay)
    hint = f"{free} more {'needs' if free == 1 else 'need'} nobody: engram sync --apply." if free else ""
    shown = tuple(stay[:limit])
    ends = {route.memory.id: would_replace(call, route.memory) for route in shown if not route.memory.staged}
    replaces = {id: tuple(one.handle for one in others) for id, others in ends.items() if others}
    return Queue(call.now, shown, total=len(stay), replaces=replaces, hint=hint)


def agent_view(call: Call, coming: Sequence[Memory] = ()) -> Brief:
    """What the agent files of the caller's project should say: live memories in view, within the budget.

    What comes on demand only, summaries of sessions, and what is personal stay out: such a file is read by others.
    So does what cites something that has changed or is gone. What is `coming` counts as if it were live already.
    """
    where = Filter(
        **in_view(call, ""),
        except_kinds=(*quiet(call.policy.kinds), "summary"),
        standings=("live",),
        now=call.now,
    )
    awaited = [replace(one, status="promoted", held_for="") for one in coming if not one.amends]
    memories = [*every(call, where), *(one for one in awaited if matches(one, where))]
    found = checked(call, memories)
    sound = [one for one in memories if verdict_of(found.get(one.id, ())) not in BROKEN]
    told = view(sound, budget=call.budget, now=call.now)
    return told._replace(hint=f"{told.hint} {unplaced(call, '')}".strip())


def _planned(call: Call, scope: str, *, anyones: bool = False) -> tuple[tuple[Route, ...], dict[str, Beside]]:
    """The routes of all that waits, oldest first, and what each was compared with."""
    where = Filter(
        **in_view(call, scope, everywhere=not scope),
        standings=("pending", "staged"),
        owner=None if anyones else call.caller.owner,
        now=call.now,
    )
    waiting = [one for one in every(call, where) if call.caller.may_judge(one)]
    free = [one for one in waiting if held(one, call.policy, call.now) is None]
    beside = {one.id: beside_of(call, one) for one in free}
    return plan(waiting, beside, call.policy, call.now), beside


def _carried_out(call: Call, scope: str) -> Routed:
    """Plan and commit; where somebody else was faster, look again and plan again."""

    def decide() -> tuple[Change | None, tuple[Route, ...]]:
        routes, beside = _planned(call, scope)
        last = next((event.action for event in newest(call) if event.owner == call.caller.owner), "")
        return carry(routes, beside, call.request(), last=last), routes

    commit, routes = call.decide_and_commit(decide)
    counts = _counted(routes)
    done = Routed(call.now, routes, applied=True, counts=counts, hint=next_step(counts, applied=True))
    return done._replace(routes=_as_they_are(call, routes), event=commit.event.seq) if commit else done


def _as_they_are(call: Call, routes: Sequence[Route]) -> tuple[Route, ...]:
    now = call.memories(route.memory.id for route in routes)
    return tuple(route._replace(memory=now.get(route.memory.id, route.memory)) for route in routes)


def _counted(routes: Sequence[Route]) -> Mapping[str, int]:
    counted = Counter(route.action for route in routes)
    return {action: counted[action] for action in ("append", "queue", "skip")}


def next_step(counts: Mapping[str, int], drift: Sequence[Drift] = (), *, applied: bool = False) -> str:
    """What to do after a plan, or after it was carried out."""
    if (counts["append"] or drift) and not applied:
        return "Do it: engram sync --apply."
    whom = "the others" if counts["append"] else "them"
    return f"Decide about {whom}: engram review." if counts["queue"] else ""
