"""How verdicts between two memories are kept, and what they do: one relation a pair, and superseding hides.

A pair has one relation, whatever its direction, so that a verdict is changed and never doubled. What a verdict
does to the memories happens in the same Change: `supersedes` puts the other memory out of use, and another verdict
on the pair brings it back; `conflicts` with a curated memory lets the newcomer of the two wait for review.
What a person judged, a person alone judges anew.
"""

from collections.abc import Sequence
from typing import NamedTuple, get_args

from engram.errors import Conflict, Forbidden, Invalid
from engram.model.change import Change, Request
from engram.model.hashing import sha256
from engram.model.limits import check_choice
from engram.model.memory import CURATED, Memory
from engram.model.record import replace
from engram.model.relation import Relation, RelationKind, RelationStatus
from engram.rules.access import is_a_persons, is_firm
from engram.rules.changes import HELD_FOR_CONFLICT, Step, compose, step
from engram.rules.redact import redact

TELLING = ("conflicts", "supersedes", "scoped")
"""The proposals that a list shows: that two have nothing to do with one another is nothing to do."""


class Verdict(NamedTuple):
    """What somebody says about a pair: how the first memory bears on the second, and why."""

    kind: RelationKind
    reason: str = ""
    evidence: str = ""
    confidence: float | None = None
    model: str = ""
    session: str = ""


def pair_id(owner: str, one: str, other: str) -> str:
    """The id of an owner's relation between two memories, the same for either direction."""
    digest = sha256("\x1f".join((owner, *sorted((one, other)))).encode()).hexdigest()
    return f"rel-{digest[:24]}"


def relate(
    first: Memory,
    second: Memory,
    verdict: Verdict,
    known: Relation | None,
    request: Request,
    *,
    replaced: Sequence[Memory] = (),
    fresh: bool = False,
) -> Change:
    """The pair's relation as judged, with what the verdict does to the memories.

    `replaced` are the memories that the newcomer of the two (see `newcomer`) has put out of use: where it has to
    wait, they stand again. `fresh` says that the same act writes the first, so that nobody has looked at it yet.

    A verdict waits, as proposed, where it may not do what it says yet: an agent's word cannot put a curated memory
    out of use or bring it back, nor put out of use or to review what a person wrote or approved, and a memory that
    itself waits, for review or for its branch, replaces nothing. A verdict that waits never takes the place of one
    that was given, nor does an agent's the place of a person's, which it leaves as it is where it says the same.
    What a waiting memory would replace moves it one revision on: whoever decides about it by the revision they
    looked at has not seen that. A person who says that a memory supersedes another approves its words.

    Raises:
        Conflict: when a person judged the pair and this is an agent's word, when it was judged and this word would
            have to wait, or the first is out of use itself.
        Forbidden: when neither memory is the caller's, or the verdict would hide someone else's.
        Invalid: when the two are one, or it is no such verdict.
    """
    check_choice("relation kind", verdict.kind, get_args(RelationKind))
    _require_pair(first, second, request)
    effects = _effects(first, second, verdict, request)
    held = _hold_newcomer((first, second), verdict, known, replaced, request)
    waits = _is_only_proposed(first, second, verdict, effects, request) or _moves_what_is_firm(held, request)
    if known is not None:
        if known.approved_by and not request.caller.human:
            if not _says_the_same(first, verdict, known):
                raise _judged_already(first, second, known)
            return compose("relate", request, [Step(known, replace(known, revision=known.revision + 1))])
        if known.status == "judged" and waits:
            raise _refusal_while_waiting(first, second, known, request)
    by = request.caller.name if request.caller.human else ""
    status: RelationStatus = "proposed" if waits else "judged"
    relation = _relation((first.id, second.id), verdict, known, request, status=status, by=by)
    steps = [
        Step(known, relation),
        *(_looked_at_anew(first, verdict, request, fresh=fresh) if waits else [*effects, *held]),
    ]
    return compose("relate", request, steps, note={"verdict": verdict.kind})


