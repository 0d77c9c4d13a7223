"""A database that many orgs share: its connections, and transactions that belong to one org each."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import psycopg
from psycopg import errors as pg
from psycopg_pool import ConnectionPool, PoolTimeout

from engram.engines.postgres_schema import MIGRATIONS, ROLE, Connection, Part, connected, require_known, schema_of
from engram.errors import Unavailable

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a request waits for a connection, or for a commit before it."""

TRIES = 5
"""How often a transaction is begun again that the database gave up for reasons of its own."""


# The pool tells of every attempt to connect anew; what matters of it is raised, in our words.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)


class Database:
    """One PostgreSQL database with our schema, used by any number of engines and threads."""

    def __init__(self, url: str, *, most: int = 10) -> None:
        """Connect; at most so many connections are held.

        Raises:
            Corrupt: when the schema is newer than this program knows.
            Unavailable: when the database does not answer, or has no schema of ours yet, or an older one.
        """
        with connected(url) as db:
            version = require_known(schema_of(db))
        if version < len(MIGRATIONS):
            what = "has no schema of Engram yet" if version == 0 else f"has schema {version} of {len(MIGRATIONS)}"
            raise Unavailable(f"The database {what}.", "Bring it up to date: engram migrate.")
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            # Compiling a plan takes longer than any of ours runs.
            kwargs={"autocommit": True, "options": "-c search_path=engram,public -c jit=off"},
            min_size=1,
            max_size=most,
            timeout=PATIENCE,
            open=True,
            check=ConnectionPool.check_connection,
        )

    @contextmanager
    def reading(self, org: str) -> Iterator[Part]:
        """One snapshot of an org's part."""
        with self._transaction(org, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY") as part:
            yield part

    @contextmanager
    def writing(self, org: str) -> Iterator[Part]:
        """A transaction that sees what was committed before it: the org's row puts commits in order."""
        with self._transaction(org, "BEGIN ISOLATION LEVEL READ COMMITTED") as part:
            yield part

    def close(self) -> None:
        """Let go of all connections. Durability never depends on it."""
        self._pool.close()

    @contextmanager
    def _transaction(self, org: str, begin: str) -> Iterator[Part]:
        """As the application role and for this org alone, until it ends; what is raised inside undoes it."""
        with _in_our_words(), self._pool.connection() as db:
            db.execute(cast("Any", begin))
            try:
                db.execute(
                    "SELECT set_config('role', %s, true), set_config('engram.org', %s, true),"
                    " set_config('lock_timeout', %s, true)",
                    [ROLE, org, f"{PATIENCE:.0f}s"],
                )
                yield Part(db, org)
                db.execute("COMMIT")
            except BaseException:
                if not db.closed and not db.broken:
                    db.execute("ROLLBACK")
                raise


def again(act: Callable[[], T]) -> T:
    """Do it; and again where the database gave up one of several at once."""
    for _ in range(TRIES - 1):
        try:
            return act()
        except (pg.SerializationFailure, pg.DeadlockDetected):
            continue
    return act()


@contextmanager
def _in_our_words() -> Iterator[None]:
    """What the database or the way to it says, as an error of ours."""
    try:
        yield
    except (pg.SerializationFailure, pg.DeadlockDetected):
        raise
    except PoolTimeout:
        raise Unavailable("The database has no connection free.", "Try again soon.") from None
    except pg.LockNotAvailable:
        raise Unavailable("Others are writing for too long. Nothing was written.", "Try again soon.") from None
    except (pg.DiskFull, pg.ReadOnlySqlTransaction) as error:
        raise Unavailable(f"The database cannot be written: {_said(error)}.", "Ask who runs it.") from None
    except psycopg.OperationalError as error:
        raise Unavailable(f"The database does not answer: {_said(error)}.", "Try again soon.") from None


def _said(error: psycopg.Error) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
