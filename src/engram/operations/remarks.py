"""What was judged or is suspected about memories, in a few words beside each of them."""

from collections.abc import Mapping, Sequence
from typing import cast

from engram.model.answers import Recollection
from engram.model.filter import Filter
from engram.model.memory import Memory, standing
from engram.model.record import NONE
from engram.model.relation import Relation
from engram.operations.base import Call
from engram.rules.relations import mark, suspected
from engram.rules.suspicions import clashing

MOST_LOOKED_AT = 200
MOST_MARKS = 3
"""More about one memory is a page of its own: `related`."""


def remarks(call: Call, memories: Sequence[Memory]) -> Mapping[str, tuple[str, ...]]:
    """What verdicts and proposals say of these memories, by id, and which of them are at odds with one another.

    One look-up where nothing was judged. A pair of which anything was said is not suspected besides.
    """
    if not memories:
        return NONE
    asked = Filter(touches=tuple(one.id for one in memories))
    page = call.engine.scan("relation", asked, call.access_to("relation"), limit=MOST_LOOKED_AT)
    relations = cast("tuple[Relation, ...]", page.records)
    telling = [one for one in relations if mark(one, one.from_id)]
    ends = {end for one in telling for end in (one.from_id, one.to_id)}
    known = call.memories(ends) if ends else {}
    told = {one.id: [*_judged(call, one.id, telling, known)] for one in memories}
    spoken_of = {frozenset((one.from_id, one.to_id)) for one in relations}
    live = [one for one in memories if standing(one, call.now, call.caller.view) == "live"]
    for first, second in clashing(live):
        if frozenset((first.id, second.id)) not in spoken_of:
            told[first.id].append(suspected(second))
            told[second.id].append(suspected(first))
    return {id: tuple(said)[:MOST_MARKS] for id, said in told.items() if said}


def remarked(call: Call, hits: Sequence[Recollection]) -> tuple[Recollection, ...]:
    """Hits, each with what is said of its memory."""
    told = remarks(call, [hit.memory for hit in hits])
    return tuple(hit._replace(marks=told.get(hit.memory.id, ())) for hit in hits)


def _judged(call: Call, id: str, relations: Sequence[Relation], known: Mapping[str, Memory]) -> Sequence[str]:
    said = []
    for relation in relations:
        if id not in (relation.from_id, relation.to_id):
            continue
        other = known.get(relation.to_id if relation.from_id == id else relation.from_id)
        gone = ("forgotten", "rejected") if relation.kind == "supersedes" else ("forgotten", "rejected", "replaced")
        if other is not None and standing(other, call.now, call.caller.view) not in gone:
            said.append(mark(relation, id).format(other.called))
    return said
