"""A database that many orgs share: its connections, and transactions that belong to one org each."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar, cast
from weakref import WeakSet

import psycopg
from psycopg import errors as pg
from psycopg_pool import ConnectionPool, PoolTimeout

from engram.engines.postgres_rights import permitted, said
from engram.engines.postgres_schema import (
    MEMBERSHIP,
    MIGRATIONS,
    ROLE,
    Connection,
    Part,
    connected,
    require_known,
    schema_of,
    writable,
)
from engram.engines.rows import Row
from engram.errors import Corrupt, Unavailable

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a request waits for a connection, or for a commit before it."""

PROBED = 2.0
"""Seconds that whoever only asks whether the database answers waits: those who watch a server wait no longer."""

AGAIN = 1.0
"""Seconds between two attempts to connect while somebody waits: as soon as the database is back, it is used."""

TRIES = 5
"""How often a transaction is begun again that the database gave up for reasons of its own, or that lost it."""

READING = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"

DURABLE = (
    "set_config('synchronous_commit',"
    " coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'local'), true)"
)
"""A commit is answered when it is on the disk, also by a server that was set up to be faster."""

NEAREST = "-c hnsw.ef_search=400 -c hnsw.iterative_scan=relaxed_order -c hnsw.max_scan_tuples=200000"
"""How far an index of vectors is walked: on, where the filter leaves out what was met first."""

LEAVING = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow)
"""What a server says that ends; the connection may still be open when it is read."""

# The pool tells of every attempt to connect anew, and the driver of what a failure made it give up; what matters of
# it is raised, in our words.
for _name in ("psycopg", "psycopg.pool"):
    logging.getLogger(_name).setLevel(logging.ERROR)


BROKE = "The connection to the database broke before it answered: what was asked may have been done, or not."


class Lost(Unavailable):
    """The connection broke: what was under way on it was done, or was not."""


