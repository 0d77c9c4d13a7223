"""A registry against history: which items a person changed, added or took out, and which a crash left behind."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from engram.engines.files.history import State
from engram.engines.files.items import Item, print_item, status_of
from engram.engines.files.registry import Registry
from engram.model.change import Change
from engram.model.codec import Document, decode, encode
from engram.model.event import BOOKKEEPING, Draft, Payload, edits_between
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.refs import handle_number, print_handle

Span = tuple[int, int]
ClaimsOf = Callable[[Memory], tuple[str, ...]]

SYSTEM = BOOKKEEPING | {"apart", "held_for"}
"""Fields that only we set: where an item does not say them, that is no edit."""


class Edited(NamedTuple):
    """A memory before and after a person's hand; `number` where it has to get a certain one."""

    before: Memory | None
    after: Memory
    number: int | None = None


class Reading(NamedTuple):
    """What was found in a registry."""

    spans: dict[str, Span]  # where each memory stands
    others: dict[str, tuple[str, ...]]  # the keys of other programs, by memory
    behind: set[str]  # memories whose item must be written again
    aged: set[str]  # memories whose status moved on by the passing of time alone
    gone: list[Span]  # items of memories that history has dropped
    edited: list[Edited]
    twice: list[tuple[Span, Item]]  # items whose id another one has


def read(
    registry: Registry,
    state: State,
    before: Mapping[str, Document],
    now: datetime,
    dropped: frozenset[str] = frozenset(),
) -> Reading:
    """Compare every item with what history tells.

    `before` has the documents that memories had before lines of history that may not have reached the registry yet,
    and `dropped` the handles of those that are gone by them.

    Raises:
        Unreadable: for the first item that makes no sense.
    """
    found = Reading({}, {}, set(), set(), [], [], [])
    by_number = {n: id for id, n in state.numbers["memory"].items()}
    new: list[tuple[Span, Item]] = []
    taken = set(by_number)
    for span in registry.blocks():
        known = _known_as_written(registry, span, state, by_number, now)
        if known:
            found.spans[known] = span
            continue
        item = registry.item(span, now)
        item = item._replace(memory=_resolved(item.memory, by_number))
        id = _whose(item, state, by_number)
        if id and id not in found.spans:
            found.spans[id] = span
            if item.others:
                found.others[id] = item.others
            _compare(found, state, id, item, before)
            if item.status != status_of(item.memory, now) and item.status != "superseded":
                found.aged.add(id)
        elif item.handle in dropped:
            found.gone.append(span)
        elif id or number_of(item) in taken:
            found.twice.append((span, item))
        else:
            new.append((span, item))
            taken.add(number_of(item))
    _take_in(found, state, new)
    _miss(found, state, before, now)
    return found


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


def _compare(found: Reading, state: State, id: str, item: Item, before: Mapping[str, Document]) -> None:
    memory = state.memory(id)
    assert memory
    said = encode(replace(item.memory, id=id))
    if print_handle("memory", state.numbers["memory"][id]) != item.handle:
        found.behind.add(id)
    if not _moved(encode(memory), said):
        return
    if id in before:
        by_hand = _moved(before[id], said)
        found.behind.add(id)
        if not by_hand:
            return
        document = {**encode(memory), **{name: said[name] for name in by_hand if name in said}}
        said = {name: value for name, value in document.items() if name not in by_hand or name in said}
    after = decode("memory", said | {"revision": memory.revision + 1})
    assert isinstance(after, Memory)
    after = replace(after, apart=memory.apart)
    if after.status == memory.status:
        after = replace(after, held_for=memory.held_for)
    if not item.settled:
        found.behind.add(id)
    found.edited.append(Edited(memory, after))


def _moved(before: Document, after: Document) -> set[str]:
    return {name for name in {**before, **after} if before.get(name) != after.get(name)} - SYSTEM


def _resolved(memory: Memory, by_number: Mapping[int, str]) -> Memory:
    """Another program names what replaced a memory by its handle."""
    number = handle_number("memory", memory.replaced_by) or 0
    return replace(memory, replaced_by=by_number[number]) if number in by_number else memory


def _take_in(found: Reading, state: State, new: Iterable[tuple[Span, Item]]) -> None:
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
        memory = _resolved(item.memory, own)
        if memory.id in ids:
            memory = replace(memory, id=f"{memory.id[:-8]}{n:08x}")
        ids.add(memory.id)
        found.spans[memory.id] = span
        if item.others:
            found.others[memory.id] = item.others
        if not item.settled or not given:
            found.behind.add(memory.id)
        found.edited.append(Edited(None, replace(memory, revision=1), n))


def _miss(found: Reading, state: State, before: Mapping[str, Document], now: datetime) -> None:
    """Memories without an item: not written yet, or taken out by a person, which forgets them."""
    for id in state.documents["memory"]:
        if id in found.spans:
            continue
        memory = state.memory(id)
        assert memory
        if id in before:
            found.behind.add(id)
        elif memory.forgotten_at is None and memory.status != "rejected":
            after = replace(memory, forgotten_at=now, revision=memory.revision + 1)
            found.edited.append(Edited(memory, after))
            found.behind.add(id)


def change_of(
    edited: list[Edited], state: State, claims_of: ClaimsOf, *, now: datetime, batch: str, salt: str, action: str
) -> Change:
    """What a person's hand did, as one Change. Whom another memory leaves no place stands apart."""
    held = {claim: id for id, claims in state.claims.items() for claim in claims}
    touched = {each.after.id for each in edited}
    held = {claim: id for claim, id in held.items() if id not in touched}
    puts, claims = [], {}
    for each in edited:
        after = replace(each.after, updated_at=now) if each.before else each.after
        wanted = claims_of(after)
        if any(held.get(claim, after.id) != after.id for claim in wanted):
            after = replace(after, apart=True)
            wanted = claims_of(after)
        wanted = tuple(claim for claim in wanted if held.get(claim, after.id) == after.id)
        held |= dict.fromkeys(wanted, after.id)
        claims[after.id] = wanted
        puts.append(after)
    steps = zip((each.before for each in edited), puts, strict=True)
    edits = tuple(edit for before, after in steps for edit in edits_between(before, after))
    payload = Payload(edits, {"confirmed": "file"}, salt)  # whoever writes this file is a person, or acts as one
    return Change(
        draft=Draft(
            action=action,
            actor="file",
            at=now,
            subjects=tuple(after.id for after in puts),
            tier=max(after.tier for after in puts),
            batch=batch,
            payload=payload,
        ),
        puts=tuple(puts),
        expects={e.after.id: e.before.revision if e.before else 0 for e in edited},
        claims=claims,
        numbers={each.after.id: each.number for each in edited if each.number},
    )
