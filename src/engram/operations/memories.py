"""Making, reading and ending memories: remember, get, list, revise, verify, forget, restore."""

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from engram.errors import Invalid
from engram.model.answers import Changed, Listing, Remembered, Shown
from engram.model.change import Change, Request
from engram.model.event import Event
from engram.model.filter import Filter
from engram.model.limits import LIMITS, MOST_TAGS, check_choice, check_text, composed
from engram.model.memory import CURATED, STANDINGS, Memory, Standing, standing
from engram.operations import parameters as p
from engram.operations.base import MOST_KINDS, Call, each, newest, no_longer_there, operation, require_between
from engram.operations.bearing import (
    known,
    memories_by_id,
    relation_between,
    replaced_by,
    rivals_of,
    superseded_by,
    twins_of,
)
from engram.operations.citing import checked, cite_else, filled, pinned_anew, staged
from engram.operations.relations import why_proposed
from engram.operations.remarks import remarks
from engram.operations.revisions import as_seen, at_revision, by_id
from engram.operations.scopes import in_view, scope_named, strange_kinds, unplaced
from engram.operations.sessions import at_work, timeline
from engram.operations.suspicions import with_suspicions
from engram.recall.words import saying as who_say
from engram.rules import admission, lifecycle
from engram.rules.access import hears, is_firm
from engram.rules.admission import Admission, Known
from engram.rules.changes import join
from engram.rules.insights import require_memories
from engram.rules.kinds import meant, own_lists
from engram.rules.proposals import CLEARED, Proposal, prepare
from engram.rules.relations import Verdict, relate

REPIN = "Nothing was done yet: look at what it cites. If it still holds, pin it anew with --repin; else revise it."
RESAID = frozenset(
    {"key", "kind", "summary", "tags", "citations", "decay", "visibility", "importance", "pinned", "status"}
    | {"valid_from", "valid_until"}
)
"""Fields that saying a known text again may change: the answer tells which it did."""

MOST_LISTED = 1000


