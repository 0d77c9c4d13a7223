"""What a person is told about the texts: what was taken in, kept against an older one, or taken out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from engram.engines.files.history import Line, State
from engram.model.change import Finding
from engram.model.event import EDITED
from engram.model.memory import Memory

LATELY = timedelta(days=7)
"""So long a check tells what was taken out by hand."""


def _count(n: int, one: str, many: str) -> str:
    return f"1 memory {one}" if n == 1 else f"{n} memories {many}"


def _warning(code: str, message: str, hint: str) -> Finding:
    return Finding(code, message, hint, severity="warning")


def forgotten(n: int, event: int) -> Finding | None:
    """Items that a person took out."""
    out = "taken out of memory.md by hand, and"
    told = _count(n, f"was {out} is forgotten.", f"were {out} are forgotten.")
    return _warning("by hand", told, f"Bring back what should stay: engram undo {event}.") if n else None


def by_hand(lines: Iterable[Line], state: State, now: datetime) -> Iterator[Finding]:
    """Items that a person took out lately, and that are still forgotten."""
    for line in lines:
        if line.event.action != EDITED or now - line.event.at > LATELY:
            continue
        out = {edit.id: edit.new for edit in line.event.edits if edit.field == "forgotten_at" and edit.new}
        known = state.documents["memory"]
        still = [id for id, at in out.items() if id in known and known[id].get("forgotten_at") == at]
        if told := forgotten(len(still), line.event.seq):
            yield told._replace(severity="note")


def twice(handles: Iterable[str]) -> Finding | None:
    """Items that have the id of another one: often a copy, to which a person gave other words."""
    told = ", ".join(dict.fromkeys(handles))
    hint = "Take its id and uid out, so that it gets its own; or keep both: engram doctor --fix."
    return (
        _warning("duplicate", f"memory.md has {told} twice; the second was not taken in.", hint) if told else None
    )


def older_text(kept: Iterable[str]) -> Finding | None:
    """A text that somebody saved, and that knew less than the store."""
    n = len(set(kept))
    told = _count(n, "is newer, and was kept.", "are newer, and were kept.")
    hint = "Your own changes were taken in. To go back a step: engram undo."
    return _warning("older text", f"memory.md comes from an older text: {told}", hint) if n else None


def unasked(promoted: Iterable[Memory]) -> Finding | None:
    """What a person put in force though it contradicts something."""
    handles = [memory.handle for memory in promoted if memory.held_for == "conflict"]
    told = f"{', '.join(handles)}: promoted by hand, though it contradicts another memory. Both are live now."
    return _warning("by hand", told, "Forget the one that no longer holds: engram forget ID.") if handles else None


def taken_out(removed: Mapping[str, tuple[str, ...]], state: State) -> Finding | None:
    """What must not be kept, and stood in what a person wrote."""
    handles = sorted(memory.handle for id in removed if (memory := state.memory(id)))
    kinds = Counter(kind for each in removed.values() for kind in each)
    if not kinds:
        return None
    told = f"Taken out of memory.md ({', '.join(handles)}): {', '.join(kinds)}. It is kept nowhere in the store."
    return _warning("secret", told, "If it was a credential, an editor or a backup may still have it.")


def secret(handle: str, kinds: Iterable[str]) -> Finding:
    """What looks like a credential in a memory that came with the store."""
    told = f"{handle} holds what should not be kept: {', '.join(dict.fromkeys(kinds))}."
    erase = f"engram purge {handle} --confirm"
    return _warning("secret", told, f"Say it without: engram revise {handle}; or erase it: {erase}.")


def untangled(*, kept: bool) -> Finding:
    """Both sides of a merge, taken in."""
    aside = "; the text with its marks is in .bak/" if kept else ""
    told = f"memory.md: both sides of the merge were taken in{aside}."
    return Finding("merge", told, "See what came: engram history.", severity="note")


def worded_twice(handle: str) -> Finding:
    """A memory whose words the two sides of a merge had changed, each in its own way."""
    told = f"memory.md: the sides of the merge word {handle} differently; the later wording counts."
    return Finding("merge", told, f"See both: engram history {handle}.", severity="note")


def written_again() -> Finding:
    """A registry that was not there any more."""
    hint = "See engram list; bring a backup back if it said more."
    return _warning("registry", "memory.md was gone; it is written again from history.", hint)


RESTORE = "Put events.jsonl back from a backup, or go on without: engram doctor --fix."


def history_lost(events: str, *, whole: bool) -> Finding:
    """Lines of history that were not there any more, or all of them."""
    kept = "Every memory is as memory.md has it, and what is lost cannot be undone."
    what = "All of events.jsonl is lost: history begins anew" if whole else f"events.jsonl has lost {events}"
    return _warning("history", f"{what}. {kept}", RESTORE)
