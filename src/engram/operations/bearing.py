"""What is known that bears on a memory or a proposal: twins, rivals, relations, and what it would supersede."""

from collections.abc import Sequence
from itertools import chain, islice, takewhile
from typing import Any, cast

from engram.model.change import Request
from engram.model.filter import Filter
from engram.model.memory import Memory, standing
from engram.model.outline import outline
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.text import digest
from engram.operations.base import Call, every, newest, pages
from engram.operations.doubts import doubted
from engram.rules.admission import Known, repeated
from engram.rules.changes import Step
from engram.rules.past import without
from engram.rules.proposals import Proposal
from engram.rules.relations import pair_id, taking_effect
from engram.rules.routing import MOST_RIVALS, Beside
from engram.rules.undo import reversed_by

MOST_TWINS = 50
"""How many memories of the same text are compared one by one."""

MOST_NEAR = 40
"""How many memories of the same text or outline are read beside a proposal."""

MOST_LINKS = 16
"""How far the chain of what replaced a memory is followed."""


def known(call: Call, proposal: Proposal, old: Memory | None = None) -> Known:
    """What the caller has in this scope that bears on a proposal; `old` is what it would revise."""
    place: dict[str, Any] = {"owner": call.caller.owner, "scopes": (proposal.scope,)}
    keyed = None if proposal.apart else holder_of(call, proposal.key, proposal.scope)
    near = _related(call, Filter(**place, near=proposal.text), MOST_NEAR)
    same = digest(proposal.text)
    twins = tuple(one for one in near if one.digest == same)
    alike = [one for one in near if standing(one, call.now, call.caller.view) == "live"]
    if len(near) == MOST_NEAR:  # so many are alike that what bears on it may be beyond the page
        twins = _twins(call, Filter(**place, digest=same), apart=proposal.apart)
        alike = _live(call, Filter(**place, outline=outline(proposal.text), view=call.caller.view))
    rivals = tuple(one for one in alike if one.digest != same)
    amended = old or keyed or (None if proposal.apart else repeated(proposal, twins))
    waits = _proposed(call, amended)
    bases = {one.id: base_of(call, amended, one) for one in (*waits, *twins) if amended and _amends(one, amended)}
    return Known(keyed, twins, rivals, waits, doubted(call, proposal), bases)


def _proposed(call: Call, amended: Memory | None) -> tuple[Memory, ...]:
    """An agent's proposals that wait to change a memory in use: its new words may become part of one."""
    if call.caller.human or amended is None or not amended.in_use:
        return ()
    waits = Filter(owner=call.caller.owner, amends=amended.id, standings=("pending",), now=call.now)
    return _related(call, waits)


def _amends(one: Memory, amended: Memory) -> bool:
    return one.amends == amended.id and one.status == "pending"


def base_of(call: Call, amended: Memory, proposal: Memory) -> Memory | None:
    """What a memory said when a proposal to change it was last made; None where history does not tell any more."""
    told = list(newest(call, proposal.id))
    void = reversed_by(told)
    anew = (one for one in told if one.action == "propose" and one.id not in void)
    if (made := next(anew, told[-1] if told else None)) is None:
        return None
    since = newest(call, amended.id)
    if made.replica == call.engine.replica():
        return without(amended, takewhile(lambda one: one.seq > made.seq, since))
    # What was done here before it came was unknown to whoever made it, as far as that is later.
    return without(amended, (one for one in since if one.time > made.time))


def holder_of(call: Call, key: str, scope: Scope) -> Memory | None:
    """The caller's memory that holds a key in a scope; what stands apart or was rejected there holds none."""
    named = every(call, Filter(owner=call.caller.owner, scopes=(scope,), key=key)) if key else ()
    return next((one for one in named if one.status != "rejected" and not one.apart), None)


def touched_by(call: Call, event: int) -> tuple[Memory, ...]:
    """The memories an event touched, as they stand now."""
    events = call.engine.events(after=event - 1, limit=1)
    return memories_by_id(call, events[0].subjects) if events else ()


def twins_of(call: Call, memory: Memory, *, apart: bool = False) -> tuple[Memory, ...]:
    """Memories of the same owner and scope with the same text, itself among them; `apart` if it will stand so."""
    where = Filter(owner=memory.owner, scopes=(memory.scope,), digest=memory.digest)
    return _twins(call, where, apart=apart or memory.apart)


