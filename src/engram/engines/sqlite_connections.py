"""The connections to one SQLite file: one for each thread, one writer at a time, and none carried over a fork."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

import apsw

from engram.engines import sqlite_file
from engram.engines.sqlite_errors import StrPath

CACHE, LEAST_CACHE = 32_768, 2_000
"""Kilobytes of pages: what the first connection of a process may keep, the second half of it, the third a third,
and what each may at least, as SQLite has it. So a question among a million memories takes a tenth less, and
forty threads keep 155 megabytes at the most."""

PATIENCE = 1.0
"""Seconds that a fork waits for another thread to end what it reads."""


class Connections:
    """The open connections of one process to one store."""

    def __init__(self, path: StrPath) -> None:
        """Nothing is opened yet."""
        self.home = 0
        """The number of the file: a copied or restored one is another, and begins its own chain."""
        self._path = path
        self._writing, self._opening = threading.RLock(), threading.RLock()
        self._local = threading.local()
        self._open: WeakSet[apsw.Connection] = WeakSet()  # those of ended threads close by themselves
        _KNOWN.add(self)

    def mine(self) -> apsw.Connection:
        """This thread's own connection: readers never wait, and what a thread wrote is still in its cache."""
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            with self._opening:
                db = self._local.db = sqlite_file.connect(self._path)
                self._open.add(db)
                pages = max(CACHE // len(self._open), LEAST_CACHE)
                self.home = os.stat(self._path).st_ino
            db.execute(f"PRAGMA cache_size = -{pages}").fetchall()
        return db

    @contextmanager
    def fresh(self) -> Iterator[apsw.Connection]:
        """A connection for a check: a used one may still trust its own idea of the word index."""
        db = sqlite_file.connect(self._path)
        try:
            yield db
        finally:
            db.close()

    @contextmanager
    def transaction(self, patience: int = sqlite_file.BUSY_MS) -> Iterator[apsw.Connection]:
        """The one writer slot of this process, inside a transaction that takes the store's lock at once."""
        with self._writing:
            db = self.mine()
            db.set_busy_timeout(patience)
            try:
                db.execute("BEGIN IMMEDIATE")
            finally:
                db.set_busy_timeout(sqlite_file.BUSY_MS)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close all of them. Whoever asks again finds the file that is there then."""
        with self._writing, self._opening:
            for db in list(self._open):
                db.close()
            self._forget()

    def pause(self) -> None:
        """Close all of them before a fork, and open none until it is over.

        The locks of SQLite do not follow into a child: what it writes through a connection from before, or beside
        one, is lost as soon as the parent closes its own. What another thread reads is waited for, but not long.
        """
        self._writing.acquire()
        self._opening.acquire()
        until = time.monotonic() + PATIENCE
        for db in list(self._open):
            while not _closed(db) and time.monotonic() < until:
                time.sleep(0.001)
        self._forget()

    def resume(self) -> None:
        """Go on after a fork, in the parent and in the child."""
        self._opening.release()
        self._writing.release()

    def _forget(self) -> None:
        self._open.clear()
        self._local = threading.local()


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
