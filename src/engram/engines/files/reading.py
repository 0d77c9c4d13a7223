"""A registry against history: which items a person changed, added or took out, and which a crash left behind."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from engram.engines.files.history import Line, State
from engram.engines.files.mark import knows
from engram.engines.files.problem import Problem, Unreadable
from engram.engines.files.registry import Registry
from engram.errors import Invalid
from engram.model.codec import Document, decode, encode
from engram.model.event import BOOKKEEPING
from engram.model.items import OURS, Item, is_stripped, print_item, status_of
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.refs import handle_number, print_handle
from engram.ports import Hands

Span = tuple[int, int]

OURS_ALONE = frozenset(OURS.values()) - {"status", "approved_by", "verified_at", "created_at", "held_for"}
"""Fields of which the twelve keys say nothing."""

SYSTEM = BOOKKEEPING | {"apart", "held_for"}
"""Fields that only we set: where an item does not say them, that is no edit."""


class Edited(NamedTuple):
    """A memory before and after a person's hand; `number` where it has to get a certain one."""

    before: Memory | None
    after: Memory
    number: int | None = None
    named: bool = False  # its item has a uid, as only we write one


class Base(NamedTuple):
    """The state that a text was made from, as far as history went on since."""

    newer: Mapping[str, Document] = {}  # memories that moved on → what the text may know of them
    dropped: Mapping[str, str] = {}  # handle → id of those that are gone since
    stale: bool = False  # the text's mark does not know all of it
    sure: bool = False  # its mark says what it was made from


class Reading(NamedTuple):
    """What was found in a registry."""

    spans: dict[str, Span]  # where each memory stands
    others: dict[str, tuple[str, ...]]  # the keys of other programs, by memory
    behind: set[str]  # memories whose item must be written again
    aged: set[str]  # memories whose status moved on by the passing of time alone
    gone: list[Span]  # items of memories that history has dropped
    edited: list[Edited]
    twice: list[tuple[Span, Item]]  # items whose id another one has
    kept: set[str]  # memories of which something newer held against an older text
    taken_out: set[str]  # memories whose item a person took out
    promoted: set[str]  # memories that a person put in force


def base_of(registry: Registry, lines: Sequence[Line]) -> Base:
    """What a text was made from: by its mark, and where it has none by the newest memory that stands in it.

    A text without a mark comes from a program that drops keys of others, or from a store that we have not written
    to yet. It knows every line up to the one that made its newest item: what was made later is not missed in it.
    """
    mark = registry.mark
    unknown = [line for line in lines if not knows(mark, line.event)]
    stale, sure = bool(mark) and any(line.memories for line in unknown), len(unknown) < len(lines)
    if not sure:
        unknown = list(lines[_last_made(registry.names(), lines) :])
    moved = {id: None for line in unknown for id in line.memories}
    if not moved:
        return Base(stale=stale, sure=sure)
    left = {line.event.id for line in unknown}
    state = State.told_by(line for line in lines if line.event.id not in left)
    known = state.documents["memory"]
    gone = [id for line in unknown for id, put in line.memories.items() if not put and id in known]
    handles = {print_handle("memory", state.numbers["memory"][id]): id for id in gone}
    return Base({id: known.get(id, {}) for id in moved}, handles, stale=True, sure=sure)


def _last_made(names: set[str], lines: Sequence[Line]) -> int:
    """How many lines there are up to the one that made the newest memory of these names."""
    last, made = 0, set[str]()
    for n, line in enumerate(lines, 1):
        for id, put in line.memories.items():
            if put and id not in made:
                made.add(id)
                if id in names or print_handle("memory", put["n"]) in names:
                    last = n
    return last


