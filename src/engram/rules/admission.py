"""How a text becomes a memory: new, a revision, a repeat, or held until a person has looked at it.

A proposal was prepared (see `rules.proposals`); here it is compared with what is known, and decided on.
Admission is the same on every engine and surface. Approved text is never hidden by text nobody approved:
where a revision of a live memory would have to wait, it becomes a proposal of its own that `amends` it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from engram.errors import Conflict
from engram.model.change import Change, Request
from engram.model.memory import CURATED, UNVOUCHED, HeldFor, Memory, Status, standing
from engram.model.record import NONE, replace
from engram.rules.access import is_a_persons, is_confirmed, is_firm, require_owner, require_person_over
from engram.rules.changes import CONTENT, WORDS, Step, any_changed, compose, differ, memory_after, step
from engram.rules.doubts import is_doubted, require_person_for, vouched
from engram.rules.drafting import REACH, added, approver, fresh, other_kind, rewritten, voice_of
from engram.rules.kinds import in_context
from engram.rules.lifecycle import AMENDED, LISTS, are_set_apart, as_applied, proposed
from engram.rules.likeness import contradiction, same
from engram.rules.policy import Policy
from engram.rules.proposals import Proposal

Outcome = Literal["new", "revised", "repeated", "held", "staged", "proposed", "restored"]


class Known(NamedTuple):
    """What the store holds that bears on a proposal, of the same owner and scope where nothing else is said."""

    keyed: Memory | None = None  # holds the key
    twins: tuple[Memory, ...] = ()  # the same text, whatever became of it
    rivals: tuple[Memory, ...] = ()  # live, with the same outline
    proposals: tuple[Memory, ...] = ()  # wait to change the memory that is spoken of, the newest first
    doubted: tuple[Memory, ...] = ()  # waits because nobody vouches for it, in any place that the caller reads
    bases: Mapping[str, Memory | None] = NONE  # proposal id -> the memory as it was when proposed, if known


class Admission(NamedTuple):
    """The decision: what to commit, the memory it concerns, and in a word what happened."""

    change: Change
    memory: Memory
    outcome: Outcome
    conflicts: tuple[str, ...] = ()  # ids of the live memories it contradicts
    why: str = ""


def admit(proposal: Proposal, known: Known, policy: Policy, request: Request) -> Admission:
    """Decide what becomes of a prepared proposal.

    Raises:
        Conflict: when a person rejected this text before.
        Forbidden: when the key is held by someone else's memory.
    """
    if not _is_live_already(proposal, known, request):
        require_not_rejected(known)
    proposal = vouched(proposal, known.twins, known.doubted, request)
    if not proposal.apart:
        if known.keyed is not None:
            require_owner(request.caller, known.keyed)
            if not same(known.keyed.text, proposal.text):
                return revise(known.keyed, proposal, known, policy, request, anew=True)
            return _again(known.keyed, proposal, known, policy, request)
        if (twin := repeated(proposal, known.twins)) is not None:
            return _again(twin, proposal, known, policy, request)
    return _new(proposal, known, policy, request)


def repeated(proposal: Proposal, twins: Sequence[Memory]) -> Memory | None:
    """The memory that a text repeats, where its key leads to none: under another key it is another memory."""
    for twin in sorted(twins, key=lambda each: bool(each.key)):  # the one that is known by its text alone
        other = proposal.key and (twin.key or twin.amends)
        done = twin.amends and (twin.status == "promoted" or twin.forgotten_at is not None)
        if not (twin.apart or other or done):
            return twin
    return None


def _is_live_already(proposal: Proposal, known: Known, request: Request) -> bool:
    """Whether what would be repeated is live: then nothing comes back by it, whatever else was rejected.

    Another program may have filed a rejection of what merely said it once more.
    """
    spoken_of = None if proposal.apart else known.keyed or repeated(proposal, known.twins)
    if spoken_of is None or not same(spoken_of.text, proposal.text):
        return False
    return standing(spoken_of, request.now, request.caller.view) == "live"


def require_not_rejected(known: Known) -> None:
    """Law 2: rejected text does not come back, by whatever path.

    Raises:
        Conflict: when a person rejected it before.
    """
    for twin in known.twins:
        if twin.status == "rejected" and not _amends_its_twin(twin, known):
            name = twin.called
            raise Conflict(
                f"This text was rejected before ({name}) and stays out.",
                f"If that was a mistake, undo the rejection: engram history {name}, then engram undo EVENT.",
            )


def revise(
    old: Memory, proposal: Proposal, known: Known, policy: Policy, request: Request, *, anew: bool = False
) -> Admission:
    """Give a memory other content, in place where that may be, else as a proposal that amends it.

    A memory that waits goes on waiting, unless the text was said `anew`, under its key: then it is judged again.

    Raises:
        Conflict: when it was rejected or forgotten, or its new text was rejected, forgotten by a person or is known
            already.
        Forbidden: when it belongs to someone else.
    """
    require_owner(request.caller, old)
    if not anew:
        _require_revisable(old)
    _require_words(old, proposal, known, request)
    proposal = vouched(proposal, known.twins, known.doubted, request, old)
    new = replace(rewritten(old, proposal, policy, request), key=_key_of(old, proposal, known))
    over = old.forgotten_at is not None or (old.valid_until is not None and request.now >= old.valid_until)
    if anew and over:  # as in `_readmit`: when it held is not what is said now
        new = replace(new, valid_from=proposal.valid_from, valid_until=proposal.valid_until)
    if not anew and not any_changed((*CONTENT, "tier"), old, new):
        return _weighed(old, new, proposal, known, request)
    asked = _Revision(old, new, _contradicted(new, known, request), anew)
    status, held_for = _status_of(asked, proposal, policy, request)
    branch = (proposal.branch or old.branch) if held_for == "unmerged_branch" else ""
    asked = asked._replace(new=replace(new, status=status, held_for=held_for, branch=branch))
    if old.in_use and status == "pending":
        return _beside(asked, proposal, known, policy, request)
    return _in_place(asked, proposal, known, request)


class _Revision(NamedTuple):
    """Other content for a memory: what that was and would be, and the live ones that would contradict it."""

    old: Memory
    new: Memory
    rivals: tuple[Memory, ...]
    anew: bool


def _require_words(old: Memory, proposal: Proposal, known: Known, request: Request) -> None:
    """Other words may be free to take, and the caller's to give.

    Raises:
        Conflict: when they were rejected, forgotten by a person, or are what another memory says.
        Forbidden: when an agent gives other words to what nobody vouches for.
    """
    require_free_text(old, proposal.text, known)
    _require_not_put_away(old, proposal, known, request)
    if proposal.text != old.text or (proposal.summary or old.summary) != old.summary:
        require_person_for(old, request, "change the words of")


def _status_of(asked: _Revision, proposal: Proposal, policy: Policy, request: Request) -> tuple[Status, HeldFor]:
    """Whether other content may go live, and if not, what it waits for.

    Raises:
        Forbidden: when an agent would hide, share or reword what it may not.
    """
    old, new, rivals, anew = asked
    status, held_for = _verdict(new.tier, rivals, proposal, policy, request)
    if old.in_use and _is_to_be_approved(old, new, request):
        return "pending", "edits_curated_node"
    _require_harmless(old, new, request)
    goes_on_waiting = old.status == "pending" and not (anew or is_confirmed(request))
    if goes_on_waiting and (status == "promoted" or held_for == "unmerged_branch"):
        return "pending", old.held_for
    if anew and proposal.trusted and _is_put_away(old, proposal, request):
        return "pending", "forgotten_before"
    if anew and _is_to_be_looked_at(old, status, request):
        return "pending", "conflict"
    return status, held_for


def _in_place(asked: _Revision, proposal: Proposal, known: Known, request: Request) -> Admission:
    """The memory itself gets the content, and is brought back if it was said anew.

    What waited with the same text becomes part of it: nobody is asked about what is in use.
    """
    old, new, rivals, anew = asked
    live = new.status == "promoted"
    waited = [each for each in known.twins if live and each.id != old.id and _is_settled_with(each, new, request)]
    after = replace(
        new,
        approved_by=approver(old, new.status, request),
        forgotten_at=None,
        forgotten_by="" if live else old.forgotten_by,
        replaced_by="" if anew and live else old.replaced_by,
        verified_at=request.now if live and is_confirmed(request) else new.verified_at,
        seen=new.seen + sum(each.seen for each in waited),
    )
    part = {"status": "promoted", "held_for": "", "amends": old.id, "replaced_by": old.id}
    steps = [Step(old, after), *_replacing(after, rivals, request)]
    steps += [step(each, request, **part) for each in waited]
    back = _taken_back(old, proposal, known, request)
    outcome: Outcome = "revised" if live or after.branch else "held"
    return _admitted("revise", outcome, steps, proposal, request, rivals=rivals, back=back)


def _beside(asked: _Revision, proposal: Proposal, known: Known, policy: Policy, request: Request) -> Admission:
    """Keep the live memory unchanged and hold the new content as a proposal.

    An identical proposal is counted; an agent's own earlier proposal is updated instead of adding a second. If an
    agent saves under the key (rather than revising), an unkeyed memory with this text that waits already is
    counted.
    """
    for twin in known.twins:
        before = _is_waiting_for(asked.old, twin) and as_applied(twin, _base_of(twin, asked.old, known), asked.old)
        proposed_before = before and not any_changed(CONTENT, before, asked.new)
        by_itself = asked.anew and _is_waiting_by_itself(twin) and not request.caller.human
        if proposed_before or by_itself:
            return _again(twin, proposal._replace(kind=None, key=""), known, policy, request)
    new = replace(asked.new, **voice_of(proposal, policy, request))
    for waiting in known.proposals if proposal.trusted and not new.branch else ():
        if _is_waiting_for(asked.old, waiting) and _is_its_own(waiting, proposal, request):
            return _proposed_anew(waiting, known, asked._replace(new=new), proposal, request)
    return _propose(new, proposal, asked.rivals, request)


def _is_settled_with(twin: Memory, new: Memory, request: Request) -> bool:
    """Whether what waits says the same as what goes live, and is nobody else's to decide about."""
    firm = is_firm(twin, request.caller) or is_doubted(twin) or bool(twin.forgotten_by)
    return _is_waiting_by_itself(twin) and same(twin.text, new.text) and not firm


