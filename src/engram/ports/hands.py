"""Rules an engine calls to interpret a person's edit of a plain-text store."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from engram.model.change import Change
from engram.model.memory import Memory


class Hands(Protocol):
    """Rules an engine calls to interpret a person's edit. Pure: the time is passed in, nothing is kept."""

    def as_told(self, memory: Memory, status: str, now: datetime) -> Memory:
        """The memory of an item with the status that stands there, which a person may have set by hand.

        `status` is a word of memory.v1. Answers with the memory itself where that is how it stands anyway.
        """
        ...

    def held(self, memory: Memory, reason: str | None) -> Memory:
        """A memory that waits, held for the reason that its envelope in the queue gives in another program's words.

        As it was held before where there is no envelope, which is a reason of None.
        """
        ...

    def added(self, memory: Memory, lacks: Collection[str], now: datetime) -> Memory:
        """The memory of an item that nobody knew; `lacks` are those of the twelve keys that it does not have."""
        ...

    def changed(self, before: Memory, after: Memory, now: datetime) -> Memory:
        """The memory of an item that says something else now; `after` is what it says."""
        ...

    def taken_out(self, memory: Memory, now: datetime) -> Memory | None:
        """A memory whose item is gone; None where that changes nothing."""
        ...

    def secrets(self, memory: Memory) -> tuple[str, ...]:
        """What a memory holds that must not be kept, by its kinds.

        Raises:
            Invalid: when it stands where it cannot be taken out.
        """
        ...

    def redacted(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Words that are no memory's, however many, without what must not be kept; and the kinds of it."""
        ...

    def cleaned(self, before: Memory | None, after: Memory) -> tuple[Memory, tuple[str, ...]]:
        """What a person wrote without what must not be kept, and the kinds of it; itself where there is none.

        Raises:
            Invalid: when it stands where it cannot be taken out.
        """
        ...

    def parted(self, ours: Memory, theirs: Memory) -> tuple[Memory, Memory]:
        """Of two memories under one id: who keeps it, and who gets another."""
        ...

    def joined(
        self, ours: Memory, theirs: Memory, fields: Collection[str], *, moved: bool
    ) -> tuple[Memory, Memory | None]:
        """One memory in two forms that differ in `fields`: what it is now, and the form that is kept beside it.

        `moved` says that ours may have changed since the two were one.
        """
        ...

    def change(
        self,
        steps: Sequence[tuple[Memory | None, Memory]],
        held: Mapping[str, Sequence[str]],
        *,
        action: str,
        actor: str,
        now: datetime,
        batch: str,
        salt: str,
        note: Mapping[str, Any],
    ) -> Change:
        """What a person's hand did, before and after, as one Change; `held` are the claims of all memories."""
        ...
