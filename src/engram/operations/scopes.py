"""Which scopes a question looks at: the current project and global, one scope by name, or all."""

from typing import Any

from engram.errors import Ambiguous, Conflict
from engram.model.filter import Filter
from engram.model.record import replace
from engram.model.scope import GLOBAL, Scope
from engram.operations.base import Call


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
    seen = [*([here] if here else []), GLOBAL]
    if call.caller.agent:
        seen.append(Scope("agent", call.caller.agent))
    return {"scopes": tuple(dict.fromkeys(seen))}


def unplaced(call: Call, scope: str | Scope, *, everywhere: bool = False) -> str:
    """What to say where a reading went without a project, because the folder may be several; "" elsewhere."""
    if scope or everywhere:
        return ""
    try:
        call.at_home()
    except Ambiguous as error:
        return f"Only what holds everywhere was looked at: {error.message} Name one by its scope."
    except Conflict as error:
        return f"Only what holds everywhere was looked at: {error.message} {error.hint}"
    return ""


def scope_named(call: Call, text: str | Scope) -> Scope:
    """The scope a caller means: `project:api` is the known project of that short name, if none is called just so.

    Raises:
        Invalid: when the scope's name is none.
        Conflict: when several projects go by that short name.
    """
    if isinstance(text, Scope):
        return text
    scope = Scope.parse(text)
    if scope.level != "project" or "/" in scope.name:
        return scope
    fits = [name for name in _known_names(call, scope) if alias_of(name).lower() == scope.name.lower()]
    if len(fits) > 1:  # a project that was merged or renamed away leaves a name behind, which means nothing now
        fits = [name for name in fits if holds_something(call, replace(scope, name=name, run=""))] or fits
    if scope.name in fits or not fits:
        return scope
    if len(fits) > 1:
        choices = ", ".join(f"project:{name}" for name in fits)
        raise Conflict(f"{text} may mean {len(fits)} projects: {choices}.", "Give the whole name of one of them.")
    return replace(scope, name=fits[0])


def alias_of(name: str) -> str:
    """The short name of a project: what follows the last slash."""
    return name.rpartition("/")[2]


def holds_something(call: Call, scope: Scope) -> bool:
    """Whether a scope, or a run of it, holds anything this caller may read, in whatever standing."""
    where = Filter(within=scope)
    return any(call.engine.scan(type, where, call.access, limit=1).records for type in ("memory", "session"))


def current_project(call: Call) -> Scope | None:
    """The project the caller stands in; None outside one, and where nobody can tell."""
    try:
        home = call.home
    except Conflict:
        return None
    return home if home.level == "project" else None


def _known_names(call: Call, scope: Scope) -> list[str]:
    """The names of all projects that are known in a scope's workspace, the current one among them."""
    known = [one for one in call.engine.places(call.access) if one.level == "project"]
    names = {one.name for one in known if one.workspace == scope.workspace}
    try:
        home = call.home
    except Ambiguous as error:
        names.update(error.choices)  # what lies in this folder is known too, though nothing was saved there yet
    except Conflict:
        pass
    else:
        names.update([home.name] if home.level == "project" and home.workspace == scope.workspace else ())
    return sorted(names)