def _base_of(waiting: Memory, amended: Memory, known: Known) -> Memory | None:
    return known.bases.get(waiting.id, amended)


def _is_waiting_for(amended: Memory, proposal: Memory) -> bool:
    return proposal.amends == amended.id and proposal.status == "pending" and proposal.forgotten_at is None


def _is_waiting_by_itself(twin: Memory) -> bool:
    """Whether a text waits as what it is, for no other memory and under no key."""
    return twin.waiting and not (twin.key or twin.apart or twin.amends)


def _is_its_own(waiting: Memory, proposal: Proposal, request: Request) -> bool:
    """Whether an agent said itself what waits, and may reword it: no person's word, nothing unvouched."""
    by = (waiting.actor, waiting.context.agent)
    own = not request.caller.human and by == (request.caller.actor, proposal.context.agent)
    return own and not (waiting.branch or is_a_persons(waiting) or is_doubted(waiting))


def _proposed_anew(
    waiting: Memory, known: Known, asked: _Revision, proposal: Proposal, request: Request
) -> Admission:
    """Update the agent's waiting proposal: new text replaces its old text; other changes are added.

    It is recomputed: the proposal holds only the fields in which it differs from the memory as it is now.
    """
    old, new = asked.old, asked.new
    counts = as_applied(waiting, _base_of(waiting, old, known), old)
    again = _is_said_again(old, proposal) and not same(counts.text, old.text)
    if _is_said_again(old, proposal):
        counts = replace(counts, text=old.text, summary=old.summary)
    said = proposed(new, old, counts)
    if "text" in said:
        said |= {"summary": new.summary, "context": new.context, "actor": new.actor}
    said = {name: getattr(counts, name) for name in AMENDED} | said | {"held_for": new.held_for}
    if not differ(tuple(said), waiting, said):  # it says the same of what is another now
        said["seen"] = waiting.seen + 1
    anew = step(waiting, request, **said)
    back = [anew] if again else []
    return _admitted("propose", "proposed", [anew], proposal, request, rivals=asked.rivals, back=back)


