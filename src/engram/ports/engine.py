"""Where records are kept: what every engine does, what only some can do, and what opens their copies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar, cast

from engram.model.change import Change, Commit, Drifted, Finding, Token
from engram.model.codec import Document, Record, RecordType
from engram.model.event import Event
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import Backlog, Census, Hit, Page, Query, Space
from engram.model.scope import Scope
from engram.ports.blobs import Blobs
from engram.ports.machine import Progress

A = TypeVar("A")


class Engine(Protocol):
    """Where records rest. Bound to one org; keeps documents and an index, and decides nothing.

    Every read takes an Access and raises TypeError without one. What a caller may not read is absent.
    Engines are safe to use from several threads and, where they keep a file, from several processes.
    """

    def get(self, type: RecordType, refs: Iterable[str], access: Access) -> dict[str, Record]:
        """The readable records by id, by handle (`mem-0001`) or by an unambiguous prefix of an id.

        The answer's keys are the refs as given; what is absent or unreadable is left out. A prefix has at
        least four characters.

        Raises:
            Conflict: when a prefix fits two readable records.
        """
        ...

    def scan(
        self,
        type: RecordType,
        where: Filter,
        access: Access,
        *,
        after: str | None = None,
        limit: int = 100,
        oldest: bool = False,
    ) -> Page:
        """Readable records that match, newest first (or oldest first), by creation and then id.

        `after` is the `next` of an earlier page. Paging neither repeats nor skips a record that stays.

        Raises:
            Invalid: when `after` is no such cursor.
        """
        ...

    def search(self, query: Query, access: Access) -> list[Hit]:
        """Readable memories that match the query, each once, in order (see `model.query.in_order`).

        A committed memory is found by its words at once; by meaning when it has a vector in the query's space.
        A memory with several vectors counts by its nearest. Where a vector is given, every hit that has one tells
        its cosine, those found by words as well: nobody has to ask twice.
        """
        ...

    def census(self, terms: Sequence[str], access: Access) -> Census:
        """How many readable memories carry each of these terms; counts may lag behind a little."""
        ...

    def containing(self, piece: str, access: Access, *, limit: int = 8) -> list[str]:
        """Terms that hold a piece of a word (see `model.text.holds`) and that readable memories carry.

        The shortest first, ties in the order of their letters.
        """
        ...

    def places(self, access: Access) -> list[Scope]:
        """Every scope into which a memory or session was put that may be read, by name; some may be empty now."""
        ...

    def commit(self, change: Change) -> Commit:
        """Apply a Change whole, or leave no trace of it; durable when it returns.

        Raises:
            Conflict: when an expectation does not hold, another record holds a claim, or the token was used
                for another request.
            Unavailable: when the store is locked, full or read-only. Nothing was written.
        """
        ...

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """Keep (memory id, imprint, vectors) in a space; rows whose imprint has moved are dropped.

        `vectors` holds one or more of the space's length, as little-endian float32 of unit length. The first space
        a store meets is the active one at once. Empty `rows` declares `space` the wanted one. A new space starts
        filling and becomes active once every memory has a vector in it; if it is already active, any other space
        being filled is dropped. Rows of a space that is neither active nor being filled are dropped. Leaves no
        event. Returns how many memories got theirs.

        Raises:
            Invalid: when the bytes are no such vectors. Nothing was written.
        """
        ...

    def lacking(self, space: Space, access: Access, *, limit: int = 100) -> list[Memory]:
        """Readable memories without a vector in this space, the oldest first; none if it is not the store's."""
        ...

    def backlog(self, access: Access) -> Backlog:
        """Which spaces there are, and how far behind they are with what may be read."""
        ...

    def events(
        self,
        *,
        after: int = 0,
        subject: str | None = None,
        batch: str | None = None,
        token: Token | None = None,
        newest: bool = False,
        limit: int = 100,
    ) -> list[Event]:
        """Events with `seq > after`, in commit order.

        With `newest`: newest first, with `seq < after`, or from the end if `after` is 0. With `token`: only the
        event of that request, if there is one.

        Raises:
            Conflict: when `token` is known with another request.
        """
        ...

    def replica(self) -> str:
        """Who this store is in histories that several stores share; "" before the first event of its own."""
        ...

    def check(self, *, repair: bool = False) -> list[Finding]:
        """What is wrong with the store; a healthy one answers with nothing.

        `repair` rebuilds what is derived (indexes, orphaned vectors); records only ever change by Changes.
        """
        ...

    def facts(self) -> Mapping[str, str]:
        """What `doctor` says about the store besides findings, such as its schema."""
        ...

    def tallies(self) -> Mapping[str, int]:
        """How many memories each part of the store has: rows, full_text, vectors; in a whole store they are equal.

        Nothing where nothing is derived, or no vector was made.
        """
        ...

    def close(self) -> None:
        """Release what is held. Durability never depends on it."""
        ...


