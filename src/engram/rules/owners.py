"""Giving an owner to what has none, or had the anonymous one, and a workspace: no other rule changes either."""

from collections.abc import Sequence
from typing import Any

from engram.errors import Forbidden, Invalid
from engram.model.change import Change, Request
from engram.model.codec import Record
from engram.model.limits import check_text
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.session import Session
from engram.rules.access import require_person
from engram.rules.changes import Step, compose
from engram.rules.proposals import require_public, require_public_name


def require_operator(request: Request, to: str) -> None:
    """Only whoever runs the store, at its machine, gives its records to somebody.

    Raises:
        Forbidden: for anyone with an identity, and for agents.
        Invalid: when there is nobody to give them to, or the name holds a credential.
    """
    _require_at_the_store(request, "owners")
    _require_owner(to)
    require_public_name("name of the owner", to)


def require_workspace(request: Request, workspace: str, owner: str) -> None:
    """Only whoever runs the store, at its machine, moves somebody's records into a workspace.

    Raises:
        Forbidden: for anyone with an identity, and for agents.
        Invalid: when there is no such owner or workspace to be, or its name holds a credential.
    """
    _require_at_the_store(request, "workspaces")
    _require_owner(owner)
    if not workspace:
        raise Invalid("A workspace needs a name.", "Give it as the provider calls it.")
    require_public(Scope(workspace=workspace))


def _require_at_the_store(request: Request, what: str) -> None:
    require_person(request, f"assign {what}")
    if request.caller.owner:
        told = f"{what.capitalize()} are assigned by whoever runs the store."
        raise Forbidden(told, "Run it at the machine of the store.")


def _require_owner(to: str) -> None:
    if not to.strip() or to != to.strip():
        raise Invalid("An owner needs a name.", "Give the subject as the provider calls it.")
    check_text("name", to)


def assign(records: Sequence[Record], to: str, request: Request) -> Change:
    """All of these under another owner; nothing else about them changes."""
    return _composed([Step(one, _moved(one, request, owner=to)) for one in records], request, {"to": to})


def place_in(records: Sequence[Memory | Session], workspace: str, request: Request) -> Change:
    """All of these in a workspace, each in the project, or wherever else it held; nothing else changes."""
    steps = [Step(one, _moved(one, request, scope=replace(one.scope, workspace=workspace))) for one in records]
    return _composed(steps, request, {"workspace": workspace})


def _composed(steps: Sequence[Step], request: Request, note: dict[str, str]) -> Change:
    confirmed = request._replace(confirmed=request.confirmed or "owners")
    return compose("assign", confirmed, steps, note=note)


def _moved(record: Record, request: Request, **changes: Any) -> Record:  # noqa: ANN401 - a field of a record
    if isinstance(record, Memory):
        changes["updated_at"] = request.now
    return replace(record, revision=record.revision + 1, **changes)
