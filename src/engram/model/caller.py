"""Who asks: made by a surface from credentials, never from an argument."""

from typing import NamedTuple

from engram.model.memory import Memory
from engram.model.relation import Relation
from engram.model.session import Session

READER, WRITER, REVIEWER, ADMIN = ROLES = ("reader", "writer", "reviewer", "admin")
"""What a member of a project may do there; each may also do what those before it may."""


UNNAMED = "agent"
"""What an agent is called that does not say its name."""


class Caller(NamedTuple):
    """One identity on one org's store.

    `owner` is the authorization key and `actor` the readable name; both are `""` with authentication off.
    `reach` names the projects and agents (`project:api`, `agent:reviewer`) whose shared memories are in reach;
    None means every project. `workspace` is where this caller stands, `""` outside them all; None is all of them,
    for whoever is at the store itself and never for a member of a team. `roles` are held in the whole org. `grants`
    are the places that have members, each with this caller's role there, `""` for one who is none. `view` is the
    branch the caller stands on: a claim that can only narrow.
    """

    owner: str = ""
    actor: str = ""
    org: str = ""
    agent: str = ""
    session: str = ""
    workspace: str | None = None
    reach: frozenset[str] | None = None
    roles: frozenset[str] = frozenset()
    human: bool = True
    view: str = ""
    grants: tuple[tuple[str, str], ...] = ()
    writes: bool = True  # False where the credentials are for reading only
    alone: bool = False  # no person is at the other end who could be asked: a service, or a key
    keyed: bool = False  # the credentials are a key, which mints no other

    @property
    def name(self) -> str:
        """How history names this caller."""
        return self.actor or self.agent or ("person" if self.human else "agent")

    def is_in(self, role: str, place: str) -> bool:
        """Whether this caller may do in a place what the role says; where nobody is a member, everyone writes."""
        own = dict(self.grants).get(place, WRITER)
        return own != "" and any(ROLES.index(each) >= ROLES.index(role) for each in (own, *self.roles))

    def owns(self, record: Memory | Session | Relation) -> bool:
        """Whether a record is this caller's own. What has no owner is nobody's."""
        return record.owner is not None and record.owner == self.owner

    def may_judge(self, memory: Memory) -> bool:
        """Whether a verdict on a memory is this caller's: its own, or a reviewer's in the memory's project."""
        return memory.owner is not None and (self.owns(memory) or self.is_in(REVIEWER, memory.scope.place))

    def judges(self) -> bool:
        """Whether there is a place in which this caller reviews what others wrote."""
        return any(self.is_in(REVIEWER, place) for place in ("global", *dict(self.grants)))
