"""How memories are related: relate, judge, related."""

from collections.abc import Iterator
from typing import cast

from engram.errors import NotFound
from engram.model.answers_work import Related, Relative, Relatives
from engram.model.change import Change
from engram.model.event import Event
from engram.model.filter import Filter
from engram.model.memory import CURATED, Memory, standing
from engram.model.relation import Relation
from engram.operations import parameters as p
from engram.operations.base import PAGE, Call, elsewhere, no_longer_there, operation, require_between
from engram.operations.bearing import relation_between, replaced_by
from engram.operations.revisions import AtRevision, as_seen, by_id
from engram.operations.sessions import timeline
from engram.recall.pipeline import Question
from engram.recall.pipeline import recall as look_up
from engram.rules import relations
from engram.rules.access import is_firm
from engram.rules.kinds import quiet
from engram.rules.relations import Verdict

MOST_RELATIVES = 64
MOST_CHAIN = 16
MOST_PER_TAG = 20
MOST_TAGS = 16
MOST_WALKED = 2000
"""Citations have no index: of so many memories they are read."""

ALIKE = 0.9
"""How relevant a memory is to another's words, at least, to be about the same."""

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

    A new verdict, in either direction, replaces the earlier one. An agent's verdict against a curated memory, or
    one that would take a person's word out of use, is only proposed: it does nothing until a person says the same.
    """
    del token
    if (event := call.replayed()) is not None:
        return _related_before(call, event)
    verdict = Verdict(kind, reason, evidence, confidence, model, session)
    return _settled(call, (by_id(call, memory), by_id(call, other)), verdict)


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
    ends, known = pair_named(call, relation)
    return _settled(call, ends, relations.turned(known, verdict) if known else verdict)


@operation("GET /v1/memories/{memory}/related", "engram related mem-0007")
def related(call: Call, memory: p.Ref, *, limit: p.Limit = 8, judged: p.OnlyJudged = False) -> Relatives:
    """Show the memories related to one, and how.

    What it replaced or was replaced by, verdicts, the same citations or tags, what was saved just before and after
    it, and what is about the same subject.
    """
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


def pair_ref(first: Memory, second: Memory) -> str:
    """How a pair of memories is written, for `pair_named` to read: mem-0007~mem-0003."""
    return f"{first.handle or first.id}~{second.handle or second.id}"


def pair_named(call: Call, ref: str) -> tuple[tuple[AtRevision, AtRevision], Relation | None]:
    """The two memories of a pair, and their relation, where that was named.

    Raises:
        NotFound: when there is no such pair.
    """
    first, tilde, second = ref.strip().partition("~")
    if tilde:
        return (by_id(call, first), by_id(call, second)), None
    known = _the_relation(call, first)
    return ((known.from_id, None), (known.to_id, None)), known


def _the_relation(call: Call, ref: str) -> Relation:
    for found in call.engine.get("relation", [ref], call.access_to("relation")).values():
        relation = cast("Relation", found)
        if not elsewhere(call, (relation.from_id, relation.to_id)):
            return relation
    raise NotFound(f"There is no relation {ref!r}.", "Name the two memories instead: FIRST~SECOND.")


def _settled(call: Call, ends: tuple[AtRevision, AtRevision], verdict: Verdict) -> Related:
    request = call.request()

    def decide() -> tuple[Change, Relation]:
        first, second = as_seen(call, ends)
        change = relations.relate(
            first,
            second,
            verdict,
            relation_between(call, first.id, second.id),
            request,
            replaced=replaced_by(call, relations.newcomer(first, second)) if verdict.kind == "conflicts" else (),
        )
        return change, cast("Relation", change.puts[0])

    commit, relation = call.decide_and_commit(decide)
    pair = tuple(call.memories([id for id, _ in ends]).values())
    hint = why_proposed(call, relation, pair) if relation.status == "proposed" else ""
    touched = [edit.id for edit in commit.event.edits]
    for one in pair:
        if verdict.kind == "conflicts" and one.id in touched and one.waiting:
            hint = f"{one.handle} waits for review now: the other is curated. A person decides: engram review."
    return Related(at=call.now, relation=relation, memories=pair, event=commit.event.seq, hint=hint)


def why_proposed(call: Call, relation: Relation, pair: tuple[Memory, ...]) -> str:
    """Why a verdict does nothing yet, and who makes it count."""
    for one in pair:
        if relation.kind == "supersedes" and one.id == relation.from_id and (one.staged or one.waiting):
            if one.staged:
                return _once_merged(call, one, next(other for other in pair if other is not one))
            if any(other.tier == CURATED for other in pair if other is not one):
                return (
                    f"{one.handle} waits for review itself, and the other is curated: a person decides about both."
                    f" For this one: engram promote {one.handle} --confirm, and then this verdict again."
                    f" For the other: engram forget {one.handle}"
                )
            return f"{one.handle} waits for review itself; then it replaces the other: engram promote {one.handle}."
    named = {one.id: one.called for one in pair}
    curated = [one.called for one in pair if one.stands_curated]
    why = f"{curated[0]} is curated" if curated else f"A person wrote or approved {named[relation.to_id]}"
    verdict = f"engram judge {named[relation.from_id]}~{named[relation.to_id]} {relation.kind}"
    listed = ", or engram conflicts" if relation.kind in relations.TELLING else ""
    return f"{why}, so a person decides: {verdict}{listed}."


def _once_merged(call: Call, staged: Memory, other: Memory) -> str:
    """What becomes of the verdict that a staged memory supersedes another, and when."""
    holds = f"{staged.handle} holds on {staged.branch.rpartition('#')[2]} until that is merged: engram settle."
    if is_firm(other, call.caller):
        return f"{holds} Then a person decides: engram judge {staged.called}~{other.called} supersedes."
    return f"{holds} Then it replaces the other."


def _related_before(call: Call, event: Event) -> Related:
    """The first answer again: the relation as it stands."""
    for relation in call.relations(event.subjects).values():
        memories = tuple(call.memories([relation.from_id, relation.to_id]).values())
        return Related(at=call.now, relation=relation, memories=memories, event=event.seq)
    raise no_longer_there()


def _edges(call: Call, focus: Memory, limit: int, *, judged: bool) -> Iterator[tuple[Memory, str]]:
    """Every memory that has to do with this one, with the name of the edge; the surest edges first."""
    yield from chain(call, focus)
    yield from _judged(call, focus)
    if judged:
        return
    live = Filter(standings=("live",), now=call.now, view=call.caller.view, except_kinds=quiet(call.policy.kinds))
    yield from _citing(call, focus, live)
    for tag in focus.tags[:MOST_TAGS]:
        page = call.page(live._replace(tags=(tag,)), limit=MOST_PER_TAG)
        for one in page.records:
            yield one, f"tag:{tag}"
    around = timeline(call, focus.id, before=1, after=1)
    yield from ((one, "before") for one in around.before)
    yield from ((one, "after") for one in around.after)
    asked = Question(
        (focus.summary or focus.text)[:ASKED],
        live._replace(standings=(), now=None),
        call.access,
        now=call.now,
        limit=limit + 1,
        embedder=call.embedder,
    )
    for hit in look_up(call.engine, asked).hits:
        if hit.relevance >= ALIKE:
            yield hit.memory, "alike"


def _citing(call: Call, focus: Memory, live: Filter) -> Iterator[tuple[Memory, str]]:
    """Those of the newest memories of its scope that rest on the same file, commit or page."""
    cited = {(one.kind, one.ref) for one in focus.citations}
    if not cited:
        return
    where = live._replace(scopes=(focus.scope,), except_kinds=())  # a discovery cites more than any other
    after = None
    for _ in range(MOST_WALKED // PAGE):
        page = call.page(where, after=after, limit=PAGE)
        for one in page.records:
            for citation in one.citations:
                if (citation.kind, citation.ref) in cited:
                    yield one, f"cites:{citation.ref}"
        if (after := page.next) is None:
            return


def chain(call: Call, focus: Memory) -> Iterator[tuple[Memory, str]]:
    """What this memory replaced, and what replaced it, link by link; what may not be read ends the chain."""
    seen = {focus.id}
    newer: Memory | None = focus
    while newer is not None and newer.replaced_by and len(seen) < MOST_CHAIN:
        newer = next(iter(call.memories([newer.replaced_by]).values()), None)
        if newer is None or newer.id in seen:
            break
        seen.add(newer.id)
        yield newer, "superseded_by"
    older = [focus.id]
    while older and len(seen) < MOST_CHAIN:
        page = call.page(Filter(replaced_by=older.pop()), limit=MOST_CHAIN)
        for one in page.records:
            if one.id not in seen:
                seen.add(one.id)
                older.append(one.id)
                yield one, "supersedes"


def _judged(call: Call, focus: Memory) -> Iterator[tuple[Memory, str]]:
    page = call.engine.scan(
        "relation", Filter(touches=(focus.id,)), call.access_to("relation"), limit=MOST_RELATIVES
    )
    for relation in cast("tuple[Relation, ...]", page.records):
        out = relation.from_id == focus.id
        for one in call.memories([relation.to_id if out else relation.from_id]).values():
            name = relation.kind if out or relation.kind != "supersedes" else "superseded_by"
            gone = standing(one, call.now, call.caller.view) in ("forgotten", "rejected")
            if not gone and relation.status != "ignored":
                yield one, f"{name}?" if relation.status == "proposed" else name
