"""Names that were kept before names were composed: found, and brought into the form in which they are asked for."""

from engram.model.change import Change, Request
from engram.model.limits import composed
from engram.model.memory import Memory, clean_tags
from engram.model.record import replace
from engram.rules.changes import claims_of, compose, step

CHANNEL = "doctor"
"""What history calls the confirmation: a person asked to mend the store, and no memory says anything else by it."""


class Misnamed:
    """Memories whose key or tags are written otherwise than they are asked for, or whose place another has so.

    Where composing makes two names one, the older memory keeps the name's place, unless it is forgotten and the
    other is not. The other one stands apart: both are found by the name, and either can still be changed.
    """

    def __init__(self) -> None:
        self._held: dict[str, Memory | None] = {}  # by claim: who holds it, where it may have to give way
        self._found: dict[str, tuple[Memory, Memory]] = {}

    def look_at(self, memory: Memory) -> None:
        """Look at one of them; the oldest comes first."""
        if memory.key.isascii() and memory.scope.name.isascii() and all(map(str.isascii, memory.tags)):
            return
        named = replace(memory, key=composed(memory.key), tags=clean_tags(map(composed, memory.tags)))
        if named != memory:
            self._found[memory.id] = memory, named
        for claim in claims_of(named):
            if claim not in self._held:
                self._held[claim] = memory if memory.forgotten_at else None
            elif (holder := self._held[claim]) and not memory.forgotten_at:
                self._set_apart(holder)
                self._held[claim] = None
            else:
                self._set_apart(memory)

    def _set_apart(self, memory: Memory) -> None:
        _, named = self._found.get(memory.id, (memory, memory))
        self._found[memory.id] = memory, replace(named, apart=True)

    def found(self) -> list[tuple[Memory, Memory]]:
        """Each as it is and as it is to be; first those that give up a place, which another takes."""
        return sorted(self._found.values(), key=lambda one: not one[1].apart)


def mended(memory: Memory, named: Memory, request: Request) -> Change:
    """A memory under its composed names; what it says stays, so a person who mends the store confirms it."""
    confirmed = request._replace(confirmed=request.confirmed or CHANNEL)
    changes = {name: getattr(named, name) for name in ("key", "tags", "apart")}
    return compose("revise", confirmed, [step(memory, request, **changes)], note={"reason": "names composed"})
