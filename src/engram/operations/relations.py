"""What memories have to do with one another: relate, judge, related."""

from collections.abc import Iterator
from typing import cast

from engram.errors import Conflict, NotFound
from engram.model.answers import Related, Relative, Relatives
from engram.model.change import Change
from engram.model.event import Event
from engram.model.filter import Filter
from engram.model.memory import Memory, standing
from engram.model.relation import Relation
from engram.operations import parameters as p
from engram.operations.base import Call, operation, require_between
from engram.recall.pipeline import Asked
from engram.recall.pipeline import recall as look_up
from engram.rules import relations
from engram.rules.kinds import KINDS, quiet
from engram.rules.relations import Verdict

MOST_RELATIVES = 64
MOST_CHAIN = 16
MOST_PER_TAG = 20
MOST_TAGS = 16
ASKED = 400
"""Characters of a memory that its neighbours are looked up by: its beginning says what it is about."""


@operation(
    "POST /v1/relations",
    'engram relate mem-0007 mem-0003 supersedes --reason "the port moved"',
    "engram relate mem-0007 mem-0003 compatible",
    writes=True,
)
def relate(
    call: Call,
    memory: p.Ref,
    other: p.OtherRef,
    kind: p.Verdict,
    *,
    reason: p.Reason = "",
    evidence: p.Proof = "",
    confidence: p.Confidence = None,
    model: p.JudgeModel = "",
    session: p.Session = "",
    token: p.Token = "",
) -> Related:
    """Say how one memory bears on another.

    Saying it again, in either direction, changes the verdict. What an agent says against a curated memory is
    proposed, and does nothing until a person says the same.
    """
    del token
    if (event := call.replayed()) is not None:
        return _related_before(call, event)
    first, second = call.memory(memory).id, call.memory(other).id
    verdict = Verdict(kind, reason, evidence, confidence, model, session)
    return _settled(call, first, second, verdict)


@operation(
    "POST /v1/relations/{relation}/judge",
    'engram judge mem-0007~mem-0003 conflicts --reason "two ports for one service"',
    writes=True,
)
def judge(
    call: Call,
    relation: p.RelationRef,
    kind: p.Verdict,
    *,
    reason: p.Reason = "",
    evidence: p.Proof = "",
    confidence: p.Confidence = None,
    model: p.JudgeModel = "",
    session: p.Session = "",
    token: p.Token = "",
) -> Related:
    """Give a verdict on a pair of memories."""
    del token
    if (event := call.replayed()) is not None:
        return _related_before(call, event)
    verdict = Verdict(kind, reason, evidence, confidence, model, session)
    first, tilde, second = relation.strip().partition("~")
    if tilde:
        return _settled(call, call.memory(first).id, call.memory(second).id, verdict)
    known = the_relation(call, first)
    return _settled(call, known.from_id, known.to_id, relations.turned(known, verdict))


@operation("GET /v1/memories/{memory}/related", "engram related mem-0007")
def related(call: Call, memory: p.Ref, *, limit: p.Limit = 8, judged: p.OnlyJudged = False) -> Relatives:
    """Show what has to do with a memory: what it replaced, verdicts, shared tags, and what is about the same."""
    require_between("limit", limit, 1, MOST_RELATIVES)
    focus = call.memory(memory)
    edges: dict[str, list[str]] = {}
    found: dict[str, Memory] = {}
    for one, edge in _edges(call, focus, limit, judged=judged):
        if one.id != focus.id and edge not in edges.setdefault(one.id, []):
            found[one.id] = one
            edges[one.id].append(edge)
    relatives = tuple(Relative(one, tuple(edges[id])) for id, one in found.items())
    return Relatives(at=call.now, memory=focus, relatives=relatives[:limit], truncated=len(relatives) > limit)


def the_relation(call: Call, ref: str) -> Relation:
    """The readable relation of this id or prefix.

    Raises:
        NotFound: when there is none.
    """
    for found in call.engine.get("relation", [ref], call.access).values():
        return cast("Relation", found)
    raise NotFound(f"There is no relation {ref!r}.", "Name the two memories instead: FIRST~SECOND.")