def read(registry: Registry, state: State, base: Base, now: datetime, hands: Hands) -> Reading:
    """Compare every item with what history tells, and with what the text was made from.

    Raises:
        Unreadable: for the first item that makes no sense.
    """
    found = Reading({}, {}, set(), set(), [], [], [], set(), set(), set())
    by_number = {n: id for id, n in state.numbers["memory"].items()}
    new: list[tuple[Span, Item]] = []
    strange: list[tuple[Span, Item]] = []
    taken = set(by_number)
    for span in registry.blocks():
        untouched = _known_as_written(registry, span, state, by_number, now)
        if untouched and untouched not in found.spans:
            found.spans[untouched] = span
            continue
        item = as_told(registry.item(span, now), hands, now)
        item = item._replace(memory=_resolved(item.memory, by_number))
        id = _whose(item, state, by_number)
        if id and id not in found.spans:
            _meet(found, state, id, span, item, base, now)
        elif _is_gone(item, state, base):
            found.gone.append(span)
        elif id or number_of(item) in taken:
            strange.append((span, item))
        else:
            new.append((span, item))
            taken.add(number_of(item))
    for span, item in strange:
        id = by_number.get(handle_number("memory", item.handle) or 0, "")
        known = state.memory(id) if id not in found.spans else None
        if known and known.text == item.memory.text:
            _meet(found, state, id, span, item, base, now)  # its uid was changed
            found.behind.add(id)
        else:
            found.twice.append((span, item))
    found.edited[:] = [_meant(found, e.before, e.after, hands, now) for e in found.edited if e.before]
    _take_in(found, state, new, hands, now)
    _miss(found, state, base, hands, now)
    return found


def _meant(found: Reading, before: Memory, said: Memory, hands: Hands, now: datetime) -> Edited:
    """A person's edit with what follows from it, which the text does not say yet."""
    after = hands.changed(before, said, now)
    if differences(encode(said), encode(after)):
        found.behind.add(before.id)
    return Edited(before, after)


def as_told(item: Item, hands: Hands, now: datetime) -> Item:
    """An item with the status that a person set by hand, if one did: it has to be written again then."""
    meant = hands.as_told(item.memory, item.status, now)
    return item._replace(memory=meant, settled=item.settled and meant is item.memory)


def _meet(found: Reading, state: State, id: str, span: Span, item: Item, base: Base, now: datetime) -> None:  # noqa: PLR0917 - one item, and all that it is held against
    """An item of a memory that is known."""
    found.spans[id] = span
    if item.others:
        found.others[id] = item.others
    _compare(found, state, id, item, base, now)
    if item.status != status_of(item.memory, now) and item.status != "superseded":
        found.aged.add(id)


def _is_gone(item: Item, state: State, base: Base) -> bool:
    """Whether an item tells of a memory that was erased, or dropped since the text was made and left as it was."""
    if state.erased(item.memory.id, "" if item.named else item.handle):
        return True
    id = item.memory.id if item.named else base.dropped.get(item.handle, "")
    if id not in base.dropped.values() or id in state.documents["memory"]:
        return False
    return not differences(base.newer[id], encode(replace(item.memory, id=id)))


def _known_as_written(
    registry: Registry, span: Span, state: State, by_number: Mapping[int, str], now: datetime
) -> str:
    """The memory whose item stands there exactly as we write it, or ""."""
    text = registry.text[span[0] : span[1]]
    handle = text[len(registry.style.indent) + 2 : text.index("\n") if "\n" in text else None].removeprefix("id: ")
    id = by_number.get(handle_number("memory", handle) or 0, "")
    memory = state.memory(id) if id else None
    if memory is None or f"\n{registry.style.indent}  superseded_by:" in text:
        return ""
    return id if print_item(memory, handle, now, registry.style).rstrip("\n") == text.rstrip("\n") else ""


def _whose(item: Item, state: State, by_number: Mapping[int, str]) -> str:
    if item.named and item.memory.id in state.documents["memory"]:
        return item.memory.id
    number = handle_number("memory", item.handle) if item.handle else None
    id = by_number.get(number or 0, "")
    return "" if item.named and id else id  # another memory's number on an item with a uid of its own


def number_of(item: Item) -> int:
    """The number an item asks for; each that asks for none has one of its own below zero."""
    return (handle_number("memory", item.handle) or 0) if item.handle else -id(item)