def _is_said_again(old: Memory, proposal: Proposal) -> bool:
    return proposal.worded and same(old.text, proposal.text)


def _taken_back(old: Memory, proposal: Proposal, known: Known, request: Request) -> list[Step]:
    """Steps that withdraw an agent's proposed text when it says the memory's own again; its other changes stay.

    Only `remember` and `revise` withdraw one: what a summary or a talk repeats is no change of mind.
    """
    steps = []
    for waiting in known.proposals if proposal.trusted and _is_said_again(old, proposal) else ():
        base = _base_of(waiting, old, known)
        if not (_is_waiting_for(old, waiting) and _is_its_own(waiting, proposal, request)):
            continue
        if "text" not in proposed(waiting, base, old):
            continue
        before = base or old
        bare = replace(waiting, text=before.text, summary=before.summary)
        if any_changed(AMENDED, as_applied(bare, base, old), old):
            steps.append(step(waiting, request, text=before.text, summary=before.summary))
        else:
            steps.append(step(waiting, request, forgotten_at=request.now))
    return steps


def _admitted(
    action: str,
    outcome: Outcome,
    steps: list[Step],
    proposal: Proposal,
    request: Request,
    *,
    rivals: tuple[Memory, ...] = (),
    back: Sequence[Step] = (),
) -> Admission:
    """The decision that takes these steps, of which the first is about the memory itself.

    Those of `back` take back what the caller proposed before: history and the answer tell of them.
    """
    memory = memory_after(steps[0])
    taken = [memory_after(each).id for each in back]
    note = _note(proposal, outcome, rivals) | {"taken_back": taken}
    change = compose(action, request, [*steps, *(each for each in back if each not in steps)], note=note)
    return Admission(change, memory, outcome, tuple(each.id for each in rivals), _why(proposal.text, rivals))


