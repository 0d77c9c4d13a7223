"""Memories on branches: which are staged when they are made, and what follows when a branch was merged or lost.

A staged memory is live for callers on its branch, and for nobody else. What git says (a Fate) is looked up outside;
here it is only decided what follows. A merge approves nothing: what would have had to wait by itself, waits then.
"""

from collections.abc import Mapping, Sequence

from engram.model.answers_work import Route
from engram.model.change import Change, Request
from engram.model.evidence import Fate
from engram.model.memory import CURATED, Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.changes import Step, compose, step
from engram.rules.proposals import Policy, Proposal
from engram.rules.routing import ALONE, Beside, go_live, plan

ANYWHERE = frozenset({"preference", "summary", "prompt", "insight"})
"""Kinds that tell of a person or of what was done, not of the code: they hold on every branch."""


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
    routed = {route.memory.id: route for route in plan(merged, beside, policy, request.now)}
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
    why = dict.fromkeys(fate.why for fate in fates.values() if fate.why)
    return compose("settle", request, steps, note={"reason": "; ".join(why)})


def _merged(memory: Memory, route: Route, beside: Beside, policy: Policy, request: Request) -> list[Step]:
    if route.action == "skip" and route.reason == "one_at_a_time":
        return []
    if route.action != "append":
        held = route.reason if route.action == "queue" else "conflict"
        return [step(memory, request, held_for=held, branch="")]
    if not policy.autopromote:
        return [step(memory, request, held_for="", branch="")]
    return go_live(memory, beside, request)
