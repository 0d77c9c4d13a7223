"""SQLite databases of other programs: opened for reading only, in place or as a private copy with their log.

Nothing is written beside the original: its program may be at work on it meanwhile.
"""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from engram.errors import Corrupt, Invalid, Unavailable
from engram.interop.forms import Problem, Source

if TYPE_CHECKING:
    from sqlite3 import Connection

MAGIC = b"SQLite format 3\x00"
TRIES = 8
PATIENCE = 5.0
"""Seconds to wait for a program that is writing."""

MOST_TOLD = 64 << 20
"""Bytes of one value. A database can hold the rule for a value instead of the value: a short one for a gigabyte."""

WRITE_AHEAD = 2
"""What the header of a database says that keeps a write-ahead log."""

Tables = Mapping[str, frozenset[str]]
"""Every table with the names of its columns."""


def is_database(source: Source) -> bool:
    """Whether a file is an SQLite database."""
    return source.head.startswith(MAGIC)


def tables(source: Source) -> Tables:
    """The tables of a database; none for what is no database, or cannot be read."""
    if not is_database(source):
        return {}
    try:
        with opened(source) as database:
            return tables_of(database)
    except Invalid:
        return {}


def tables_of(database: "Connection") -> Tables:
    """The tables of an open database."""
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: columns(database, name) for name in names}


def columns(database: "Connection", table: str) -> frozenset[str]:
    """The columns of a table whose rows are in the file; none where there is no such table.

    What is no such table (a view, or one of a module) makes its rows as they are read, and may never end.
    """
    kept = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?"
    if database.execute(kept, (table,)).fetchone() is None:
        return frozenset()
    return frozenset(row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def bounded(database: "Connection") -> "Connection":
    """A connection by which no value is larger than it may be: reading one is an error instead."""
    import sqlite3  # noqa: PLC0415 - start-up

    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_TOLD)
    return database


def require(path: str, database: "Connection", needed: Mapping[str, Collection[str]]) -> None:
    """See that tables have the columns without which nothing can be read.

    Raises:
        Invalid: when it is of another schema.
    """
    for table, names in needed.items():
        found = columns(database, table)
        if missing := [name for name in names if name not in found]:
            raise Invalid(
                f"{path} is of another schema: {table} has no {', '.join(missing)}.", "It cannot be read."
            )


def rows(database: "Connection", sql: str, *values: object) -> Iterator[dict[str, Any] | Problem]:
    """The rows of a question by the names of their columns; a problem where the database is damaged."""
    import sqlite3  # noqa: PLC0415 - start-up

    try:
        cursor = database.execute(sql, values)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        yield Problem("the database", f"It cannot be read to the end: {error}.")


@contextmanager
def opened(source: Source) -> Iterator["Connection"]:
    """A database for reading, in one state from beginning to end, while its program may be writing.

    Raises:
        Invalid: when it cannot be read.
    """
    import sqlite3  # noqa: PLC0415 - start-up
    from urllib.parse import quote  # noqa: PLC0415 - start-up

    path = os.path.abspath(source.path)
    logged = os.path.exists(f"{path}-wal")
    try:
        with _beside(path, needed=logged and not os.path.exists(f"{path}-shm")) as place:
            # With a log in its header and no log there, nobody has it open: SQLite would make one to read it.
            alone = source.head[18:19] == bytes([WRITE_AHEAD]) and not logged
            address = f"file:{quote(place)}?" + ("immutable=1" if alone else "mode=ro")
            with closing(bounded(sqlite3.connect(address, uri=True, timeout=PATIENCE))) as database:
                database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
                database.execute("BEGIN")
                yield database
    except (sqlite3.Error, OSError) as error:
        raise Invalid(f"{source.path} cannot be read: {error}.", "Check the file, or try again later.") from None


@contextmanager
def _beside(path: str, *, needed: bool) -> Iterator[str]:
    """The path itself; where a log was left behind without its index, that of a copy in which it may be made."""
    if not needed:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="engram-") as folder:
        place = os.path.join(folder, "copy.db")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{place}{suffix}")
        yield place


@contextmanager
def copied(path: str) -> "Iterator[Connection]":
    """A connection to a private copy of a database and its log, gone when it is done with.

    Raises:
        Unavailable: when it is being written the whole time.
        Corrupt: when it is damaged.
    """
    import sqlite3  # noqa: PLC0415 - start-up

    with tempfile.TemporaryDirectory(prefix="engram-") as folder:
        copy = os.path.join(folder, "copy.db")
        _copy(path, copy)
        database = bounded(sqlite3.connect(copy))
        database.text_factory = _text
        try:
            database.execute("PRAGMA query_only = ON")
            yield database
        except sqlite3.DatabaseError as error:
            raise Corrupt(f"{path} is damaged: {error}.", "Let its own program check it.") from None
        finally:
            database.close()


def _copy(path: str, copy: str) -> None:
    """Copy a database and its log as they were in one moment: again, if they changed meanwhile."""
    from time import sleep  # noqa: PLC0415 - start-up

    for attempt in range(TRIES):
        before = _stamp(path)
        try:
            shutil.copyfile(path, copy)
            if os.path.exists(f"{path}-wal"):
                shutil.copyfile(f"{path}-wal", f"{copy}-wal")
            elif os.path.exists(f"{copy}-wal"):
                os.unlink(f"{copy}-wal")
        except FileNotFoundError:
            continue  # the log went away in this moment
        except OSError as error:
            raise Unavailable(f"{path} cannot be read: {error.strerror}.", "Check who may read it.") from None
        if before == _stamp(path):
            return
        sleep(0.05 * (attempt + 1))
    raise Unavailable(f"{path} is being written all the time.", "Try again when its program is at rest.")


def _stamp(path: str) -> list[tuple[int, int] | None]:
    stamps: list[tuple[int, int] | None] = []
    for file in (path, f"{path}-wal"):
        try:
            state = os.stat(file)
            stamps.append((state.st_size, state.st_mtime_ns))
        except OSError:
            stamps.append(None)
    return stamps


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