def _weighed(old: Memory, new: Memory, proposal: Proposal, known: Known, request: Request) -> Admission:
    """Only weight, reach or validity moved: the words are neither approved nor verified by it, nor held for it."""
    _require_harmless(old, new, request)
    outcome: Outcome = "revised" if old.status == "promoted" or old.staged else "held"
    back = _taken_back(old, proposal, known, request)
    return _admitted("revise", outcome, [Step(old, new)], proposal, request, back=back)


def _key_of(old: Memory, proposal: Proposal, known: Known) -> str:
    """The key a revised memory goes by: its own stays, and what has none may get one that is free.

    Raises:
        Conflict: when it has another, or another memory has it.
    """
    if not proposal.key or proposal.key == old.key:
        return old.key
    if old.key:
        name = old.called
        raise Conflict(f"{name} goes by the key {old.key}, which stays.", "Remember it anew under the other key.")
    if known.keyed is not None and known.keyed.id != old.id:
        name = known.keyed.called
        raise Conflict(f"{name} has the key {proposal.key} already.", "Choose another key.")
    return proposal.key


def _require_revisable(old: Memory) -> None:
    name = old.called
    if old.status == "rejected":
        raise Conflict(f"{name} was rejected.", f"Undo the rejection first: engram history {name}.")
    if old.forgotten_at is not None:
        raise Conflict(f"{name} is forgotten.", f"Restore it first: engram restore {name}.")


