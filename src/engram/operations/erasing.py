"""Erasing memories for good, and the receipt that says what was erased and what it cannot reach."""

from collections.abc import Callable, Sequence

from engram.errors import Invalid
from engram.model.answers_store import NOT_REACHED, Receipt
from engram.model.change import Change, Commit, Request
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.model.refs import SHORTEST_PREFIX
from engram.operations import parameters as p
from engram.operations.base import Call, each, every, newest, operation
from engram.operations.bearing import relations_of, replaced_by
from engram.operations.blobs import named_by, tidy
from engram.operations.gone import remains
from engram.rules import lifecycle

MOST_EVENTS = 100_000

OTHER_MACHINES = (
    "The next sync takes it out of the files that are shared, and others erase it when they sync;"
    " git history, clones and backups may still hold the text."
)
"""What a receipt says where memories go to other machines."""


@operation(
    "DELETE /v1/memories/{memory}",
    "engram purge mem-0004 --confirm",
    "engram purge mem-0004 mem-0007 --confirm",
    writes=True,
    destructive=True,
    human=True,
)
def purge(call: Call, memory: p.Refs, *, confirm: p.Confirm = False, token: p.Token = "") -> Receipt:
    """Erase memories for good. It cannot be undone.

    Their text, index entries and vectors, attachments, and what history holds of them; all of them, or none.
    """
    del token
    if (event := call.replayed()) is not None:
        return Receipt(at=call.now, erased=event.subjects, event=event.seq, event_id=event.id, traces=None)
    undone = {ref: _undone_id(call, ref) for ref in each(memory)}
    if not undone:
        raise Invalid("No memory was named.", "Name one or more: engram list.")
    meant = {call.memory(ref).id for ref, id in undone.items() if id is None}
    gone = sorted({id for id in undone.values() if id})
    request = call.request(confirm=confirm)
    return erase(call, request, lambda: [call.memory(id) for id in sorted(meant)], gone)


def erase(call: Call, request: Request, which: Callable[[], Sequence[Memory]], gone: Sequence[str] = ()) -> Receipt:
    """Erase memories for good, all of them or none: text, index, vectors, attachments and history's copies.

    `gone` are ids of memories of which history alone still tells.

    Raises:
        Unconfirmed: without a person's confirmation.
    """
    attached: set[str] = set()
    handles: dict[str, str] = {}

    def decide() -> tuple[Change, None]:
        chosen = which()
        proposals = [other for one in chosen for other in every(call, Filter(amends=one.id, owner=one.owner))]
        handles.update({one.id: one.handle for one in (*chosen, *proposals)})
        past = (event for one in chosen for event in call.engine.events(subject=one.id, limit=MOST_EVENTS))
        attached.update(named_by((*chosen, *proposals), past))
        change = lifecycle.purge_all(
            chosen,
            request,
            proposals=proposals,
            replaced=[other for one in chosen for other in replaced_by(call, one)],
            relations=[verdict for one in chosen for verdict in relations_of(call, one.id)],
            remains=gone,
        )
        return change, None

    commit, _ = call.decide_and_commit(decide)
    done = _receipt(call, commit)
    return done._replace(
        assets=tidy(call, call.caller.owner, attached) if attached else 0,
        handles=tuple(handles[id] for id in commit.event.subjects if handles.get(id)),
    )


def _receipt(call: Call, commit: Commit) -> Receipt:
    event = commit.event
    return Receipt(
        at=call.now,
        erased=event.subjects,
        event=event.seq,
        event_id=event.id,
        traces=commit.traces,
        places=commit.places,
        note=erasure_note(call),
    )


def erasure_note(call: Call) -> str:
    """What an erasure cannot reach."""
    return f"{NOT_REACHED} {OTHER_MACHINES}" if _was_sent(call) else NOT_REACHED


def _was_sent(call: Call) -> bool:
    """Whether this store exchanges memories with others."""
    ledger = call.sync.ledger() if call.sync else None
    return bool(ledger and (ledger.part("places") or ledger.part("remotes")))


def _undone_id(call: Call, ref: str) -> str | None:
    """The id of a memory that is not there any more, but of which the caller's own history still tells."""
    if call.engine.get("memory", [ref], call.access) or len(ref) < SHORTEST_PREFIX:
        return None
    events = (event for event in newest(call) if event.owner == call.caller.owner and event.payload is not None)
    ids = {id for event in events for id in event.subjects if id.startswith(ref)}
    return ids.pop() if len(ids) == 1 and any(remains(call, ids).values()) else None
