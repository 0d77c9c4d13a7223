"""Who is a member of which project, in which role: a table from the server's own settings."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.model.caller import ROLES
from engram.model.scope import GLOBAL, Scope

_FORM = 'Write [grants."project:NAME"] with reader, writer, reviewer or admin = ["subject", "a@b.c", "group:NAME"].'


class Grants(NamedTuple):
    """Place → name of a member → its role there. Names are subjects, addresses and `group:NAME`."""

    places: Mapping[str, Mapping[str, str]]

    @staticmethod
    def read(table: Mapping[str, Any]) -> "Grants":
        """The grants of a settings table. Of two roles of one name, the greater counts.

        Raises:
            Invalid: naming the place or the role that is none.
        """
        return Grants({_place(place): _members(place, roles) for place, roles in table.items()})

    def of(self, names: Iterable[str]) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
        """What one who goes by these names holds: roles in the whole org, and the role in each place with members.

        Nobody is shut out of what holds everywhere: `global` only gives roles.
        """
        known = frozenset(names)
        held = {
            place: max((role for name, role in members.items() if name in known), key=ROLES.index, default="")
            for place, members in self.places.items()
        }
        everywhere = held.pop(str(GLOBAL), "")
        return frozenset({everywhere} - {""}), tuple(sorted(held.items()))


def _place(text: str) -> str:
    scope = Scope.parse(text)
    if scope.level not in ("global", "project") or scope.workspace or scope.run:
        raise Invalid(f"grants cannot be for {text!r}.", _FORM)
    return scope.place


def _members(place: str, roles: object) -> Mapping[str, str]:
    if not isinstance(roles, Mapping):
        raise Invalid(f"grants for {place} are not a table.", _FORM)
    if unknown := [role for role in roles if role not in ROLES]:
        raise Invalid(f"grants for {place} have no role {unknown[0]!r}.", _FORM)
    members: dict[str, str] = {}
    for role in ROLES:
        names = roles.get(role, [])
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise Invalid(f"grants for {place}: {role} is not a list of names.", _FORM)
        members |= dict.fromkeys(names, role)
    return members