def _is_to_be_approved(old: Memory, new: Memory, request: Request) -> bool:
    """Whether other content waits for a person: any of a curated memory, of a person's word all but additions.

    Raises:
        Forbidden: when an agent would hide or share a person's word besides.
    """
    if is_confirmed(request) or not is_firm(old, request.caller):
        return False
    if old.tier == CURATED or any_changed(WORDS, old, new):
        return True
    _require_harmless(old, new, request)
    return _takes_away(old, new) or in_context(old) != in_context(new)


def _takes_away(old: Memory, new: Memory) -> bool:
    """Whether something of a list is no longer there; the same place pinned anew still is."""
    return any(
        not {key(one) for one in getattr(old, name)} <= {key(one) for one in getattr(new, name)}
        for name, key in LISTS.items()
    )


def _require_harmless(old: Memory, new: Memory, request: Request) -> None:
    """An agent may change the weight of a firm memory, but not its visibility, validity or decay.

    Nor may it reword a person's memory that is waiting; nothing can amend that yet.
    """
    if not (old.in_use or (old.status == "pending" and is_a_persons(old))):
        return
    if old.status == "pending" and any_changed(WORDS, old, new):
        require_person_over(old, request, "change the words of")
    if any_changed(REACH, old, new):
        require_person_over(old, request, "change the reach or validity of")


def require_free_text(old: Memory, text: str, known: Known) -> None:
    """Neither rejected text, nor the text by which another memory goes, becomes the text of this one.

    Raises:
        Conflict: naming the memory that is in the way.
    """
    if same(old.text, text):
        return
    require_not_rejected(known)
    if old.key or old.apart or old.amends:
        return
    for twin in known.twins:
        if twin.id != old.id and not (twin.apart or twin.amends or twin.key):
            name = twin.called
            raise Conflict(f"{name} says that already.", f"Forget one of the two: engram forget {name}.")


def _new(proposal: Proposal, known: Known, policy: Policy, request: Request) -> Admission:
    rivals = _contradicted(proposal, known, request)
    kind = policy.kind(proposal.kind or "fact")
    status, held_for = _verdict(kind.tier, rivals, proposal, policy, request)
    # A prompt tells what a person asked for, word for word, and is told on demand alone: asking again is no return.
    away = None if kind.apart and kind.recall == "on_demand" else _put_away(known, proposal, request)
    if away and proposal.trusted:
        status, held_for = "pending", "forgotten_before"
    memory = fresh(proposal, policy, request, status=status, held_for=held_for)
    if away:
        memory = replace(memory, forgotten_by=away.forgotten_by)
    steps = [Step(None, memory), *_replacing(memory, rivals, request)]
    outcome: Outcome = "new" if status == "promoted" else "staged" if memory.staged else "held"
    return _admitted("remember", outcome, steps, proposal, request, rivals=rivals)


def _again(old: Memory, proposal: Proposal, known: Known, policy: Policy, request: Request) -> Admission:
    """The same text once more: count it, and bring it back where it had left for a reason that no longer holds."""
    stands = standing(old, request.now, request.caller.view)
    if stands in ("forgotten", "replaced", "expired"):
        return _readmit(old, proposal, known, policy, request)
    changes: dict[str, Any] = {"seen": old.seen + 1}
    # Who would have had to wait with a new text adds nothing to a known one by the way: it is only counted.
    status, _ = _verdict(1, (), proposal, policy, request)
    free = status == "promoted" or (not policy.autopromote and proposal.trusted and not policy.review_all)
    free = free or (old.staged and proposal.trusted and proposal.branch == old.branch)
    if free and proposal.key and not old.key and (old.tier != CURATED or request.caller.human):
        changes["key"] = proposal.key
    if free and old.tier != CURATED:
        changes |= added(old, proposal, request) | other_kind(old, proposal, policy, request)
    if old.staged and proposal.branch:
        changes["branch"] = proposal.branch  # one place at a time: where it was said last
    elif (old.staged or old.waiting) and not old.amends:
        changes |= _judged_again(old, proposal, known, policy, request)
    elif stands == "stale" and proposal.trusted and (old.tier != CURATED or is_confirmed(request)):
        changes["verified_at"] = request.now  # said again: fresh evidence, unlike a mere reading
    back = _taken_back(old, proposal, known, request)
    return _admitted("repeat", "repeated", [step(old, request, **changes)], proposal, request, back=back)


