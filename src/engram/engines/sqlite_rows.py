"""Asking SQLite: the rows a statement answers with, and what a store knows of itself."""

import json
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import apsw

from engram.engines.chain import Chain
from engram.engines.rows import DAMAGE, Row
from engram.errors import Corrupt
from engram.model.change import LEFT
from engram.model.event import Head

T = TypeVar("T")

MOST_KEPT = 256
print_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

NOWHERE = 0
"""The number of no file: what a copy says it was in, so that whatever file it becomes begins its own chain."""


def fetch(db: apsw.Connection, sql: str, *values: str | int | None) -> list[Row]:
    """What a query answers. SQLite's values are typed by the schema, which a checker cannot read."""
    return db.execute(sql, values).fetchall()


class Unchanged:
    """What connections have read of a store, kept until anything in the file changes.

    A question asks for the same few things several times, and the next one for the same again; most of the time
    nobody has written in between.
    """

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[apsw.Connection, tuple[Row, dict[Hashable, Any]]] = WeakKeyDictionary()

    def read(self, db: apsw.Connection, what: Hashable, read: Callable[[], T]) -> T:
        """What was read under this name, or is read now; within a transaction always now, for it may be undone."""
        if db.in_transaction:
            return read()
        # The version tells of changes by others only, the count of those by this connection.
        state = (*db.execute("PRAGMA data_version").fetchall()[0], db.total_changes())
        known = self._kept.get(db)
        if known is None or known[0] != state or len(known[1]) > MOST_KEPT:
            known = self._kept[db] = (state, {})
        if what not in known[1]:
            known[1][what] = read()
        return cast("T", known[1][what])


def meta(db: apsw.Connection, name: str) -> Any:  # noqa: ANN401 - whatever SQLite kept
    """A fact about the store itself, or None."""
    found = fetch(db, "SELECT value FROM meta WHERE name = ?", name)
    return found[0][0] if found else None


def set_meta(db: apsw.Connection, name: str, value: str | int) -> None:
    """Keep a fact about the store itself."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


class Book(NamedTuple):
    """What a store knows of its history: its chain, and the number of the file it was in."""

    chain: Chain
    home: int

    @staticmethod
    def kept(db: apsw.Connection) -> "Book | None":
        """The book as it was last written; None where nothing was ever committed.

        Raises:
            Corrupt: when it is damaged.
        """
        text = meta(db, "book")
        if text is None:
            return None
        try:
            head, numbers, home, *earlier = json.loads(text)
            return Book(Chain(Head(*head), dict(numbers), tuple(earlier[0]) if earlier else ()), int(home))
        except DAMAGE as error:
            raise Corrupt("What the store knows of its own history is damaged.", LEFT) from error

    @staticmethod
    def read(db: apsw.Connection, home: int, new_replica: Callable[[], str]) -> "Book":
        """The book for the file of this number: a new, copied or restored one begins a chain of its own."""
        book = Book.kept(db)
        if book is None:
            return Book(Chain(Head(new_replica()), {}), home)
        head = book.chain.head
        own = head if book.home == home else Head(new_replica(), time=head.time, seq=head.seq)
        return Book(book.chain.going_on(own), home)

    def write(self, db: apsw.Connection) -> None:
        """Keep it, in the transaction that made it true."""
        head, numbers, earlier = self.chain
        told = [list(head), numbers, self.home, *([list(earlier)] if earlier else [])]
        set_meta(db, "book", print_json(told))
