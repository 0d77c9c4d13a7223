"""Taking secrets out of what is stored: a clean copy takes the place of a memory or a session, which is erased.

History cannot be edited line by line, only erased. So the copy is another record, with an id made of the old one's:
who is stopped half way finds it there, and goes on. Its relations, its proposals and what it replaced go with it.

A relation is known by its two memories, so a copy of it has no id to go by. What it must not hold goes with one of
these: the copy of that memory has a clean relation.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.model.change import Change, Request
from engram.model.codec import Record, encode
from engram.model.hashing import sha256
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.relation import Relation
from engram.model.session import Session, session_ids
from engram.rules.access import require_confirmation, require_owner, require_person
from engram.rules.changes import Step, compose, step
from engram.rules.proposals import require_left, require_public, scrubbed
from engram.rules.redact import redact
from engram.rules.relations import pair_id
from engram.rules.saying import texts
from engram.rules.sessions import public

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


def hidden(record: Record) -> tuple[str, ...]:
    """What a record holds that must not be kept, by sort."""
    said = (each for name, value in encode(record).items() for each in texts(name, value))
    return tuple(kind for each in said for kind in redact(each.text, given=each.given).kinds)


def cleaned_session(session: Session) -> Session | None:
    """A session without its secrets, under another id; None where nothing can be kept of it."""
    try:
        require_public(session.scope)
    except Invalid:
        return None
    clean = public(replace(session, name=session.name or session.id))
    ids = session_ids(session.owner or "", clean.name)
    later = ids[ids.index(session.id) + 1 :] if session.id in ids else ids
    return replace(clean, id=later[0], revision=1, handle="") if later else None


def put_session(session: Session, copy: Session, request: Request) -> Change:
    """Put the copy of a session beside it.

    Raises:
        Unconfirmed: without a person's confirmation.
    """
    _require_sure(request, session)
    return compose("scrub", request, [Step(None, copy)])


def erase_alone(record: Session | Relation, request: Request) -> Change:
    """Erase a session whose copy is there, if it has one; or a relation of memories that are gone.

    Raises:
        Unconfirmed: without a person's confirmation.
    """
    _require_sure(request, record)
    return compose("purge", request, [Step(record, None)], erase=True)


def _require_sure(request: Request, record: Memory | Session | Relation) -> None:
    require_owner(request.caller, record)
    require_person(request, "scrub what is stored")
    require_confirmation(request, "Scrubbing erases the earlier words for good; undo cannot bring them back.")


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
    _require_sure(request, memory)
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
        theirs=redact(relation.theirs).text,
        revision=1,
        handle="",
    )


def erase(memory: Memory, copy: Memory | None, request: Request, *, relations: Sequence[Relation] = ()) -> Change:
    """Erase a memory whose copy is there; the copy gets its key, and its claim to its text.

    Raises:
        Unconfirmed: without a person's confirmation.
    """
    _require_sure(request, memory)
    gone = [Step(memory, None), *(Step(each, None) for each in relations)]
    place = {"key": redact(memory.key).text.strip(), "apart": memory.apart}
    kept = [step(copy, request, **place)] if copy is not None else []
    return compose("purge", request, [*gone, *kept], erase=True)


def tell(copy: Memory, request: Request) -> Change:
    """Tell other stores what a copy became in its memory's place: an erasure speaks only of what it erased."""
    after = replace(copy, updated_at=request.now, revision=copy.revision + 1)
    return compose("scrub", request, [Step(replace(copy, **BESIDE), after)])
