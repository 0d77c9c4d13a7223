"""What can still be read in a damaged database: its tables row by row, and past them what history tells.

A page that the server's check sums refuse takes its rows along, and nothing else. Nothing is written.
"""

from collections.abc import Iterator
from typing import Any

import psycopg

from engram.engines.postgres_rights import permitted, said
from engram.engines.postgres_schema import MEMBERSHIP, ROLE, SCHEMA, Connection, Part, connected
from engram.engines.rows import Row
from engram.engines.salvage import SIGNS, TRIES, parsed, told_by_history
from engram.errors import Unavailable
from engram.model.codec import Document, RecordType

MOST = 256
"""So many rows are asked for at once, as long as all of them can be read."""

_BY_INDEX = "-c enable_seqscan=off -c enable_sort=off"
_BY_TABLE = "-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off"


def salvage(url: str, org: str) -> Iterator[tuple[RecordType, Document]]:
    """Every record of an org that can be read, each once.

    Raises:
        Unavailable: when the database does not answer, or does not let this user read.
    """
    found: dict[tuple[RecordType, str], Document] = {}
    for type in SIGNS:
        for document in _values(url, org, type, "n", "doc"):
            found.setdefault((type, document["id"]), document)
    events = [payload for text in _values(url, org, "event", "seq", "payload") if (payload := parsed(text))]
    for type, document in told_by_history(events):
        found.setdefault((type, document["id"]), document)
    for (type, _), document in found.items():
        yield type, document


def _values(url: str, org: str, table: str, number: str, column: str) -> Iterator[Any]:
    """What a column holds, in order as long as the index leads there; then, where rows were missed, as they lie."""
    seen, missed = set[int](), False
    with _reading(url, org, _BY_INDEX) as db:
        for row in _numbered(Part(db, org), table, number, column):
            missed = missed or row is None
            if row:
                seen.add(row[0])
                yield row[1]
    if missed:
        with _reading(url, org, _BY_TABLE) as db:
            yield from (value for n, value in _as_they_lie(db, org, table, number, column) if n not in seen)


def _numbered(part: Part, table: str, number: str, column: str) -> Iterator[Row | None]:
    """The rows of a table by their numbers, and None for what cannot be read; fewer at a time near to it."""
    asked = (
        f"SELECT {number}, {column} FROM {table} WHERE org = :org AND {number} > %s AND {column} IS NOT NULL"
        f" ORDER BY {number} LIMIT %s"
    )
    last, missed, many = 0, 0, MOST
    while missed < TRIES:
        try:
            rows = part.fetch(asked, last, many)
        except psycopg.Error as error:
            _alive(part.db, error)
            if many == 1:
                yield None
                last, missed = last + 1, missed + 1
            many = 1
            continue
        yield from rows
        if not rows:
            return
        last, missed, many = rows[-1][0], 0, min(MOST, 2 * many)


def _as_they_lie(db: Connection, org: str, table: str, number: str, column: str) -> Iterator[Row]:
    """The rows of a table up to the first page that cannot be read, without its indexes."""
    try:
        with db.transaction(), db.cursor(name="lying") as cursor:
            cursor.execute(f"SELECT {number}, {column} FROM {table} WHERE org = %s AND {column} IS NOT NULL", [org])
            while rows := cursor.fetchmany(1):
                yield from rows
    except psycopg.Error as error:
        _alive(db, error)


def _reading(url: str, org: str, way: str) -> Connection:
    """A connection that sees one org, writes nothing, and reads in this way."""
    db = connected(psycopg.conninfo.make_conninfo(url, options=f"-c search_path={SCHEMA},public {way}"))
    try:
        with permitted(db, MEMBERSHIP):
            db.execute("SELECT set_config('role', %s, false), set_config('engram.org', %s, false)", [ROLE, org])
        db.execute("SET default_transaction_read_only = on")
    except BaseException:
        db.close()
        raise
    return db


def _alive(db: Connection, error: psycopg.Error) -> None:
    """Look whether it was a row that could not be read, or the database that went.

    Raises:
        Unavailable: when the database went.
    """
    if db.closed:
        raise Unavailable(f"The database does not answer: {said(error)}.", "Try again soon.") from None
