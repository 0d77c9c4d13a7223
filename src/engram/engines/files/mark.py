"""How much of history a text of the registry knows: the last position of every chain, as its `as_of` key.

A text that somebody saves may be older than the store: an editor's buffer, a backup, the file of another machine.
By its mark it is compared with the state it was made from, and not with what came later.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from engram.model.event import Event
from engram.model.hashing import sha256

Mark = Mapping[str, int]
"""Chain → the last position in it that is known. A chain is a replica's, by a short name."""

_PLACE = re.compile(r"(\d{1,15})@([0-9a-f]{8})")


@cache
def chain_of(replica: str) -> str:
    """The short name of a replica's chain."""
    return sha256(replica.encode()).hexdigest()[:8]


def parse_mark(text: str) -> dict[str, int]:
    """Read a mark; what is none of it is passed over. Of a chain that stands twice the later place counts."""
    mark: dict[str, int] = {}
    for position, chain in _PLACE.findall(text):
        mark[chain] = max(int(position), mark.get(chain, 0))
    return mark


def print_mark(mark: Mark) -> str:
    """The mark as the value of its key, such as `17@1f0c2a9b`: every YAML reader takes it for a text."""
    return " ".join(f"{position}@{chain}" for chain, position in sorted(mark.items()))


def advanced(mark: Mark, events: Iterable[Event]) -> dict[str, int]:
    """The mark of a text that knows some more events."""
    known = dict(mark)
    for event in events:
        chain = chain_of(event.replica)
        known[chain] = max(event.position, known.get(chain, 0))
    return known


def knows(mark: Mark, event: Event) -> bool:
    """Whether a text with this mark was made after an event."""
    return event.position <= mark.get(chain_of(event.replica), 0)
