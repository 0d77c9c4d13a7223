"""The projects there are: list, merge, rename."""

from collections.abc import Iterator
from typing import cast

from engram.errors import Conflict, Forbidden, Invalid, NotFound
from engram.model.answers_work import Merged, Project, Projects
from engram.model.change import Change, Request
from engram.model.event import Event
from engram.model.filter import Filter
from engram.model.memory import Standing
from engram.model.record import replace
from engram.model.scope import Scope, alias_of
from engram.model.session import Session
from engram.operations import parameters as p
from engram.operations.base import Call, each, every, operation, pages
from engram.operations.scopes import current_project, holds_something, scope_named
from engram.rules.projects import COUNTS, Plan, carry_out, plan_move

REMEMBERED: tuple[Standing, ...] = ("live", "stale", "scheduled", "staged", "pending", "expired", "replaced")
"""What counts as being in a project: all but what was forgotten or rejected."""


@operation("GET /v1/projects", "engram projects list")
def projects_list(call: Call) -> Projects:
    """List the projects that hold something, the latest first."""
    here = current_project(call)
    places = {replace(scope, run="") for scope in call.engine.places(call.access) if scope.level == "project"}
    rows = [row for scope in sorted(places, key=str) if (row := _row(call, scope)) is not None]
    return Projects(
        at=call.now,
        projects=tuple(sorted(rows, key=lambda row: (row.latest or call.now, row.name), reverse=True)),
        current=_name(here) if here else "",
    )


