"""What waits because nobody vouches for it, as far as it bears on what an agent says now."""

from engram.model.filter import Filter
from engram.model.memory import UNVOUCHED, Memory
from engram.model.query import Query
from engram.model.text import query_terms
from engram.operations.base import Call
from engram.rules.doubts import SHARED, sayings
from engram.rules.proposals import Proposal

MOST_COMPARED = 50
"""So many are compared one by one; of more, those that have most of the words."""

MOST_ASKED = 24
"""Words of a long text that are asked for: the first of it."""


def doubted(call: Call, proposal: Proposal) -> tuple[Memory, ...]:
    """What the caller may read that waits because nobody vouches for it; nothing for a person, who is believed."""
    if call.caller.human:
        return ()
    where = Filter(standings=("pending",), held_for=UNVOUCHED, now=call.now, view=call.caller.view)
    page = call.page(where, limit=MOST_COMPARED)
    found = page.records
    if page.next is None:
        return found
    for said in sayings(proposal):
        if asked := query_terms(said)[:MOST_ASKED]:
            found += tuple(hit.memory for hit in call.engine.search(_most_of(asked, where), call.access))
    return found


def _most_of(terms: list[str], where: Filter) -> Query:
    """A question for what has most of the words.

    They stand in groups of just more words than may be left out, so that whatever has most has one of every group.
    """
    size = int((1 - SHARED) * len(terms)) + 1
    groups = [terms[at : at + size] for at in range(0, len(terms) - size + 1, size)]
    variants = {group[0]: tuple(group[1:]) for group in groups}
    return Query(tuple(variants), variants=variants, where=where, limit=MOST_COMPARED, ranked=False)