def able(one: object, ability: Callable[..., A]) -> A | None:
    """Return `one`, typed as the protocol `ability`, if it has all of that protocol's members; else None.

    For optional abilities (the protocols below), which not every engine has.
    """
    names = (name for name in (*vars(ability), *ability.__annotations__) if not name.startswith("_"))
    return cast("A", one) if all(hasattr(one, name) for name in names) else None


class Copies(Protocol):
    """An engine that can copy itself while others write; one that keeps no file cannot."""

    form: str
    """Which engine can open the copy."""

    def copy_to(self, folder: str, progress: Progress) -> Mapping[str, int]:
        """Put a copy of the store, as it is at one moment, into an empty folder; it is a replica of its own.

        Returns how many memories, sessions, relations and events it has.

        Raises:
            Corrupt, Unavailable: when it cannot be read, or the copy not be written.
        """
        ...


class Paged(Protocol):
    """An engine that keeps pages for people beside its records; one without has none to bring up to date."""

    def pages(self, *, write: bool = False) -> list[Drifted]:
        """The pages that do not say what the records say; `write` makes them, and keeps what they said aside.

        Raises:
            Corrupt, Unavailable: when the texts cannot be read, or the page not be written.
        """
        ...


class Noticing(Protocol):
    """An engine to which something may happen that whoever asks should know of: people edit its texts."""

    def notices(self) -> Sequence[Finding]:
        """What there is to say besides answers: each happening once, what is wrong for as long as it is."""
        ...


class Probed(Protocol):
    """An engine on a server that may be gone."""

    def probe(self) -> None:
        """Look whether it answers, without waiting long.

        Raises:
            Unavailable: when it does not.
        """
        ...


class ManyOrgs(Protocol):
    """An engine on a database that many orgs share."""

    def of(self, org: str) -> Engine:
        """The same database for another org."""
        ...

    def unbound(self) -> str:
        """The database user's name if row-level security does not apply to it, else ""."""
        ...


class KeepsBytes(Protocol):
    """An engine that keeps the bytes of attachments itself."""

    def blobs(self) -> Blobs:
        """Where they rest, of its org."""
        ...


class Followed(Protocol):
    """An engine with an index beside it that follows its history."""

    index_name: str
    """How the index is called in answers."""

    def reindex(self, *, fresh: bool = False) -> Iterator[tuple[int, int]]:
        """Take over what is missing, a batch at a time, and tell each time how far of how far that is.

        It goes on where it was stopped; `fresh` forgets what is there and begins anew.

        Raises:
            Unavailable: when the index does not answer.
        """
        ...

    def degraded(self) -> str:
        """Why the engine answers alone at present; empty when it does not."""
        ...


class Vault(Protocol):
    """What opens copies of stores, whichever engine they are of, and puts one in the place of the store."""

    place: str
    """Where the store lies, or would."""

    def version(self) -> str:
        """The release of Engram that copies."""
        ...

    def check(self, form: str, folder: str) -> tuple[Mapping[str, int], Sequence[Finding]]:
        """Open a copy; how many records it has, and what is wrong with it.

        Raises:
            Invalid: when no engine knows this form.
            Corrupt, Unavailable: when it cannot be opened.
        """
        ...

    def salvage(self, now: datetime) -> Iterator[tuple[RecordType, Document]]:
        """Every record that can still be read where the store lies, damaged or not; nothing there is written.

        Raises:
            Invalid: when the store is in memory only.
            Unavailable: when it cannot be read at all.
        """
        ...

    def put(self, form: str, folder: str, aside: str) -> str:
        """Put a copy in the place of the store; returns where the one that was there has gone, if anywhere.

        An empty store gives way. One that holds anything is kept under its name and `aside`.

        Raises:
            Invalid: when the store is of another form.
            Conflict: when it holds anything and `aside` is empty.
            Unavailable: when it is in use, or its folder cannot be written.
        """
        ...
