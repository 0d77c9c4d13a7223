"""What history tells of records that no longer exist, to the caller they belonged to."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from engram.errors import Invalid
from engram.model.event import PURGED, Edit, Event
from engram.model.scope import GLOBAL, Scope
from engram.operations.base import PLACED, Call, elsewhere, newest

FEW = 10
"""Up to so many records are looked for in their own events; more, in one walk through all of history."""


def remains(call: Call, ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """The last known fields of those records that no longer exist and were the caller's, in the caller's workspace.

    Empty fields where that history was purged. Records that still exist, or were another's, are left out.
    """
    if len(ids) > FEW:  # the events of an import would be read once for each of its records
        return dict(_told(call, newest(call), ids))
    return {id: last for each in ids for id, last in _told(call, newest(call, each), [each])}


def _told(call: Call, events: Iterable[Event], ids: Collection[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What remains of each, as the newest event that changed it tells."""
    wanted = set(ids)
    for event in events:
        if not wanted:
            return
        named = wanted.intersection(event.subjects)
        if event.action == PURGED or event.payload is None:
            wanted -= named
            yield from ((id, {}) for id in named)
            continue
        changed: dict[str, list[Edit]] = defaultdict(list)
        for edit in event.edits:
            if edit.id in named:
                changed[edit.id].append(edit)
        wanted -= changed.keys()
        for id, edits in changed.items():
            last = {edit.field: edit.old for edit in edits}
            ended = any(edit.field == "id" and edit.new is None for edit in edits)
            if ended and last.get("owner") == call.caller.owner and _was_here(call, edits[0].type, last):
                yield id, last


def _was_here(call: Call, type: str, last: Mapping[str, Any]) -> bool:
    """Whether a record that is gone was in the workspace the caller stands in; a relation is where its ends are."""
    if type == "relation":
        return not elsewhere(call, (str(last.get("from_id")), str(last.get("to_id"))))
    try:
        scope = Scope.parse(last.get("scope") or str(GLOBAL))
    except Invalid:  # what another store said may be anything
        return False
    return call.access.workspace in (None, scope.workspace) or type not in PLACED
