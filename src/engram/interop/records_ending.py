"""The record tools that hide and bring back: delete_memory, delete_all, archive_memory and restore_memory."""

from collections.abc import Callable, Sequence
from typing import Annotated

from engram.errors import Conflict, Forbidden
from engram.interop import records_parameters as p
from engram.interop.records_checks import check_ids, check_scope, require
from engram.interop.records_finding import got, listed, mine, own
from engram.interop.tools import Answer, Asks, Shelf
from engram.interop.values import EVERYTHING, as_json
from engram.model.memory import UNVOUCHED, Memory

TOOLS = Shelf()

AT_ONCE = 10_000
"""So many records are hidden in one step: more than that no operation takes."""


@TOOLS.tool(writes=True, destructive=True, idempotent=True)
def delete_memory(asks: Asks, *, id: p.Id = "") -> Answer:
    """Delete a record of your own: it is hidden from every read, and can be restored."""
    memory = own(asks, id)
    asks.ask("forget", memory.id, reason="delete_memory")
    erase = asks.says(f"a person erases it for good: engram purge {memory.handle} --confirm.")
    return Answer(f"Deleted {memory.handle}: no read shows it. restore_memory brings it back; {erase}")


@TOOLS.tool(writes=True, destructive=True, idempotent=True)
def delete_all(asks: Asks, *, scope: Annotated[str, "The scope to empty of your own records."] = "") -> Answer:
    """Delete every record of your own in a scope, discoveries and rules of that scope included."""
    require("scope", scope)
    place = check_scope("scope", scope).at(asks.caller)
    found = listed(asks, place, mine(asks, place), limit=EVERYTHING, standing=["all"]).memories
    there = [memory.id for memory in found if memory.forgotten_at is None and memory.status != "rejected"]
    gone = sum(_forgotten(asks, there[at : at + AT_ONCE]) for at in range(0, len(there), AT_ONCE))
    unvouched = {memory.id for memory in found if memory.held_for == UNVOUCHED}
    waiting = sum(id in unvouched for id in there)
    spared = len(there) - gone - waiting
    left = f" {spared} approved by a person stay: only a person takes them away." if spared else ""
    left += f" {waiting} that nobody vouches for stay until a person has decided." if waiting else ""
    return Answer(f"Deleted {gone} of your records. restore_memory brings them back.{left}")


def _forgotten(asks: Asks, ids: Sequence[str]) -> int:
    """How many could be hidden: all of them at once, or one after the other.

    The latter where some are a person's to take away, or where one of them has superseded another: in one step it
    would give back what the same step hides.
    """
    if not ids:
        return 0
    try:
        asks.ask("forget", ids, reason="delete_all")
    except (Forbidden, Conflict) as error:
        if len(ids) == 1 and isinstance(error, Forbidden):
            return 0
        if len(ids) == 1:
            raise
    else:
        return len(ids)
    middle = len(ids) // 2
    return _forgotten(asks, ids[:middle]) + _forgotten(asks, ids[middle:])


@TOOLS.tool(writes=True, idempotent=True)
def archive_memory(asks: Asks, *, ids: p.Ids = ()) -> Answer:
    """Hide records of your own from every read; restore_memory brings them back."""
    check_ids("ids", ids)
    return _outcomes(asks, ids, _archived)


@TOOLS.tool(writes=True, idempotent=True)
def restore_memory(asks: Asks, *, ids: p.Ids = ()) -> Answer:
    """Bring back records of your own that were archived or deleted."""
    check_ids("ids", ids)
    return _outcomes(asks, ids, _restored)


def _archived(asks: Asks, memory: Memory) -> str:
    if memory.forgotten_at is not None:
        return "already_archived"
    asks.ask("forget", memory.id, reason="archive_memory")
    return "archived"


def _restored(asks: Asks, memory: Memory) -> str:
    if memory.forgotten_at is None:
        return "not_archived"
    asks.ask("restore", memory.id)
    return "restored"


def _outcomes(asks: Asks, refs: Sequence[str], act: Callable[[Asks, Memory], str]) -> Answer:
    """What became of each id, in the order given: one that fails leaves the others alone."""
    rows = []
    for ref in refs:
        memory = got(asks, ref)
        if memory is None or memory.owner != asks.caller.owner or memory.status == "rejected":
            outcome = "not_found"
        else:
            try:
                outcome = act(asks, memory)
            except (Forbidden, Conflict) as error:
                outcome = f"refused: {error.message}"
        id = memory.id if memory is not None and outcome != "not_found" else ""
        rows.append({"input": ref, "id": id, "outcome": outcome})
    return as_json({"results": rows})
