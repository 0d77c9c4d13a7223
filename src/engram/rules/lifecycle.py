"""What may happen to a memory after it was admitted: promote, reject, verify, forget, restore, purge."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from engram.errors import Conflict, Forbidden
from engram.model.change import Change, Request
from engram.model.limits import check_text
from engram.model.memory import CURATED, Citation, Memory, standing
from engram.model.record import replace
from engram.model.relation import Relation
from engram.rules.access import (
    is_a_persons,
    require_confirmation,
    require_judge,
    require_owner,
    require_person,
    require_person_over,
)
from engram.rules.changes import CONTENT, HELD_FOR_CONFLICT, Step, compose, memory_after, other_words, step
from engram.rules.doubts import require_person_for
from engram.rules.likeness import contradiction
from engram.rules.proposals import Proposal
from engram.rules.redact import redact
from engram.rules.relations import BOTH_STAY, keeping

CARRIED = (
    *("decay", "tier", "origin", "source", "confidence", "importance", "pinned"),
    *("visibility", "valid_from", "valid_until"),
)
"""What a proposal gives the memory it amends besides its content."""

VOICE_FIELDS = frozenset({"origin", "source", "confidence"})
"""Whose word it is: it goes with the words, so a proposal that leaves the words leaves it too."""

AMENDED = tuple(name for name in (*CONTENT, *CARRIED) if name not in VOICE_FIELDS)
"""What a reader of a proposal compares: all it may change but whose word it is."""

LISTS: Mapping[str, Callable[[Any], object]] = {
    "tags": lambda tag: tag,
    "citations": lambda cited: (cited.kind, cited.ref, cited.locator),
    "assets": lambda asset: asset.sha256,
}
"""Fields that a proposal adds to and takes from, and what makes two of their entries the same."""


def reworded(memory: Memory, text: str | None, request: Request) -> Memory:
    """What waits, in the reviewer's words; private spans and credentials are taken out of them too."""
    if text is None:
        return memory
    require_owner(request.caller, memory)
    worded = redact(text).text
    said = {"text": worded, "summary": memory.summary if worded == memory.text else ""}
    return replace(memory, **said, **other_words(memory, said, request.now), learned_by="manual")


def promote(
    memory: Memory,
    request: Request,
    *,
    before: Memory | None = None,
    amended: Memory | None = None,
    base: Memory | None = None,
    rivals: Sequence[Memory] = (),
    superseded: Sequence[Step] = (),
    relations: Sequence[Relation] = (),
    keep: bool = False,
) -> tuple[Change, Memory]:
    """Approve what waits; answers with the memory that is live afterwards.

    - `before`: the record as stored, if the reviewer has reworded it.
    - `amended`: the memory that a proposal amends, and that gets its changes.
    - `base`: that memory as it was when proposed; only fields that differ from it are changed.
    - `rivals`: live memories that may contradict it, and those that had replaced it, link by link. It replaces the
      latter, and the former where they do contradict it.
    - `superseded`: steps for what a verdict says it supersedes.
    - `keep`: replace nothing; judge each such pair compatible instead, so that nobody is asked again.
    - `relations`: the relations of what is live afterwards, among which those verdicts are found or added.

    Raises:
        Conflict: when it does not wait, or what it amends is gone.
        Unconfirmed: when it is curated and nobody confirmed.
    """
    stored = before or memory
    require_judge(request.caller, stored)
    _require_waiting(stored, "promote", request)
    require_person(request, "promote what waits for review")
    # What the reviewer wrote replaces what the waiting text would have replaced too.
    beaten = beaten_by((memory, stored), rivals, amended)
    kept: list[Step] = []
    if keep:
        kept = keeping(amended or memory, beaten, relations, request)
        beaten, superseded = [], ()
    if any(each.stands_curated for each in beaten):
        require_confirmation(request, "It would replace a curated memory.")
    if amended is not None:
        return _apply(stored, memory, amended, beaten, request, base=base, kept=kept)
    live = memory_after(
        step(
            memory,
            request,
            status="promoted",
            held_for="",
            approved_by=request.caller.name,
            verified_at=request.now,
            branch="",
            replaced_by="",
            forgotten_by="",
        )
    )
    steps = [Step(stored, live), *(step(each, request, replaced_by=live.id) for each in beaten)]
    known = {each.id for each in beaten}
    more = [each for each in superseded if each.before is None or each.before.id not in known]
    # Elsewhere the text may be edited at the same time: the approval says which words it is about.
    note = {"digest": live.digest if live.tier == CURATED else "", **_verdict(kept)}
    return compose("promote", request, [*steps, *more, *kept], note=note), live


