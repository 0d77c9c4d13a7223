"""What becomes of a record of another store: it is taken in as it was, waits, proposes a change, or is known.

A person who vouches for a store (`request.confirmed`) lets its records keep their status; otherwise each memory
waits, and no verdict of theirs counts. What their store keeps as two records stays two here, whatever the two say;
what was here before is never changed by the way.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from engram.errors import Invalid
from engram.model.change import Change, Request
from engram.model.limits import LIMITS, cut
from engram.model.memory import CURATED, UNVOUCHED, HeldFor, Memory, Status
from engram.model.outline import outline
from engram.model.record import replace
from engram.model.refs import handle_number
from engram.model.relation import Relation
from engram.model.session import Session, session_id
from engram.rules.admission import Known, require_not_rejected
from engram.rules.changes import HELD_FOR_CONFLICT, Step, compose, step
from engram.rules.likeness import contradiction, same
from engram.rules.policy import Policy
from engram.rules.proposals import require_cited, require_left, require_public, scrubbed, unrecalled
from engram.rules.redact import redact
from engram.rules.relations import pair_id
from engram.rules.routing import MOST_RIVALS
from engram.rules.sessions import called, public

STANDARD_DECAY = "180d"
"""What a reader of another system's records leaves where that system has no such thing."""

BESIDE = (
    *("kind", "summary", "tags", "citations", "importance", "pinned", "decay"),
    *("valid_from", "valid_until", "visibility", "confidence"),
)
"""What an edition of a memory of ours may say otherwise, beside its text."""

Taken = Literal["new", "held", "proposed", "known"]


class Here(NamedTuple):
    """What the store holds that bears on a memory of another store."""

    same: Memory | None = None  # has its id
    known: Known = Known()
    spare: str = ""  # the id it gets as a proposal: the same each time
    proposed: bool = False  # a record with that id is here
    kindred: Callable[[Memory], bool] = lambda _: False  # whether a memory is another record of that very store
    ages: bool = False  # that store says itself how long a memory holds, and when it was last checked


def is_of_one_heading(one: Memory, other: Memory) -> bool:
    """Whether two notes stood under one heading, which their tags tell: under another, another thing is meant."""
    return one.tags == other.tags


