"""What engines append and how they refuse: the chain of a store, its numbers, and the events of a Change."""

from typing import NamedTuple

from engram.errors import Conflict, Moved
from engram.model.change import Change, Token
from engram.model.codec import RecordType
from engram.model.event import Event, Head, canonical, seal

_RETRY = "Read it again, and repeat what you asked for."


def moved() -> Moved:
    """What is raised where a record is no longer what a Change expects."""
    return Moved("It changed in the meantime.", _RETRY)


def taken() -> Moved:
    """What is raised where another memory holds a claim."""
    return Moved("Another memory already has this key or this text.", _RETRY)


class Chain(NamedTuple):
    """The end of a store's history, the last numbers given, and the replicas that it was before."""

    head: Head
    numbers: dict[str, int]
    earlier: tuple[str, ...] = ()

    def going_on(self, head: Head) -> "Chain":
        """This chain with another head; where that names a new replica, the one before it is remembered."""
        was = self.head.replica
        renamed = head.replica != was and self.head.position and was not in self.earlier
        return self._replace(head=head, earlier=(*self.earlier, was) if renamed else self.earlier)

    def number(self, type: RecordType, wanted: int | None = None) -> int:
        """The next number of a type, or the wanted one: never given again, even when its record is purged."""
        last = self.numbers.get(type, 0)
        number = wanted or last + 1
        self.numbers[type] = max(last, number)
        return number

    def given(self, change: Change) -> None:
        """Never give again what a past that is taken over has given."""
        for type, n in change.past.given.items() if change.past else ():
            self.numbers[type] = max(n, self.numbers.get(type, 0))


class Kept(NamedTuple):
    """An event as it is kept: its envelope and payload as text, and the token that asked for it."""

    event: Event
    envelope: str
    payload: str | None
    token: Token | None


def sealed(change: Change, head: Head) -> tuple[list[Kept], Head]:
    """The events that a Change appends, and the head after them: those of its past as they are, then its own."""
    kept, time = [], head.time
    for seq, (told, token) in enumerate(change.past.events if change.past else (), head.seq + 1):
        event = told._replace(seq=seq)
        payload = event.payload.print() if event.payload else None
        kept.append(Kept(event, canonical(event.envelope()), payload, token))
        time = max(time, event.time)
    if change.past:
        seq = kept[-1].event.seq if kept else head.seq
        head = (change.past.head or head)._replace(time=time, seq=seq)
    if change.draft:
        event, head, envelope, payload = seal(change.draft, head)
        kept.append(Kept(event, envelope, payload, change.token))
    assert kept, "a Change without a draft has a past with events"
    return kept, head


def same_request(token: Token, request: str) -> None:
    """Make sure that a token is used again for what it was first used for.

    Raises:
        Conflict: when it was for another request.
    """
    if request != token.request:
        raise Conflict("That token was used for another request.", "Use a new token for a new request.")
