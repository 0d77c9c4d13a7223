"""The connections to one SQLite file by its name: one a thread, one writer at a time, none carried over a fork."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple
from weakref import WeakSet

import apsw

from engram.engines import sqlite_file
from engram.engines.sqlite_errors import AGAIN, StrPath
from engram.errors import Unavailable

CACHE, LEAST_CACHE = 32_768, 2_000
"""Kilobytes of pages: what the first connection of a process may keep, the second half of it, the third a third,
and what each may at least, as SQLite has it. So a question among a million memories takes a tenth less, and
forty threads keep 155 megabytes at the most."""

PATIENCE = 1.0
"""Seconds that a close or a fork waits for another thread to end what it reads."""


class Held(NamedTuple):
    """A connection, and by what its file and the log of it are known."""

    db: apsw.Connection
    file: tuple[tuple[int, int], int]


class Connections:
    """The open connections of one process to one store."""

    def __init__(
        self,
        path: StrPath,
        *,
        usable: Callable[[], None] = lambda: None,
        renewed: Callable[[], None] = lambda: None,
        losable: bool = False,
    ) -> None:
        """Nothing is opened yet. Another file that takes the name must be `usable`, and is `renewed` then."""
        self.home = 0
        """The number of the file: a copied or restored one is another, and begins its own chain."""
        self._path, self._losable = path, losable
        self._usable, self._renewed = usable, renewed
        self._writing, self._opening = threading.RLock(), threading.RLock()
        self._local = threading.local()
        self._open: WeakSet[apsw.Connection] = WeakSet()  # those of ended threads close by themselves
        _KNOWN.add(self)

    def mine(self) -> apsw.Connection:
        """This thread's own connection: readers never wait, and what a thread wrote is still in its cache.

        Raises:
            Unavailable: when the file is gone: nobody would ever see what is written to it now.
        """
        held: Held | None = getattr(self._local, "held", None)
        if held is None:
            return self._connect().db
        if held.db.in_transaction or self._is_in_place(held):
            return held.db
        return self._connect_anew(held)

    def _connect(self) -> Held:
        with self._opening:
            db = sqlite_file.connect(self._path)
            self._open.add(db)
            pages = max(CACHE // len(self._open), LEAST_CACHE)
            db.execute(f"PRAGMA cache_size = -{pages}").fetchall()
            sqlite_file.schema_of(db)  # the first read: from then on there is a log, which stays while this is open
            held = self._local.held = Held(db, sqlite_file.mark(self._path))
            self.home = held.file[0][1]
        return held

    def _is_in_place(self, held: Held) -> bool:
        """Whether the name still leads to the file of a connection, and to its log.

        What is losable can be made again from something else: whoever has it open goes on when it is deleted.
        """
        return self._losable or held.file == sqlite_file.mark(self._path)

    def _connect_anew(self, old: Held) -> apsw.Connection:
        """A connection to the file that has the name now; without one, the old stays, and is looked at again."""
        if (
            old.file[0] == sqlite_file.mark(self._path)[0]
        ):  # only its log was deleted: what that held is saved first
            with suppress(apsw.Error):
                old.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._usable()
        try:
            new = self._connect()
            self._renewed()
        except BaseException:
            self._local.held = old
            raise
        return new.db

    @contextmanager
    def fresh(self) -> Iterator[apsw.Connection]:
        """A connection for a check: a used one may still trust its own idea of the word index."""
        db = sqlite_file.connect(self._path)
        try:
            yield db
        finally:
            db.close()

    @contextmanager
    def transaction(self, patience: int = 0) -> Iterator[apsw.Connection]:
        """The one writer slot of this process, inside a transaction that takes the store's lock at once.

        `patience` is for how many milliseconds another writer is waited for, where that is not as long as ever.

        Raises:
            Corrupt: when a newer Engram has brought the store up to date: this one knows too little of it.
            Unavailable: when the file is gone, or was replaced once more while others were waited for.
        """
        with self._writing:
            held: Held = getattr(self._local, "held", None) or self._connect()
            if not self._begins(held, patience):
                self._connect_anew(held)
                held = self._local.held
                if not self._begins(held, patience):
                    raise Unavailable(f"The store {self._path} has just been replaced.", AGAIN)
            db = held.db
            try:
                if not self._losable:
                    sqlite_file.require_known(db, self._path)
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _begins(self, held: Held, patience: int) -> bool:
        """Begin to write, if the name still leads to the file. It is looked at under the lock, and so only once.

        Raises:
            Unavailable: when the name leads nowhere.
        """
        db = held.db
        try:
            if patience:
                db.set_busy_timeout(patience)
            db.execute("BEGIN IMMEDIATE")
        except apsw.Error:
            if self._is_in_place(held):
                raise
            return False
        finally:
            if patience:
                db.set_busy_timeout(sqlite_file.BUSY_MS)
        in_place = False
        try:
            in_place = self._is_in_place(held)
        finally:
            if not in_place:
                db.execute("ROLLBACK")
        return in_place

    def close(self) -> None:
        """Close all of them. Whoever asks again finds the file that is there then.

        What another thread reads is waited for, but not long: its connection then ends with its thread.
        """
        with self._writing, self._opening:
            self._close_open()

    def pause(self) -> None:
        """Close all of them before a fork, and open none until it is over.

        The locks of SQLite do not follow into a child: what it writes through a connection from before, or beside
        one, is lost as soon as the parent closes its own. What another thread reads is waited for, but not long.
        """
        self._writing.acquire()
        self._opening.acquire()
        self._close_open()

    def _close_open(self) -> None:
        until, held = time.monotonic() + PATIENCE, list(self._open)
        self._open.clear()  # first: who asks from now on waits for a new one, and gets none that is closed
        self._local = threading.local()
        for db in held:
            while not _closed(db) and time.monotonic() < until:
                time.sleep(0.001)

    def resume(self) -> None:
        """Go on after a fork, in the parent and in the child."""
        self._opening.release()
        self._writing.release()


def _closed(db: apsw.Connection) -> bool:
    """Close a connection, unless another thread is using it at this moment."""
    try:
        db.close()
    except apsw.Error:
        return False
    return True


_KNOWN: WeakSet[Connections] = WeakSet()
_paused: list[Connections] = []


def _pause() -> None:
    for each in list(_KNOWN):
        _paused.append(each)
        each.pause()


def _resume() -> None:
    while _paused:
        _paused.pop().resume()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_pause, after_in_parent=_resume, after_in_child=_resume)