class Together:
    """What an import has let go live so far, of which the store does not know yet."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], list[Memory]] = defaultdict(list)

    def add(self, memory: Memory) -> None:
        """Count a memory as live from here on."""
        if memory.in_use and (told := outline(memory.text)):
            self._said[str(memory.scope), told].append(memory)

    def rivals(self, memory: Memory) -> Sequence[Memory]:
        """What may contradict it."""
        said = self._said.get((str(memory.scope), outline(memory.text)), ())
        return [one for one in said if is_of_one_heading(one, memory)][-MOST_RIVALS:]


class Intake(NamedTuple):
    """The decision: what happened in a word, the memory that now stands for it, and what to commit."""

    outcome: Taken
    memory: Memory
    change: Change | None = None
    redacted: tuple[str, ...] = ()


def take_in(memory: Memory, here: Here, policy: Policy, request: Request, *, own: bool, source: str) -> Intake:
    """Decide about a memory of another store; `own` is an export of ours, whose records were ours all along.

    Raises:
        Conflict: when its text was rejected here.
        Invalid: when it may not be stored: nothing but secrets, a discovery without a citation.
    """
    if handle_number("memory", memory.id) is not None:
        raise Invalid(f"{memory.id} is a handle, not an id.", "Use a file made by `engram export`.")
    if here.same is not None and (
        memory.updated_at < here.same.updated_at or _says_the_same(here.same, memory, own)
    ):
        return Intake("known", here.same)
    require_cited(policy.kind(memory.kind), memory.citations)
    ready, removed = _ready(memory, policy, request, own=own, source=source)
    if here.same is not None and _says_the_same(here.same, ready, own):
        return Intake("known", here.same)  # what was taken out of it then is taken out again
    others = tuple(each for each in here.known.twins if each.id != memory.id)
    require_not_rejected(here.known._replace(twins=others))
    judged = _judged(ready, here, request, own=own)
    if not (own or here.ages):
        judged = _aged(judged, policy, request)
    target, twin = _in_the_way(judged, here, own=own)
    note = {"redacted": list(removed)}
    if twin is not None:
        return Intake("known", twin)
    if target is not None:
        return _propose(judged, target, here, request, note)
    if judged.key and here.known.keyed is not None:
        judged = replace(judged, apart=True)  # their store holds two records of one key
    elif not own and _claims_text(judged) and any(_claims_text(each) for each in others):
        judged = replace(judged, apart=True)
    held = (judged.status == "pending" and judged.held_for != ready.held_for) or not request.confirmed
    outcome: Taken = "held" if held else "new"
    return Intake(outcome, judged, compose("import", request, [Step(None, judged)], note=note), removed)


def edition(memory: Memory, *, own: bool) -> str:
    """What tells one wording of a memory from another; in an export of ours, what is said of it counts too."""
    said = [repr(getattr(memory, name)) for name in BESIDE] if own else []
    return " ".join([memory.id, memory.digest, *said])


def _says_the_same(known: Memory, memory: Memory, own: bool) -> bool:
    """Whether a memory says what the known one says; a later edition of our own may say other things of it too."""
    if not same(known.text, memory.text):
        return False
    later = own and memory.updated_at > known.updated_at
    return not later or all(getattr(known, name) == getattr(memory, name) for name in BESIDE)


def _ready(
    memory: Memory, policy: Policy, request: Request, *, own: bool, source: str
) -> tuple[Memory, tuple[str, ...]]:
    """The memory as it may be stored by this caller, and what was taken out."""
    text = memory.text if own and request.confirmed else unrecalled(memory.text)
    changes, removed = scrubbed(replace(memory, text=text) if text != memory.text else memory)
    require_left(changes["text"], removed)
    kind = policy.kind(memory.kind)
    fields: dict[str, Any] = {
        **changes,
        "owner": request.caller.owner,
        "tier": kind.tier if own else max(kind.tier, memory.tier),
        "apart": memory.apart or kind.apart or (not own and memory.forgotten_at is not None),
        "handle": "",
        # Age counts from it whatever is verified: words of a day to come would never be old.
        "reworded_at": memory.reworded_at and min(memory.reworded_at, request.now),
    }
    if own:
        fields["revision"] = 1
    if not request.confirmed:
        fields |= {"source": source, "learned_by": "import", "amends": "", "replaced_by": "", "branch": ""}
        fields |= {
            "approved_by": "",
            "forgotten_by": "",
            "verified_at": None,
            "actor": memory.actor or request.caller.actor,
        }
    elif not memory.source:
        fields["source"] = source
    return replace(memory, **fields), removed


def _aged(memory: Memory, policy: Policy, request: Request) -> Memory:
    """A memory of a system that knows no age, by ours: what a person vouches for counts as verified by that.

    Else most of an old store would be stale the moment it is taken in, and hidden.
    """
    if memory.decay != STANDARD_DECAY:
        return memory
    vouched = request.confirmed and memory.status == "promoted" and memory.verified_at is None
    verified = request.now if vouched else memory.verified_at
    return replace(memory, decay=policy.kind(memory.kind).decay, verified_at=verified)


def _judged(memory: Memory, here: Here, request: Request, *, own: bool) -> Memory:
    """The memory with the status it gets here."""
    status: Status = memory.status
    held_for: HeldFor = memory.held_for
    against = request.confirmed and any(contradiction(each.text, memory.text) for each in here.known.rivals)
    if not request.confirmed:
        status, held_for = "pending", UNVOUCHED
    elif against and status == "promoted":
        # A person vouches that it was so there; that it holds beside what is known here, nobody has said.
        return replace(memory, **HELD_FOR_CONFLICT)
    elif own:
        return memory
    elif status == "pending" and not held_for:
        # Nobody says whether it counts: a person vouches, unless it conflicts.
        status, held_for = ("pending", UNVOUCHED) if against else ("promoted", "")
    approved = memory.approved_by
    if status == "promoted" and memory.tier == CURATED:
        approved = approved or request.caller.name
    if (status, held_for, approved) == (memory.status, memory.held_for, memory.approved_by):
        return memory
    return replace(memory, status=status, held_for=held_for, approved_by=approved)


def _in_the_way(memory: Memory, here: Here, *, own: bool) -> tuple[Memory | None, Memory | None]:
    """The memory that this one would change, or the one that says the same already."""
    if here.same is not None:
        return here.same, None
    if memory.apart or memory.amends:
        return None, None
    keyed = here.known.keyed
    if memory.key and keyed is not None:
        if here.kindred(keyed):
            return None, None
        return (None, keyed) if same(keyed.text, memory.text) else (keyed, None)
    for twin in here.known.twins:
        taken = _claims_text(twin) if own else not twin.amends
        if taken and not memory.key and not twin.apart and not here.kindred(twin):
            return None, twin
    return None, None


def _claims_text(memory: Memory) -> bool:
    return not (memory.apart or memory.amends or (memory.key and memory.status != "rejected"))


def _propose(memory: Memory, target: Memory, here: Here, request: Request, note: dict[str, Any]) -> Intake:
    """Other words for what is here: a proposal that waits beside it, whoever vouches."""
    if here.proposed:
        return Intake("known", target)
    waits: HeldFor = memory.held_for or "conflict"
    proposal = replace(
        memory,
        id=here.spare,
        key="",
        amends=target.id,
        status="pending",
        held_for=waits,
        approved_by="",
        replaced_by="",
        forgotten_at=None,
        forgotten_by="",
        apart=False,
    )
    return Intake("proposed", target, compose("import", request, [Step(None, proposal)], note=note))


def take_in_session(session: Session, known: Session | None, request: Request) -> Change | None:
    """A session as the caller's own; None where one of this name is here.

    Raises:
        Invalid: when the name of its scope holds a credential.
    """
    if known is not None:
        return None
    require_public(session.scope)
    return compose("import", request, [Step(None, session)])


def owned(session: Session, request: Request) -> Session:
    """A session of another store as the caller's own: known by the name it has there, without its secrets."""
    name = called(session.name or session.id)
    mine = request.caller.owner
    return public(replace(session, id=session_id(mine, name), name=name, owner=mine, revision=1, handle=""))


