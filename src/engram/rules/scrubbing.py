"""Taking secrets out of what is stored: a clean copy takes the place of a memory, and the memory is erased.

History cannot be edited line by line, only erased. So the copy is another memory, with an id made of the old one's:
who is stopped half way finds it there, and goes on. Its relations, its proposals and what it replaced go with it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.model.change import Change, Request
from engram.model.hashing import sha256
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.relation import Relation
from engram.rules.access import require_confirmation, require_owner, require_person
from engram.rules.changes import Step, compose, step
from engram.rules.proposals import require_left, scrubbed
from engram.rules.redact import redact
from engram.rules.relations import pair_id

BESIDE = {"key": "", "apart": True}
"""What a copy is while its memory is still there: without its key, and claiming no text."""


class Clean(NamedTuple):
    """The copy of a memory without its secrets, None where nothing is left of it; and what was found."""

    copy: Memory | None
    removed: tuple[str, ...]


def cleaned(memory: Memory, earlier: Sequence[str] = ()) -> Clean:
    """What a memory is without its secrets; `earlier` are those that its earlier words hold."""
    changes: dict[str, Any]
    try:
        changes, removed = scrubbed(memory)
    except Invalid:  # the name of its scope is one: it has no place that could be kept
        return Clean(None, ("scope",))
    if not (removed or earlier):
        return Clean(memory, ())
    try:
        require_left(changes["text"], removed)
    except Invalid:
        return Clean(None, removed)
    id = _id_of_copy(memory.id)
    return Clean(
        replace(memory, **changes | {"id": id, **BESIDE, "revision": 1, "handle": ""}), removed or tuple(earlier)
    )


def _id_of_copy(id: str) -> str:
    """The id of the copy of a memory, the same each time."""
    digest = sha256(f"scrubbed\x1f{id}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def put_copy(
    memory: Memory,
    copy: Memory,
    request: Request,
    *,
    relations: Sequence[Relation] = (),
    proposals: Sequence[Memory] = (),
    replaced: Sequence[Memory] = (),
) -> Change:
    """Put the copy of a memory beside it, and tie to the copy what is tied to the memory.

    Raises:
        Unconfirmed: without a person's confirmation.
    """
    require_owner(request.caller, memory)
    require_person(request, "scrub what is stored")
    require_confirmation(request, "Scrubbing erases the earlier words for good; undo cannot bring them back.")
    steps = [Step(None, copy), *(Step(None, _moved(each, memory.id, copy.id)) for each in relations)]
    steps += [step(each, request, amends=copy.id) for each in proposals]
    steps += [step(each, request, replaced_by=copy.id) for each in replaced]
    return compose("scrub", request, steps)


def _moved(relation: Relation, old: str, new: str) -> Relation:
    ends = (new if relation.from_id == old else relation.from_id, new if relation.to_id == old else relation.to_id)
    return replace(
        relation,
        id=pair_id(relation.owner or "", *ends),
        from_id=ends[0],
        to_id=ends[1],
        reason=redact(relation.reason).text,
        evidence=redact(relation.evidence).text,
        model=redact(relation.model).text,
        session=redact(relation.session, given=True).text,
        revision=1,
        handle="",
    )


def erase(memory: Memory, copy: Memory | None, request: Request, *, relations: Sequence[Relation] = ()) -> Change:
    """Erase a memory whose copy is there; the copy gets its key, and its claim to its text.

    Raises:
        Unconfirmed: without a person's confirmation.
    """
    require_owner(request.caller, memory)
    require_person(request, "scrub what is stored")
    require_confirmation(request, "Scrubbing erases the earlier words for good; undo cannot bring them back.")
    gone = [Step(memory, None), *(Step(each, None) for each in relations)]
    place = {"key": redact(memory.key).text.strip(), "apart": memory.apart}
    kept = [step(copy, request, **place)] if copy is not None else []
    return compose("purge", request, [*gone, *kept], erase=True)


def tell(copy: Memory, request: Request) -> Change:
    """Tell other stores what a copy became in its memory's place: an erasure speaks only of what it erased."""
    after = replace(copy, updated_at=request.now, revision=copy.revision + 1)
    return compose("scrub", request, [Step(replace(copy, **BESIDE), after)])