def newcomer(first: Memory, second: Memory) -> Memory:
    """The younger of two memories: the one that has to prove itself."""
    return max(first, second, key=lambda one: (one.created_at, one.id))


def propose(pairs: Sequence[tuple[Memory, Memory, Verdict]], request: Request) -> Change:
    """Suspicions about pairs of which nothing is kept yet, as proposals that somebody judges or ignores."""
    steps = [
        Step(None, _relation((first.id, second.id), verdict, None, request, status="proposed"))
        for first, second, verdict in pairs
    ]
    return compose("propose", request, steps)


def is_undecided(relation: Relation) -> bool:
    """Whether a pair waits for anybody's word: what a person said of it waits for its memory alone."""
    return relation.status == "proposed" and not relation.approved_by


def advise(known: Relation, first: Memory, second: Memory, verdict: Verdict, request: Request) -> Step:
    """A model's word on a pair: it takes the place of a proposal, and stays one."""
    return Step(known, _relation((first.id, second.id), verdict, known, request, status="proposed"))


def ignore(first: Memory, second: Memory, known: Relation | None, request: Request) -> Change:
    """Set a pair aside: it is not proposed again, and nothing is said about it.

    Raises:
        Conflict: when the pair was judged, or a person's verdict on it waits and this is an agent's word.
        Forbidden: when neither memory is the caller's.
        Invalid: when the two are one.
    """
    _require_pair(first, second, request)
    if known is not None and (known.status == "judged" or (known.approved_by and not request.caller.human)):
        raise _judged_already(first, second, known)
    verdict = Verdict(known.kind, known.reason, known.evidence, known.confidence) if known else Verdict("unrelated")
    by = request.caller.name if request.caller.human else ""
    relation = _relation((first.id, second.id), verdict, known, request, status="ignored", by=by)
    return compose("ignore", request, [Step(known, relation)])


BOTH_STAY = Verdict("compatible", "both were kept")
"""What somebody says of a pair who promotes the one and keeps the other."""


def keeping(memory: Memory, others: Sequence[Memory], known: Sequence[Relation], request: Request) -> list[Step]:
    """Verdicts that a memory and these others may all stay: each pair is compatible.

    Of one that waits, so is every pair that was judged to conflict, or of which it would supersede the other.
    Another verdict, which lets both stand, stays as given. A verdict is the word of whoever owns one of the two: a
    reviewer's approval of another's memory gives none.
    """
    if request.caller.owner != memory.owner:
        return []
    kept = {one.id: one for one in known}
    pairs = {pair_id(memory.owner, memory.id, one.id): (memory.id, one.id) for one in others}
    if memory.status == "pending":
        pairs |= {one.id: (one.from_id, one.to_id) for one in known if _would_part(one, memory)}
    by = request.caller.name
    return [
        Step(kept.get(id), _relation(ends, BOTH_STAY, kept.get(id), request, status="judged", by=by))
        for id, ends in pairs.items()
        if not _lets_both_stand(kept.get(id))
    ]


def _would_part(relation: Relation, memory: Memory) -> bool:
    if relation.kind == "supersedes":
        return relation.from_id == memory.id and relation.status != "ignored"
    return relation.kind == "conflicts" and relation.status == "judged"


def _lets_both_stand(known: Relation | None) -> bool:
    return known is not None and known.status == "judged" and known.kind not in ("conflicts", "supersedes")


def mark(relation: Relation, id: str) -> str:
    """What a relation says of one of its two memories, with `{}` for the other's name; "" where that is nothing.

    Only what a reader must know is said: that something else says otherwise, or is out of date by it.
    """
    said = _MARKS.get((relation.kind, relation.status))
    if said is None:
        return ""
    return said[0 if relation.from_id == id else 1]


def suspected(other: Memory) -> str:
    """What is said of a memory that may not hold beside another, before anybody has proposed or judged it."""
    return _MARKS["conflicts", "proposed"][0].format(other.called)