def _settled(call: Call, first: str, second: str, verdict: Verdict) -> Related:
    request = call.request()

    def decide() -> tuple[Change, Relation]:
        known = call.engine.get(
            "relation", [relations.pair_id(call.caller.owner, first, second)], call.access
        ).values()
        change = relations.relate(
            call.memory(first),
            call.memory(second),
            verdict,
            cast("Relation", next(iter(known))) if known else None,
            request,
        )
        return change, cast("Relation", change.puts[0])

    commit, relation = call.settle(decide)
    hint = "It touches a curated memory; a person decides: engram relate." if relation.status == "proposed" else ""
    pair = call.engine.get("memory", [first, second], call.access).values()
    return Related(
        at=call.now,
        relation=relation,
        memories=cast("tuple[Memory, ...]", tuple(pair)),
        event=commit.event.seq,
        hint=hint,
    )


def _related_before(call: Call, event: Event) -> Related:
    """The first answer again: the relation as it stands."""
    for relation in cast("list[Relation]", list(call.engine.get("relation", event.subjects, call.access).values())):
        pair = call.engine.get("memory", [relation.from_id, relation.to_id], call.access).values()
        memories = cast("tuple[Memory, ...]", tuple(pair))
        return Related(at=call.now, relation=relation, memories=memories, event=event.seq)
    raise Conflict("What that request made is no longer there: it was undone or purged.", "Use a new token.")


def _edges(call: Call, focus: Memory, limit: int, *, judged: bool) -> Iterator[tuple[Memory, str]]:
    """Every memory that has to do with this one, with the name of the edge; the surest edges first."""
    yield from _chain(call, focus)
    yield from _judged(call, focus)
    if judged:
        return
    live = Filter(
        standings=("live",), now=call.now, view=call.caller.view, except_kinds=quiet(call.policy.kinds or KINDS)
    )
    for tag in focus.tags[:MOST_TAGS]:
        page = call.engine.scan("memory", live._replace(tags=(tag,)), call.access, limit=MOST_PER_TAG)
        for one in cast("tuple[Memory, ...]", page.records):
            yield one, f"tag:{tag}"
    asked = Asked(
        (focus.summary or focus.text)[:ASKED],
        live._replace(standings=(), now=None),
        call.access,
        now=call.now,
        limit=limit + 1,
        embedder=call.embedder,
    )
    for hit in look_up(call.engine, asked).hits:
        yield hit.memory, "alike"


def _chain(call: Call, focus: Memory) -> Iterator[tuple[Memory, str]]:
    """What this memory replaced, and what replaced it, link by link; what may not be read ends the chain."""
    seen = {focus.id}
    newer: Memory | None = focus
    while newer is not None and newer.replaced_by and len(seen) < MOST_CHAIN:
        above = call.engine.get("memory", [newer.replaced_by], call.access).values()
        newer = cast("Memory", next(iter(above))) if above else None
        if newer is None or newer.id in seen:
            break
        seen.add(newer.id)
        yield newer, "superseded_by"
    older = [focus.id]
    while older and len(seen) < MOST_CHAIN:
        page = call.engine.scan("memory", Filter(replaced_by=older.pop()), call.access, limit=MOST_CHAIN)
        for one in cast("tuple[Memory, ...]", page.records):
            if one.id not in seen:
                seen.add(one.id)
                older.append(one.id)
                yield one, "supersedes"


def _judged(call: Call, focus: Memory) -> Iterator[tuple[Memory, str]]:
    page = call.engine.scan("relation", Filter(touches=(focus.id,)), call.access, limit=MOST_RELATIVES)
    for relation in cast("tuple[Relation, ...]", page.records):
        out = relation.from_id == focus.id
        other = call.engine.get("memory", [relation.to_id if out else relation.from_id], call.access).values()
        for one in cast("list[Memory]", list(other)):
            name = relation.kind if out or relation.kind != "supersedes" else "superseded_by"
            if standing(one, call.now, call.caller.view) not in ("forgotten", "rejected"):
                yield one, f"{name}?" if relation.status == "proposed" else name
