"""What a person's edit of a plain-text store means: which memory it approves, creates, forgets or splits off."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, get_args

from engram.model.caller import Caller
from engram.model.change import Change, Request
from engram.model.event import edits_between
from engram.model.items import AGES, status_of
from engram.model.limits import EARLIEST, parse_decay
from engram.model.memory import CURATED, UNVOUCHED, HeldFor, Memory, is_unvouched
from engram.model.record import replace
from engram.model.scope import GLOBAL
from engram.rules.changes import WORDS, Step, claims_of, compose, other_words
from engram.rules.likeness import same
from engram.rules.policy import Policy
from engram.rules.proposals import scrubbed
from engram.rules.redact import redact

PERSON = "manual"
"""Who approved what was promoted with an editor."""

DEFAULT_KIND, CERTAIN = "fact", 1.0
"""What a person's new item is where it does not say: as if they had said it to `remember`."""

HAND_VOICE = {"origin": "said", "source": PERSON, "learned_by": "manual", "confidence": CERTAIN}
"""Whose word a text is that was typed with an editor, where the hand does not say that itself."""


REASONS: Mapping[str, HeldFor] = {
    **{code: code for code in get_args(HeldFor)},
    "unmerged_branch": "",  # of which branch, no envelope says
    "flagged for review at capture": "curated_kind",
}
"""What an envelope may give as its reason, and what that is among ours."""

PARTS_OF_REASONS: tuple[tuple[str, HeldFor], ...] = (
    ("conflict", "conflict"),
    ("edits_curated_node", "edits_curated_node"),
    ("needs review", "curated_kind"),
)
"""What stands within longer reasons."""


class Hands(NamedTuple):
    """The rules for what a person writes into a text, by the kinds as configured; see `ports.Hands`."""

    policy: Policy = Policy()

    @staticmethod
    def as_told(memory: Memory, status: str, now: datetime) -> Memory:
        """A memory as the status in its item says, whatever the other keys say; mere age changes nothing."""
        stands = status_of(memory, now)
        aged = memory.status == "promoted" and status in AGES and stands in AGES
        if status == stands or (aged and AGES.index(status) < AGES.index(stands)):
            return memory
        if status == "superseded":
            return memory if memory.replaced_by else replace(memory, status="promoted")
        if status == "rejected":
            return replace(memory, status="rejected", held_for="")
        back = replace(memory, forgotten_at=None, forgotten_by="", replaced_by="", held_for="", branch="")
        if status == "promoted":
            return _approved(back)
        if status == "pending":
            return replace(back, status="pending", held_for=_held(back), approved_by="")
        return _overdue(replace(back, status="promoted"), now)

    @staticmethod
    def held(memory: Memory, reason: str | None) -> Memory:
        """A memory that waits, held for what its envelope says. What nobody here knows waits for a person too.

        So does what has an envelope that gives no reason of ours: it was put there for a person. Where nobody
        vouches for the source, that is the reason, whatever is said: other programs do not know of it.
        """
        if is_unvouched(memory.source):
            return replace(memory, held_for=UNVOUCHED)
        hold = memory.held_for if reason is None else _hold_of(reason) or memory.held_for or "review_all"
        return memory if hold == memory.held_for else replace(memory, held_for=hold)

    def added(self, memory: Memory, lacks: Collection[str], now: datetime) -> Memory:
        """A person's new item with what it does not say: care and decay by its kind, the rest as if said now."""
        kind = self.policy.kind(DEFAULT_KIND if "kind" in lacks else memory.kind)
        told: dict[str, Any] = {"kind": kind.name}
        told |= {"tier": kind.tier} if "risk_tier" in lacks else {}
        told |= {"decay": kind.decay} if "decay" in lacks else {}
        told |= {"confidence": CERTAIN} if "confidence" in lacks else {}
        told |= {"created_at": now, "updated_at": now} if "learned_at" in lacks else {}
        new = replace(memory, **told)
        if new.status == "pending" and not new.held_for:
            new = replace(new, held_for=_held(new))
        return new

    @staticmethod
    def changed(before: Memory, after: Memory, now: datetime) -> Memory:
        """What was put in force is approved and seen today, and held for nothing any more.

        Other words are the person's own, as old as the edit, and seen today by whoever wrote them; unless the hand
        says itself that they are stale.
        """
        after = replace(after, apart=before.apart)
        if not same(before.text, after.text):
            unsaid = {
                name: said for name, said in HAND_VOICE.items() if getattr(before, name) == getattr(after, name)
            }
            after = replace(after, **unsaid)
        dated = after.verified_at != before.verified_at
        seen = after.verified_at if dated else now
        stale = dated and after.status == "promoted" and after.stale_at is not None and now > after.stale_at
        if words := other_words(before, {name: getattr(after, name) for name in WORDS}, now):
            after = replace(after, **words | ({"verified_at": seen} if after.status == "promoted" else {}))
            after = replace(after, reworded_at=seen) if stale else after
        if after.status == before.status:
            return replace(after, held_for=before.held_for)
        if after.status != "promoted":
            return after
        return _approved(replace(after, held_for="", branch="", forgotten_by="", verified_at=seen))

    @staticmethod
    def taken_out(memory: Memory, now: datetime) -> Memory | None:
        """What was alive is forgotten; None for what was out already."""
        if memory.forgotten_at is not None or memory.status == "rejected":
            return None
        return replace(memory, forgotten_at=now, forgotten_by=PERSON)

    @staticmethod
    def secrets(memory: Memory) -> tuple[str, ...]:
        """The kinds of what must not be kept, wherever in the memory it stands."""
        return scrubbed(memory)[1]

    @staticmethod
    def redacted(text: str) -> tuple[str, tuple[str, ...]]:
        """A remark, or the keys of another program: no limit of a memory holds for them."""
        done = redact(text)
        return done.text, tuple(done.kinds)

    @staticmethod
    def cleaned(before: Memory | None, after: Memory) -> tuple[Memory, tuple[str, ...]]:
        """Only words that are new lose what must not be kept: what stood there before stays as it was.

        Raises:
            Invalid: when it stands where it cannot be taken out.
        """
        known = before is not None and before.scope == after.scope
        clean, kinds = scrubbed(replace(after, scope=GLOBAL) if known else after)
        said = {name for name in clean if getattr(before, name, None) != getattr(after, name)}
        fresh = {name: clean[name] for name in said if getattr(after, name) != clean[name]}
        return (replace(after, **fresh), kinds) if fresh else (after, ())

    @staticmethod
    def parted(ours: Memory, theirs: Memory) -> tuple[Memory, Memory]:
        """Two memories under one id: first the one that keeps it, which is the older, or else ours."""
        return (theirs, ours) if _is_newer(ours, theirs) else (ours, theirs)

    @staticmethod
    def joined(
        ours: Memory, theirs: Memory, fields: Collection[str], *, moved: bool
    ) -> tuple[Memory, Memory | None]:
        """What only one side changed counts; of two texts both are kept, and of all else the newer."""
        form = replace(ours, **{name: getattr(theirs, name) for name in fields})
        if not moved:
            return form, None
        if "text" in fields:
            return (form, ours) if _is_newer(ours, theirs) else (ours, form)
        return (form if _is_newer(theirs, ours) else ours), None

    @staticmethod
    def change(
        steps: Sequence[tuple[Memory | None, Memory]],
        held: Mapping[str, Sequence[str]],
        *,
        action: str,
        actor: str,
        now: datetime,
        batch: str,
        salt: str,
        note: Mapping[str, Any],
    ) -> Change:
        """All of it as one Change. A memory whose key or text another one holds stands apart."""
        # Whoever writes this file is a person, or acts as one.
        request = Request(Caller(actor=actor), now, batch, fresh="", salt=salt, confirmed="file")
        return compose(action, request, _placed(steps, held, now), note=note)


