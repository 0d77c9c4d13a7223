"""Owners and workspaces for records without one: shown first, then assigned, only by the operator of the store."""

from collections import Counter

from engram.errors import Moved
from engram.model.answers_work import Assigned, Placed
from engram.model.change import Change
from engram.model.codec import Record, RecordType
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Memory
from engram.model.scope import Scope
from engram.model.session import Session
from engram.operations import parameters as p
from engram.operations.base import PLACED, Call, operation, pages
from engram.rules import owners as rules

MOST_SHOWN = 20
TYPES: tuple[RecordType, ...] = ("memory", "session", "relation")


@operation(
    "POST /v1/owners",
    "engram owners assign 248289761001",
    "engram owners assign 248289761001 --source anonymous --apply",
    writes=True,
    human=True,
    local=True,
)
def owners_assign(
    call: Call, to: p.NewOwner, *, source: p.FromOwner = "nobody", apply: p.Apply = False
) -> Assigned:
    """Give an owner to records that have none.

    Then somebody can read them. Without --apply it only shows what would move. Only whoever runs the store may do
    this. Memories that the owner already has, by key or text, stay as they are.
    """
    rules.require_operator(call.request(), to)
    access = Access("", unowned=True) if source == "nobody" else Access("", frozenset())
    own = "" if source == "anonymous" else None
    batch, counts, kept = call.new_id(), Counter[str](), 0
    shown: list[Memory] = []
    for type in TYPES:
        found = [one for one in _everything(call, type, access) if one.owner == own]
        moved = [one for one in found if not apply or _assign(call, one, to, batch)]
        kept += len(found) - len(moved)
        counts[type] += len(moved)
        shown += [one for one in moved if isinstance(one, Memory)][: MOST_SHOWN - len(shown)]
    return Assigned(
        at=call.now,
        to=to,
        records={type: counts[type] for type in TYPES},
        memories=tuple(shown),
        kept_back=kept,
        applied=apply,
        batch=batch if apply and counts.total() else "",
    )


@operation(
    "POST /v1/workspaces",
    "engram workspaces assign team-x 248289761001",
    "engram workspaces assign team-x 248289761001 --scope project:github.com/acme/api --apply",
    writes=True,
    human=True,
    local=True,
)
def workspaces_assign(
    call: Call,
    workspace: p.NewWorkspace,
    owner: p.WhoseRecords,
    *,
    scope: p.MovedScope = "",
    source: p.FromWorkspace = "",
    apply: p.Apply = False,
) -> Placed:
    """Move what somebody owns into a workspace.

    There it can be read when workspaces are on. Without --apply it only shows what would move, and never the texts.
    Only whoever runs the store may do this. It moves what is in no workspace, or in the one named by --source.
    Memories that the workspace already has, by key or text, stay as they are.
    """
    rules.require_workspace(call.request(), workspace, owner)
    place = Scope.parse(scope).place if scope else ""
    batch, counts, scopes, kept = call.new_id(), Counter[str](), Counter[str](), 0
    for type in PLACED:
        for one in _everything(call, type, Access(owner, frozenset())):
            if not isinstance(one, Memory | Session) or (one.owner, one.scope.workspace) != (owner, source):
                continue
            if place in ("", one.scope.place):
                moved = not apply or _commit(call, rules.place_in([one], workspace, call.request(batch=batch)))
                counts[type] += moved
                kept += not moved
                scopes[one.scope.place] += moved and type == "memory"
    return Placed(
        at=call.now,
        workspace=workspace,
        owner=owner,
        records={type: counts[type] for type in PLACED},
        scopes={name: number for name, number in scopes.most_common() if number},
        kept_back=kept,
        applied=apply,
        batch=batch if apply and counts.total() else "",
    )


def _everything(call: Call, type: RecordType, access: Access) -> list[Record]:
    """Every record of a type, read before anything is changed: a page that moves away would be skipped."""
    return [one for page in pages(call, type, ANYTHING, access) for one in page]


def _assign(call: Call, record: Record, to: str, batch: str) -> bool:
    """Whether it could be given to that owner."""
    if isinstance(record, Memory) and record.owner is not None and call.attaching:
        for asset in record.assets:  # before the record: what it names is there at every moment
            call.blobs.pass_on(record.owner, to, asset.sha256, call.now)
    return _commit(call, rules.assign([record], to, call.request(batch=batch)))


def _commit(call: Call, change: Change) -> bool:
    """Whether nothing stood in the way."""
    try:
        call.engine.commit(change)
    except Moved:
        return False
    return True
