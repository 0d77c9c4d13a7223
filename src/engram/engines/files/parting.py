"""Two memories under one id, as two copies of a store bring them: both are kept, the newer under a new id."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from engram.engines.files.history import State
from engram.engines.files.reading import OURS_ALONE, Base, Edited, differences
from engram.model.change import Finding
from engram.model.codec import encode
from engram.model.items import Item
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.refs import handle_number, print_handle
from engram.ports import Hands


class Twin(NamedTuple):
    """An item whose id another memory has, or that stands in a copy: its file, and what that was made from."""

    item: Item
    name: str = ""
    base: Base = Base()


class Parting(NamedTuple):
    """What becomes of twins."""

    edited: list[Edited]
    renumbered: dict[str, int]  # memories that get another number, for an older one has theirs
    others: dict[str, tuple[str, ...]]  # the keys of other programs, by memory
    notes: list[Finding]


def part(twins: Iterable[Twin], state: State, hands: Hands, new_id: Callable[[], str]) -> Parting:
    """Meet each twin: what is the same is joined, what is only older is left, and of two both are kept."""
    parting = _Parting(state, hands, new_id)
    for twin in twins:
        parting.meet(twin)
    return parting.done


class _Parting:
    def __init__(self, state: State, hands: Hands, new_id: Callable[[], str]) -> None:
        self._state, self._hands, self._new_id = state, hands, new_id
        self._last = state.given.get("memory", 0)
        self._memories = {memory.id: memory for memory in state.memories()}
        self._said = {(memory.handle, memory.text) for memory in self._memories.values()}
        self.done = Parting([], {}, {}, [])

    def meet(self, twin: Twin) -> None:
        item = twin.item
        if self._state.erased(item.memory.id, "" if item.named else item.handle):
            return  # it is gone for good
        holder = self._holder(item)
        if holder and (holder.id == item.memory.id or holder.text == item.memory.text):
            self._join(twin, holder)
        elif (item.handle, item.memory.text) in self._said:
            return  # a third copy of what was parted already
        elif holder is None:
            self._add(twin, item.memory, self._next(), "came with it")
        elif self._hands.parted(holder, item.memory)[0] is not holder and holder.id not in self.done.renumbered:
            number = self._state.numbers["memory"][holder.id]
            moved = self.done.renumbered[holder.id] = self._next()
            self._tell(twin, f"{item.handle} was two memories: the newer is {print_handle('memory', moved)} now.")
            self._add(twin, item.memory, number)
        else:
            self._add(twin, item.memory, self._next(), f"was {item.handle} too, and is the newer")

    def _holder(self, item: Item) -> Memory | None:
        if item.named and item.memory.id in self._memories:
            return self._memories[item.memory.id]
        number = handle_number("memory", item.handle) if item.handle else None
        return next((m for m in self._memories.values() if number and m.handle == item.handle), None)

    def _join(self, twin: Twin, holder: Memory) -> None:
        """The same memory in two forms."""
        item, known = twin.item, encode(holder)
        said = encode(replace(item.memory, id=holder.id))
        unsaid = frozenset() if item.named else OURS_ALONE - item.further
        fields = differences(known, said) - unsaid - {"created_at", "seen", "id"}
        before = twin.base.newer.get(holder.id, known) if twin.base.sure else None
        if not fields or (before and not differences(before, said) & fields):
            return  # as it was before it moved on
        now, beside = self._hands.joined(holder, item.memory, fields, moved=before != known)
        if now is not holder:
            self._edit(holder, now)
        if beside:
            why = f"is the newer form of {holder.handle}"
            self._add(twin, replace(beside, id=self._new_id()), self._next(), why)
        elif now is not holder:
            self._tell(twin, f"{holder.handle} has the newer {_listed(fields)} now.")
        else:
            self._tell(twin, f"{holder.handle} keeps its {_listed(fields)}: the other was older.")

    def _edit(self, before: Memory, after: Memory) -> None:
        self.done.edited.append(Edited(before, after))
        self._memories[before.id] = after

    def _add(self, twin: Twin, memory: Memory, number: int, why: str = "") -> None:
        id = memory.id if memory.id not in self._memories and memory.id else self._new_id()
        handle = print_handle("memory", number)
        self.done.edited.append(Edited(None, replace(memory, id=id, handle=""), number))
        self._memories[id] = replace(memory, id=id, handle=handle)
        self._said |= {(twin.item.handle, memory.text), (handle, memory.text)}
        if twin.item.others:
            self.done.others[id] = twin.item.others
        if why:
            self._tell(twin, f"{handle} {why}.")

    def _tell(self, twin: Twin, message: str) -> None:
        told = f"{twin.name or 'memory.md'}: {message}"
        hint = "See it: engram history. Take it back: engram undo."
        self.done.notes.append(Finding("duplicate", told, hint, severity="note"))

    def _next(self) -> int:
        self._last += 1
        return self._last


def _listed(fields: Iterable[str]) -> str:
    return ", ".join(sorted(fields))
