"""Who asks: made by a surface from credentials, never from an argument."""

from typing import NamedTuple

REVIEWER = "reviewer"


class Caller(NamedTuple):
    """One identity on one org's store.

    `owner` is the authorization key and `actor` the readable name; both are `""` with authentication off.
    `reach` names the projects and agents (`project:api`, `agent:reviewer`) whose shared memories are in reach;
    None means all of them. `view` is the branch the caller stands on: a claim that can only narrow.
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

    @property
    def name(self) -> str:
        """How history names this caller."""
        return self.actor or self.agent or ("person" if self.human else "agent")


LOCAL = Caller()
"""The person at this machine, with authentication off."""