@operation(
    "POST /v1/projects/merge",
    "engram projects merge api github.com/acme/api",
    "engram projects merge api API-old github.com/acme/api --apply",
    writes=True,
    human=True,
)
def projects_merge(
    call: Call,
    source: p.Sources,
    into: p.Target,
    *,
    apply: p.Apply = False,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Merged:
    """Move everything of yours from some projects into another.

    In one step that `undo` takes back. Nothing is lost: a text that both have is kept once, and of two texts under
    one key the latest stays in use.
    """
    del token
    if (event := call.replayed()) is not None:
        return _moved_before(call, event)
    sources = tuple(dict.fromkeys(_known(call, name) for name in each(source)))
    target = _target(call, into)
    if not sources or target in sources:
        raise Invalid(
            f"A project cannot be merged into itself: {into}.", "Name two projects: engram projects list."
        )
    if any(one.workspace != target.workspace for one in sources):
        raise Invalid("Projects of two workspaces cannot be merged.", "Others read what is in the other workspace.")
    return _move(call, "merge", sources, target, apply=apply, confirm=confirm)


@operation(
    "POST /v1/projects/rename",
    "engram projects rename api github.com/acme/api",
    "engram projects rename api github.com/acme/api --apply",
    writes=True,
    human=True,
)
def projects_rename(
    call: Call,
    project: p.ProjectName,
    name: p.NewProjectName,
    *,
    apply: p.Apply = False,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Merged:
    """Give a project another name.

    In one step that `undo` takes back. A folder's project comes from its git remote or its .engram/config.json;
    renaming only moves what is remembered.
    """
    del token
    if (event := call.replayed()) is not None:
        return _moved_before(call, event)
    source = _known(call, project)
    target = replace(source, name=_scope(name).name, run="")
    if target == source:
        raise Invalid(f"It is called {_name(source)} already.", "Give another name.")
    if holds_something(call, target):
        raise Conflict(
            f"{_name(target)} holds something already.",
            f"To bring both together: engram projects merge {_name(source)} {_name(target)}.",
        )
    return _move(call, "rename", (source,), target, apply=apply, confirm=confirm)


def _move(
    call: Call, action: str, sources: tuple[Scope, ...], into: Scope, *, apply: bool, confirm: bool
) -> Merged:
    request = call.request(confirm=confirm)

    def decide() -> tuple[Change, tuple[Plan, int]]:
        plan, left = _plan(call, sources, into, request)
        return carry_out(plan, action, request, sources=sources, into=into), (plan, left)

    if apply:
        commit, (plan, left) = call.decide_and_commit(decide)
        if commit.replayed:
            return _moved_before(call, commit.event)
    else:
        plan, left = _plan(call, sources, into, request)
    event = commit.event.seq if apply else 0
    return Merged(
        at=call.now,
        action=action,
        sources=tuple(map(_name, sources)),
        into=_name(into),
        **{name: getattr(plan, name) for name in COUNTS},
        left=left,
        applied=apply,
        event=event,
        hint=_next_step(plan, event),
    )


def _moved_before(call: Call, event: Event) -> Merged:
    """The first answer again, as history tells it; what others had left there is not part of it."""
    note = event.note
    return Merged(
        at=call.now,
        action=event.action,
        sources=tuple(_name(Scope.parse(source)) for source in note.get("from", ())),
        into=_name(Scope.parse(note["into"])) if "into" in note else "",
        **{name: int(note.get(name, 0)) for name in COUNTS},
        applied=True,
        event=event.seq,
        hint=_next_step(Plan(), event.seq),
    )


def _plan(call: Call, sources: tuple[Scope, ...], into: Scope, request: Request) -> tuple[Plan, int]:
    """What the move would do as things stand, and how many memories of others stay where they are."""
    found = [memory for source in sources for memory in every(call, Filter(within=source))]
    mine = [memory for memory in found if memory.owner == call.caller.owner]
    sessions = [session for source in sources for session in _sessions(call, source)]
    if not mine and not sessions:
        names = ", ".join(map(_name, sources))
        raise Forbidden(f"Everything in {names} belongs to others.", "Ask them to move what they shared.")
    there = list(every(call, Filter(within=into, owner=call.caller.owner)))
    return plan_move(mine, there, sessions, into, request), len(found) - len(mine)


def _next_step(plan: Plan, event: int) -> str:
    if event:
        return f"Take it back: engram undo {event}"
    return "Nothing was changed. Do it with --apply" + (" --confirm." if plan.curated else ".")


def _row(call: Call, scope: Scope) -> Project | None:
    """A project's line in the list; None when nothing is left in it."""
    where = Filter(within=scope, standings=REMEMBERED, now=call.now, view=call.caller.view)
    times = [memory.updated_at for memory in every(call, where)]
    sessions = [session.ended_at or session.started_at for session in _sessions(call, scope)]
    if not times and not sessions:
        return None
    name = _name(scope)
    return Project(name, alias_of(scope.name), len(times), len(sessions), max([*times, *sessions]))


def _sessions(call: Call, scope: Scope) -> Iterator[Session]:
    """Every session of the caller's own in a project and its runs."""
    for page in pages(call, "session", Filter(within=scope, owner=call.caller.owner)):
        yield from cast("tuple[Session, ...]", page)


def _known(call: Call, name: str) -> Scope:
    """The project that goes by a name or short name and holds something.

    Raises:
        NotFound: when there is none.
        Conflict: when several go by that short name.
    """
    scope = replace(scope_named(call, str(_scope(name))), run="")
    if not holds_something(call, scope):
        raise NotFound(f"There is no project {name!r}.", "See the projects there are: engram projects list.")
    return scope


def _target(call: Call, name: str) -> Scope:
    """The project to merge into: one that holds something, or the one the caller stands in.

    Raises:
        NotFound: when it is neither; no project is made by a slip of the pen.
    """
    scope = replace(scope_named(call, str(_scope(name))), run="")
    if scope == current_project(call) or holds_something(call, scope):
        return scope
    raise NotFound(f"There is no project {name!r}.", "To give a project a new name: engram projects rename.")


def _scope(name: str) -> Scope:
    """The scope of a project, named with or without the word `project:` before it.

    Raises:
        Invalid: when it cannot be a project's name.
    """
    try:
        scope = Scope.parse(name.strip())
    except Invalid:
        return Scope("project", name.strip())
    return scope if scope.level == "project" else Scope("project", name.strip())


def _name(scope: Scope) -> str:
    """How a project is called in answers: by its name alone, unless it belongs to a workspace."""
    return str(scope) if scope.workspace else scope.name
