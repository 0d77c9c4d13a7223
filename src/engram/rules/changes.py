"""How every rule turns before and after into a Change, so that what must always hold is checked in one place."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from engram.errors import Conflict
from engram.model.change import ABSENT, Change, Request
from engram.model.codec import Record, type_of
from engram.model.event import Draft, Payload, edits_between
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.session import Session
from engram.rules.access import require_confirmation, require_place

CONTENT = ("text", "summary", "kind", "tags", "citations", "assets")
"""The fields that say something: what only an owner writes and, once curated, only a person changes."""


WORDS = ("text", "summary", "kind")
"""The fields that say what a memory means: nobody has verified what they say now when one of them changes."""

HELD_FOR_CONFLICT: Mapping[str, Any] = {"status": "pending", "held_for": "conflict", "approved_by": ""}
"""What a memory gets that waits because it contradicts another."""


class Step(NamedTuple):
    """One record before and after; None is "does not exist"."""

    before: Record | None
    after: Record | None


def step(before: Memory, request: Request, **changes: Any) -> Step:  # noqa: ANN401 - any field of a memory
    """A memory with some fields changed, one revision on."""
    changes = other_words(before, changes, request.now) | changes
    after = replace(before, **changes, updated_at=request.now, revision=before.revision + 1)
    return Step(before, after)


def memory_after(step: Step) -> Memory:
    """The memory as a step leaves it."""
    assert isinstance(step.after, Memory)
    return step.after


def other_words(before: Memory, changes: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """What moves besides where `changes` give a memory other words: they are as old as that, and unverified."""
    if not differ(WORDS, before, changes):
        return {}
    return {"reworded_at": now, "verified_at": None}


def differ(names: Sequence[str], before: Memory, changes: Mapping[str, Any]) -> bool:
    """Whether `changes` give any of these fields another value."""
    return any(name in changes and changes[name] != getattr(before, name) for name in names)


def any_changed(names: Sequence[str], before: Record | None, after: Record | None) -> bool:
    """Whether any of these fields is another afterwards."""
    return any(getattr(before, name) != getattr(after, name) for name in names)


def compose(
    action: str,
    request: Request,
    steps: Sequence[Step],
    *,
    note: Mapping[str, Any] | None = None,
    reverses: tuple[str, ...] = (),
    erase: bool = False,
    subjects: tuple[str, ...] | None = None,
) -> Change:
    """The Change that takes every step, with its event.

    `subjects`, where given, are the event's in place of the records of the steps.

    Raises:
        Unconfirmed: when a curated memory would become live, or a live one change, without a person's word.
    """
    _guard(steps, request)
    known = [each.after or each.before for each in steps]
    gone = [each.before for each in steps if each.before and not each.after]
    memories = [record for record in known if isinstance(record, Memory)]
    noted = {name: value for name, value in (note or {}).items() if value}
    if request.confirmed:
        noted["confirmed"] = request.confirmed
    # An erasure speaks of what it erased by id alone; what it only touched is still told in full.
    told = [each for each in steps if each.after or not erase]
    draft = Draft(
        action=action,
        actor=request.caller.name,
        owner=request.caller.owner,
        at=request.now,
        subjects=subjects or tuple(record.id for record in (gone if erase else known) if record),
        tier=max((memory.tier for memory in memories), default=0),
        batch=request.batch,
        reverses=reverses,
        payload=Payload(
            tuple(edit for each in told for edit in edits_between(each.before, each.after)),
            noted,
            request.salt,
        ),
    )
    return Change(
        draft=draft,
        puts=tuple(each.after for each in steps if each.after),
        drops=tuple((type_of(record), record.id) for record in gone),
        expects={
            record.id: each.before.revision if each.before else ABSENT
            for each, record in zip(steps, known, strict=True)
            if record
        },
        claims={each.after.id: claims_of(each.after) for each in steps if isinstance(each.after, Memory)},
        erase=tuple(record.id for record in gone) if erase else (),
    )


def join(changes: Sequence[Change]) -> Change:
    """Several Changes of one action as one, so that all of them happen or none.

    Raises:
        Conflict: when two of them touch the same record.
    """
    touched: set[str] = set()
    for change in changes:
        for id in change.expects:
            if id in touched:
                raise Conflict(f"Two of these would change {id[:13]}.", "Ask for them one after the other.")
        touched.update(change.expects)
    drafts = [change.draft for change in changes if change.draft]
    removed = [kind for draft in drafts for kind in (draft.payload.note or {}).get("redacted", ())]
    note = {**(drafts[0].payload.note or {}), **({"redacted": removed} if removed else {})}
    edits = tuple(edit for draft in drafts for edit in draft.payload.edits)
    return Change(
        draft=drafts[0]._replace(
            subjects=tuple(id for draft in drafts for id in draft.subjects),
            tier=max(draft.tier for draft in drafts),
            payload=drafts[0].payload._replace(edits=edits, note=note),
        ),
        puts=tuple(record for change in changes for record in change.puts),
        drops=tuple(drop for change in changes for drop in change.drops),
        expects={id: revision for change in changes for id, revision in change.expects.items()},
        claims={id: claims for change in changes for id, claims in change.claims.items()},
        erase=tuple(id for change in changes for id in change.erase),
    )


def claims_of(memory: Memory) -> tuple[str, ...]:
    """The names a memory holds alone within its owner and scope: its key, else its text.

    A rejected text keeps its claim, so that it cannot return. What stands apart claims nothing, nor does a
    proposal: it is about a memory that has its place already.
    """
    place = f"{memory.owner}\x1f{memory.scope}\x1f"
    if memory.status == "rejected":
        return () if memory.apart else (f"{place}digest\x1f{memory.digest}",)
    if memory.apart or memory.amends:
        return ()
    return (f"{place}key\x1f{memory.key}",) if memory.key else (f"{place}digest\x1f{memory.digest}",)


def _guard(steps: Sequence[Step], request: Request) -> None:
    """Law 1: what is curated becomes live, changes its words or loses its tier by a confirmed word only.

    And nothing new is said in a place that is not the caller's to write to; what is there may always be taken away.
    """
    for each in steps:
        if isinstance(each.after, Memory | Session) and _says(each.before, each.after):
            require_place(request.caller, each.after.scope)
        before, after = each.before, each.after
        if not isinstance(after, Memory) or not (before is None or isinstance(before, Memory)):
            continue
        was = before is not None and before.stands_curated
        if after.stands_curated and not was:
            require_confirmation(request, f"A memory of kind {after.kind} becomes live only when confirmed.")
        if was and after.status == "promoted" and _reworded(before, after):
            require_confirmation(request, f"This {after.kind} memory was approved; changing it needs a person.")


def _says(before: Record | None, after: Memory | Session) -> bool:
    """Whether readers of the place are told something they were not told before."""
    if before is None:
        return True
    if isinstance(before, Memory) and isinstance(after, Memory):
        shared_now = after.visibility == "shared" != before.visibility
        return shared_now or any_changed(("scope", *CONTENT), before, after)
    return isinstance(before, Session) and before.scope != after.scope


def _reworded(before: Record | None, after: Memory) -> bool:
    return any_changed((*CONTENT, "tier", "scope", "owner"), before, after)
