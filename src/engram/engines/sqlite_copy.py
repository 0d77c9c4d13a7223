"""Copies of a SQLite store: made while others write, counted, and put in the place of another."""

import os
from collections.abc import Mapping
from contextlib import closing, suppress

import apsw

from engram.drafts import sync_folder
from engram.engines import sqlite_file
from engram.engines.folders import make_folder
from engram.engines.sqlite_errors import StrPath, mapped
from engram.engines.sqlite_rows import NOWHERE, Book, fetch
from engram.errors import EngramError, Unavailable
from engram.layout import is_database
from engram.ports import Progress

NAME = "engram.db"
"""What the store is called in a copy."""

PAGES = 512
"""How many pages are copied between two looks at the clock: two megabytes."""

BESIDE = ("-wal", "-shm", "-journal")
COUNTED = {"memories": "memory", "sessions": "session", "relations": "relation", "events": "event"}


def copy(path: StrPath, folder: str, progress: Progress) -> Mapping[str, int]:
    """Copy a store as it is at one moment into a folder, as a store that is yet to begin a chain of its own.

    Whoever writes meanwhile neither waits nor is seen. Returns how many records of each type it has.

    Raises:
        Corrupt, Unavailable: when it cannot be read, or the copy not be written.
    """
    target = os.path.join(folder, NAME)
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with mapped(path), closing(sqlite_file.connect(path)) as source, closing(apsw.Connection(target)) as copied:
        # A snapshot that is held from beginning to end: else each commit of another would begin the copy anew.
        source.execute("BEGIN")
        fetch(source, "SELECT count(*) FROM meta")
        with copied.backup("main", source, "main") as step:
            while not step.done:
                step.step(PAGES)
                progress(step.page_count - step.remaining, step.page_count, "copying")
        with mapped(target):
            copied.execute("PRAGMA locking_mode = EXCLUSIVE")  # nobody else has it: no room for a -shm is needed
            if book := Book.kept(copied):
                book._replace(home=NOWHERE).write(copied)
            return counts(copied)


def counts(db: apsw.Connection) -> dict[str, int]:
    """How many records of each type, and how many events, a store has."""
    return {name: int(fetch(db, f"SELECT count(*) FROM {table}")[0][0]) for name, table in COUNTED.items()}


def tally(path: StrPath) -> dict[str, int]:
    """The same of a store by its path.

    Raises:
        Corrupt, Unavailable: when it cannot be read.
    """
    with mapped(path), closing(sqlite_file.connect(path)) as db:
        return counts(db)


def holds_anything(path: StrPath) -> bool:
    """Whether there is something at a path that a person may miss: any store but an empty one of ours."""
    if not is_database(os.fspath(path)):
        return False
    try:
        sqlite_file.open_file(path, anywhere=True, lenient=True)
        return any(tally(path).values())
    except EngramError:
        return True


def put(folder: str, path: StrPath, aside: str) -> None:
    """Put the store of a copy at a path; what is there gets the name `aside`, unless that is empty.

    At every moment there is the old store at the path or the new one, whole.

    Raises:
        Unavailable: when another program has the old one open.
        OSError: when the folder cannot be written.
    """
    made = os.path.join(folder, NAME)
    if is_database(os.fspath(path)):
        _close_down(path)
        if aside:
            for suffix in ("", *BESIDE):
                with suppress(FileNotFoundError):
                    _second_name(f"{path}{suffix}", f"{aside}{suffix}")
        # A log that stays behind would be taken for that of the new store.
        for suffix in BESIDE:
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{suffix}")
        os.replace(made, path)
    else:
        make_folder(os.path.dirname(path))
        os.rename(made, path)
    sync_folder(os.path.dirname(path))


def _second_name(path: str, other: str) -> None:
    try:
        os.link(path, other)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        import shutil  # noqa: PLC0415 - start-up

        shutil.copy2(path, other)


def _close_down(path: StrPath) -> None:
    """Let a store take its log in and be one file, which it can only be when nobody else has it open.

    Raises:
        Unavailable: when somebody has.
    """
    try:
        sqlite_file.open_file(path, anywhere=True, lenient=True)
    except EngramError:
        return  # no store of ours, or what is left of one: it is kept as it is
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
            db.set_busy_timeout(2000)
            db.pragma("journal_mode", "delete")
            db.pragma("journal_mode", "wal")
    except (apsw.BusyError, apsw.LockedError):
        raise Unavailable(
            f"Another program has the store {path} open.", "Stop the agents and servers that use it, and try again."
        ) from None
    except apsw.Error:
        return  # damaged inside
