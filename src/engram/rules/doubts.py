"""What nobody vouches for, a person decides about: an agent cannot get it in by saying it in other words.

    rewords     whether a text says most of what another says
    sayings     everything in which something is said: an agent reads a summary as it reads a text
    vouched     a proposal as it is believed, beside what waits because nobody vouches for it
    require_person_for   what waits like that is neither reworded nor forgotten by an agent

It is a filter, not a wall: who says a thing in quite other words says something new, as far as words can tell.
"""

import functools
from collections.abc import Sequence
from itertools import pairwise

from engram.model.change import Request
from engram.model.memory import UNVOUCHED, Memory
from engram.model.text import RECENT, query_terms, terms
from engram.rules.access import require_person
from engram.rules.likeness import same
from engram.rules.proposals import Proposal

SHARED = 0.7
"""The share of what the shorter of two texts says that the other says too, from which on it says the same."""

FEWEST = 4
"""A text with fewer telling words than this says the same only where the other says little beside."""

LONGER = 2
"""A text this many times as long may have most words of the other by chance: then their order counts too."""

IN_ORDER = 0.5


def rewords(text: str, other: str) -> bool:
    """Whether one text says most of what the other says, in whatever order, with whatever around it."""
    if same(text, other):
        return True
    few, many = sorted((_said(text), _said(other)), key=lambda said: len(set(said)))
    least, most = set(few), set(many)
    whole = len(least if len(least) >= FEWEST else most)
    if not whole or len(least & most) < SHARED * whole:
        return False
    return len(most) <= LONGER * len(least) or _in_order(few, many)


def sayings(of: Proposal | Memory) -> tuple[str, ...]:
    """All texts of a proposal or a memory. Each counts: of a long one, an agent is told the summary alone."""
    return tuple(filter(None, (of.text, of.summary, of.key, " ".join(of.tags or ()), of.kind)))


def vouched(
    proposal: Proposal,
    twins: Sequence[Memory],
    doubted: Sequence[Memory],
    request: Request,
    old: Memory | None = None,
) -> Proposal:
    """The proposal as it is believed: an agent that rewords what waits (`doubted`) is trusted no more than that.

    A person's own words are theirs, wherever they have them from; `twins` that count vouch for the same text, and
    what the memory that is revised (`old`) says already is nothing new.
    """
    if request.caller.human or not proposal.trusted:
        return proposal
    known = set(sayings(old)) if old else set()
    if any(twin.status == "promoted" for twin in twins):
        known.add(proposal.text)
    waiting = [memory for memory in (*twins, *doubted) if is_doubted(memory)]
    for said in sayings(proposal):
        for memory in waiting if said not in known else ():
            if rewords(said, memory.text) or (memory.summary and rewords(said, memory.summary)):
                return proposal._replace(trusted=False, source=memory.source)
    return proposal


def is_doubted(memory: Memory) -> bool:
    """Whether a memory waits because nobody vouches for it, forgotten or not."""
    return memory.status == "pending" and memory.held_for == UNVOUCHED


def require_person_for(memory: Memory, request: Request, act: str, command: str = "") -> None:
    """Refuse an agent that would reword or forget what waits: it could say it again as its own.

    Raises:
        Forbidden: when an agent asks.
    """
    if is_doubted(memory):
        require_person(request, f"{act} what waits because nobody vouches for it: {memory.called}", command)


@functools.lru_cache(maxsize=RECENT)
def _said(text: str) -> tuple[str, ...]:
    """The words of a text that say something, in order; kept, because one text is compared with many."""
    telling = set(query_terms(text))
    return tuple(term for term in terms(text) if term in telling)


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether at least half of what stands side by side in one text does so in the other."""
    pairs = set(pairwise(few))
    return len(pairs.intersection(pairwise(many))) >= IN_ORDER * len(pairs)
