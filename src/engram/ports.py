"""What the core asks of the world: an engine, and chance and time from outside."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from engram.model.change import Change, Commit, Finding, Token
from engram.model.codec import Record, RecordType
from engram.model.event import Event
from engram.model.filter import Access, Filter
from engram.model.query import Hit, Page, Query

Clock = Callable[[], datetime]
NewId = Callable[[], str]


class Engine(Protocol):
    """Where records rest. Bound to one org; keeps documents and an index, and decides nothing.

    Every read takes an Access and raises TypeError without one. What a caller may not read is absent.
    Engines are safe to use from several threads and, where they keep a file, from several processes.
    """

    features: frozenset[str]
    """What `search` can do natively: "text", "vector"."""

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
        """Readable memories that match the query, best first, ties by id.

        A committed memory is found at once.
        """
        ...

    def commit(self, change: Change) -> Commit:
        """Apply a Change whole, or leave no trace of it; durable when it returns.

        Raises:
            Conflict: when an expectation does not hold, another record holds a claim, or the token was used
                for another request.
            Unavailable: when the store is locked, full or read-only. Nothing was written.
        """
        ...

    def put_vectors(self, model: str, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """Keep (memory id, digest, vector) for a model; rows whose digest has moved are dropped.

        Leaves no event. Returns how many were kept.
        """
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
        """History in commit order (or newest first), after a local seq (or before it).

        Raises:
            Conflict: when `token` is known with another request.
        """
        ...

    def check(self, *, repair: bool = False) -> list[Finding]:
        """What is wrong with the store; a healthy one answers with nothing.

        `repair` rebuilds what is derived (indexes, orphaned vectors); records only ever change by Changes.
        """
        ...

    def close(self) -> None:
        """Release what is held. Durability never depends on it."""
        ...