def reject(memory: Memory, request: Request, *, reason: str = "", twins: Sequence[Memory] = ()) -> Change:
    """Refuse what waits, for good: the text keeps its claim, so it cannot come back.

    `twins` are other memories with the same text; where one of them is alive, its claim stands.

    Raises:
        Conflict: when it does not wait.
    """
    require_judge(request.caller, memory)
    require_person(request, "reject a memory")
    _require_waiting(memory, "reject", request)
    taken = any(each.id != memory.id and each.status != "rejected" and not each.key for each in twins)
    move = step(memory, request, status="rejected", held_for="", apart=memory.apart or taken)
    return compose("reject", request, [move], note=_reason_note(reason))


def verify(memory: Memory, request: Request, citations: Sequence[Citation] | None = None) -> Change:
    """Confirm that a memory still holds: its freshness starts again. Reading never does that.

    `citations` are what it rests on now, where that was pinned anew; for a curated one a person confirms them. They
    are part of what it says, so only its owner pins them.

    Raises:
        Conflict: when it is not a promoted, remembered one.
        Forbidden: when it is another's, for whoever does not review it or would pin it anew.
        Unconfirmed: when a curated one would rest on something else.
    """
    require_judge(request.caller, memory)
    if citations is not None:
        require_owner(request.caller, memory)
    if _state(memory) != "promoted" and not memory.staged:
        raise Conflict(
            f"{memory.called} is {_state(memory)}; only a promoted memory can be verified.",
            _way_back(memory) or "Review it first: engram review.",
        )
    if memory.tier == CURATED:
        require_person(request, f"verify a curated memory (kind {memory.kind})")
    changes = {} if citations is None else {"citations": tuple(citations)}
    return compose("verify", request, [step(memory, request, verified_at=request.now, **changes)])


def forget(memory: Memory, request: Request, *, reason: str = "", replaced: Sequence[Memory] = ()) -> Change:
    """Hide a memory from every read until it is restored.

    What it had replaced stands again; unless it was replaced itself: then what replaced it has replaced them all.

    Raises:
        Conflict: when it is forgotten already.
        Forbidden: when it is another's, or an agent would forget what a person wrote or approved.
    """
    require_owner(request.caller, memory)
    if memory.status == "rejected":
        raise Conflict(
            f"{memory.called} is rejected: it is hidden already.",
            f"To erase it: engram purge {memory.called} --confirm.",
        )
    if memory.forgotten_at is not None:
        raise Conflict(f"{memory.called} is forgotten already.", f"Bring it back: engram restore {memory.called}.")
    command = f"engram forget {memory.called}"
    require_person_for(memory, request, "forget", command)
    if memory.status == "promoted" or is_a_persons(memory):
        require_person_over(memory, request, "forget", command)
    by = request.caller.name if request.caller.human else memory.forgotten_by
    steps = [
        step(memory, request, forgotten_at=request.now, forgotten_by=by),
        *_handed_on(memory, replaced, request),
    ]
    return compose("forget", request, steps, note=_reason_note(reason))


def restore(
    memory: Memory, request: Request, *, rivals: Sequence[Memory] = (), superseded: Sequence[Step] = ()
) -> Change:
    """Bring back what was forgotten, in the status it had: restoring is not approving.

    What contradicts something that is live now (one of `rivals`) comes back to review; otherwise what it had
    superseded goes out of use again (`superseded`).

    Raises:
        Conflict: when it was not forgotten.
        Forbidden: when an agent would restore what a person forgot.
    """
    require_owner(request.caller, memory)
    if memory.forgotten_at is None:
        raise Conflict(f"{memory.called} is not forgotten.", "There is nothing to restore.")
    if memory.stands_curated:
        require_person(request, f"restore a curated memory (kind {memory.kind})")
    if memory.forgotten_by:
        require_person(request, "restore what a person forgot", f"engram restore {memory.called}")
    changes: dict[str, object] = {"forgotten_at": None, "forgotten_by": ""}
    if (
        memory.status == "promoted"
        and not memory.replaced_by
        and any(_beats(memory, each, None) for each in rivals)
    ):
        changes |= HELD_FOR_CONFLICT
    in_use = memory.status == "promoted" and "status" not in changes
    return compose("restore", request, [step(memory, request, **changes), *(superseded if in_use else ())])


