"""A person's word: review what waits, promote or reject it."""

from typing import cast

from engram.errors import Conflict, NotFound
from engram.model.answers import Changed, UnderReview, Waiting
from engram.model.change import Change, Request
from engram.model.codec import Record
from engram.model.evidence import Check
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.scope import GLOBAL
from engram.operations import parameters as p
from engram.operations.base import Call, each, operation, require_between, sifted
from engram.operations.bearing import (
    base_of,
    relations_of,
    rivals_of,
    superseded_by,
    superseding,
    target_of,
    touched_by,
    twins_of,
)
from engram.operations.citing import checked
from engram.operations.memories import MOST_LISTED, change_each
from engram.operations.revisions import as_seen, by_id
from engram.operations.scopes import in_view
from engram.recall.pipeline import Question
from engram.recall.pipeline import recall as look_up
from engram.rules import lifecycle
from engram.rules.admission import Known, require_free_text
from engram.rules.likeness import contradiction, similarity
from engram.rules.relations import spared, taking_effect

ASKED = 400
"""Characters of a memory by which its like is looked for."""

MOST_NEAR = 5
NEARLY = 0.5
"""How alike two texts are that a reviewer should see side by side."""


@operation("GET /v1/review", "engram review", "engram review --list --json", "engram review --memory mem-0002")
def review(
    call: Call,
    *,
    memory: p.OnlyRefs = (),
    scope: p.InScope = "",
    limit: p.Limit = 20,
    after: p.After = None,
) -> Waiting:
    """Show what waits for a person, beside what it would change.

    Oldest first, with what it contradicts and would replace. In a terminal you go through them one by one: approve,
    edit, reject, merge, skip, undo.
    """
    require_between("limit", limit, 1, MOST_LISTED)
    where = Filter(
        **in_view(call, scope, everywhere=not scope),
        standings=("pending",),
        owner=None if call.caller.judges() else call.caller.owner,
        now=call.now,
    )
    if named := each(memory):
        where = where._replace(ids=tuple(call.memory(ref).id for ref in named), scopes=(), within=None)

    def fits(one: Record) -> bool:
        return call.caller.may_judge(cast("Memory", one))

    page = sifted(call, "memory", where, fits, after=after, limit=limit, oldest=True)
    waiting = cast("tuple[Memory, ...]", page.records)
    evidence = checked(call, waiting, diffs=bool(named))
    waits = [_under_review(call, one, evidence.get(one.id, ())) for one in waiting]
    if named:
        waits = [one._replace(near=_near(call, one)) for one in waits]
    return Waiting(at=call.now, candidates=tuple(waits), next=page.next)


