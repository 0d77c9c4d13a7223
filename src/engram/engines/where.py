"""Filter and Access as SQL, once for every SQL engine: a translation, never a second meaning."""

import functools
import json
from collections.abc import Sequence
from typing import TypeVar

from engram.model.filter import Access, Filter, moment
from engram.model.limits import print_time, storable
from engram.model.outline import outline
from engram.model.scope import Scope
from engram.model.text import digest

T = TypeVar("T")

Clause = tuple[str, list[str | int]]
Timed = tuple[str, list[str | int | None]]

# The order of the cases is the order of the lines in `model.memory.standing`.
STANDING = """CASE
 WHEN forgotten_at IS NOT NULL THEN 'forgotten'
 WHEN status = 'rejected' THEN 'rejected'
 WHEN status = 'pending' AND held_for <> 'unmerged_branch' THEN 'pending'
 WHEN status = 'pending' AND branch <> ? THEN 'staged'
 WHEN replaced_by <> '' THEN 'replaced'
 WHEN valid_from > ? THEN 'scheduled'
 WHEN valid_until <= ? THEN 'expired'
 WHEN stale_at < ? THEN 'stale'
 ELSE 'live' END"""

UNHELD = "\x01"
"""Stands for a string that no database can be asked with. No field holds it either, so it equals nothing."""

LISTED = "SELECT value FROM json_each(?)"
"""The values of a list that is given whole, as SQLite says it."""

MOST_MARKED = 500
"""A longer list is given whole: a statement takes 32,766 marks in SQLite and 65,535 in PostgreSQL, and is planned
anew for each other number of them."""

WAITING = frozenset({"pending", "staged"})
"""The standings that only what is pending can have."""


def where(asked: Filter, access: Access) -> Clause:
    """The WHERE clause (without the word) and its parameters, for what is asked and may be read.

    Raises:
        TypeError: when access is missing.
    """
    if not isinstance(access, Access):
        raise TypeError("A read needs an Access.")
    now = print_time(moment(asked)) if asked.standings else ""
    alike = asked._replace(now=None, near=None)
    try:
        sql, values = (_clauses.__wrapped__ if asked.ids or asked.touches else _clauses)(alike, access)
    except TypeError:  # a list among the clauses, which cannot be kept
        sql, values = _clauses.__wrapped__(alike, access)
    told = [now if value is None else value for value in values]
    if asked.near is not None:
        near, texts = _near(asked.near)
        sql, told = f"{sql} AND ({near})", [*told, *map(held, texts)]
    return sql, told


@functools.lru_cache(maxsize=256)
def _clauses(asked: Filter, access: Access) -> tuple[str, tuple[str | int | None, ...]]:
    """The translation. Cached: questions repeat. None stands for the current moment, filled in afterwards.

    The text that a save is compared with (`near`) differs each time, and is left out here.
    """
    clauses: list[Clause | Timed] = [_access(access), *_scopes(asked), *_words(asked), *_made(asked)]
    clauses += _times(asked)
    told = " AND ".join(f"({sql})" for sql, _ in clauses)
    return told, tuple(held(value) for _, values in clauses for value in values)


def held(value: T) -> T | str:
    """A value as a database can be asked with it."""
    return UNHELD if isinstance(value, str) and not storable(value) else value


def _access(access: Access) -> Clause:
    if access.unowned:
        return "owner IS NULL", []
    if access.keyring:
        return "owner IS NOT NULL", []
    places = ["global", *(sorted(access.reach) if access.reach is not None else [f"agent:{access.agent}"])]
    reached, values = _any("place", places)
    if access.reach is None:
        shut, closed = _any("place", sorted(access.closed))
        reached += f" OR (substr(place, 1, 8) = 'project:' AND NOT ({shut}))"
        values += closed
    sql = f"owner = ? OR (owner IS NOT NULL AND visibility = 'shared' AND ({reached}))"
    if access.workspace is not None:
        return f"workspace = ? AND ({sql})", [access.workspace, access.owner, *values]
    return sql, [access.owner, *values]


def _scopes(asked: Filter) -> list[Clause]:
    clauses: list[Clause] = []
    if asked.scopes:
        clauses.append(_any("scope", [str(scope) for scope in asked.scopes]))
    if asked.within is not None:
        clauses.append(_within(asked.within))
    return clauses


def _within(scope: Scope) -> Clause:
    clauses = [("workspace = ?", scope.workspace), ("place = ?", scope.place)]
    if scope.run:
        clauses.append(("substr(scope, length(scope) - length(?) + 1) = ?", f"@{scope.run}"))
    sql = " AND ".join(part for part, _ in clauses)
    return sql, [value for part, value in clauses for _ in range(part.count("?"))]


def _words(asked: Filter) -> list[Clause]:
    clauses: list[Clause] = []
    if asked.ids is not None:
        clauses.append(_any("id", asked.ids))
    if asked.kinds:
        clauses.append(_any("kind", asked.kinds))
    if asked.except_kinds:
        named, values = _any("kind", asked.except_kinds)
        clauses.append((f"NOT ({named})", values))
    clauses += [("instr(memory.tags, ?) > 0", [f"\n{tag}\n"]) for tag in asked.tags]
    for name in ("origin", "owner", "session", "key", "digest", "outline", "amends", "replaced_by", "held_for"):
        if (value := getattr(asked, name)) is not None:
            # Saying that it is not empty lets a partial index, which leaves the empty ones out, answer.
            clauses.append((f"{name} = ? AND {name} <> ''" if value else f"{name} = ?", [value]))
    if asked.touches:
        (begins, values), (ends, _) = (_any(f"doc ->> '{end}'", asked.touches) for end in ("from_id", "to_id"))
        clauses.append((f"{begins} OR {ends}", [*values, *values]))
    if asked.pinned is not None:
        clauses.append(("pinned = ?", [int(asked.pinned)]))
    return clauses


def _near(text: str) -> Clause:
    told = outline(text)
    if told:
        return "digest = ? OR (outline = ? AND outline <> '')", [digest(text), told]
    return "digest = ?", [digest(text)]


def _made(asked: Filter) -> list[Clause]:
    """Where a memory was made. That has no columns: nothing on the path of a recall asks for it."""
    said = {"agent": asked.agent, "branch": asked.made_on}
    return [
        (f"coalesce(memory.doc -> 'context' ->> '{name}', '') = ?", [value])
        for name, value in said.items()
        if value is not None
    ]


def _times(asked: Filter) -> list[Timed]:
    clauses: list[Timed] = []
    if asked.since is not None:
        clauses.append(("created_at >= ?", [print_time(asked.since)]))
    if asked.until is not None:
        clauses.append(("created_at < ?", [print_time(asked.until)]))
    if asked.ends_by is not None:
        clauses.append(("valid_until <= ? OR stale_at < ?", [print_time(asked.ends_by)] * 2))
    if asked.standings:
        values: list[str | int | None] = [asked.view, None, None, None, *asked.standings]
        clauses.append((f"{STANDING} IN ({_marks(asked.standings)})", values))
        if WAITING.issuperset(asked.standings):
            # It follows from the line above; said like this, an index that has only these can answer.
            clauses.append(("status = 'pending'", []))
    return clauses


def _any(column: str, values: Sequence[str]) -> Clause:
    if not values:
        return "1 = 0", []  # an empty list is no SQL outside SQLite
    if len(values) > MOST_MARKED:
        return f"{column} IN ({LISTED})", [json.dumps([held(value) for value in values])]
    return f"{column} IN ({_marks(values)})", [*values]


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