def purge_all(
    memories: Sequence[Memory],
    request: Request,
    *,
    proposals: Sequence[Memory] = (),
    replaced: Sequence[Memory] = (),
    relations: Sequence[Relation] = (),
    remains: Sequence[str] = (),
) -> Change:
    """Erase memories, every proposal to amend them and every verdict on them, at once. It cannot be undone.

    What one of them had replaced is replaced by whatever replaced that one and stays, or by nothing. `remains` are
    memories that are no longer there, their making being undone: what history still tells of them goes too.

    Raises:
        Unconfirmed: without a person's confirmation.
    """
    for memory in memories:
        require_owner(request.caller, memory)
    require_person(request, "purge a memory")
    names = [*(each.called for each in memories), *(id[:13] for id in remains)]
    if len(names) == 1:
        _require_sure(request, names[0])
    else:
        _require_sure(request, f"{len(names):,} memories", "them")
    gone = {each.id: each for each in (*memories, *proposals)}
    steps = [Step(each, None) for each in gone.values()]
    steps += [Step(each, None) for each in {each.id: each for each in relations}.values()]
    left = [step(each, request, replaced_by=_heir(each, gone)) for each in replaced if each.id not in gone]
    ids = (*(each.before.id for each in steps if each.before), *remains)
    return compose("purge", request, [*steps, *left], erase=True, subjects=ids)._replace(erase=ids)


def _heir(replaced: Memory, gone: Mapping[str, Memory]) -> str:
    """What has replaced a memory when these are gone; "" where nothing has."""
    at, passed = replaced.replaced_by, {replaced.id}
    while at in gone and at not in passed:
        passed.add(at)
        at = gone[at].replaced_by
    return "" if at in passed else at


def _handed_on(memory: Memory, replaced: Sequence[Memory], request: Request) -> list[Step]:
    """What a memory had replaced, when that one goes: replaced by what replaced it, or by nothing."""
    return [
        step(each, request, replaced_by="" if memory.replaced_by == each.id else memory.replaced_by)
        for each in replaced
    ]


def _require_sure(request: Request, name: str, it: str = "it") -> None:
    why = f"Purging {name} erases {it} for good; undo cannot bring {it} back."
    require_confirmation(request, why, "Say so with --confirm.")


def require_revision(memory: Memory, revision: int | None) -> None:
    """Refuse a change that was decided on an older revision than the present one.

    Raises:
        Conflict: when the memory moved since it was read.
    """
    if revision is not None and revision != memory.revision:
        raise Conflict(
            f"{memory.called} is at revision {memory.revision}, not {revision}.",
            f"Look at it again (engram get {memory.called}), then repeat the change.",
        )


def proposed(proposal: Memory, base: Memory | None, amended: Memory) -> dict[str, Any]:
    """The fields a proposal changes in the memory it `amended`.

    They are those that differ from `base`, the memory as it was when proposed; other fields keep their current
    value. Without a base, all fields.
    """
    names = (*CONTENT, *CARRIED)
    spoken = _otherwise(proposal, base, "text")
    said = {
        name: getattr(proposal, name)
        for name in names
        if _otherwise(proposal, base, name) and (spoken or name not in VOICE_FIELDS)
    }
    if base is not None:
        said |= {name: list_after(name, proposal, base, amended) for name in LISTS if name in said}
    return said


def as_applied(proposal: Memory, base: Memory | None, amended: Memory) -> Memory:
    """A proposal in full, as its approval would leave the memory it `amended`; whose word it is stays."""
    said = proposed(proposal, base, amended)
    return replace(proposal, **{name: said.get(name, getattr(amended, name)) for name in AMENDED})


def list_after(name: str, proposal: Memory, base: Memory, amended: Memory) -> tuple[Any, ...]:
    """A list of a memory after a proposal: it adds and takes away what it did, and the rest stays as it is now.

    So two proposals that each add a tag leave both, in whichever order they are approved. Where both have an entry
    for the same citation or file, the proposal's wins.
    """
    before, meant, now = (getattr(each, name) for each in (base, proposal, amended))
    kept = [one for one in now if one not in before or one in meant]
    came = [one for one in meant if one not in before]
    return tuple({LISTS[name](one): one for one in (*kept, *came)}.values())


def _otherwise(proposal: Memory, base: Memory | None, name: str) -> bool:
    return base is None or getattr(proposal, name) != getattr(base, name)


