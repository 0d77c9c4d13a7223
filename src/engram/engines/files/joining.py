"""Two histories of one store, as a sync tool or a merge leaves them: joined by lines where the chains allow."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engram.engines.files import history
from engram.engines.files.history import Journal, Line
from engram.model.event import intact


class Joined(NamedTuple):
    """The lines of both, in order, and how many came from the other; or why the two cannot be one."""

    lines: list[Line]
    came: int = 0
    erased: frozenset[str] = frozenset()  # what the other one purged and this one did not
    reason: str = ""


class Side(NamedTuple):
    """The other side of a merge: the commit, and its files by name."""

    commit: str
    files: Mapping[str, bytes]


def fresh(ours: Sequence[Line], theirs: Sequence[Line]) -> list[Line]:
    """The lines of the other that this one does not have."""
    known = {line.event.id for line in ours}
    return [line for line in theirs if line.event.id not in known]


def join(ours: Sequence[Line], theirs: Journal) -> Joined:
    """Put the lines that only the other one has among ours, by time; what either purged stays purged.

    The chains do not allow it where a line was changed, or where two events stand at one place: then the two copies
    were written by one and the same store, and which one goes on is for a person to say.
    """
    came = fresh(ours, theirs.lines)
    placed = {(line.event.replica, line.event.position): line.event for line in ours}
    for line in came:
        event = line.event
        if not intact(event):
            return Joined([], reason=f"its event {event.id[:8]} was changed")
        if other := placed.get((event.replica, event.position)):
            return Joined(
                [], reason=f"its event {event.id[:8]} and our {other.id[:8]} stand at one place of the chain"
            )
    lines = list(ours)
    for line in came:
        lines.insert(_place(lines, line), line)
    before, after = _erased(ours), _erased(lines)
    if after:
        lines = without_purged(lines, after)
    return Joined(lines, len(came), frozenset(after - before))


def _place(lines: Sequence[Line], line: Line) -> int:
    """Where a line belongs: after the one it goes on from, and after all that happened before it."""
    behind = next((n for n, each in enumerate(lines, 1) if each.event.id == line.event.prev), 0)
    later = (n for n in range(behind, len(lines)) if lines[n].event.time > line.event.time)
    return next(later, len(lines))


def brought_back(lines: Sequence[Line]) -> set[str]:
    """What was purged and is told nevertheless, in lines that know nothing of it: git has those of both sides.

    Whoever takes a memory in again after it was purged means to.
    """
    gone = set[str]()
    for line in lines:
        gone -= {id for id, put in line.after.get("puts", {}).items() if put.get("whole")}
        gone |= set(line.after.get("erase", ()))
    return {id for line in lines if not line.after.get("erase") for id in gone & _words_of(line)} if gone else gone


def _words_of(line: Line) -> set[str]:
    """The records of which a line says more than that they are gone."""
    told = {id for id, put in line.after.get("puts", {}).items() if not put.get("gone")}
    return told.union(line.event.subjects) if line.event.payload else told


def _erased(lines: Sequence[Line]) -> set[str]:
    return {id for line in lines for id in line.after.get("erase", ())}


def without_purged(lines: Sequence[Line], ids: set[str]) -> list[Line]:
    """The lines without a word about what was purged; the purges themselves stay as they are."""
    bare = history.without(lines, ids)
    return [line if line.after.get("erase") else each for line, each in zip(lines, bare, strict=True)]