def _compare(found: Reading, state: State, id: str, item: Item, base: Base, now: datetime) -> None:  # noqa: PLR0917 - as above
    memory = state.memory(id)
    assert memory
    said = encode(replace(item.memory, id=id))
    if print_handle("memory", state.numbers["memory"][id]) != item.handle:
        found.behind.add(id)
    if is_stripped(item, memory, now):
        unsaid = OURS_ALONE - item.further
        said = {name: value for name, value in said.items() if name not in unsaid}
        said |= {name: value for name, value in encode(memory).items() if name in unsaid}
        found.behind.add(id)
    other = by_hand = differences(encode(memory), said)
    if not other:
        return
    if id in base.newer:
        by_hand = other & differences(base.newer[id], said)
        found.behind.add(id)
        if other - by_hand:
            found.kept.add(id)
        if not by_hand:
            return
        document = {**encode(memory), **{name: said[name] for name in by_hand if name in said}}
        said = {name: value for name, value in document.items() if name not in by_hand or name in said}
    after = decode("memory", said)
    assert isinstance(after, Memory)
    if after.status == "promoted" != memory.status:
        found.promoted.add(id)
        found.behind.add(id)
    if not item.settled:
        found.behind.add(id)
    found.edited.append(Edited(memory, after))


def differences(before: Document, after: Document) -> set[str]:
    """The fields in which two forms of a memory differ, but for those that only we set."""
    return {name for name in {**before, **after} if before.get(name) != after.get(name)} - SYSTEM


def _resolved(memory: Memory, by_number: Mapping[int, str]) -> Memory:
    """The memory with the id of what replaced it, where another program wrote a handle."""
    number = handle_number("memory", memory.replaced_by) or 0
    return replace(memory, replaced_by=by_number[number]) if number in by_number else memory


def _take_in(found: Reading, state: State, new: Iterable[tuple[Span, Item]], hands: Hands, now: datetime) -> None:
    """Items nobody knew yet; those without an id get the next one."""
    last = state.given.get("memory", 0)
    numbered = [(span, item, handle_number("memory", item.handle) or 0) for span, item in new]
    last = max([last, *(n for _, _, n in numbered)])
    ids = set(state.documents["memory"])
    own = {n: item.memory.id for _, item, n in numbered if n}
    for span, item, given in numbered:
        n = given
        if not n:
            n = last = last + 1
        memory = hands.added(_resolved(item.memory, own), item.lacks, now)
        if memory.id in ids:
            memory = replace(memory, id=f"{memory.id[:-8]}{n:08x}")
        ids.add(memory.id)
        found.spans[memory.id] = span
        if item.others:
            found.others[memory.id] = item.others
        if not item.settled or not given:
            found.behind.add(memory.id)
        found.edited.append(Edited(None, memory, n, named=item.named and bool(given)))


def _miss(found: Reading, state: State, base: Base, hands: Hands, now: datetime) -> None:
    """Memories without an item: not written yet, or taken out by a person."""
    strange = {item.handle for _, item in found.twice}  # another memory stands in the place of its own
    for id in state.documents["memory"]:
        if id in found.spans:
            continue
        memory = state.memory(id)
        assert memory
        after = hands.taken_out(memory, now)
        if id in base.newer or memory.handle in strange:
            found.behind.add(id)
            if after and id in base.newer:
                found.kept.add(id)
        elif after:
            found.edited.append(Edited(memory, after))
            found.behind.add(id)
            found.taken_out.add(id)


def scrubbed(found: Reading, hands: Hands) -> dict[str, tuple[str, ...]]:
    """Take what must not be kept out of what a person wrote; answers what was taken out, by memory.

    Raises:
        Unreadable: when it stands where it cannot be taken out.
    """
    removed: dict[str, tuple[str, ...]] = {}
    for n, (before, after, number, named) in enumerate(found.edited):
        try:
            clean, kinds = hands.cleaned(before, after)
        except Invalid as error:
            raise Unreadable(Problem("memory.md", 1, error.message, error.hint)) from None
        if clean is not after:
            found.edited[n] = Edited(before, clean, number, named=named)
            found.behind.add(after.id)
            removed[after.id] = kinds
    # A crash may have left the words in the text after they were taken in without what was taken out.
    found.edited[:] = [e for e in found.edited if not e.before or differences(encode(e.before), encode(e.after))]
    for id, others in found.others.items():  # remarks, and keys of other programs
        told, kinds = hands.redacted("\n".join(others))
        if kinds:
            found.others[id] = tuple(told.split("\n"))
            found.behind.add(id)
            removed[id] = (*removed.get(id, ()), *kinds)
    return removed
