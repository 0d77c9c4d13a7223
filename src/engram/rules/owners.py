"""Giving an owner to what has none, or had the anonymous one: the one change of owner there is."""

from collections.abc import Sequence
from typing import Any

from engram.errors import Forbidden, Invalid
from engram.model.change import Change, Request
from engram.model.codec import Record
from engram.model.limits import check_text
from engram.model.memory import Memory
from engram.model.record import replace
from engram.rules.access import require_person
from engram.rules.changes import Step, compose


def require_operator(request: Request, to: str) -> None:
    """Only who runs the store, at its machine, gives its records to somebody.

    Raises:
        Forbidden: for anyone with an identity, and for agents.
        Invalid: when there is nobody to give them to.
    """
    require_person(request, "assign owners")
    if request.caller.owner:
        raise Forbidden("Owners are assigned by who runs the store.", "Run it at the machine of the store.")
    if not to.strip() or to != to.strip():
        raise Invalid("An owner needs a name.", "Give the subject as the provider calls it.")
    check_text("name", to)


def assign(records: Sequence[Record], to: str, request: Request) -> Change:
    """All of these under another owner; nothing else about them changes."""
    confirmed = request._replace(confirmed=request.confirmed or "owners")
    return compose("assign", confirmed, [Step(one, _moved(one, to, request)) for one in records], note={"to": to})


def _moved(record: Record, to: str, request: Request) -> Record:
    changes: dict[str, Any] = {"owner": to, "revision": record.revision + 1}
    if isinstance(record, Memory):
        changes["updated_at"] = request.now
    return replace(record, **changes)
