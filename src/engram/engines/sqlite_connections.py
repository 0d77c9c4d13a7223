"""The connections to one SQLite file by its name: one a thread, one writer at a time, none carried over a fork."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakSet

import apsw

from engram.engines import sqlite_file
from engram.engines.sqlite_errors import AGAIN, StrPath
from engram.engines.sqlite_log import Mark, alone, drop, is_succeeded, mark, save
from engram.errors import Unavailable

CACHE, LEAST_CACHE = 32_768, 2_000
"""Kilobytes of pages: what the first connection of a process may keep, the second half of it, the third a third,
and what each may at least, as SQLite has it. So a question among a million memories takes a tenth less, and
forty threads keep 155 megabytes at the most."""

PATIENCE = 1.0
"""Seconds that a close or a fork waits for another thread to end what it reads."""


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
        """Nothing is opened yet. If another file takes the name, `usable` must accept it and `renewed` is called.

        What is `losable` can be made again from something else: whoever has it open goes on when it is deleted.
        """
        self.home = 0
        """The number of the file: a copied or restored one is another, and begins its own chain."""
        self._path, self._losable = path, losable
        self._usable, self._renewed = usable, renewed
        self._writing, self._opening = threading.RLock(), threading.RLock()
        self._local = threading.local()
        self._open: WeakSet[apsw.Connection] = WeakSet()  # those of ended threads close by themselves
        self._log, self._mark = "", Mark((0, 0), 0, 0, 0)  # of all that are open
        self._due = False  # whether another file still has to be made ours
        _KNOWN.add(self)

    def mine(self) -> apsw.Connection:
        """This thread's own connection: readers never wait, and what a thread wrote is still in its cache.

        Raises:
            Unavailable: when the file is gone: nobody would ever see what is written to it now.
        """
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is not None and db.in_transaction:
            return db
        if not self._is_in_place():
            return self._connect_anew()
        return db or self._connect()

    def _connect(self, *, anew: bool = False) -> apsw.Connection:
        with self._opening:
            db = sqlite_file.connect(self._path, anew=anew or self._losable)
            first = not self._open
            self._open.add(db)
            pages = max(CACHE // len(self._open), LEAST_CACHE)
            db.execute(f"PRAGMA cache_size = -{pages}").fetchall()
            if first:  # the others keep their mark: what was deleted just now is seen by it
                self._log = db.filename_wal
                self._mark = mark(self._path, self._log)
                self.home = self._mark.file[1]
            self._local.db = db
        return db

    def _is_in_place(self) -> bool:
        """Whether the name still leads to the file of the connections, to its log and to the index of that."""
        if self._losable or self._due:
            return self._losable
        return not self._open or self._mark == mark(self._path, self._log)

    def _connect_anew(self) -> apsw.Connection:
        """A connection to the file that has the name now; without one, the old stay, and are looked at again.

        Raises:
            Unavailable: when it is gone, or when somebody still reads by the log that was deleted.
        """
        with self._writing, self._opening:
            if self._is_in_place():  # another thread was faster
                return self._connect()
            self._usable()
            with alone(self._path):
                if not self._is_saved():
                    raise self._in_use()
                if left := self._close_open(leaving=True):
                    self._open.update(left)
                    raise self._in_use()
                before, db = self._mark, self._connect(anew=True)
                if before.shm and not self._mark.shm:  # another part of this process has it open by the old one
                    self._close_open(leaving=True)
                    raise self._in_use()
            try:
                self._due = False
                self._renewed()
            except BaseException:
                self._due = True
                raise
        return db

    def _is_saved(self) -> bool:
        """Whether all that our log holds is in its file or in a log that others go on with, or moved with it."""
        old, new, every = self._mark, mark(self._path, self._log), list(self._open)
        if old.file == new.file:
            return (
                is_succeeded(self._log, old, new)
                or save(every)
                or is_succeeded(self._log, old, mark(self._path, self._log))
            )
        done = save(every)
        if old.log == new.log and done:
            drop(self._log)
        return done or old.log != new.log

    def _in_use(self) -> Unavailable:
        return Unavailable(f"The store {self._path} has just been replaced, or its log was.", AGAIN)

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
            db: apsw.Connection = getattr(self._local, "db", None) or self.mine()
            if db.readonly("main") and sqlite_file.may_write(
                self._path
            ):  # the disk was full, and may have room now
                self.close()
                db = self._connect()
            if not self._begins(db, patience):
                db = self._connect_anew()
                if not self._begins(db, patience):
                    raise self._in_use()
            try:
                if not self._losable:
                    sqlite_file.require_known(db, self._path)
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _begins(self, db: apsw.Connection, patience: int) -> bool:
        """Begin to write, if the name still leads to the file. It is looked at under the lock, and so only once.

        Raises:
            Unavailable: when the name leads nowhere.
        """
        try:
            if patience:
                db.set_busy_timeout(patience)
            db.execute("BEGIN IMMEDIATE")
        except apsw.Error:
            if self._is_in_place():
                raise
            return False
        finally:
            if patience:
                db.set_busy_timeout(sqlite_file.BUSY_MS)
        in_place = False
        try:
            in_place = self._is_in_place()
        finally:
            if not in_place:
                db.execute("ROLLBACK")
        return in_place

    def close(self) -> None:
        """Close all of them. Whoever asks again finds the file that is there then.

        What another thread reads is waited for, but not long: its connection then ends with its thread.
        """
        with self._writing, self._opening:
            self._close_open(leaving=self._is_left())

    def _is_left(self) -> bool:
        """Whether what has the names now is not ours: it is not touched then, and what our log holds is saved."""
        try:
            if self._is_in_place():
                return False
            self._is_saved()
        except Unavailable:  # moved, with what lay beside it
            save(list(self._open))
        return True

    def pause(self) -> None:
        """Close all of them before a fork, and open none until it is over.

        The locks of SQLite do not follow into a child: what it writes through a connection from before, or beside
        one, is lost as soon as the parent closes its own. What another thread reads is waited for, but not long.
        """
        self._writing.acquire()
        self._opening.acquire()
        self._close_open(leaving=self._is_left())

    def _close_open(self, *, leaving: bool) -> list[apsw.Connection]:
        """Close all; answers with those that others are using still. Who is `leaving` takes no name along."""
        until, held = time.monotonic() + PATIENCE, list(self._open)
        self._open.clear()  # first: who asks from now on waits for a new one, and gets none that is closed
        self._local = threading.local()
        for db in held:
            while not _closed(db, leaving=leaving) and time.monotonic() < until:
                time.sleep(0.001)
        return [db for db in held if not _closed(db, leaving=leaving)]

    def resume(self) -> None:
        """Go on after a fork, in the parent and in the child."""
        self._opening.release()
        self._writing.release()


def _closed(db: apsw.Connection, *, leaving: bool) -> bool:
    """Close a connection, unless another thread is using it at this moment.

    SQLite's last close deletes the file's log by name; with `leaving`, that name is another's, so it is prevented.
    """
    try:
        if leaving:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.close()
    except apsw.ConnectionClosedError:
        return True
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
