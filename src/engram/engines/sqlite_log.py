"""The log beside a SQLite file, and the index of the log: whether they are still those of whoever has it open.

If the -wal file is deleted, processes that have the store open keep writing to the deleted file while new ones
start another, and neither sees the other's writes. So before each use we check that the names still point to our
files; if not, we checkpoint what the old log holds and reopen. A file that others have open is not opened while its
log or the index of it is missing.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import apsw

from engram.engines.holders import held_by
from engram.engines.sqlite_errors import AGAIN, StrPath
from engram.errors import Unavailable
from engram.model.change import MOVED_AWAY

PATIENCE = 2.0
"""Seconds in which others have begun or ended to use a file, and the names beside it are as they should be."""


class Mark(NamedTuple):
    """By what it is seen that a store in use is still the one of its name: 0 where there is nothing."""

    file: tuple[int, int]
    link: int
    log: int
    shm: int


def mark(path: StrPath, log: str) -> Mark:
    """What is at the name of a store now, and at those of its log and index: beside the file, not beside a link.

    Raises:
        Unavailable: when there is no file of that name any more.
    """
    try:
        found, link = os.lstat(path), 0
        if stat.S_ISLNK(found.st_mode):
            found, link = os.stat(path), found.st_ino
    except OSError as error:
        raise Unavailable(
            f"The store {path} is not there any more: {error.strerror}. Nothing was written.",
            MOVED_AWAY,
        ) from None
    return Mark((found.st_dev, found.st_ino), link, _number(log), _number(index_of(log)))


def index_of(log: str) -> str:
    """The name of the index of a log."""
    return f"{log.removesuffix('wal')}shm"


def _number(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:  # where nothing can be written, there is none
        return 0


def is_succeeded(log: str, old: Mark, new: Mark) -> bool:
    """Whether other processes use a new log for this file, or this log with a new index."""
    if new.log == old.log:
        return new.shm not in (0, old.shm)
    return new.log != 0 and os.path.getsize(log) > 0


def drop(log: str) -> None:
    """Take away a log and its index whose file has lost its name: they would spoil the one that has it now."""
    for path in (log, index_of(log)):
        with suppress(FileNotFoundError):
            os.unlink(path)


def save(connections: Iterable[apsw.Connection]) -> bool:
    """Bring all that the log of these connections holds into the file; False where that did not come to its end."""
    for db in connections:
        try:
            db.set_busy_timeout(int(1000 * PATIENCE))
            ((busy, _, _),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (apsw.ThreadingViolationError, apsw.ConnectionClosedError):  # another thread is using it
            continue
        except apsw.Error:
            return False
        return not busy
    return False


def require_log(path: StrPath) -> None:
    """Refuse a file that others have open and that lacks its log or the index of it: both were deleted under them.

    Raises:
        Unavailable: when it does.
    """
    real, until = os.path.realpath(path), time.monotonic() + PATIENCE
    while not (os.path.exists(f"{real}-wal") and os.path.exists(f"{real}-shm")) and _is_open(real):
        if time.monotonic() > until:
            raise Unavailable(
                f"The log of the store {path} was deleted while it was in use.{held_by(path)} Nothing was written.",
                "Ask that program for something, such as a recall: it saves what the log held. Or end it; then"
                " try again.",
            )
        time.sleep(0.002)


def _is_open(path: str) -> bool:
    """Whether somebody has a file open with SQLite: whoever has holds a lock on it until it is closed."""
    try:
        file = apsw.VFSFile("", path, [apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_MAIN_DB, 0])
    except apsw.Error:  # nothing can be written to it
        return False
    try:
        with alone(path):
            file.xLock(apsw.SQLITE_LOCK_SHARED)
            file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
    except apsw.BusyError:
        return True
    except apsw.IOError:  # a file that can only be read takes no such lock; whoever writes to it is told so then
        return False
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()
    return False


@contextmanager
def alone(path: StrPath) -> Iterator[None]:
    """Be the only one who looks whether a file is in use, or begins another log of it.

    Raises:
        Unavailable: when another one does for too long.
    """
    import fcntl  # noqa: PLC0415 - start-up

    try:
        handle = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    except PermissionError:  # a folder that may be passed and not be looked into
        yield
        return
    until = time.monotonic() + 2 * PATIENCE
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Unavailable(f"The store {path} is being opened by another process.", AGAIN) from None
                time.sleep(0.001)
        yield
    finally:
        os.close(handle)