def taking_effect(replacer: Memory, pairs: Sequence[tuple[Relation, Memory]], request: Request) -> list[Step]:
    """What verdicts that a memory supersedes others do once it is in use; what stands firm waits for a person.

    A verdict that a person gave is that person's word, whoever brings the memory into use, as long as it is the
    memory that they spoke of: what was done to it since they have not seen.
    """
    steps: list[Step] = []
    for relation, other in pairs:
        seen = replacer.updated_at <= relation.updated_at
        by = request.caller.name if request.caller.human else relation.approved_by if seen else ""
        firm = is_firm(other, request.caller._replace(human=bool(by)))
        if other.replaced_by or firm or other.owner != request.caller.owner:
            continue
        if relation.status == "proposed":
            moved = {"updated_at": request.now, "revision": relation.revision + 1}
            steps.append(Step(relation, replace(relation, status="judged", approved_by=by, **moved)))
        steps.append(step(other, request, replaced_by=replacer.id))
    return steps


def spared(pairs: Sequence[tuple[Relation, Memory]], request: Request) -> list[Memory]:
    """What stays in use although verdicts say that it is superseded: what stands firm (see `taking_effect`)."""
    others = (other for _, other in pairs if not other.replaced_by and other.owner == request.caller.owner)
    return [one for one in others if is_firm(one, request.caller)]


def _require_pair(first: Memory, second: Memory, request: Request) -> None:
    if first.id == second.id:
        raise Invalid("A memory cannot be related to itself.", "Name two memories.")
    if request.caller.owner not in (first.owner, second.owner):
        raise Forbidden("Neither of these memories is yours.", "Relate one of your own to another.")


def _relation(
    ends: tuple[str, str],
    verdict: Verdict,
    known: Relation | None,
    request: Request,
    *,
    status: RelationStatus,
    by: str = "",
) -> Relation:
    mine = request.caller.owner
    said = 1.0 if request.caller.human else 0.6
    return Relation(
        id=pair_id(mine, *ends),
        from_id=ends[0],
        to_id=ends[1],
        kind=verdict.kind,
        status=status,
        reason=redact(verdict.reason).text,
        evidence=redact(verdict.evidence).text,
        confidence=said if verdict.confidence is None else verdict.confidence,
        owner=mine,
        actor=request.caller.name,
        approved_by=by,
        model=redact(verdict.model).text,
        session=redact(verdict.session, given=True).text,
        created_at=known.created_at if known else request.now,
        updated_at=request.now,
        revision=known.revision + 1 if known else 1,
    )


def _judged_already(first: Memory, second: Memory, known: Relation) -> Conflict:
    pair = f"{first.called}~{second.called}" if known.from_id == first.id else f"{second.called}~{first.called}"
    said = "set aside by a person" if known.status == "ignored" else f"judged already: {known.kind}"
    return Conflict(f"{pair} was {said}.", f"A person judges it anew: engram judge {pair} KIND.")


def _says_the_same(first: Memory, verdict: Verdict, known: Relation) -> bool:
    turned = verdict.kind == "supersedes" and known.from_id != first.id
    return known.status != "ignored" and known.kind == verdict.kind and not turned


def _refusal_while_waiting(first: Memory, second: Memory, known: Relation, request: Request) -> Conflict:
    if not request.caller.human:
        return _judged_already(first, second, known)
    waits = "holds on a branch that is not merged" if first.staged else "waits for review itself"
    return Conflict(f"{first.called} {waits}.", f"Promote it first: engram promote {first.called}.")


def _looked_at_anew(first: Memory, verdict: Verdict, request: Request, *, fresh: bool) -> list[Step]:
    waits = first.status == "pending" and first.owner == request.caller.owner and not fresh
    return [step(first, request)] if waits and verdict.kind == "supersedes" else []


def _moves_what_is_firm(steps: Sequence[Step], request: Request) -> bool:
    moved = (each.before for each in steps if isinstance(each.before, Memory))
    return not request.caller.human and any(is_firm(one, request.caller) for one in moved)