@operation(
    "POST /v1/memories",
    'engram remember "We deploy on Fridays" --kind convention',
    'engram remember "My legal name is Alex Rivera" --kind identity',
    'engram remember "handler() rejects bad requests" --kind finding --cite src/api.py:handler',
    "git log -1 --format=%B | engram remember - --kind decision --tag release",
    writes=True,
    adds=True,
)
def remember(
    call: Call,
    text: p.Text,
    *,
    kind: p.KindName = None,
    scope: p.ScopeName = "",
    key: p.Key = "",
    summary: p.Summary = None,
    tag: p.Tags = None,
    cite: p.Cites = (),
    importance: p.Importance = None,
    pinned: p.Pinned = None,
    confidence: p.Confidence = None,
    visibility: p.Shared = None,
    decay: p.Decay = None,
    valid_from: p.ValidFrom = None,
    valid_until: p.ValidUntil = None,
    session: p.OwnSession = "",
    source: p.Source = None,
    origin: p.Provenance = None,
    replaces: p.Replaces = (),
    dedupe: p.Dedupe = "merge",
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Remembered:
    """Save something worth knowing later.

    The text alone is enough. The same text again is counted, not stored twice; the same key revises; what is
    curated (a name, a rule, a price, …) or contradicts something known waits until a person has reviewed it.
    """
    del token
    if (event := call.replayed()) is not None:
        return remembered_before(call, event)
    check_choice("dedupe", dedupe, ("merge", "create"))
    place = scope_named(call, scope) if scope else call.home
    cited = filled(call, cite, place)
    proposal = Proposal(
        text=text,
        key=key,
        scope=place,
        session=session or at_work(call),
        summary=summary,
        kind=kind,
        tags=None if tag is None else tuple(each(tag)),
        citations=cited.citations or None,
        origin=origin,
        source=source,
        confidence=confidence,
        visibility=visibility,
        importance=importance,
        pinned=pinned,
        decay=decay,
        valid_from=valid_from,
        valid_until=valid_until,
        context=cited.made_in(call.context),
        apart=dedupe == "create",
        worded=True,
    )
    admitted = admit(call, proposal, confirm=confirm, replaces=tuple(each(replaces)))
    return _noted(with_suspicions(call, admitted), (*cited.warnings, *_not_in_use(call, admitted.memory)))


def _not_in_use(call: Call, memory: Memory) -> Iterator[str]:
    """What is to be said of a memory that was saved and is not live, for its dates or for what replaced it."""
    stands = standing(memory, call.now, call.caller.view)
    if stands == "scheduled":
        yield f"It is not in use yet: it holds from {memory.valid_from:%Y-%m-%d %H:%M} UTC on."
    elif stands == "expired":
        yield (
            f"It is not in use: it held until {memory.valid_until:%Y-%m-%d %H:%M} UTC."
            f" Without an end: engram revise {memory.called} --clear valid_until"
        )
    elif stands == "replaced":
        yield from (
            f"It is not in use: {by.called} has replaced it." for by in memories_by_id(call, [memory.replaced_by])
        )


def _noted(answer: Remembered, warnings: Sequence[str]) -> Remembered:
    return answer._replace(hint=" ".join(filter(None, (answer.hint, *warnings)))) if warnings else answer


def _superseding(call: Call, new: Memory, old: Memory, request: Request) -> Change:
    before = relation_between(call, new.id, old.id)
    return relate(new, old, Verdict("supersedes", session=new.session), before, request, fresh=True)


def admit(
    call: Call, proposal: Proposal, *, confirm: bool = False, batch: str = "", replaces: Sequence[str] = ()
) -> Remembered:
    """Prepare a proposal, compare it with what is known, and commit what admission decides.

    What it `replaces` goes out of use in the same Change, or when the memory that waits is promoted.
    """
    request = call.request(confirm=confirm, batch=batch)
    prepared = prepare(staged(call, proposal), request, call.policy)

    def decide() -> tuple[Change, Admission]:
        old = [call.memory(ref) for ref in replaces]
        # It contradicts what it replaces, and shall: only what stands firm is still a reason to wait.
        gone = {one.id for one in old if not is_firm(one, call.caller)}
        bearing = known(call, prepared)
        if gone:
            bearing = bearing._replace(rivals=tuple(one for one in bearing.rivals if one.id not in gone))
        decision = admission.admit(prepared, bearing, call.policy, request)
        verdicts = [
            _superseding(call, decision.memory, one, request) for one in old if one.id != decision.memory.id
        ]
        return join([decision.change, *verdicts]) if verdicts else decision.change, decision

    admitted = _settled(call, prepared, decide)
    return _not_replaced_yet(call, admitted, replaces) if replaces else admitted


def _not_replaced_yet(call: Call, admitted: Remembered, replaces: Sequence[str]) -> Remembered:
    """The answer, with why what it should replace stays in use; what waits for review is told of there."""
    new = admitted.memory
    if new.waiting:
        return admitted
    others = [one for one in map(call.memory, replaces) if one.id != new.id]
    found = [(one, relation_between(call, new.id, one.id)) for one in others]
    waits = [why_proposed(call, known, (new, one)) for one, known in found if known and known.status == "proposed"]
    # Of what is staged, this tells all that the hint did: where it holds, and until when.
    return _noted(admitted._replace(hint="") if waits and new.staged else admitted, waits)


def _settled(call: Call, prepared: Proposal, decide: Callable[[], tuple[Change | None, Admission]]) -> Remembered:
    commit, decision = call.decide_and_commit(decide)
    if commit is None:  # it says all of it already
        return Remembered(at=call.now, memory=call.memory(decision.memory.id), outcome="unchanged", event=0)
    if commit.replayed:
        return remembered_before(call, commit.event)
    handle = commit.handles.get(decision.memory.id, "")
    hint = _next_step(call, decision.memory, handle, prepared.kind)
    repeated = commit.event.edits if decision.outcome == "repeated" else ()
    changed = {edit.field for edit in repeated if edit.id == decision.memory.id} & RESAID
    if "status" in changed:
        hint = "It was waiting, and is live now."
    back = _taken_back(call, commit.event)
    answer = Remembered(
        at=call.now,
        memory=decision.memory.known_as(handle),
        outcome=decision.outcome,
        event=commit.event.seq,
        conflicts=memories_by_id(call, decision.conflicts) if decision.conflicts else (),
        why=decision.why,
        redacted=prepared.redacted,
        hint=hint,
        changed=tuple(sorted(changed)),
        taken_back=tuple(one.called for one in back),
    )
    return _noted(answer, _told_back(back, commit.event))


def _taken_back(call: Call, event: Event) -> tuple[Memory, ...]:
    """The caller's own proposals whose words an event took back."""
    return memories_by_id(call, event.note.get("taken_back", ()))


def _told_back(back: Sequence[Memory], event: Event) -> list[str]:
    """What became of each proposal that an event took back, or took the words of, and how it is undone."""
    forgotten = {edit.id for edit in event.edits if edit.field == "forgotten_at"}
    return [
        f"Your proposal {one.called} to change it was taken back; bring it back: engram restore {one.called}."
        if one.id in forgotten
        else f"The other words that {one.called} proposed were taken back, and what else it proposes still waits;"
        f" a person may bring them back: engram undo {event.seq}."
        for one in back
    ]


@operation("GET /v1/memories/{memory}", "engram get mem-0001", "engram get mem-0001 --around 3")
def get(call: Call, memory: p.Refs, *, around: p.Around = 0, diffs: p.WithDiffs = False) -> Shown:
    """Show memories in full."""
    memories = tuple(call.memory(ref) for ref in each(memory))
    lines = tuple(timeline(call, one.id, before=around, after=around) for one in memories) if around else ()
    call.used(one.id for one in memories)
    evidence = checked(call, memories, diffs=diffs)
    rows = tuple(evidence.get(one.id, ()) for one in memories) if evidence else ()
    others = {id for one in memories for id in (one.amends, one.replaced_by) if id}
    handles = {one.id: one.called for one in memories_by_id(call, sorted(others))} if others else {}
    return Shown(
        at=call.now,
        memories=memories,
        around=lines,
        evidence=rows,
        marks=remarks(call, memories),
        handles=handles,
        reasons={one.id: reason for one in memories if (reason := _put_away_for(call, one))},
    )


def _put_away_for(call: Call, memory: Memory) -> str:
    """Why a memory was rejected or forgotten, in the words of whoever did; "" where that is not for the caller."""
    act = "reject" if memory.status == "rejected" else "forget" if memory.forgotten_at is not None else ""
    done = next((one for one in newest(call, memory.id) if one.action == act), None) if act else None
    if done is None or not hears(call.caller, done, [memory.owner]):
        return ""
    return str(done.note.get("reason", ""))


@operation(
    "GET /v1/memories",
    "engram list --kind decision --limit 5",
    "engram list --standing pending --standing stale",
    'engram list --saying "database port" --everywhere',
    name="list",
)
def list_memories(
    call: Call,
    *,
    scope: p.InScope = "",
    kind: p.Kinds = (),
    tag: p.TagFilter = (),
    standing: p.Standings = ("live",),
    pinned: p.OnlyPinned = None,
    session: p.OnlySession = "",
    key: p.OnlyKey = "",
    saying: p.Saying = "",
    since: p.Since = None,
    until: p.Until = None,
    everywhere: p.Everywhere = False,
    limit: p.Limit = 20,
    after: p.After = None,
) -> Listing:
    """List memories, newest first."""
    require_between("limit", limit, 1, MOST_LISTED)
    check_text("saying", saying, limit=LIMITS["text"], lines=True)
    asked, kinds = tuple(each(kind, MOST_KINDS)), call.policy.kinds
    require_memories(asked, kinds)
    where = Filter(
        **in_view(call, scope, everywhere=everywhere),
        kinds=asked,
        except_kinds=own_lists(kinds),
        tags=tuple(map(composed, each(tag, MOST_TAGS))),
        standings=standings(standing),
        pinned=pinned,
        session=session or None,
        key=composed(key) or None,
        since=since,
        until=until,
        now=call.now,
        view=call.caller.view,
    )
    if saying.strip():
        page = who_say(call.engine, saying, where, call.access, after=after, limit=limit)
    else:
        page = call.engine.scan("memory", where, call.access, after=after, limit=limit)
    strange = "" if page.records or after else strange_kinds(call, where)
    return Listing(
        at=call.now,
        memories=cast("tuple[Memory, ...]", page.records),
        next=page.next,
        hint=f"{strange} {unplaced(call, scope, everywhere=everywhere)}".strip(),
    )


@operation(
    "PATCH /v1/memories/{memory}",
    'engram revise mem-0003 --text "We deploy on Thursdays"',
    "engram revise mem-0003 --pinned --importance 8",
    writes=True,
)
def revise(
    call: Call,
    memory: p.Ref,
    *,
    text: p.NewText = None,
    key: p.NewKey = "",
    summary: p.Summary = None,
    kind: p.NewKind = None,
    tag: p.NewTags = None,
    cite: p.NewCites = None,
    visibility: p.Shared = None,
    pinned: p.Pinned = None,
    importance: p.Importance = None,
    confidence: p.NewConfidence = None,
    source: p.NewSource = None,
    decay: p.Decay = None,
    valid_from: p.ValidFrom = None,
    valid_until: p.ValidUntil = None,
    clear: p.Clear = (),
    revision: p.Revision = None,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Remembered:
    """Change a memory's words, weight, reach or validity.

    New words for a curated memory become a proposal beside it, which a person approves, unless confirmed.
    """
    del token
    if (event := call.replayed()) is not None:
        return remembered_before(call, event)
    old, request = call.memory(memory), call.request(confirm=confirm)
    said = Proposal(
        text=old.text if text is None else text,
        key=key,
        scope=old.scope,
        summary=summary,
        kind=kind,
        tags=None if tag is None else tuple(each(tag)),
        citations=old.citations or None,
        visibility=visibility,
        pinned=pinned,
        importance=importance,
        confidence=confidence,
        source=source,
        decay=decay,
        valid_from=valid_from,
        valid_until=valid_until,
        context=call.context,
        worded=text is not None,
        cleared=_emptied(clear),
    )
    if not (said.cleared or said.said().keys() - {"citations"} or key or text is not None or cite is not None):
        raise Invalid("Nothing to revise was given.", "Say what to change, such as --text or --pinned.")
    cited = None if cite is None else filled(call, cite, old.scope)
    said = said._replace(citations=cited.citations, context=cited.made_in(said.context)) if cited else said
    # Weight, reach and validity are no news about the code: they hold on every branch at once.
    said = staged(call, said, kind or old.kind) if cited or text is not None else said
    revised = _revised(call, old, said, revision, request)
    revised = with_suspicions(call, revised) if text or summary or key else revised
    return _noted(revised, (*(cited.warnings if cited else ()), *_not_in_use(call, revised.memory)))


def _emptied(names: str | Sequence[str]) -> tuple[str, ...]:
    for name in each(names):
        check_choice("clear", name, CLEARED)
    return tuple(each(names))


def _revised(call: Call, old: Memory, said: Proposal, revision: int | None, request: Request) -> Remembered:
    """Let admission decide about other content for a memory, as it stands when it is decided."""
    kind, learned_by = said.kind, "manual" if call.caller.human else said.learned_by
    prepared = prepare(said._replace(kind=kind or old.kind), request, call.policy)
    prepared = prepared._replace(kind=kind, learned_by=learned_by)

    def decide() -> tuple[Change | None, Admission]:
        current = call.memory(old.id)
        lifecycle.require_revision(current, revision)
        decision = admission.revise(current, prepared, known(call, prepared, current), call.policy, request)
        draft = decision.change.draft
        return decision.change if draft is None or draft.payload.edits else None, decision

    return _settled(call, prepared, decide)


@operation(
    "POST /v1/memories/{memory}/verify", "engram verify mem-0001", "engram verify mem-0001 --repin", writes=True
)
def verify(
    call: Call, memory: p.Refs, *, repin: p.Repin = False, confirm: p.Confirm = False, token: p.Token = ""
) -> Changed:
    """Confirm that memories still hold.

    They stay fresh for another decay period; reading alone never does that. If cited text has moved or changed, the
    difference is shown and nothing is done, unless you ask for the citations to be updated.
    """
    del token
    asked = tuple(call.memory(at_revision(ref)[0]) for ref in each(memory))
    moved = pinned_anew(call, asked)
    if moved.citations and not repin and call.replayed() is None:
        gone = next((one for one in asked if moved.gone(one)), None)
        hint = f"Nothing was done: what {gone.called} cites is gone. {cite_else(gone)}" if gone else REPIN
        return Changed(at=call.now, action="verify", memories=asked, event=0, evidence=moved.evidence, hint=hint)

    def rule(one: Memory, request: Request) -> Change:
        return lifecycle.verify(one, request, moved.of(call, one) if repin else None)

    done = change_each(call, "verify", memory, rule, confirm=confirm)
    if not moved.citations or done.replayed:
        return done
    found = checked(call, done.memories)
    names = ", ".join(one.called for one in done.memories if one.id in moved.citations)
    return done._replace(
        evidence=tuple(found.get(one.id, ()) for one in done.memories),
        hint=f"Pinned anew to what is there now: {names}.",
    )


@operation("POST /v1/memories/{memory}/forget", 'engram forget mem-0004 --reason "no longer true"', writes=True)
def forget(call: Call, memory: p.Refs, *, reason: p.Reason = "", token: p.Token = "") -> Changed:
    """Hide memories from every read; `restore` and `undo` bring them back."""
    del token

    def rule(one: Memory, request: Request) -> Change:
        return lifecycle.forget(one, request, reason=reason, replaced=replaced_by(call, one))

    return change_each(call, "forget", memory, rule)


@operation("POST /v1/memories/{memory}/restore", "engram restore mem-0004", writes=True)
def restore(call: Call, memory: p.Refs, *, token: p.Token = "") -> Changed:
    """Bring back forgotten memories, in the status they had."""
    del token

    def rule(one: Memory, request: Request) -> Change:
        admission.require_not_rejected(Known(twins=twins_of(call, one)))
        superseded = superseded_by(call, one, request, judged=True)
        return lifecycle.restore(one, request, rivals=rivals_of(call, one), superseded=superseded)

    return change_each(call, "restore", memory, rule)


def change_each(
    call: Call,
    action: str,
    refs: str | Sequence[str],
    rule: Callable[[Memory, Request], Change],
    *,
    confirm: bool = False,
) -> Changed:
    """Let a rule decide about each memory and commit it all at once: every one of them, or none.

    A ref may say at which revision it means a memory, as pages do: agents are not told of it, for they read first.
    """
    if (event := call.replayed()) is not None:
        asked = tuple(call.memory(at_revision(ref)[0]) for ref in each(refs))
        return Changed(at=call.now, action=action, memories=asked, event=event.seq, replayed=True)
    request = call.request(confirm=confirm)
    named = dict(by_id(call, ref) for ref in each(refs))
    if not named:
        raise Invalid("No memory was named.", "Name one or more: engram list.")

    def decide() -> tuple[Change, None]:
        changes = [rule(one, request) for one in as_seen(call, named.items())]
        return changes[0] if len(changes) == 1 else join(changes), None

    commit, _ = call.decide_and_commit(decide)
    return Changed(at=call.now, action=action, memories=memories_by_id(call, list(named)), event=commit.event.seq)


def remembered_before(call: Call, event: Event) -> Remembered:
    """The first answer again: the memory as it stands, and what had become of it."""
    memories = memories_by_id(call, event.subjects[:1])
    if not memories:
        raise no_longer_there()
    note, back = event.note, _taken_back(call, event)
    answer = Remembered(
        at=call.now,
        memory=memories[0],
        outcome=str(note.get("outcome", "repeated")),
        event=event.seq,
        conflicts=memories_by_id(call, note.get("conflicts", ())),
        why=str(note.get("why", "")),
        redacted=tuple(note.get("redacted", ())),
        replayed=True,
        hint=_next_step(call, memories[0], memories[0].handle, None),
        taken_back=tuple(one.called for one in back),
    )
    return _noted(answer, _told_back(back, event))


def _next_step(call: Call, memory: Memory, handle: str, kind: str | None) -> str:
    if kind and kind != memory.kind:
        return f"Its kind stays {memory.kind}; to make it {kind}: engram revise {handle} --kind {kind}."
    if memory.staged:
        return f"It holds on {memory.branch.rpartition('#')[2]} until that is merged: engram settle."
    if not memory.waiting:
        return _meant(call, memory, handle)
    if not call.caller.human:
        return "A person decides about it: engram review."
    confirm = " --confirm" if memory.tier == CURATED else ""
    return f"Decide about it: engram review, or engram promote {handle}{confirm}."


def _meant(call: Call, memory: Memory, handle: str) -> str:
    """A question whether another kind was meant, where this one is in no table but nearly one that is; else ""."""
    near = meant(memory.kind, call.policy.kinds)
    if not near:
        return ""
    curated = ", which a person approves first" if call.policy.kind(near).tier == CURATED else ""
    return f"Did you mean the kind {near}{curated}? engram revise {handle} --kind {near}."


def standings(asked: Sequence[str]) -> tuple[Standing, ...]:
    """The standings asked for; `all` is no clause at all.

    Raises:
        Invalid: when one does not exist.
    """
    names = each(asked)
    if unknown := set(names) - {*STANDINGS, "all"}:
        raise Invalid(f"standing cannot be {min(unknown)!r}.", f"Use one of: {', '.join(STANDINGS)}; or all.")
    return () if "all" in names else cast("tuple[Standing, ...]", tuple(names))
