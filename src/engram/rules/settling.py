"""Memories on branches: which are staged when they are made, and what follows when a branch was merged or lost.

A staged memory is live for callers on its branch, and for nobody else. What git says (a Fate) is looked up outside;
here it is only decided what follows. A merge approves nothing: what would have had to wait by itself, waits then.
So does a verdict on a staged memory that would have had to wait for a person; others take effect with the merge.
"""

from collections.abc import Mapping, Sequence

from engram.model.answers_work import Route
from engram.model.change import Change, Request
from engram.model.evidence import Fate
from engram.model.memory import CURATED, Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.changes import Step, compose, memory_after, step
from engram.rules.kinds import ABOUT_A_PERSON, PERSONAL
from engram.rules.policy import Policy
from engram.rules.proposals import Proposal
from engram.rules.relations import taking_effect
from engram.rules.routing import ALONE, Beside, go_live, plan

ANYWHERE = (ABOUT_A_PERSON - PERSONAL) | {"summary", "prompt", "insight"}
"""Kinds that tell of a person or of what was done, not of the code: they, too, hold on every branch."""


def staged_on(proposal: Proposal, home: Scope | None, view: str, policy: Policy) -> str:
    """The branch that a proposal is staged on; "" where it is not.

    Only what is about the project that the branch is of, and about its code: what is about a person, curated or
    global holds on every branch, and so does what somebody brings in from elsewhere.
    """
    kind = policy.kind(proposal.kind or "fact")
    about_code = kind.tier != CURATED and kind.name not in ANYWHERE and proposal.learned_by == "remember"
    return view if policy.staging and about_code and proposal.scope == home else ""


def released(memory: Memory) -> Memory:
    """A memory without its branch, as it is compared with what is known."""
    return replace(memory, branch="", held_for="")


def settle(
    memories: Sequence[Memory],
    fates: Mapping[str, Fate],
    beside: Mapping[str, Beside],
    policy: Policy,
    request: Request,
) -> Change | None:
    """The Change that follows from what became of branches; None where nothing does.

    What was merged is judged as if it had just been said, beside what is known now.

    Raises:
        Unconfirmed: when something curated would go live by it.
    """
    merged = [released(one) for one in memories if one.id in fates and fates[one.id].state == "merged"]
    # Settling is not a person's word: verdicts count only as much as whoever gave them.
    alone = request._replace(caller=request.caller._replace(human=False))
    around = {one.id: _around(one, beside.get(one.id, ALONE), alone) for one in merged}
    routed = {route.memory.id: route for route in plan(merged, around, policy, request.now)}
    steps: list[Step] = []
    for memory in memories:
        fate = fates.get(memory.id, Fate("open"))
        if fate.state == "merged":
            steps += _merged(memory, routed[memory.id], beside.get(memory.id, ALONE), policy, request)
        elif fate.state == "lost":
            steps.append(step(memory, request, held_for="deleted_branch", branch=""))
        elif fate.state == "renamed":
            steps.append(step(memory, request, branch=fate.branch))
    if not steps:
        return None
    live = [one for one in merged if policy.autopromote and routed[one.id].action == "append" and not one.amends]
    taken = {each.after.id: each for each in steps if each.after}
    for one in live:
        _take_effect(one, around[one.id], taken, alone)
    why = dict.fromkeys(fate.why for fate in fates.values() if fate.why)
    return compose("settle", request, list(taken.values()), note={"reason": "; ".join(why)})


def _around(memory: Memory, beside: Beside, request: Request) -> Beside:
    """What bears on a merged memory besides what verdicts put out of use with it: it contradicts that no more."""
    out = {each.before.id for each in taking_effect(memory, beside.verdicts, request) if each.before}
    return beside._replace(superseded=(), rivals=tuple(one for one in beside.rivals if one.id not in out))


def _take_effect(memory: Memory, beside: Beside, taken: dict[str, Step], request: Request) -> None:
    """Add to the steps, by record, what verdicts do now that a memory goes live; what they touch may go live too.

    What is out of use by such a verdict replaces nothing: so no ring of memories can hide one another.
    """
    for relation, other in beside.verdicts:
        if memory_after(taken[memory.id]).replaced_by:
            return
        known = taken.get(other.id)
        now = memory_after(known) if known else other
        for each in taking_effect(memory, [(relation, now)], request):
            if known and each.before is now:
                taken[now.id] = Step(known.before, replace(memory_after(each), revision=now.revision))
            elif each.after:
                taken[each.after.id] = each


def _merged(memory: Memory, route: Route, beside: Beside, policy: Policy, request: Request) -> list[Step]:
    if route.action == "skip" and route.reason == "one_at_a_time":
        return []
    if route.action != "append":
        held = route.reason if route.action == "queue" else "conflict"
        return [step(memory, request, held_for=held, branch="")]
    if not policy.autopromote:
        return [step(memory, request, held_for="", branch="")]
    return go_live(memory, beside, request)
