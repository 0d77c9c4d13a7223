"""Memories as a caller saw them: refs that mean a revision, and what becomes of them where it has passed."""

from collections.abc import Iterable

from engram.model.memory import Memory
from engram.model.refs import is_number
from engram.operations.base import Call
from engram.rules.lifecycle import require_revision

AtRevision = tuple[str, int | None]
"""The id of a memory, and the revision it is meant at, if it is meant at one."""


def at_revision(ref: str) -> AtRevision:
    """What a ref names, and the revision it means it at, if it says one: mem-0001@3."""
    name, at, number = ref.strip().rpartition("@")
    return (name, int(number)) if at and is_number(number) else (ref, None)


def by_id(call: Call, ref: str) -> AtRevision:
    """The memory that a ref means, by its id.

    Raises:
        NotFound: when there is none.
        Conflict: when a prefix fits several.
    """
    name, revision = at_revision(ref)
    return call.memory(name).id, revision


def as_seen(call: Call, those: Iterable[AtRevision]) -> list[Memory]:
    """Memories as they stand now, which is as they were seen.

    Raises:
        Conflict: when one is at another revision than it was meant at.
    """
    found = []
    for id, revision in those:
        found.append(call.memory(id))
        require_revision(found[-1], revision)
    return found