def _apply(
    stored: Memory,
    proposal: Memory,
    amended: Memory,
    beaten: Sequence[Memory],
    request: Request,
    *,
    base: Memory | None = None,
    kept: Sequence[Step] = (),
) -> tuple[Change, Memory]:
    """Give what a proposal changes to the memory it amends; the proposal itself is done with."""
    require_judge(request.caller, amended)
    if amended.owner != stored.owner:
        raise Forbidden("A proposal can only change a memory of the same owner.", "Remember it as one of your own.")
    if amended.forgotten_at is not None or amended.status != "promoted":
        raise Conflict(
            f"{stored.called} amends {amended.called}, which is {_state(amended)}.",
            f"Restore it first, or reject the proposal: engram reject {stored.called}.",
        )
    content = proposed(proposal, base, amended)
    if "citations" in content and proposal.context.repo and not amended.context.repo:
        content["context"] = replace(amended.context, repo=proposal.context.repo)
    move = step(amended, request, **content, approved_by=request.caller.name, verified_at=request.now)
    done = memory_after(
        step(
            proposal,
            request,
            status="promoted",
            held_for="",
            approved_by=request.caller.name,
            amends=amended.id,
            replaced_by=amended.id,
        )
    )
    others = [step(each, request, replaced_by=amended.id) for each in beaten if each.id != amended.id]
    steps = [move, Step(stored, done), *others, *kept]
    return compose("promote", request, steps, note=_verdict(kept)), memory_after(move)


def _verdict(kept: Sequence[Step]) -> Mapping[str, str]:
    """What history says of pairs that were kept."""
    return {"verdict": BOTH_STAY.kind} if kept else {}


def merge_into(proposal: Memory, other: Memory, text: str, request: Request) -> tuple[Change, Memory]:
    """Approve what waits as a new wording of another memory, with the text the reviewer settled on.

    The other memory keeps its kind, and its summary where its words stay; it gains the tags, citations and assets.
    """
    require_owner(request.caller, proposal)
    require_person(request, "merge what waits for review")
    _require_waiting(proposal, "merge", request)
    if other.id == proposal.id:
        raise Conflict(f"{proposal.called} cannot be merged into itself.", "Name another memory with --into.")
    worded = replace(
        proposal,
        text=redact(text).text,
        summary=other.summary if text == other.text else "",
        kind=other.kind,
        tier=max(proposal.tier, other.tier),  # what was curated stays so, wherever it goes
        decay=other.decay,
        tags=tuple(dict.fromkeys((*other.tags, *proposal.tags))),
        citations=tuple(dict.fromkeys((*other.citations, *proposal.citations))),
        assets=tuple(dict.fromkeys((*other.assets, *proposal.assets))),
        **{name: getattr(other, name) for name in CARRIED if name not in ("tier", "decay")},
    )
    return _apply(proposal, worded, other, (), request)


def _reason_note(reason: str) -> dict[str, object]:
    """A reason as history keeps it: within its limit, and without private spans and credentials."""
    check_text("reason", reason, lines=True)
    clean = redact(reason)
    return {"reason": clean.text, "redacted": list(clean.kinds)}


def beaten_by(worded: Sequence[Memory], rivals: Sequence[Memory], amended: Memory | None = None) -> list[Memory]:
    """Those of its rivals that a memory replaces when it is approved, in the first or another of its wordings."""
    after = _successors(worded[0], rivals)
    return [each for each in rivals if any(_beats(one, each, amended, after) for one in worded)]


def _beats(
    memory: Memory, other: Memory, amended: Memory | None, successors: Collection[str] = frozenset()
) -> bool:
    if other.id in (memory.id, amended.id if amended else ""):
        return False
    if other.id in successors:
        return True
    return not are_set_apart(memory, other) and contradiction(other.text, memory.text) is not None


def are_set_apart(one: Memory | Proposal, other: Memory) -> bool:
    """Whether somebody asked for a memory of its own under a key of the same place: then both are meant."""
    return bool(one.key) and one.key == other.key and (one.apart or other.apart)


def _successors(memory: Memory, known: Sequence[Memory]) -> set[str]:
    """What replaced a memory, what replaced that, and so on, as far as it is among what is known."""
    by_id = {each.id: each.replaced_by for each in known}
    found: set[str] = set()
    at = memory.replaced_by
    while at and at not in found:
        found.add(at)
        at = by_id.get(at, "")
    return found


def _require_waiting(memory: Memory, act: str, request: Request) -> None:
    if memory.status == "pending" and memory.forgotten_at is None:
        return
    hint = _way_back(memory) or "See what waits: engram review --list."
    if act == "reject" and _state(memory) == "promoted":
        hint = f"Take it out of use: engram forget {memory.called}."
    stands = standing(memory, request.now, request.caller.view)
    raise Conflict(f"Cannot {act} {memory.called}: it is {stands}, not pending.", hint)


def _way_back(memory: Memory) -> str:
    """How what was rejected or forgotten comes back; "" for anything else."""
    return {
        "rejected": f"If the rejection was a mistake, undo it: engram history {memory.called}.",
        "forgotten": f"Restore it first: engram restore {memory.called}.",
    }.get(_state(memory), "")


def _state(memory: Memory) -> str:
    return "forgotten" if memory.forgotten_at is not None else memory.status
