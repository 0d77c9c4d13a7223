"""What of a store goes to a place of exchange, and what was already sent there.

Loaded only where somebody syncs. The rules of carrying decide; `exchanging` does what follows.
"""

from collections.abc import Iterator
from typing import NamedTuple, cast

from engram.errors import Invalid
from engram.model.filter import ANYTHING
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import session_ids
from engram.operations.base import Call, every, pages
from engram.rules import carrying
from engram.rules.carrying import Reach


class Found(NamedTuple):
    """What lies in a place, as far as it can be believed."""

    carried: frozenset[str]  # every record that somebody has told of here
    mine: frozenset[str]  # those that this replica has told of
    covered: tuple[tuple[int, int], ...]  # the stretches of our own history that were told
    last: str  # our newest chunk
    erased: frozenset[str]

    @property
    def end(self) -> int:
        """The last position of our own history that was told; 0 where nothing was."""
        return max((last for _, last in self.covered), default=0)

    @property
    def gaps(self) -> list[int]:
        """Positions where a stretch begins that no chunk covers any more: a chunk of ours was removed."""
        gaps, at = [], 1
        for first, last in sorted(self.covered):
            if first > at:
                gaps.append(at)
            at = max(at, last + 1)
        return gaps

    def covers(self, position: int) -> bool:
        """Whether a position of our own history was told."""
        return any(first <= position <= last for first, last in self.covered)


class Ours:
    """What of this store goes to a place: memories in reach, the sessions they come from, and verdicts on them."""

    def __init__(self, call: Call, reach: Reach) -> None:
        self.memories: set[str] = set()
        self.attached = 0  # how many files are attached to them
        sessions: set[str] = set()
        counts: dict[str, int] = {}
        for where in reach.filters():
            for memory in every(call, where):
                if reach.covers(memory.scope, memory.visibility):
                    self.memories.add(memory.id)
                    self.attached += len(memory.assets)
                    sessions |= {memory.session} if memory.session else set()
                else:
                    for name, count in carrying.stayed([memory], reach).items():
                        counts[name] = counts.get(name, 0) + count
        self.stayed = counts
        self.relations = dict(self._verdicts(call))
        known = call.sessions(sessions)
        copies = (id for name in sessions - known.keys() for id in session_ids("", name)[1:])
        known |= call.sessions(copies)
        here = {id for id, session in known.items() if reach.holds("session", session.scope)}
        self.ids = frozenset(self.memories | here | self.relations.keys())

    def _verdicts(self, call: Call) -> Iterator[tuple[str, set[str]]]:
        for page in pages(call, "relation", ANYTHING):
            for record in cast("tuple[Relation, ...]", page):
                if {record.from_id, record.to_id} <= self.memories:
                    yield record.id, {record.from_id, record.to_id}


def canonical_reach(reach: Reach) -> str:
    """How a chunk says what it was made for."""
    words = [str(reach.scope), *(["private"] if reach.private else []), *(["global"] if reach.everywhere else [])]
    return " ".join(words)


def project_told(reach: str) -> str:
    """The project that a chunk says it was made for; "" where it says none."""
    told = reach.removesuffix(" global").removesuffix(" private")
    try:
        scope = Scope.parse(told)
    except Invalid:
        return ""
    return told if scope.level == "project" and not scope.run else ""