def take_in_relation(relation: Relation, first: Memory, second: Memory, request: Request, *, fresh: bool) -> Change:
    """A verdict of another store between two memories that are here.

    Where a person vouches, `supersedes` puts the second out of use, unless the first is out of use itself: a ring
    hides nothing. `fresh` says that the second came in by the same import, and so is as it was there.

    Raises:
        Invalid: when the two are one.
    """
    if first.id == second.id:
        raise Invalid("Its two ends are the same memory here.", "")
    mine = request.caller.owner
    counts = relation.status if request.confirmed else "proposed"
    kept = replace(
        relation,
        id=pair_id(mine, first.id, second.id),
        from_id=first.id,
        to_id=second.id,
        status="ignored" if relation.status == "ignored" else counts,
        reason=cut(redact(relation.reason).text, LIMITS["reason"]),
        evidence=redact(relation.evidence).text,
        actor=redact(relation.actor).text,
        approved_by=redact(relation.approved_by).text if request.confirmed else "",
        model=redact(relation.model).text,
        session=called(relation.session),
        theirs=redact(relation.theirs).text,
        owner=mine,
        revision=1,
        handle="",
    )
    steps = [Step(None, kept)]
    hides = kept.kind == "supersedes" and kept.status == "judged" and not second.replaced_by
    if hides and first.in_use and second.owner == mine and second.forgotten_at is None:
        moved = replace(second, replaced_by=first.id)
        steps.append(Step(second, moved) if fresh else step(second, request, replaced_by=first.id))
    return compose("import", request, steps)