def _placed(
    steps: Sequence[tuple[Memory | None, Memory]], held: Mapping[str, Sequence[str]], now: datetime
) -> list[Step]:
    """Each memory one revision on, and apart where another one holds its place already or takes it before."""
    touched = {after.id for _, after in steps}
    taken = {claim: id for id, claims in held.items() if id not in touched for claim in claims}
    placed = []
    for before, said in steps:
        moved = before and edits_between(before, said)
        revision = before.revision + 1 if before else 1
        after = replace(said, updated_at=now if moved else said.updated_at, revision=revision)
        if any(taken.get(claim, after.id) != after.id for claim in claims_of(after)):
            after = replace(after, apart=True)
        taken |= dict.fromkeys(claims_of(after), after.id)
        placed.append(Step(before, after))
    return placed


def _approved(memory: Memory) -> Memory:
    return replace(memory, status="promoted", approved_by=memory.approved_by or PERSON)


def _hold_of(reason: str) -> HeldFor:
    """What the reason of an envelope is among ours; "" where it says nothing."""
    if reason in REASONS:
        return REASONS[reason]
    return next((hold for part, hold in PARTS_OF_REASONS if part in reason), "review_all")


def _held(memory: Memory) -> HeldFor:
    """Why a memory waits, where nothing says so."""
    return "curated_kind" if memory.tier == CURATED else ""


def _overdue(memory: Memory, now: datetime) -> Memory:
    """A memory that is stale by hand: neither its last verification nor its last wording counts any more."""
    lasts = parse_decay(memory.decay)
    if lasts is None:
        return replace(memory, valid_until=now)
    past = max(EARLIEST, now - lasts - timedelta(1))
    worded = memory.reworded_at and min(memory.reworded_at, past)
    return replace(memory, verified_at=past, reworded_at=worded)


def _is_newer(one: Memory, other: Memory) -> bool:
    return (one.updated_at, one.created_at) > (other.updated_at, other.created_at)
