"""What was judged about memories, in a few words beside each of them."""

from collections.abc import Mapping, Sequence
from typing import cast

from engram.model.filter import Filter
from engram.model.memory import Memory, standing
from engram.model.record import NONE
from engram.model.relation import Relation
from engram.operations.base import Call
from engram.rules.relations import mark

MOST_LOOKED_AT = 200
MOST_MARKS = 3
"""More about one memory is a page of its own: `related`."""


def marks(call: Call, memories: Sequence[Memory]) -> Mapping[str, tuple[str, ...]]:
    """What verdicts and proposals say of these memories, by id; one look-up where there are none."""
    if not memories:
        return NONE
    asked = Filter(touches=tuple(one.id for one in memories))
    page = call.engine.scan("relation", asked, call.access_to("relation"), limit=MOST_LOOKED_AT)
    relations = [one for one in cast("tuple[Relation, ...]", page.records) if mark(one, one.from_id)]
    if not relations:
        return NONE
    ends = {end for one in relations for end in (one.from_id, one.to_id)}
    known = cast("dict[str, Memory]", call.engine.get("memory", ends, call.access))
    told = {one.id: tuple(_told(call, one.id, relations, known))[:MOST_MARKS] for one in memories}
    return {id: said for id, said in told.items() if said}


def _told(call: Call, id: str, relations: Sequence[Relation], known: Mapping[str, Memory]) -> Sequence[str]:
    said = []
    for relation in relations:
        if id not in (relation.from_id, relation.to_id):
            continue
        other = known.get(relation.to_id if relation.from_id == id else relation.from_id)
        gone = ("forgotten", "rejected") if relation.kind == "supersedes" else ("forgotten", "rejected", "replaced")
        if other is not None and standing(other, call.now, call.caller.view) not in gone:
            said.append(mark(relation, id).format(other.called))
    return said