class Database:
    """One PostgreSQL database with our schema, used by any number of engines and threads.

    The address may name several servers: whichever takes writes is used, also after another was promoted.
    """

    def __init__(self, url: str, *, most: int = 10) -> None:
        """Connect; at most so many connections are held.

        Raises:
            Corrupt: when the schema is newer than this program knows, or only half there.
            Unavailable: when the database does not answer, or has no schema of ours yet, or an older one, or does
                not let this user serve.
        """
        with connected(url) as db, permitted(db, MEMBERSHIP):
            _check_version(require_known(schema_of(db)))
            db.execute("SELECT set_config('role', %s, false)", [ROLE])
        self._url, self._most = url, most
        self._pool = self._connections()
        self._pool.open()
        _KNOWN.add(self)

    def _connections(self) -> ConnectionPool[Connection]:
        return ConnectionPool(
            writable(self._url),
            kwargs={
                "autocommit": True,
                "connect_timeout": 10,
                # Compiling a plan takes longer than any of ours runs.
                "options": f"-c search_path=engram,public -c jit=off {NEAREST}",
                # At first sight: of a statement that is only prepared later, the driver does not notice where that
                # failed because one before it in the pipeline did.
                "prepare_threshold": 0,
            },
            min_size=1,
            max_size=self._most,
            timeout=PATIENCE,
            reconnect_timeout=AGAIN,
            reconnect_failed=_try_again,
            open=False,
        )

    def read(self, org: str, act: Callable[[Part], Callable[[], T]]) -> T:
        """Read one snapshot of an org's part.

        What `act` returns is called when the transaction has ended, so that the last answer and the end of the
        transaction are waited for together.
        """
        return self._again(lambda: self._once(org, READING, act))()

    def ask(self, org: str, statement: str, *values: Any) -> list[Row]:  # noqa: ANN401 - what PostgreSQL can hold
        """The answer to one question: there and back once."""
        return self.read(org, lambda part: part.later(statement, *values))

    def write(self, org: str, act: Callable[[Part], T]) -> T:
        """Carry out a transaction that sees what was committed before it: the org's row puts commits in order.

        It is begun again where the database gave it up, and where the connection broke: `act` must find out
        whether it was done already, unless doing it twice is the same.
        """
        return self._again(lambda: self._once(org, WRITING, act))

    def probe(self) -> None:
        """Look whether the database answers, without waiting long.

        Raises:
            Unavailable: when it does not.
        """
        with self._in_our_words(), self._connection(PROBED) as db:
            db.execute("SELECT 1")

    def close(self) -> None:
        """Let go of all connections. Durability never depends on it."""
        self._pool.close()

    def renew(self) -> None:
        """Connect anew in a forked process: the connections, and the threads behind them, are its parent's.

        Only when it is used: most forked processes never ask, and a pool nobody uses should have no threads.
        """
        if self._pool.closed:
            return
        _LEFT_ALONE.append(self._pool)
        self._pool = self._connections()

    def _connection(self, patience: float | None = None) -> AbstractContextManager[Connection]:
        if self._pool.closed:  # a fork left it so; one that was closed by us refuses
            self._pool.open()
        return self._pool.connection(patience)

    def _once(self, org: str, begin: str, act: Callable[[Part], T]) -> T:
        """As the application role and for this org alone, until it ends; what is raised inside undoes it."""
        with self._in_our_words(), self._connection() as db:
            try:
                with db.pipeline():
                    db.execute(cast("Any", begin))
                    db.execute(
                        "SELECT set_config('role', %s, true), set_config('engram.org', %s, true),"
                        f" set_config('lock_timeout', %s, true), {DURABLE}",
                        [ROLE, org, f"{PATIENCE:.0f}s"],
                    )
                    done = act(Part(db, org))
                    db.execute("COMMIT")
            except BaseException as error:
                if db.closed or isinstance(error, LEAVING):
                    raise Lost(
                        BROKE, "Look whether it was done before you try again, or give a token with it."
                    ) from error
                db.execute("ROLLBACK")
                raise
            return done

    def _again(self, act: Callable[[], T]) -> T:
        """Do it; and again where the database gave up one of several at once, or was gone for a moment."""
        for _ in range(TRIES - 1):
            try:
                return act()
            except (pg.SerializationFailure, pg.DeadlockDetected):
                continue
            except Lost:
                self._pool.check()  # where one is broken, the others most likely are
        return act()

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """What the database or the way to it says, as an error of ours."""
        try:
            yield
        except (pg.SerializationFailure, pg.DeadlockDetected):
            raise
        except PoolTimeout:
            raise self._why_none_is_free() from None
        except pg.LockNotAvailable:
            raise Unavailable(
                "Timed out waiting for other writers. Nothing was written.", "Try again soon."
            ) from None
        except (pg.DiskFull, pg.ReadOnlySqlTransaction) as error:
            raise Unavailable(f"The database cannot be written: {said(error)}.", "Ask whoever runs it.") from None
        except (pg.DataCorrupted, pg.IndexCorrupted) as error:
            raise Corrupt(
                f"The database is damaged: {said(error)}.",
                "Ask whoever runs it for a backup of the server, or take out what is left: engram rescue FILE.",
            ) from None
        except psycopg.OperationalError as error:
            raise Unavailable(f"The database does not answer: {said(error)}.", "Try again soon.") from None

    def _why_none_is_free(self) -> Unavailable:
        """Why no connection was to be had in time: the database does not answer, or all are in use."""
        try:
            connected(self._url, seconds=2).close()
        except Unavailable:  # what it says of the way there is for operators, not for whoever asks a server
            return Unavailable("The database does not answer.", "Try again soon.")
        return Unavailable("All connections to the database are in use.", "Try again soon.")


_KNOWN: WeakSet[Database] = WeakSet()
_LEFT_ALONE: list[ConnectionPool[Connection]] = []
"""What is its parent's in a forked process: to close it there would end it for both."""


def _forked() -> None:
    for each in list(_KNOWN):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _check_version(version: int) -> None:
    if version < len(MIGRATIONS):
        what = "has no schema of Engram yet" if version == 0 else f"has schema {version} of {len(MIGRATIONS)}"
        raise Unavailable(f"The database {what}.", "Bring it up to date: engram migrate.")


def _try_again(pool: ConnectionPool[Connection]) -> None:
    """Go on connecting while somebody waits: left to itself, the pool would wait ever longer between attempts."""
    if pool.get_stats().get("requests_waiting"):
        with suppress(psycopg.OperationalError):
            pool.putconn(
                pool.getconn(timeout=0.05)
            )  # asking makes it connect, whether this one waits for it or not