def _judged_again(
    old: Memory, proposal: Proposal, known: Known, policy: Policy, request: Request
) -> dict[str, Any]:
    """What waits goes live when it is said again by someone for whom it would not have had to wait."""
    rivals = _contradicted(old, known, request)
    status, _ = _verdict(old.tier, rivals, proposal, policy, request)
    if status == "pending" or rivals or _is_put_away(old, proposal, request):
        return {}
    if is_doubted(old) and not request.caller.human:
        return {}
    said = fresh(proposal, policy, request)
    speaker = old if is_firm(old, request.caller) else said  # a person's words are theirs, whoever says them again
    return {
        "status": status,
        "held_for": "",
        "branch": "",
        "forgotten_by": "",
        "approved_by": approver(None, status, request),
        "origin": speaker.origin,
        "source": speaker.source,
        "confidence": max(old.confidence, said.confidence),
        **({"verified_at": request.now} if is_confirmed(request) or _is_stale(old, request) else {}),
    }


def _is_stale(memory: Memory, request: Request) -> bool:
    return memory.stale_at is not None and request.now > memory.stale_at


def _readmit(old: Memory, proposal: Proposal, known: Known, policy: Policy, request: Request) -> Admission:
    """Forgotten, expired or replaced, and said again: judged as if new, under the same id.

    What a person forgot waits for a person, when anybody else says it.
    """
    said = fresh(proposal, policy, request)
    back = replace(
        rewritten(old, proposal, policy, request),
        key=proposal.key or old.key,
        origin=said.origin,
        source=said.source,
        valid_from=proposal.valid_from,
        valid_until=proposal.valid_until,
        forgotten_at=None,
        seen=old.seen + 1,
    )
    rivals = _contradicted(back, known, request)
    status, held_for = _verdict(back.tier, rivals, proposal, policy, request)
    if _is_to_be_looked_at(old, status, request):
        status, held_for = "pending", "conflict"
    put_away = _is_put_away(old, proposal, request)
    if put_away and proposal.trusted:
        status, held_for = "pending", "forgotten_before"
    back = replace(
        back,
        forgotten_by=old.forgotten_by if put_away else "",
        status=status,
        held_for=held_for,
        approved_by=approver(None, status, request),
        replaced_by="" if status == "promoted" else back.replaced_by,
        branch=proposal.branch if held_for == "unmerged_branch" else "",
    )
    # Said again and in use, it is fresh evidence; what is held vouches for nothing.
    if status == "promoted" or back.branch:
        back = replace(back, verified_at=request.now)
    steps = [Step(old, back), *_replacing(back, rivals, request)]
    outcome: Outcome = "restored" if status == "promoted" else "held"
    return _admitted("remember", outcome, steps, proposal, request, rivals=rivals)


def _is_to_be_looked_at(old: Memory, status: Status, request: Request) -> bool:
    """Whether something else replaced a memory: it is not simply live again beside its successor."""
    return status == "promoted" and bool(old.replaced_by) and not is_confirmed(request)


