"""What a memory was at an earlier moment: its later edits taken back, one by one."""

from collections.abc import Iterable
from datetime import datetime

from engram.errors import Corrupt
from engram.model.codec import decode, encode
from engram.model.event import Event
from engram.model.memory import Memory
from engram.model.record import replace


def as_of(memory: Memory, events: Iterable[Event], moment: datetime) -> Memory | None:
    """The memory as it stood at a moment, or None where it did not exist or a purge took what it was.

    `events` are those that touched it, in any order.
    """
    known = sorted(events, key=lambda event: event.seq)
    then = without(memory, [event for event in known if event.at > moment])
    if then is None or then.created_at > moment:
        return None
    latest = max((event.at for event in known if event.at <= moment), default=None)
    dated = then if latest is None else replace(then, updated_at=latest)
    return dated.known_as(memory.handle)


def without(memory: Memory, events: Iterable[Event]) -> Memory | None:
    """The memory without what these events did to it: the latest that touched it, in any order.

    None where it would not exist, a purge took what it was, or it was nothing that this version can read.
    """
    state = encode(memory)
    for event in sorted(events, key=lambda event: -event.seq):
        if event.payload is None:
            return None
        for edit in event.edits:
            if edit.id != memory.id:
                continue
            if edit.old is None:
                state.pop(edit.field, None)
            else:
                state[edit.field] = edit.old
    if "id" not in state:  # not made yet, or taken away for a while
        return None
    try:
        then = decode("memory", state)
    except Corrupt:  # another store said so, and took it back: what came of it in the end was read
        return None
    assert isinstance(then, Memory)
    return then.known_as(memory.handle)
