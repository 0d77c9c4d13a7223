"""The files engine: reads are answered by the index, which follows the text; writes are its scribe's."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engram.engines.files.folder import PATIENCE, Folder
from engram.engines.files.index import Index, Shelf
from engram.errors import Corrupt, Invalid, Unavailable
from engram.model.change import Change, Commit, Drifted, Finding, Token
from engram.model.codec import Record, RecordType
from engram.model.event import Event
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import Backlog, Census, Hit, Page, Query, Space
from engram.model.scope import Scope
from engram.ports import Hands, Progress

if TYPE_CHECKING:
    from engram.engines.files.joining import Side
    from engram.engines.files.mending import Mender
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
        hands: Hands,
        merged: Callable[[], "Sequence[Side]"] = tuple,
        snapshots: int = SNAPSHOTS_KEPT,
        lenient: bool = False,
        trace: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open the store, making it where there is none, and bring its index up to date.

        `hands` says what becomes of a memory whose text a person edited. `lenient` opens a store that others may
        read, or whose text cannot be read, so that it can be mended. `merged` tells the other sides of a merge that
        made the folder what it is.

        Raises:
            Invalid: when the path is not a folder, or one that holds other things and that others may open.
            Corrupt: when others may read it, a link leads out of it, its schema is unknown, or its text cannot be
                read and never could.
            Unavailable: when it cannot be made. A full disk stops no reading of what is there.
        """
        self._folder = Folder(os.fspath(path))
        self._folder.make()
        self.path = self._folder.path
        self._clock, self._new_id, self._hands, self._merged = clock, new_id, hands, merged
        self._snapshots, self._trace = snapshots, trace
        self._pen: Scribe | None = None
        # What others may write is not taken in before somebody has said so: it is only looked at.
        self._hands_off = self._others_may_open(lenient=lenient)
        self._shelf = Shelf(os.fspath(cache), self._folder, open_at=open_index, scratch=scratch_index)
        try:
            self._bring_up_to_date(PATIENCE)
            if not lenient:
                self._require_state()
        except BaseException:
            self.close()
            raise

    def _others_may_open(self, *, lenient: bool) -> bool:
        """Whether others may open something of it, which only the lenient put up with."""
        for link in self._folder.links():
            raise Corrupt(f"{self._folder.at(link)} is a symbolic link.", "Replace it by the file itself.")
        loose = self._folder.loose()
        if lenient or not loose:
            return bool(loose)
        if self._folder.is_anothers():
            raise Invalid(
                f"{self._folder.path} is not an Engram store: it holds other things, and others may open it.",
                "Give a folder of its own, such as files:" + self._folder.at("memory") + ".",
            )
        mend = f"Make it private: {loose[0].command}"
        if self._folder.names(""):  # of an empty folder there is nothing that a doctor could look at
            mend += "  (or run `engram doctor --fix`)"
        raise Corrupt(loose[0].sentence, mend)

    def _require_state(self) -> None:
        """Where the text cannot be read, the last good state answers: an empty one would be a lie."""
        if self._shelf.problem and not self._shelf.index.events(limit=1):
            raise self._shelf.problem.error()

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

    def containing(self, piece: str, access: Access, *, limit: int = 8) -> list[str]:
        """See `ports.Engine.containing`."""
        return self._read().containing(piece, access, limit=limit)

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

    def replica(self) -> str:
        """See `ports.Engine.replica`."""
        return self._read().replica()

    def close(self) -> None:
        """See `ports.Engine.close`."""
        self._shelf.index.close()

    def facts(self) -> dict[str, str]:
        """See `ports.Engine.facts`."""
        return {"index": self._shelf.path, **self._shelf.index.facts(), "schema": "memory.v1"}

    def tallies(self) -> Mapping[str, int]:
        """See `ports.Engine.tallies`: those of the index, which is all that is derived."""
        return self._shelf.index.tallies()

    def notices(self) -> list[Finding]:
        """See `ports.Noticing.notices`."""
        told, self._shelf.notices = self._shelf.notices, []
        return [*told, *([self._shelf.problem.finding()] if self._shelf.problem else [])]

    form = "files"

    def copy_to(self, folder: str, progress: Progress) -> Mapping[str, int]:
        """See `ports.Copies.copy_to`."""
        from engram.engines.files.copying import copy  # noqa: PLC0415 - start-up

        with self._folder.locked():
            self._scribe().settle_or_look()
            return copy(self._folder, folder, progress)

    # writing

    def commit(self, change: Change) -> Commit:
        """See `ports.Engine.commit`."""
        return self._scribe().commit(change)

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`. Of a store that others may open nothing else is told before it is private."""
        if self._hands_off and not repair:
            return self._mender().modes()
        self._hands_off = False
        return self._mender().check(repair=repair)

    def pages(self, *, write: bool = False) -> list[Drifted]:
        """See `ports.Paged.pages`."""
        return self._mender().pages(write=write)

    def _read(self) -> Index:
        """The index, up to date with the texts: whoever wrote them."""
        # While the texts cannot be read, or another one holds the store, the last good state answers.
        try:
            self._bring_up_to_date(PATIENCE_OF_READS)
        except (Unavailable, Corrupt):
            self._folder.require_there()
        return self._shelf.index

    def _bring_up_to_date(self, patience: float) -> None:
        if not self._hands_off and not self._shelf.is_up_to_date():
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
                hands=self._hands,
                snapshots=self._snapshots,
                trace=self._trace,
            )
        return self._pen

    def _mender(self) -> "Mender":
        """Whoever looks after the files: made anew for each look, for nothing of it is kept."""
        from engram.engines.files.mending import Mender  # noqa: PLC0415 - start-up

        return Mender(
            self._scribe(),
            self._folder,
            self._shelf,
            clock=self._clock,
            new_id=self._new_id,
            hands=self._hands,
            merged=self._merged,
        )
