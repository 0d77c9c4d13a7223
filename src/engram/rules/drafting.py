"""The record a proposal makes: a new memory, a known one reworded, or a known one with more tags or citations.

Whether it goes live, waits or amends another is decided in `rules.admission`.
"""

from typing import Any

from engram.model.change import Request
from engram.model.marks import NO_CONTEXT
from engram.model.memory import CURATED, NOWHERE, Context, HeldFor, Memory, Status, clean_tags
from engram.model.record import replace
from engram.rules.access import is_confirmed, is_firm
from engram.rules.changes import other_words
from engram.rules.likeness import same
from engram.rules.policy import Policy
from engram.rules.proposals import CLEARED, Proposal

REACH = ("visibility", "decay", "valid_from", "valid_until", "confidence")
"""The fields that decide who sees a memory, and how long."""


def fresh(
    proposal: Proposal, policy: Policy, request: Request, *, status: Status = "pending", held_for: HeldFor = ""
) -> Memory:
    """A new memory, with what the caller, the kind and the policy say where the proposal says nothing."""
    caller = request.caller
    kind = policy.kind(proposal.kind or "fact")
    defaults: dict[str, Any] = {
        "kind": kind.name,
        "decay": kind.decay,
        "confidence": 1.0 if caller.human and proposal.trusted else 0.6,
        "visibility": policy.visibility if proposal.scope.level == "project" else "private",
    }
    origin = proposal.origin or ("said" if caller.human and proposal.trusted else "inferred")
    source = proposal.source or ("manual" if caller.human else "tool:remember")
    if not caller.human and (origin, source) == ("said", "manual"):
        source = "tool:remember"  # what somebody said to an agent was not typed here by a person
    return Memory(
        id=request.fresh,
        key=proposal.key,
        scope=proposal.scope,
        session=proposal.session or caller.session,
        text=proposal.text,
        origin=origin,
        source=source,
        learned_by=proposal.learned_by,
        owner=caller.owner,
        actor=caller.actor,
        context=proposal.context,
        tier=kind.tier,
        branch=proposal.branch if held_for == "unmerged_branch" else "",
        apart=proposal.apart,
        status=status,
        held_for=held_for,
        approved_by=approver(None, status, request),
        created_at=request.now,
        updated_at=request.now,
        **(defaults | proposal.said()),
    )


def rewritten(old: Memory, proposal: Proposal, policy: Policy, request: Request) -> Memory:
    """A known memory as the proposal has it, one revision on; what that says nothing of stays."""
    said = {**{CLEARED[name][0]: CLEARED[name][1] for name in proposal.cleared}, **proposal.said()}
    kind = policy.kind(said.get("kind", old.kind))
    if "kind" in said and said["kind"] != old.kind:
        said.setdefault("decay", kind.decay)
    if not same(old.text, proposal.text):
        # Other words have a source and a confidence of their own, and drop the old summary, unless one is given.
        said = {**voice_of(proposal, policy, request), "summary": "", **said}
        if "manual" in (proposal.learned_by, old.learned_by):  # who typed it tells of the words, not of the memory
            said["learned_by"] = proposal.learned_by
    anew = not same(old.text, proposal.text) or "kind" in said
    said["text"] = proposal.text
    return replace(
        old,
        context=_made(old, proposal, anew=anew and proposal.context is not NOWHERE),
        actor=request.caller.actor,
        # Nobody makes a curated memory less than that by the way: only a person's confirmed word does.
        tier=kind.tier if is_confirmed(request) else max(kind.tier, old.tier if old.tier == CURATED else 0),
        updated_at=request.now,
        revision=old.revision + 1,
        **other_words(old, said, request.now),
        **said,
    )


def voice_of(proposal: Proposal, policy: Policy, request: Request) -> dict[str, Any]:
    """Whose word a proposal is, whatever it changes: nobody proposes in the voice of who said it before."""
    said = fresh(proposal, policy, request)
    return {"origin": said.origin, "source": said.source, "confidence": said.confidence}


def added(old: Memory, proposal: Proposal, request: Request) -> dict[str, Any]:
    """What a repeat says beyond the text: tags and citations join, weights are taken as said.

    How far a person's word reaches is not an agent's to say by the way.
    """
    firm = is_firm(old, request.caller)
    more: dict[str, Any] = {}
    if proposal.tags:
        said = (tag for tag in proposal.tags if not (firm and tag == NO_CONTEXT))
        more["tags"] = clean_tags((*old.tags, *said))
    if proposal.citations:
        places = {(each.kind, each.ref, each.locator): each for each in (*old.citations, *proposal.citations)}
        more["citations"] = tuple(places.values())  # the same place again is pinned to what was seen last
        if proposal.context.repo and not old.context.repo:
            more["context"] = replace(old.context, repo=proposal.context.repo)
    for name in ("importance", "pinned", "valid_from", "valid_until", "visibility"):
        if (value := getattr(proposal, name)) is not None and not (firm and name in REACH):
            more[name] = value
    if proposal.summary and not old.summary and not firm:
        more["summary"] = proposal.summary
    return more


def other_kind(old: Memory, proposal: Proposal, policy: Policy, request: Request) -> dict[str, Any]:
    """The same words meant as another kind: taken as said by a person, unless that made them curated by the way.

    An agent that says a known thing again says nothing about what it is: `revise` does.
    """
    kind = policy.kind(proposal.kind or old.kind)
    if kind.name == old.kind or not request.caller.human or proposal.kind_if_new:
        return {}
    if kind.tier == CURATED and not is_confirmed(request):
        return {}
    changes: dict[str, Any] = {"kind": kind.name, "tier": kind.tier, "decay": proposal.decay or kind.decay}
    return changes | ({"approved_by": request.caller.name} if kind.tier == CURATED else {})


def approver(old: Memory | None, status: Status, request: Request) -> str:
    """Who approved what gets this status: who confirmed it, else who approved the memory as it was."""
    if status != "promoted":
        return ""
    if is_confirmed(request):
        return request.caller.name
    return old.approved_by if old is not None and old.status == "promoted" else ""


def _made(old: Memory, proposal: Proposal, *, anew: bool) -> Context:
    """The context of the result: the proposal's if text or kind is new (`anew`), else the memory's own.

    Another system's word for the kind goes with the kind, and what it keeps of the record goes with the record. The
    repository goes with what is cited: who has other words for it cites the same files.
    """
    said, made = proposal.context, old.context
    if anew:
        word = said.word if proposal.kind is not None else made.word
        made = replace(said, word=word, theirs=said.theirs or made.theirs)
    cited = old.citations if proposal.citations is None else proposal.citations
    if not cited:
        return made
    here = bool(proposal.branch) or cited != old.citations
    repos = (said.repo, old.context.repo) if here else (old.context.repo, said.repo)
    return replace(made, repo=repos[0] or repos[1])