@operation(
    "POST /v1/memories/{memory}/promote",
    "engram promote mem-0002 --confirm",
    "engram promote mem-0007 --into mem-0003",
    writes=True,
    human=True,
)
def promote(
    call: Call,
    memory: p.PinnedRefs,
    *,
    text: p.NewText = None,
    into: p.MergeInto = "",
    keep: p.KeepBoth = False,
    revision: p.Revision = None,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Changed:
    """Approve memories that wait; curated ones need --confirm.

    A proposal is applied to the memory it amends. A promoted memory replaces what it contradicts, unless you keep
    both, which judges them compatible.
    """
    del token
    said: dict[str, str] = {}
    kept: dict[str, Memory] = {}

    def rule(one: Memory, request: Request) -> Change:
        lifecycle.require_revision(one, revision)
        worded = lifecycle.reworded(one, text, request)
        amended = None if into else _amended(call, one)
        reworded = amended if amended and text is not None else one
        other = as_seen(call, [by_id(call, into)])[0] if into else reworded
        twins = twins_of(call, replace(other, text=worded.text))
        require_free_text(other, worded.text, Known(twins=tuple(each for each in twins if each.id != one.id)))
        if into:
            said[other.id] = other.text
            return lifecycle.merge_into(one, other, worded.text, request)[0]
        rivals = list({each.id: each for each in (*rivals_of(call, one), *rivals_of(call, worded))}.values())
        if keep:
            kept.update((each.id, each) for each in lifecycle.beaten_by((one, worded), rivals, amended))
        change, _ = lifecycle.promote(
            worded,
            request,
            before=one,
            amended=amended,
            base=base_of(call, amended, one) if amended else None,
            rivals=rivals,
            superseded=superseded_by(call, one, request),
            relations=relations_of(call, (amended or one).id) if keep else (),
            keep=keep,
        )
        return change

    done = change_each(call, "promote", memory, rule, confirm=confirm)
    applied = [one.replaced_by or one.id for one in done.memories]  # a proposal lives on in what it amended
    live = tuple(call.memory(id) for id in applied)
    known = {one.id for one in (*live, *done.memories)}
    replaced = [one for one in touched_by(call, done.event) if one.replaced_by in applied and one.id not in known]
    return done._replace(
        memories=live,
        replaced=tuple(replaced),
        kept=tuple(one for id, one in kept.items() if id not in known),
        merged=tuple(one.handle for one in done.memories) if into else (),
        said=next((said[one.id] for one in live if said.get(one.id, one.text) != one.text), ""),
    )


@operation(
    "POST /v1/memories/{memory}/reject", 'engram reject mem-0002 --reason "not true"', writes=True, human=True
)
def reject(
    call: Call, memory: p.PinnedRefs, *, reason: p.Reason = "", revision: p.Revision = None, token: p.Token = ""
) -> Changed:
    """Refuse memories that wait, for good.

    The same text will not come back.
    """
    del token

    def rule(one: Memory, request: Request) -> Change:
        lifecycle.require_revision(one, revision)
        return lifecycle.reject(one, request, reason=reason, twins=twins_of(call, one))

    return change_each(call, "reject", memory, rule)


def _amended(call: Call, proposal: Memory) -> Memory | None:
    """The memory a proposal is about.

    Raises:
        Conflict: when it is gone, so that there is nothing to change.
    """
    if not proposal.amends:
        return None
    try:
        return call.memory(proposal.amends)
    except NotFound:
        raise Conflict(
            f"What {proposal.handle} would change is gone.", f"Reject it: engram reject {proposal.handle}."
        ) from None


def would_replace(call: Call, memory: Memory) -> tuple[Memory, ...]:
    """What the approval of a memory that waits would put out of use."""
    beaten = lifecycle.beaten_by((memory,), rivals_of(call, memory), target_of(call, memory))
    return tuple(_replaced(call, memory, beaten)[0])


def _under_review(call: Call, memory: Memory, evidence: tuple[Check, ...]) -> UnderReview:
    target = target_of(call, memory)
    known = rivals_of(call, memory)
    replaced, spares = _replaced(call, memory, lifecycle.beaten_by((memory,), known, target))
    rivals = [one for one in known if contradiction(one.text, memory.text)]
    judged = [one for one in relations_of(call, memory.id) if one.kind == "conflicts" and one.status == "judged"]
    ends = {end for one in judged for end in (one.from_id, one.to_id)} - {one.id for one in rivals}
    rivals += list(call.memories(ends).values())
    return UnderReview(
        _as_approved(call, memory, target),
        target,
        tuple(one for one in rivals if one.id not in (memory.id, memory.amends)),
        evidence,
        replaces=tuple(replaced),
        spares=tuple(spares),
    )


def _replaced(call: Call, memory: Memory, beaten: list[Memory]) -> tuple[list[Memory], list[Memory]]:
    """What its approval puts out of use, and what it leaves in use against a verdict.

    A proposal ends when it is approved, so no verdict on it takes effect.
    """
    pairs = [] if memory.amends else superseding(call, memory)
    if not pairs:
        return beaten, []
    request = call.request()._replace(caller=call.caller._replace(human=True))  # only a person approves
    pairs = [(one, other) for one, other in pairs if other.forgotten_at is None and other.status != "rejected"]
    said = [each.before for each in taking_effect(memory, pairs, request) if isinstance(each.before, Memory)]
    replaced = {one.id: one for one in (*beaten, *said)}
    return list(replaced.values()), [one for one in spared(pairs, request) if one.id not in replaced]


def _as_approved(call: Call, memory: Memory, amended: Memory | None) -> Memory:
    """What waits, as its approval would leave it: what it says nothing of is as the memory has it now.

    Whose word it is stays, for it is judged by that.
    """
    if amended is None or all(getattr(memory, name) == getattr(amended, name) for name in lifecycle.AMENDED):
        return memory
    base = base_of(call, amended, memory)
    return memory if base is None else lifecycle.as_applied(memory, base, amended)


def _near(call: Call, under_review: UnderReview) -> tuple[Memory, ...]:
    """Memories in use or waiting that say nearly the same as this one, and are not shown beside it already."""
    memory = under_review.memory
    told = (*under_review.conflicts, *under_review.replaces, *under_review.spares)
    beside = {memory.id, memory.amends, *(one.id for one in told)}
    asked = Question(
        memory.text[:ASKED],
        Filter(scopes=tuple({memory.scope, replace(GLOBAL, workspace=memory.scope.workspace)})),
        call.access,
        now=call.now,
        limit=MOST_NEAR,
        standings=("live", "pending"),
        embedder=call.embedder if call.embedder and call.embedder.ready else None,
        weak=True,  # how alike they are is told below
    )
    hits = (hit.memory for hit in look_up(call.engine, asked).hits if hit.memory.id not in beside)
    alike = (one for one in hits if similarity(one.text, memory.text) >= NEARLY)
    return tuple(one for one in alike if one.status == "promoted" or call.caller.may_judge(one))