def _require_not_put_away(old: Memory, proposal: Proposal, known: Known, request: Request) -> None:
    """Refuse to give a memory the text of another one that a person forgot.

    Raises:
        Conflict: when it would.
    """
    away = None if same(old.text, proposal.text) else _put_away(known, proposal, request)
    if away and away.id != old.id:
        gone = away.forgotten_at is not None
        raise Conflict(
            f"A person forgot this text before: {away.called}.",
            f"A person restores it: engram restore {away.called}."
            if gone
            else "A person decides about it: engram review.",
        )


def _put_away(known: Known, proposal: Proposal, request: Request) -> Memory | None:
    """A twin that a person forgot, where anybody but a person says its text again; None otherwise."""
    return next((each for each in known.twins if _is_put_away(each, proposal, request)), None)


def _is_put_away(old: Memory, proposal: Proposal, request: Request) -> bool:
    """Whether a person forgot a memory, and it is not a person who says it again."""
    return bool(old.forgotten_by) and (not request.caller.human or proposal.learned_by == "harvest")


def _propose(new: Memory, proposal: Proposal, rivals: tuple[Memory, ...], request: Request) -> Admission:
    """A record of its own that waits, and on promotion gives its content to the memory it amends."""
    proposed = replace(
        new,
        id=request.fresh,
        key="",
        amends=new.id,
        status="pending",
        approved_by="",
        actor=request.caller.actor,
        created_at=request.now,
        updated_at=request.now,
        verified_at=None,
        reworded_at=None,
        seen=1,
        revision=1,
        handle="",
    )
    return _admitted("propose", "proposed", [Step(None, proposed)], proposal, request, rivals=rivals)


def _verdict(
    tier: int, rivals: tuple[Memory, ...], proposal: Proposal, policy: Policy, request: Request
) -> tuple[Status, HeldFor]:
    """Whether a memory may go live by itself, and if not, what it is held for."""
    if not proposal.trusted:
        return "pending", UNVOUCHED
    if is_confirmed(request):
        return "promoted", ""
    reasons: tuple[tuple[bool, HeldFor], ...] = (
        (tier == CURATED, "curated_kind"),
        (bool(rivals), "conflict"),
        (policy.review_all, "review_all"),
        (bool(proposal.branch), "unmerged_branch"),
    )
    for holds, reason in reasons:
        if holds:
            return "pending", reason
    return ("promoted", "") if policy.autopromote else ("pending", "")


def _contradicted(said: Memory | Proposal, known: Known, request: Request) -> tuple[Memory, ...]:
    """The live memories that can hardly hold beside what is said.

    Two that were set apart under one key are both meant, but for what stands firm against whoever says the other.
    """
    but = said.id if isinstance(said, Memory) else request.fresh
    others = (each for each in known.rivals if each.id != but)
    meant = (each for each in others if is_firm(each, request.caller) or not are_set_apart(said, each))
    return tuple(each for each in meant if contradiction(each.text, said.text))


def _why(text: str, rivals: tuple[Memory, ...]) -> str:
    return (contradiction(rivals[0].text, text) or "") if rivals else ""


def _replacing(memory: Memory, rivals: tuple[Memory, ...], request: Request) -> list[Step]:
    """What a confirmed memory contradicts is replaced in the same Change; one out of use replaces nothing."""
    if not memory.in_use:
        return []
    return [step(each, request, replaced_by=memory.id) for each in rivals]


def _amends_its_twin(rejected: Memory, known: Known) -> bool:
    """Whether the rejected proposal left the words of its memory as they are: another kind was refused."""
    return bool(rejected.amends) and any(each.id == rejected.amends for each in known.twins)


def _note(proposal: Proposal, outcome: Outcome, rivals: tuple[Memory, ...] = ()) -> dict[str, Any]:
    """What history keeps beside the edits: what was taken out, what became of the text, and what it is against."""
    against = {"conflicts": [each.id for each in rivals], "why": _why(proposal.text, rivals)}
    return {"redacted": list(proposal.redacted), "outcome": outcome, **against}
