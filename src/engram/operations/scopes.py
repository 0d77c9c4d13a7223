"""Which scopes a question covers; and hints about scopes that were left out and kinds that do not exist."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote as quoted
from typing import Any
from weakref import WeakKeyDictionary

from engram.errors import Ambiguous, Conflict, Invalid
from engram.model.filter import Filter
from engram.model.record import replace
from engram.model.scope import GLOBAL, Scope, alias_of
from engram.operations.base import PLACED, Call
from engram.ports import Engine
from engram.rules.access import roles_by_short_name
from engram.rules.kinds import meant

_ORDERED: WeakKeyDictionary[Engine, tuple[Sequence[Scope], Mapping[str, Sequence[Scope]]]] = WeakKeyDictionary()
"""The last places that were asked for, and the projects among them by their short names."""


def in_view(call: Call, scope: str | Scope, *, everywhere: bool = False) -> dict[str, Any]:
    """The scope clauses of a filter, for what was asked; a Scope is meant exactly, a name with its runs.

    Raises:
        Invalid: when the scope's name is none.
        Conflict: when it is the short name of several projects.
    """
    if isinstance(scope, Scope):
        return {"scopes": (scope,)}
    if scope:
        return {"within": scope_named(call, scope)}
    if everywhere:
        return {}
    here = current_project(call)  # where nobody can tell which project this is, a reading goes without one
    workspace = call.caller.workspace or ""
    seen = [*([here] if here else []), replace(GLOBAL, workspace=workspace)]
    if call.caller.agent:
        with suppress(Invalid):  # a name that no scope can have, such as ci@prod: nothing is there
            seen.append(Scope("agent", call.caller.agent, workspace))
    return {"scopes": tuple(dict.fromkeys(seen))}


def unplaced(
    call: Call, scope: str | Scope, *, everywhere: bool = False, way: str = "Name one by its scope."
) -> str:
    """What to say where a reading went without a project, because the folder may be several; "" elsewhere.

    `way` is how one of them is named.
    """
    if scope or everywhere:
        return ""
    try:
        call.at_home()
    except Ambiguous as error:
        return f"Only what holds everywhere was looked at: {error.message} {way}"
    except Conflict as error:
        return f"Only what holds everywhere was looked at: {error.message} {error.hint}"
    return ""


def namesake(call: Call, scope: str | Scope = "", *, everywhere: bool = False) -> str:
    """A hint that something is remembered under the short name alone of the caller's project; else "".

    Other systems call a repository by that alone, and Engram does until it has a remote: it may be the same.
    """
    here = None if scope or everywhere else current_project(call)
    if here is None or "/" not in here.name:
        return ""
    for one in _projects(call).get(alias_of(here.name).lower(), ()):
        bare = "/" not in one.name and one.workspace == here.workspace
        if bare and holds_something(call, replace(one, run="")):
            merge = f"engram projects merge {quoted(one.name)} {quoted(here.name)}"
            return (
                f"Something is remembered in project {one.name}. If that is this one, a person joins them: {merge}"
            )
    return ""


def strange_kinds(call: Call, where: Filter) -> str:
    """A hint that a kind was asked for that is not in the table, so that other words may not help; else "".

    A kind that memories here have is mentioned only where it is nearly one of the table.
    """
    table = call.policy.kinds
    for kind in where.kinds:
        of_kind = where._replace(kinds=(kind,), standings=())
        if kind in table:
            continue
        near = meant(kind, table)
        if not call.engine.scan("memory", of_kind, call.access, limit=1).records:
            return f"Nothing is of the kind {kind} here. {f'Did you mean {near}?' if near else 'See engram kinds.'}"
        if near:
            return f"The kind {kind} is none of the table. Did you mean {near}?"
    return ""


def scope_named(call: Call, text: str | Scope) -> Scope:
    """The scope a caller means: `project:api` is the known project of that short name, if none is called just so.

    Projects with members are known to their members before anything is in them. One that is called just so is
    meant whatever else goes by that name; one that goes by it for short is hidden by none that is called just so.

    Raises:
        Invalid: when the scope's name is none.
        Conflict: when several projects go by that short name.
    """
    if isinstance(text, Scope):
        return text
    scope = Scope.parse(text)
    if call.caller.workspace and not scope.workspace:
        scope = replace(scope, workspace=call.caller.workspace)
    if scope.level != "project" or "/" in scope.name:
        return scope
    granted = roles_by_short_name(call.caller, scope.name)
    if scope.name in granted:
        return scope
    own = {name for name, role in granted.items() if role}
    fits = _known_by(call, scope)
    if own:
        fits = sorted(own.union(name for name in fits if "/" in name))
    if len(fits) > 1:  # a project that was merged or renamed away leaves a name behind, which means nothing now
        kept = [name for name in fits if name in own or holds_something(call, replace(scope, name=name, run=""))]
        fits = kept or fits
    if scope.name in fits or not fits:
        return scope
    if len(fits) > 1:
        choices = ", ".join(f"project:{name}" for name in fits)
        raise Conflict(f"{text} may mean {len(fits)} projects: {choices}.", "Give the whole name of one of them.")
    return replace(scope, name=fits[0])


def holds_something(call: Call, scope: Scope) -> bool:
    """Whether a scope, or a run of it, holds anything this caller may read, in whatever standing."""
    where = Filter(within=scope)
    return any(call.engine.scan(type, where, call.access_to(type), limit=1).records for type in PLACED)


def current_project(call: Call) -> Scope | None:
    """The project the caller stands in; None outside one, and where nobody can tell."""
    try:
        home = call.home
    except Conflict:
        return None
    return home if home.level == "project" else None


def _projects(call: Call) -> Mapping[str, Sequence[Scope]]:
    """The projects of all places by their short names, put in order again when a place has come or gone."""
    places = call.engine.places(call.access)
    known = _ORDERED.get(call.engine)
    if known is not None and known[0] == places:
        return known[1]
    projects: dict[str, list[Scope]] = {}
    for one in places:
        if one.level == "project":
            projects.setdefault(alias_of(one.name).lower(), []).append(one)
    _ORDERED[call.engine] = (places, projects)  # as a whole: others may be asking beside
    return projects


def _known_by(call: Call, scope: Scope) -> list[str]:
    """The names of the projects in a scope's workspace that go by its name; the current one is known too."""
    short = scope.name.lower()
    names = {one.name for one in _projects(call).get(short, ()) if one.workspace == scope.workspace}
    try:
        home = call.home
    except Ambiguous as error:
        names.update(error.choices)  # what lies in this folder is known too, though nothing was saved there yet
    except Conflict:
        pass
    else:
        names.update([home.name] if home.level == "project" and home.workspace == scope.workspace else ())
    return sorted(name for name in names if alias_of(name).lower() == short)
