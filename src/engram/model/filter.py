"""What is asked for and what may be seen: Filter and Access, each with its one reference meaning."""

from datetime import datetime
from typing import NamedTuple

from engram.errors import Invalid
from engram.model import text as words
from engram.model.codec import Record
from engram.model.memory import STANDINGS, Memory, Origin, Standing, standing
from engram.model.outline import outline
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session


class Filter(NamedTuple):
    """A closed list of clauses, all of which must hold. None (or an empty tuple) means "not asked".

    `now` and `view` are the moment and the branch at which `standings` are meant; `view` only narrows.
    """

    ids: tuple[str, ...] | None = None
    scopes: tuple[Scope, ...] = ()  # any of these, exactly
    within: Scope | None = None  # this scope or one it contains
    kinds: tuple[str, ...] = ()  # any of these
    except_kinds: tuple[str, ...] = ()  # none of these
    tags: tuple[str, ...] = ()  # all of these
    origin: Origin | None = None
    pinned: bool | None = None
    standings: tuple[Standing, ...] = ()  # any of these
    owner: str | None = None
    session: str | None = None
    key: str | None = None
    digest: str | None = None
    outline: str | None = None
    near: str | None = None  # this text, or the same statement but for a value (equal digest or outline)
    amends: str | None = None
    replaced_by: str | None = None
    held_for: str | None = None  # what it waits for, or waited for
    agent: str | None = None  # the agent that it was made with
    made_on: str | None = None  # the branch that it was made on
    ends_by: datetime | None = None  # stale or expired by then, unless somebody looks after it
    touches: tuple[str, ...] = ()  # relations only: from or to any of these memories
    since: datetime | None = None  # created at or after
    until: datetime | None = None  # created before
    now: datetime | None = None
    view: str = ""


ANYTHING = Filter()


class Access(NamedTuple):
    """What one caller may read, in one fixed shape: own, or shared and in reach; and in the workspace.

    Compiled from a Caller by `rules.access` and required by every read of every engine. There are two
    exceptions: `unowned`, what has no owner and nothing else, for the operator who gives it one; and `keyring`,
    everybody's, with which nothing but keys is ever asked for, by those who look after them.
    """

    owner: str
    reach: frozenset[str] | None = None  # places besides global; None is every project that is not closed
    workspace: str | None = None  # "" is outside them all; None is any, for whoever has the store to themselves
    closed: frozenset[str] = frozenset()  # projects with members, of whom this caller is none
    agent: str = ""  # the agent whose scope is in reach beside projects
    unowned: bool = False
    keyring: bool = False

    def allows(self, owner: str | None, visibility: str, scope: Scope) -> bool:
        """The reference meaning of access. A record without an owner is readable by nobody who has one."""
        if self.unowned or owner is None:
            return self.unowned and owner is None
        if self.keyring:
            return True
        if self.workspace is not None and scope.workspace != self.workspace:
            return False
        return owner == self.owner or (visibility == "shared" and self._reaches(scope))

    def reaches(self, scope: Scope) -> bool:
        """Whether what is shared there may be read."""
        return (self.workspace is None or scope.workspace == self.workspace) and self._reaches(scope)

    def _reaches(self, scope: Scope) -> bool:
        if self.reach is not None:
            return scope.place == "global" or scope.place in self.reach
        if scope.level == "project":
            return scope.place not in self.closed
        return scope.place in ("global", f"agent:{self.agent}")


COMMON = frozenset({"ids", "scopes", "within", "owner", "touches", "since", "until", "now", "view"})
"""The clauses that every type of record can answer; the others are about memories."""


def common(where: Filter) -> Filter:
    """The filter, if any type of record can answer it.

    Raises:
        Invalid: when a clause is about memories only.
    """
    for name, value, unasked in zip(Filter._fields, where, ANYTHING, strict=True):
        if value != unasked and name not in COMMON:
            raise Invalid(f"Only memories can be filtered by {name}.")
    return where


def matches_any(record: Record, where: Filter) -> bool:
    """The reference meaning of a filter for any type of record."""
    if isinstance(record, Memory):
        return matches(record, where)
    scope = record.scope if isinstance(record, Session) else GLOBAL
    made = record.started_at if isinstance(record, Session) else record.created_at
    asked = common(where)
    return (
        (asked.ids is None or record.id in asked.ids)
        and (not asked.scopes or scope in asked.scopes)
        and (asked.within is None or asked.within.contains(scope))
        and asked.owner in (None, record.owner)
        and (not asked.touches or _touches(record, asked.touches))
        and (asked.since is None or made >= asked.since)
        and (asked.until is None or made < asked.until)
    )


def matches(memory: Memory, where: Filter) -> bool:
    """The reference meaning of a filter, which engines translate and none may redefine."""
    return (
        (where.ids is None or memory.id in where.ids)
        and (not where.scopes or memory.scope in where.scopes)
        and (where.within is None or where.within.contains(memory.scope))
        and (not where.kinds or memory.kind in where.kinds)
        and memory.kind not in where.except_kinds
        and all(tag in memory.tags for tag in where.tags)
        and where.origin in (None, memory.origin)
        and where.pinned in (None, memory.pinned)
        and where.owner in (None, memory.owner)
        and where.session in (None, memory.session)
        and where.key in (None, memory.key)
        and (where.digest is None or where.digest == memory.digest)
        and (where.outline is None or where.outline == outline(memory.text))
        and (where.near is None or _near(memory.text, where.near))
        and where.amends in (None, memory.amends)
        and where.replaced_by in (None, memory.replaced_by)
        and where.held_for in (None, memory.held_for)
        and where.agent in (None, memory.context.agent)
        and where.made_on in (None, memory.context.branch)
        and (where.ends_by is None or _ends(memory, where.ends_by))
        and not where.touches
        and (where.since is None or memory.created_at >= where.since)
        and (where.until is None or memory.created_at < where.until)
        and _stands(memory, where)
    )


def _touches(record: Record, ids: tuple[str, ...]) -> bool:
    return isinstance(record, Relation) and (record.from_id in ids or record.to_id in ids)


def _ends(memory: Memory, by: datetime) -> bool:
    expires, stales = memory.valid_until, memory.stale_at
    return (expires is not None and expires <= by) or (stales is not None and stales < by)


def _near(text: str, other: str) -> bool:
    outlined = outline(other)
    return words.digest(text) == words.digest(other) or bool(outlined and outlined == outline(text))


def moment(where: Filter) -> datetime:
    """The moment at which a filter's standings are meant.

    Raises:
        Invalid: when it asks for standings without one, or for one that does not exist.
    """
    if where.now is None:
        raise Invalid("A filter by standing needs the moment it is meant at.")
    if unknown := set(where.standings) - set(STANDINGS):
        raise Invalid(f"standing cannot be {min(unknown)!r}.", "Use one of: " + ", ".join(STANDINGS) + ".")
    return where.now


def _stands(memory: Memory, where: Filter) -> bool:
    return not where.standings or standing(memory, moment(where), where.view) in where.standings