def _is_only_proposed(
    first: Memory, second: Memory, verdict: Verdict, effects: Sequence[Step], request: Request
) -> bool:
    if verdict.kind == "supersedes" and first.status != "promoted":
        return True
    if not effects or request.caller.human:
        return False
    curated = any(one.stands_curated for one in (first, second))
    hidden = verdict.kind == "supersedes" and (second.status == "promoted" or is_a_persons(second))
    return curated or (hidden and is_firm(second, request.caller))


def _effects(first: Memory, second: Memory, verdict: Verdict, request: Request) -> list[Step]:
    """`supersedes` hides the second; any other verdict, or the other direction, ends what the pair did before."""
    steps: list[Step] = []
    approves = request.caller.human and verdict.kind == "supersedes" and first.owner == request.caller.owner
    by = {"approved_by": request.caller.name} if approves and not is_a_persons(first) else {}
    if first.replaced_by == second.id:
        steps.append(_moved(first, request, replaced_by="", **by))
    elif by:
        steps.append(step(first, request, **by))
    if verdict.kind == "supersedes":
        _require_in_use(first, second)
        if second.owner != request.caller.owner:
            raise Forbidden(
                "Only its owner puts a memory out of use.", "Say that they conflict instead, or ask its owner."
            )
        if second.replaced_by != first.id:
            steps.append(_moved(second, request, replaced_by=first.id))
    elif second.replaced_by == first.id:
        steps.append(_moved(second, request, replaced_by=""))
    return steps


def _hold_newcomer(
    pair: tuple[Memory, Memory],
    verdict: Verdict,
    known: Relation | None,
    replaced: Sequence[Memory],
    request: Request,
) -> list[Step]:
    """What conflicts with a curated memory waits for review, if it is the caller's and came later.

    What it had replaced stands again. A person's other word on the pair ends the waiting; an agent's does not.
    """
    late = newcomer(*pair)
    older = pair[0] if late is pair[1] else pair[1]
    if not older.stands_curated or late.owner != request.caller.owner:
        return []
    if verdict.kind == "conflicts":
        if late.status != "promoted" or late.replaced_by or late.forgotten_at is not None:
            return []
        waiting = step(late, request, **HELD_FOR_CONFLICT)
        freed = [each for each in replaced if each.id != older.id]  # the verdict itself brings that one back
        return [waiting, *(step(each, request, replaced_by="") for each in freed)]
    if known is None or verdict.kind == "supersedes" or not request.caller.human:
        return []
    # It waits for this verdict and no other: it was in use before, and nothing has happened to it since.
    since = late.revision > 1 and late.updated_at == known.updated_at
    waits = late.status == "pending" and late.held_for == "conflict" and since
    if (known.kind, known.status) != ("conflicts", "judged") or not waits or late.tier == CURATED:
        return []
    return [step(late, request, status="promoted", held_for="", approved_by=request.caller.name)]


def _require_in_use(first: Memory, second: Memory) -> None:
    """What is out of use replaces nothing: so no ring of memories can hide one another."""
    if first.replaced_by not in ("", second.id) or first.forgotten_at is not None or first.status == "rejected":
        name = first.called
        raise Conflict(f"{name} is out of use itself.", f"Name what is in use: engram related {name}.")


def _moved(memory: Memory, request: Request, **changes: str) -> Step:
    if memory.owner != request.caller.owner:
        raise Forbidden("Only its owner brings a memory back into use.", "Ask its owner.")
    return step(memory, request, **changes)


def turned(relation: Relation, verdict: Verdict) -> Verdict:
    """The new verdict, keeping reason, evidence and session of the old one where not given."""
    return verdict._replace(
        reason=verdict.reason or relation.reason,
        evidence=verdict.evidence or relation.evidence,
        session=verdict.session or relation.session,
    )


_MARKS = {
    ("conflicts", "judged"): ("conflicts with {}", "conflicts with {}"),
    ("conflicts", "proposed"): ("may conflict with {}", "may conflict with {}"),
    ("supersedes", "judged"): ("supersedes {}", "superseded by {}"),
    ("supersedes", "proposed"): ("may supersede {}", "may be superseded by {}"),
}
"""Kind and status of a relation → what it says of its first memory, and of its second."""
