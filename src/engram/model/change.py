"""What a rule answers and an engine applies: records, expectations, claims and one event."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from engram.model.caller import Caller
from engram.model.codec import Record, RecordType
from engram.model.event import Draft, Event, Head
from engram.model.record import NONE

ABSENT = 0
"""The revision of a record that does not exist, as an expectation."""


class Request(NamedTuple):
    """Who asks, when, and the chance a rule may use: rules have no clock and no dice of their own."""

    caller: Caller
    now: datetime
    batch: str
    fresh: str  # an unused id
    salt: str
    confirmed: str = ""  # the channel by which a person confirmed (flag, terminal, web, …), or ""


class Token(NamedTuple):
    """A client's name for one request, so that a retry is answered and not done again."""

    owner: str
    operation: str
    name: str
    request: str  # hash of what was asked


class Past(NamedTuple):
    """History that was made elsewhere and is taken over as it is, by a store that is rebuilt or follows another.

    The events go on from the store's last `seq`. `head` is the end of the chain that the store goes on with;
    without one it goes on with its own. `given` are the last numbers ever given, to records that are gone as well.
    There may be no event at all: then only the head is taken over.
    """

    events: tuple[tuple[Event, Token | None], ...]
    head: Head | None = None
    given: Mapping[RecordType, int] = NONE


class Change(NamedTuple):
    """All or nothing. An engine applies it exactly as it stands and decides nothing.

    `expects` gives the revision each touched record must have now (ABSENT: must not exist). `claims` gives, for
    every memory put, all the claims it holds afterwards; a claim another record holds refuses the Change.
    `erase` lists ids whose every trace goes: record, index, vectors, tokens and event payloads.
    `numbers` are the handle numbers that new records must get; one that another record has refuses the Change.
    With a `past`, its events are kept first; the draft is sealed after them, and there may be none.
    """

    draft: Draft | None
    puts: tuple[Record, ...] = ()
    drops: tuple[tuple[RecordType, str], ...] = ()
    expects: Mapping[str, int] = NONE
    claims: Mapping[str, tuple[str, ...]] = NONE
    erase: tuple[str, ...] = ()
    token: Token | None = None
    numbers: Mapping[str, int] = NONE
    past: Past | None = None


class Commit(NamedTuple):
    """What a commit did: its event, and the handles of the memories it put."""

    event: Event
    handles: Mapping[str, str] = NONE
    replayed: bool = False  # the token was known: this is the first answer again
    traces: int | None = None  # after an erasure: raw bytes of the text still found, None if not looked for
    places: tuple[str, ...] = ()  # where these are, and what could not be looked into


def noted_at(seq: int) -> str:
    """A sentence: the reason of an event still holds words that were erased, and how to take them out."""
    return f"The reason of event {seq} says it: purge what that event is about as well (engram history)."


Witness = Callable[[Commit, Mapping[str, int]], None]
"""Told what a commit is about to do, and the number of every record it puts; what it raises undoes the commit."""


class Drifted(NamedTuple):
    """A page made from the records that says something else: what it says, and what it should."""

    path: str
    before: str
    after: str


LEFT = "Restore a backup, or take out what is left: engram rescue FILE."
"""What to do about a store that nothing mends."""

MOVED_AWAY = "Move it back, or restore a backup. A process started now would begin with an empty store."
"""What to do about a store that is no longer in its place."""

UPGRADE = "Upgrade Engram here; or take over what the newer one writes: engram export FILE."
"""What to do about a store of a newer schema."""


class Finding(NamedTuple):
    """Something a check noticed. `fixable` means `doctor --fix` mends it; the hint of such a one says so itself."""

    code: str
    message: str
    hint: str = ""
    severity: str = "error"  # error, warning or note
    fixable: bool = False