def _twins(call: Call, where: Filter, *, apart: bool) -> tuple[Memory, ...]:
    """Those of one text; of very many the newest, one that was rejected, and the one that goes by its text.

    What stands `apart` takes a text from nobody, so for it that one is not looked for among all the others.
    """
    newest = _related(call, where, MOST_TWINS)
    if len(newest) < MOST_TWINS:
        return newest
    rejected = _related(call, where._replace(standings=("rejected",), now=call.now), 1)
    plain = () if apart else (one for one in every(call, where) if not (one.apart or one.amends or one.key))
    return (*newest, *(one for one in (*rejected, *islice(plain, 1)) if one not in newest))


def rivals_of(call: Call, memory: Memory) -> list[Memory]:
    """Live memories of the same owner and scope that may contradict it, and what replaced it, link by link."""
    where = Filter(owner=memory.owner, scopes=(memory.scope,), outline=outline(memory.text))
    found = _live(call, where)
    link = memory.replaced_by
    for _ in range(MOST_LINKS if link else 0):
        above = list(call.memories([link]).values())
        found += above
        if not above or not (link := above[0].replaced_by):
            break
    return found


def relations_of(call: Call, id: str) -> tuple[Relation, ...]:
    """All of the caller's relations from or to a memory."""
    found = pages(call, "relation", Filter(touches=(id,), owner=call.caller.owner))
    return cast("tuple[Relation, ...]", tuple(chain.from_iterable(found)))


def replaced_by(call: Call, memory: Memory) -> tuple[Memory, ...]:
    """What a memory has put out of use, of the caller's own; proposals that became part of it are done with."""
    return tuple(every(call, Filter(replaced_by=memory.id, amends="", owner=call.caller.owner)))


def relation_between(call: Call, one: str, other: str) -> Relation | None:
    """What the caller keeps of two memories, told by their ids in either order."""
    id = pair_id(call.caller.owner, one, other)
    return call.relations([id]).get(id)


def superseded_by(call: Call, memory: Memory, request: Request, *, judged: bool = False) -> list[Step]:
    """What goes out of use when this memory comes into use; with `judged`, proposed verdicts do not count."""
    return taking_effect(memory, superseding(call, memory, judged=judged), request)


def superseding(call: Call, memory: Memory, *, judged: bool = False) -> list[tuple[Relation, Memory]]:
    """The caller's verdicts that this memory supersedes another, with that one; `judged`: no proposed ones."""
    said = [one for one in relations_of(call, memory.id) if one.from_id == memory.id and one.kind == "supersedes"]
    said = [one for one in said if one.status == "judged" or (one.status == "proposed" and not judged)]
    others = call.memories(one.to_id for one in said)
    return [(one, others[one.to_id]) for one in said if one.to_id in others]


def _live(call: Call, where: Filter) -> list[Memory]:
    """The newest live memories of an outline; a text without one is like no other."""
    if not where.outline:
        return []
    return list(_related(call, where._replace(standings=("live",), now=call.now), MOST_RIVALS))


def _related(call: Call, where: Filter, limit: int = MOST_TWINS) -> tuple[Memory, ...]:
    return call.page(where, limit=limit).records


def memories_by_id(call: Call, ids: Sequence[str]) -> tuple[Memory, ...]:
    """Those of these memories that the caller may read."""
    return tuple(call.memories(ids).values())


def beside_of(call: Call, memory: Memory) -> Beside:
    """What the store holds that bears on a memory that waits."""
    amended = target_of(call, memory)
    verdicts = superseding(call, memory)
    steps = taking_effect(memory, verdicts, call.request())
    return Beside(
        amended=amended,
        base=base_of(call, amended, memory) if amended else None,
        twins=twins_of(call, memory),
        rivals=tuple(rivals_of(call, memory)),
        superseded=tuple(each.before for each in steps if isinstance(each.before, Memory)),
        verdicts=tuple(verdicts),
        came_by=_came_by(call, memory) if memory.held_for == "conflict" else "",
    )


def _came_by(call: Call, memory: Memory) -> str:
    """The action of the first event about a memory, or ""."""
    return next((event.action for event in call.engine.events(subject=memory.id, limit=1)), "")


def target_of(call: Call, memory: Memory) -> Memory | None:
    """What a memory would amend; None where that is nothing, or gone."""
    return call.memories([memory.amends]).get(memory.amends) if memory.amends else None
