"""The files engine: reads are answered by the index, which follows the text; writes are its scribe's."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from engram.engines.files.folder import PATIENCE, Folder
from engram.engines.files.index import Index, Shelf
from engram.errors import Corrupt, Unavailable
from engram.model.change import Change, Commit, Finding, Token
from engram.model.codec import Record, RecordType
from engram.model.event import Event
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import Backlog, Census, Hit, Page, Query, Space
from engram.model.scope import Scope

if TYPE_CHECKING:
    from engram.engines.files.scribe import Scribe

PATIENCE_OF_READS = 3.0
"""Seconds that a read waits for a writer before the last good state answers."""

SNAPSHOTS_KEPT = 20


class FilesEngine:
    """One folder of text, any number of processes and threads; every acknowledged commit survives a crash."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        cache: str | os.PathLike[str],
        open_index: Callable[[str], Index],
        scratch_index: Callable[[], Index],
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        claims_of: Callable[[Memory], tuple[str, ...]],
        snapshots: int = SNAPSHOTS_KEPT,
        lenient: bool = False,
        trace: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open the store, making it where there is none, and bring its index up to date.

        `lenient` opens a store that others may read, so that it can be mended.

        Raises:
            Invalid: when the path is no folder.
            Corrupt: when others may read it, a link leads out of it, or its schema is unknown.
            Unavailable: when it cannot be made. A full disk stops no reading of what is there.
        """
        self._folder = Folder(os.fspath(path))
        self._folder.make()
        self.path = self._folder.path
        self._clock, self._new_id, self._claims_of = clock, new_id, claims_of
        self._snapshots, self._trace = snapshots, trace
        self._pen: Scribe | None = None
        self._require_private(lenient=lenient)
        self._shelf = Shelf(os.fspath(cache), self._folder, open_at=open_index, scratch=scratch_index)
        self.features = self._shelf.index.features
        try:
            self._bring_up_to_date(PATIENCE)
        except BaseException:
            self.close()
            raise

    def _require_private(self, *, lenient: bool) -> None:
        for link in self._folder.links():
            raise Corrupt(f"{self._folder.at(link)} is a symbolic link.", "Replace it by the file itself.")
        for loose in [] if lenient else self._folder.loose():
            raise Corrupt(loose.sentence, f"Make it private: {loose.command}  (or run `engram doctor --fix`)")

    # reading

    def get(self, type: RecordType, refs: Iterable[str], access: Access) -> dict[str, Record]:
        """See `ports.Engine.get`."""
        return self._read().get(type, refs, access)

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
        """See `ports.Engine.scan`."""
        return self._read().scan(type, where, access, after=after, limit=limit, oldest=oldest)

    def search(self, query: Query, access: Access) -> list[Hit]:
        """See `ports.Engine.search`."""
        return self._read().search(query, access)

    def census(self, terms: Sequence[str], access: Access) -> Census:
        """See `ports.Engine.census`."""
        return self._read().census(terms, access)

    def places(self, access: Access) -> list[Scope]:
        """See `ports.Engine.places`."""
        return self._read().places(access)

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """See `ports.Engine.put_vectors`: vectors are derived, so they stand in the index alone."""
        return self._read().put_vectors(space, rows)

    def lacking(self, space: Space, access: Access, *, limit: int = 100) -> list[Memory]:
        """See `ports.Engine.lacking`."""
        return self._read().lacking(space, access, limit=limit)

    def backlog(self, access: Access) -> Backlog:
        """See `ports.Engine.backlog`."""
        return self._read().backlog(access)

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
        """See `ports.Engine.events`."""
        return self._read().events(
            after=after, subject=subject, batch=batch, token=token, newest=newest, limit=limit
        )

    def close(self) -> None:
        """See `ports.Engine.close`."""
        self._shelf.index.close()

    def facts(self) -> dict[str, str]:
        """What `doctor` says about the store besides findings."""
        of_index: dict[str, str] = getattr(self._shelf.index, "facts", dict)()
        return {"index": self._shelf.path, **of_index, "schema": "memory.v1"}

    # writing

    def commit(self, change: Change) -> Commit:
        """See `ports.Engine.commit`."""
        return self._scribe().commit(change)

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`."""
        return self._scribe().check(repair=repair)

    def _read(self) -> Index:
        """The index, up to date with the texts: whoever wrote them."""
        # While the texts cannot be read, or another one holds the store, the last good state answers.
        with suppress(Unavailable, Corrupt):
            self._bring_up_to_date(PATIENCE_OF_READS)
        return self._shelf.index

    def _bring_up_to_date(self, patience: float) -> None:
        if not self._shelf.is_up_to_date():
            with self._folder.locked(patience):
                self._scribe().settle_or_look()

    def _scribe(self) -> "Scribe":
        """Whoever writes: loaded when there is something to write, for most processes only ask."""
        if self._pen is None:
            from engram.engines.files.scribe import Scribe  # noqa: PLC0415 - start-up

            self._pen = Scribe(
                self._folder,
                self._shelf,
                clock=self._clock,
                new_id=self._new_id,
                claims_of=self._claims_of,
                snapshots=self._snapshots,
                trace=self._trace,
            )
        return self._pen
