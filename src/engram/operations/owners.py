"""Owners for what has none: looked at first, then assigned, by the operator of the store alone."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from engram.errors import Moved
from engram.model.answers_work import Assigned
from engram.model.codec import Record, RecordType
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Memory
from engram.operations import parameters as p
from engram.operations.base import PAGE, Call, operation
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
    """Give an owner to records that have none, so that somebody can read them: shown first, done with --apply.

    Only who runs the store may. Memories that the owner has already, by key or text, stay as they are.
    """
    rules.require_operator(call.request(), to)
    access = Access("", unowned=True) if source == "nobody" else Access("", frozenset())
    batch, counts, kept = call.new_id(), Counter[str](), 0
    shown: list[Memory] = []
    for type in TYPES:
        for page in _pages(call, type, access, source):
            moved = [one for one in page if not apply or _assign(call, one, to, batch)]
            kept += len(page) - len(moved)
            counts[type] += len(moved)
            shown += [one for one in moved if isinstance(one, Memory)][: MOST_SHOWN - len(shown)]
    return Assigned(
        at=call.now,
        to=to,
        records={type: counts[type] for type in TYPES},
        memories=tuple(shown),
        kept_back=kept,
        applied=apply,
        batch=batch if apply and counts else "",
    )


def _pages(call: Call, type: RecordType, access: Access, source: str) -> list[Sequence[Record]]:
    """Everything of a type, read before anything is changed: a page that moves away would be skipped."""
    pages: list[Sequence[Record]] = []
    after = None
    while True:
        page = call.engine.scan(type, ANYTHING, access, after=after, limit=PAGE, oldest=True)
        own = "" if source == "anonymous" else None
        pages.append([one for one in cast("Sequence[Record]", page.records) if one.owner == own])
        if (after := page.next) is None:
            return pages


def _assign(call: Call, record: Record, to: str, batch: str) -> bool:
    """Whether it could be given to that owner."""
    if isinstance(record, Memory) and record.owner is not None and call.attaching:
        for asset in record.assets:  # before the record: what it names is there at every moment
            call.blobs.pass_on(record.owner, to, asset.sha256, call.now)
    try:
        call.engine.commit(rules.assign([record], to, call.request(batch=batch)))
    except Moved:
        return False
    return True
