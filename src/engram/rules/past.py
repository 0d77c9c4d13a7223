"""What a memory was at an earlier moment: its later edits taken back, one by one."""

from collections.abc import Iterable
from datetime import datetime

from engram.model.codec import decode, encode
from engram.model.event import Event
from engram.model.limits import print_time
from engram.model.memory import Memory


def as_of(memory: Memory, events: Iterable[Event], moment: datetime) -> Memory | None:
    """The memory as it stood at a moment, or None where it did not exist or a purge took what it was.

    `events` are those that touched it, in any order.
    """
    state = encode(memory)
    latest = None
    for event in sorted(events, key=lambda event: -event.seq):
        if event.at <= moment:
            latest = event.at
            break
        if event.payload is None:
            return None
        for edit in event.payload.edits:
            if edit.id != memory.id:
                continue
            if edit.field == "id" and edit.old is None:
                return None
            if edit.old is None:
                state.pop(edit.field, None)
            else:
                state[edit.field] = edit.old
    if latest is not None:
        state["updated_at"] = print_time(latest)
    then = decode("memory", state)
    assert isinstance(then, Memory)
    return then.known_as(memory.handle) if then.created_at <= moment else None
