"""The file of the `sqlite` engine: schemas (E9), modes, damage, full and read-only disks, copies and repair."""

import gzip
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from engines.asking import DEPLOY, SECOND, embed, found, near, waiting
from engines.samples import EAST, MINE, NORTH, SPACE, UP, Story, change, everything, ids, later, memory
from engines.stores import assert_whole, count, open_store, raw
from engram.engines import sqlite, sqlite_file, sqlite_rescue
from engram.engines.sqlite import SqliteEngine
from engram.errors import Corrupt, EngramError, Invalid, Unavailable
from engram.model.filter import Access, Filter
from engram.model.query import Backlog, Query
from engram.model.scope import Scope
from engram.model.text import tail_term

CHILD = str(Path(__file__).with_name("children.py"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A closed store with two memories."""
    path = tmp_path / "store.db"
    engine = open_store(path)
    story = Story(engine)
    story.remember("We deploy on Fridays")
    story.remember("The port is 8080")
    engine.close()
    return path


def tamper(path: Path, *statements: str) -> None:
    """Change the file past the engine, and leave it closed and checkpointed."""
    db = apsw.Connection(str(path))
    for each in statements:
        db.execute(each).fetchall()
    db.close()


def folder_bytes(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}


def unchanged(path: Path, before: dict[str, bytes]) -> bool:
    """Whether every file that was there is there, byte for byte. SQLite may have laid its own beside it."""
    now = folder_bytes(path)
    return {name: now.get(name) for name in before} == before


def refused(path: Path, error: type[EngramError], *, says: str = "", hint: str = "") -> EngramError:
    """Opening is refused with this error, and every file that was there stays as it was."""
    before = folder_bytes(path)
    with pytest.raises(error) as caught:
        open_store(path)
    assert type(caught.value) is error
    assert says in caught.value.message
    assert caught.value.hint
    assert hint in caught.value.hint
    assert unchanged(path, before)
    return caught.value


# --- E9: schemas ---


def test_e9_a_newer_schema_is_refused_and_left_untouched(store):
    tamper(store, "PRAGMA user_version = 999")

    refused(store, Corrupt, says="schema 999", hint="Upgrade")


def test_e9_a_newer_schema_with_a_log_beside_it_is_refused_and_loses_nothing(store, tmp_path):
    copy = tmp_path / "crashed" / "store.db"
    copy.parent.mkdir()
    db = apsw.Connection(str(store))
    db.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 999").fetchall()
    for suffix in ("", "-wal"):
        shutil.copy(f"{store}{suffix}", f"{copy}{suffix}")
    db.close()
    with pytest.raises(Corrupt):
        open_store(copy)

    assert raw(copy, "PRAGMA user_version") == [(999,)]
    assert raw(copy, "SELECT * FROM memory") == raw(store, "SELECT * FROM memory")


def test_e9_an_older_schema_is_migrated_and_keeps_its_records(store, monkeypatch):
    migrated = (*sqlite_file.MIGRATIONS, lambda db: db.execute("CREATE TABLE later (x)"))
    monkeypatch.setattr(sqlite_file, "MIGRATIONS", migrated)
    engine = open_store(store)

    assert raw(store, "PRAGMA user_version") == [(len(migrated),)]
    assert count(store, "later") == 0
    assert len(everything(engine)) == 2
    assert engine.check() == []
    engine.close()


def test_e9_a_migration_that_fails_resumes_where_it_stopped(store, monkeypatch):
    ran = []

    def second(db: apsw.Connection) -> None:
        ran.append("second")
        db.execute("CREATE TABLE second (x)")

    def third(db: apsw.Connection) -> None:
        ran.append("third")
        db.execute("CREATE TABLE half (x)")
        if ran.count("third") == 1:
            raise apsw.FullError("disk full")

    known = len(sqlite_file.MIGRATIONS)
    monkeypatch.setattr(sqlite_file, "MIGRATIONS", (*sqlite_file.MIGRATIONS, second, third))
    with pytest.raises(Unavailable):
        open_store(store)
    assert raw(store, "PRAGMA user_version") == [(known + 1,)]
    assert raw(store, "SELECT 1 FROM sqlite_schema WHERE name = 'half'") == []

    engine = open_store(store)
    engine.close()

    assert ran == ["second", "third", "third"]
    assert raw(store, "PRAGMA user_version") == [(known + 2,)]
    assert count(store, "half") == 0


def test_e9_processes_that_migrate_one_store_at_once_share_it(tmp_path):
    for n in range(4):
        path = tmp_path / f"{n}.db"
        tamper(path, "PRAGMA journal_mode = WAL", f"PRAGMA application_id = {sqlite_file.APPLICATION_ID}")
        path.chmod(0o600)
        assert raw(path, "PRAGMA user_version") == [(0,)]
        children = [subprocess.Popen([sys.executable, CHILD, "open", path]) for _ in range(6)]

        assert [child.wait() for child in children] == [0] * 6
        assert_whole(path, MINE)


# --- E9: a store that the first version made ---


def unpacked(path: Path) -> Path:
    """A store of schema 1 with five memories, as the first version left it."""
    path.write_bytes(gzip.decompress(Path(__file__).with_name("data").joinpath("schema-1.db.gz").read_bytes()))
    path.chmod(0o600)
    return path


@pytest.fixture
def first_schema(tmp_path: Path) -> Path:
    return unpacked(tmp_path / "first.db")


TABLES = {
    "memory": "n, id, revision, doc, owner, scope, created_at, key, digest, outline, status, forgotten_at",
    "claim": "*",
    "event": "*",
    "subject": "*",
    "token": "*",
    "session": "*",
    "relation": "*",
}


def rows_of(path: Path) -> dict[str, list[tuple]]:
    return {table: raw(path, f"SELECT {columns} FROM {table} ORDER BY 1, 2") for table, columns in TABLES.items()}


def test_e9_the_first_schema_is_migrated_and_every_record_event_handle_and_claim_kept(first_schema):
    before = rows_of(first_schema)
    assert raw(first_schema, "PRAGMA user_version") == [(1,)]
    engine = open_store(first_schema, "copy")

    assert raw(first_schema, "PRAGMA user_version") == [(len(sqlite_file.MIGRATIONS),)]
    assert rows_of(first_schema) == before
    assert [len(before[table]) for table in ("memory", "claim", "event")] == [5, 5, 6]
    assert engine.check() == []
    records = engine.get("memory", [f"mem-000{n}" for n in range(1, 6)], MINE)
    assert [record.text for record in records.values()] == [
        "We deploy on Fridays after the stand-up.",
        "The billing database listens on port 5433.",
        "Nadal is not a person we know.",
        "Der Dienst braucht eine Datenbankverbindung.",
        "Old runbook lives in the wiki.",
    ]
    assert records["mem-0001"].summary == "Deploys happen on Fridays"
    assert (records["mem-0001"].key, records["mem-0001"].tags) == ("deploy-day", ("release",))
    assert records["mem-0003"].status == "pending"
    assert records["mem-0004"].scope == Scope("project", "acme")
    assert records["mem-0005"].forgotten_at is not None
    assert [event.action for event in engine.events()] == [*["remember"] * 5, "forget"]
    engine.close()
    assert_whole(first_schema, MINE)


def test_e9_what_the_first_schema_kept_is_found_by_words(first_schema):
    engine = open_store(first_schema)
    handles = lambda *terms, **asked: [  # noqa: E731 - one word for one act
        hit.memory.handle for hit in engine.search(Query(terms=terms, **asked), MINE)
    ]

    assert handles(DEPLOY) == handles("releas") == handles("deploy-day") == ["mem-0001"]
    assert handles("5433") == handles("infra") == handles("bill*") == ["mem-0002"]
    assert handles("datenbankverbindung") == handles(f"{tail_term('verbindung')}*") == ["mem-0004"]
    assert handles("dienst", where=Filter(scopes=(Scope("project", "acme"),))) == ["mem-0004"]
    assert handles("dienst", where=Filter(scopes=(Scope(),))) == []
    assert handles(phrases=("lives in the wiki",)) == ["mem-0005"]
    assert engine.search(Query(terms=(DEPLOY,)), Access("stranger")) == []
    assert engine.census([DEPLOY, "the", "dat*"], MINE) == (5, {DEPLOY: 1, "the": 3, "dat*": 2})
    engine.close()


def test_e9_what_the_first_schema_kept_takes_vectors(first_schema):
    engine = open_store(first_schema, "copy")
    assert engine.backlog(MINE) == Backlog()
    records = engine.lacking(SPACE, MINE)
    assert [record.handle for record in records] == [f"mem-000{n}" for n in range(1, 6)]

    assert embed(engine, *((each, UP if each.key else NORTH) for each in records)) == 5

    assert engine.search(Query(vector=EAST, space=SPACE), MINE)[0].memory.key == "deploy-day"
    assert near(engine, NORTH, where=Filter(scopes=(Scope("project", "acme"),))) == [records[3].id]
    assert near(engine, NORTH, access=Access("stranger")) == []
    assert engine.backlog(MINE) == Backlog(SPACE, None, 0, 0)
    assert engine.check() == []
    engine.close()


def test_e9_a_migrated_store_goes_on_where_it_was(first_schema):
    engine = open_store(first_schema, "copy")
    story = Story(engine)
    assert story.remember("We deploy on Mondays before the stand-up.", key="deploy-day").handle == "mem-0001"
    assert story.remember("Something new").handle == "mem-0006"
    story.purge(engine.get("memory", ["mem-0002"], MINE)["mem-0002"])

    assert found(engine, "5433") == []
    assert [event.seq for event in engine.events()] == list(range(1, 10))
    assert engine.check() == []
    engine.close()


def derived(path: Path) -> dict[str, list[tuple]]:
    """All that a store keeps besides records and history."""
    asked = {
        "memory": "SELECT * FROM memory ORDER BY n",
        "place": "SELECT * FROM place ORDER BY p",
        "words": "SELECT * FROM vocabulary",
        "sizes": "SELECT id, sz FROM words_docsize ORDER BY id",
        "schema": "SELECT name, sql FROM sqlite_schema ORDER BY name",
        "lacking": "SELECT * FROM lacking",
    }
    rows = {name: raw(path, sql) for name, sql in asked.items()}
    names = [name for _, name, *_ in raw(path, "PRAGMA table_info(memory)")]
    rows["memory"] = [dict(sorted(zip(names, row, strict=True))) for row in rows["memory"]]
    rows["schema"] = [
        (name, sql) for name, sql in rows["schema"] if name != "memory"
    ]  # its columns came in two steps
    return rows


def test_e9_a_migrated_store_is_what_a_new_one_would_be(first_schema, tmp_path):
    migrated, new = open_store(first_schema), open_store(tmp_path / "new.db")
    for record in reversed(everything(migrated)):
        new.commit(change(record, expects={record.id: 0}, batch=record.id))

    assert derived(first_schema) == derived(tmp_path / "new.db")
    for engine in (migrated, new):
        engine.close()


class Stopped(BaseException):
    """What stops a migration in the middle: no error that anyone could catch."""


def stopped_at(path: Path, at: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether opening was stopped before the n-th statement; False when it was done by then."""
    left = at

    def before(*_: object) -> bool:
        nonlocal left
        left -= 1
        if not left:
            raise Stopped
        return True

    with monkeypatch.context() as patch:
        patch.setattr(apsw, "connection_hooks", [lambda db: db.set_exec_trace(before)])
        try:
            open_store(path).close()
        except Stopped:
            return True
    return False


def test_e9_a_migration_stopped_before_any_statement_goes_on_the_next_time(tmp_path, monkeypatch):
    before = rows_of(unpacked(tmp_path / "whole.db"))
    open_store(tmp_path / "whole.db").close()
    expected, at = derived(tmp_path / "whole.db"), 1
    while stopped_at(unpacked(tmp_path / "half.db"), at, monkeypatch):
        assert rows_of(tmp_path / "half.db") == before
        open_store(tmp_path / "half.db").close()
        assert rows_of(tmp_path / "half.db") == before
        assert derived(tmp_path / "half.db") == expected, at
        at += 1 if at < 30 else 7

    assert at > 60
    engine = open_store(tmp_path / "half.db", "copy")
    assert engine.check() == []
    engine.close()


@pytest.mark.parametrize("at", [1, 8, 14, 20, 35, 60])
def test_e9_a_migration_that_is_killed_goes_on_the_next_time(first_schema, tmp_path, at):
    before = rows_of(first_schema)
    killed = subprocess.run([sys.executable, CHILD, "migrate", first_schema, str(at)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert rows_of(first_schema) == before
    engine, whole = open_store(first_schema, "copy"), open_store(unpacked(tmp_path / "whole.db"))

    assert derived(first_schema) == derived(tmp_path / "whole.db")
    assert engine.check() == []
    assert len(found(engine, f"{tail_term('verbindung')}*")) == 1
    for each in (engine, whole):
        each.close()


def test_e9_processes_that_migrate_the_first_schema_at_once_share_it(first_schema):
    before = rows_of(first_schema)
    children = [subprocess.Popen([sys.executable, CHILD, "open", first_schema]) for _ in range(4)]

    assert [child.wait() for child in children] == [0] * 4
    assert rows_of(first_schema) == before
    assert_whole(first_schema, MINE)


def test_a_new_way_to_make_terms_rebuilds_the_word_index(store):
    tamper(store, "UPDATE meta SET value = -1 WHERE name = 'terms'", "DELETE FROM words WHERE rowid = 1")
    engine = open_store(store)

    assert len(found(engine, DEPLOY)) == 1
    assert engine.check() == []
    engine.close()


def test_a_scope_that_was_kept_before_names_were_composed_is_found_and_nobody_is_accused(tmp_path):
    apart = Scope("project", "Bücher")
    vars(apart)["name"] = unicodedata.normalize("NFD", "Bücher")
    path = tmp_path / "store.db"
    engine = open_store(path)
    engine.commit(change(memory("id-1", scope=apart)))
    assert engine.scan("memory", Filter(scopes=("project:Bücher",)), MINE).records == ()
    engine.close()
    tamper(path, "UPDATE meta SET value = 3 WHERE name = 'terms'")

    engine = open_store(path)
    assert ids(engine.scan("memory", Filter(scopes=("project:Bücher",)), MINE).records) == ["id-1"]
    assert engine.check() == []
    engine.close()


# --- modes ---


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_store_is_private_whatever_the_umask(tmp_path, umask):
    path = tmp_path / "new" / "store.db"
    old = os.umask(umask)
    try:
        engine = open_store(path)
        engine.commit(change(memory("id-1")))
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(old)

    assert set(modes.values()) == {0o600}
    assert "store.db" in modes
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    engine.close()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666, 0o620])
def test_a_looser_mode_is_refused_with_the_command_that_mends_it(store, mode):
    store.chmod(mode)
    refused(store, Corrupt, says=f"{mode:04o}", hint=f"chmod 600 {store}")
    store.chmod(0o600)

    open_store(store).close()


def test_a_looser_folder_is_refused_where_it_is_ours(tmp_path):
    path = tmp_path / "ours" / "store.db"
    open_store(path).close()
    path.parent.chmod(0o755)
    open_store(path).close()
    with pytest.raises(Corrupt) as caught:
        SqliteEngine(path, new_replica=str, private_folder=True)

    assert f"chmod 700 {path.parent}" in caught.value.hint


def test_the_command_that_makes_a_store_private_is_one_whatever_its_path(tmp_path):
    path = tmp_path / "Ada's notes; all of $HOME.db"
    open_store(path).close()
    path.chmod(0o644)
    with pytest.raises(Corrupt) as refused:
        open_store(path)
    command = re.search(r"chmod .*(?=  \()", refused.value.hint)[0]
    subprocess.run(["sh", "-c", command], check=True)

    open_store(path).close()


def test_check_reports_loose_modes_and_repairs_them(store):
    engine = open_store(store)
    store.chmod(0o644)
    (finding,) = engine.check()

    assert (finding.code, finding.fixable) == ("modes", True)
    assert finding.hint.endswith("(or: engram doctor --fix)")
    assert engine.check(repair=True) == []
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    engine.close()


# --- what is no store of ours ---


def test_a_directory_is_invalid(tmp_path):
    refused(tmp_path, Invalid, says="directory", hint="engram.db")


def test_a_store_of_plain_files_is_invalid_and_named(tmp_path):
    (tmp_path / "memory.md").write_text("# memory")

    refused(tmp_path, Invalid, says="plain files", hint="files:")


def test_a_store_that_is_gone_while_its_log_is_there_is_refused_and_nothing_touched(store):
    (log := Path(f"{store}-wal")).write_bytes(b"frames")
    store.unlink()
    before = folder_bytes(store)

    told = refused(store, Corrupt, says="is gone, and its log", hint="engram rescue FILE")
    assert f"{log}" in told.message
    with pytest.raises(Corrupt):
        sqlite_file.create(store)
    assert folder_bytes(store) == before


def test_an_empty_file_is_refused_and_what_the_log_beside_it_holds_is_not_given_up(store):
    Path(f"{store}-wal").write_bytes(b"frames")
    store.write_bytes(b"")

    told = refused(store, Corrupt, says="empty file", hint="engram rescue FILE")
    assert "-wal" in told.hint


def test_a_log_without_anything_in_it_keeps_no_store_from_being_made(tmp_path):
    (tmp_path / "store.db-wal").touch()

    with closing(open_store(tmp_path / "store.db")) as engine:
        assert not everything(engine)


def test_a_log_that_a_rival_began_with_its_file_is_not_taken_for_one_that_is_left(tmp_path, monkeypatch):
    """The rival comes between the look for the file and the look for its log."""
    path, rivals = tmp_path / "store.db", []
    make = sqlite_file.create

    def create(at):
        monkeypatch.setattr(sqlite_file, "create", make)
        rivals.append(Story(open_store(path)))
        rivals[0].remember("We deploy on Fridays")
        assert Path(f"{path}-wal").stat().st_size
        make(at)

    monkeypatch.setattr(sqlite_file, "create", create)
    with closing(open_store(path)) as engine:
        assert [each.text for each in everything(engine)] == ["We deploy on Fridays"]
    rivals[0].engine.close()


def test_a_pipe_is_invalid(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)

    with pytest.raises(Invalid):
        open_store(tmp_path / "pipe")


def test_a_path_below_a_file_is_unavailable(store):
    with pytest.raises(Unavailable):
        open_store(store / "deeper.db")


def test_a_link_to_nowhere_is_unavailable(tmp_path):
    (tmp_path / "store.db").symlink_to(tmp_path / "nowhere" / "else.db")
    with pytest.raises(Unavailable):
        open_store(tmp_path / "store.db")


def test_a_link_to_a_store_is_that_store(store, tmp_path):
    (tmp_path / "link.db").symlink_to(store)
    engine = open_store(tmp_path / "link.db")
    engine.commit(change(memory("id-9", "by the link"), at=later(99)))
    engine.close()
    engine = open_store(store)

    assert len(everything(engine)) == 3
    assert len({event.replica for event in engine.events()}) == 1
    engine.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x",
        b"SQLite format 3\x00",
        b"garbage " * 4096,
        os.urandom(64) * 200,
        b"SQLite format 3\x00" + b"\xff" * 8192,
    ],
    ids=["empty", "one byte", "half a header", "garbage", "noise", "header and noise"],
)
def test_a_file_that_is_no_database_is_corrupt_and_left_untouched(tmp_path, content):
    path = tmp_path / "store.db"
    path.write_bytes(content)
    path.chmod(0o600)

    refused(path, Corrupt, says=str(path))


def test_another_programs_database_is_corrupt_and_left_untouched(tmp_path):
    path = tmp_path / "other.db"
    tamper(path, "CREATE TABLE memory (id, text)", "INSERT INTO memory VALUES (1, 'theirs')")
    path.chmod(0o600)

    refused(path, Corrupt, says="another program")


@pytest.mark.parametrize("keep", [0, 50, 100, 4096, 5000, 20480])
def test_a_truncated_store_is_corrupt_and_left_untouched(store, keep):
    content = store.read_bytes()
    assert len(content) > keep
    store.write_bytes(content[:keep])

    refused(store, Corrupt)


@pytest.mark.parametrize("at", [0, 18, 24, 68, 100, 108], ids=lambda at: f"byte {at}")
def test_a_store_whose_head_was_overwritten_is_corrupt_or_still_whole(store, at):
    content = bytearray(store.read_bytes())
    content[at : at + 8] = bytes(byte ^ 0xFF for byte in content[at : at + 8])
    store.write_bytes(content)
    before = folder_bytes(store)
    try:
        open_store(store).close()
    except Corrupt:
        assert unchanged(store, before)
    else:
        assert raw(store, "PRAGMA integrity_check")


def test_a_check_of_damaged_pages_is_one_sentence_with_the_way_on(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_store(path)) as engine:
        for n in range(40):
            engine.commit(change(memory(f"id-{n}", f"{n} " + "words of some length " * 80), at=later(n)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) * 3 // 4] = bytes(len(content) * 3 // 4 - len(content) // 2)
    path.write_bytes(content)
    with closing(open_store(path)) as engine:
        (finding,) = engine.check()

    assert (finding.code, finding.severity, finding.fixable) == ("integrity", "error", False)
    assert re.fullmatch(
        r"The file of the store is damaged in \d+ places( or more)?\. SQLite says of one: .+", finding.message
    )
    assert finding.hint.endswith("engram rescue FILE.")


def test_a_connection_is_durable_and_leaves_nothing_behind(store):
    engine = open_store(store)
    engine.commit(change(memory("id-9"), at=later(9)))
    asked = {"synchronous": 2, "secure_delete": 1, "temp_store": 2, "journal_mode": "wal"}

    assert {name: engine._connection().pragma(name) for name in asked} == asked
    engine.close()


ACTS: dict[str, Callable[[SqliteEngine], object]] = {
    "scan": everything,
    "search": lambda engine: engine.search(Query(terms=(DEPLOY,)), MINE),
    "get": lambda engine: engine.get("memory", ["mem-0001", "mem-0002"], MINE),
    "events": lambda engine: engine.events(limit=1000),
    "check": lambda engine: engine.check(),
    "repair": lambda engine: engine.check(repair=True),
    "commit": lambda engine: engine.commit(change(memory("fresh-id", "We deploy anew"), batch="anew")),
    "near": lambda engine: [near(engine, way, space) for way in (EAST, UP) for space in (SPACE, SECOND)],
    "near some": lambda engine: near(engine, EAST, where=Filter(ids=("story-00000003", "story-00000004"))),
    "lacking": lambda engine: waiting(engine) + waiting(engine, SECOND),
    "backlog": lambda engine: engine.backlog(MINE),
    "census": lambda engine: engine.census([DEPLOY, "service*"], MINE),
    "put_vectors": lambda engine: embed(engine, *((each, UP) for each in everything(engine)[:9])),
}


def bugs_of(path: Path) -> set[str]:
    """What a damaged store makes raise that is none of our errors."""
    try:
        engine = open_store(path)
    except Corrupt:
        return set()
    except Exception as error:  # noqa: BLE001 - that is the question
        return {f"open: {type(error).__name__}"}
    bugs = set()
    for name, act in ACTS.items():
        try:
            act(engine)
        except EngramError:
            continue
        except Exception as error:  # noqa: BLE001 - that is the question
            bugs.add(f"{name}: {type(error).__name__}")
    engine.close()
    return bugs


def test_flipped_bytes_anywhere_are_corrupt_or_harmless_but_never_a_bug(tmp_path):
    master = tmp_path / "master.db"
    engine = open_store(master)
    story = Story(engine)
    for n in range(30):
        story.remember(f"We deploy service{n} on Fridays at {n} o'clock, whatever the weather is like")
    embed(engine, *((each, (EAST + NORTH + UP) * 9) for each in everything(engine)[3:]))
    engine.close()
    content, dice, bugs = master.read_bytes(), random.Random(0), {}
    for n in range(120):
        damaged, at = bytearray(content), dice.randrange(100, len(content) - 16)
        damaged[at : at + 16] = dice.randbytes(16)
        path = tmp_path / f"{n}.db"
        path.write_bytes(damaged)
        path.chmod(0o600)
        bugs |= dict.fromkeys(bugs_of(path), at)

    assert bugs == {}


# --- disks that are full or read-only ---


def test_a_full_disk_is_unavailable_and_the_store_stays_whole(store):
    command = [sys.executable, CHILD, "fill", store, str(300_000)]
    child = subprocess.run(command, capture_output=True, check=False, text=True)
    assert child.returncode == 0, child.stderr
    kept, error, readable = json.loads(child.stdout)

    assert error == "Unavailable"
    assert len(kept) > 1
    assert readable == len(kept) + 1  # the two before, and all but the last, for which there was room again
    assert_whole(store, MINE)
    engine = open_store(store)
    assert set(ids(everything(engine))) >= set(kept)
    assert len(everything(engine)) == len(kept) + 2
    engine.close()


def test_a_disk_too_full_for_a_new_store_is_unavailable_and_leaves_nothing(tmp_path):
    path = tmp_path / "store.db"
    child = subprocess.run(
        [sys.executable, CHILD, "attempt", path, "0", "20000"], capture_output=True, check=True, text=True
    )

    assert json.loads(child.stdout)[0] == "Unavailable"
    assert list(tmp_path.iterdir()) == []
    open_store(path).close()


@pytest.fixture
def common_folder() -> Iterator[Path]:
    """A folder that a user without rights can reach: pytest's own is closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


NOBODY = 65534 if os.getuid() == 0 else os.getuid()


def attempt(path: Path) -> list[str]:
    """What opening and committing answers to a user without rights."""
    command = [sys.executable, CHILD, "attempt", path, str(NOBODY), "0"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


@pytest.fixture
def nobodys(common_folder: Path) -> Path:
    """A store in a folder of its own that belongs to the user without rights."""
    path = common_folder / "theirs" / "store.db"
    engine = open_store(path)
    engine.commit(change(memory("id-1")))
    engine.close()
    for each in (path.parent, path):
        os.chown(each, NOBODY, -1)
    return path


def test_a_user_with_rights_may_write(nobodys):
    assert attempt(nobodys) == ["kept"]


def test_a_read_only_file_is_unavailable_and_left_untouched(nobodys):
    nobodys.chmod(0o400)
    before = nobodys.read_bytes()

    assert attempt(nobodys)[0] == "Unavailable"
    assert nobodys.read_bytes() == before


def test_a_read_only_folder_is_unavailable_and_left_untouched(nobodys):
    nobodys.parent.chmod(0o500)
    before = folder_bytes(nobodys)

    assert attempt(nobodys)[0] == "Unavailable"
    assert folder_bytes(nobodys) == before


def test_a_new_store_in_a_read_only_folder_is_unavailable(nobodys):
    nobodys.parent.chmod(0o500)

    assert attempt(nobodys.with_name("new.db"))[0] == "Unavailable"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can own a file for someone else")
def test_someone_elses_store_is_unavailable(nobodys):
    os.chown(nobodys, 0, -1)

    assert attempt(nobodys)[0] == "Unavailable"


def test_a_locked_store_is_unavailable_and_nothing_was_written(store, monkeypatch):
    monkeypatch.setattr(sqlite_file, "BUSY_MS", 20)
    engine, rival = open_store(store), apsw.Connection(str(store))
    engine.commit(change(memory("id-1"), at=later(50)))
    rival.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable) as caught:
        engine.commit(change(memory("id-2"), batch="b2"))
    assert "locked" in caught.value.message
    assert len(everything(engine)) == 3
    rival.execute("ROLLBACK")
    rival.close()

    engine.commit(change(memory("id-2"), batch="b2"))
    assert len(everything(engine)) == 4
    engine.close()


def test_vectors_wait_for_another_writer_only_a_little(store, monkeypatch):
    """They come beside a question, which must not wait; and they can come later."""
    monkeypatch.setattr(sqlite, "VECTORS_WAIT", 20)
    engine, rival = open_store(store), apsw.Connection(str(store))
    records = everything(engine)
    rival.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    with pytest.raises(Unavailable):
        embed(engine, *((each, EAST) for each in records))
    assert time.monotonic() - begun < sqlite_file.BUSY_MS / 2000
    assert engine.backlog(MINE) == Backlog()
    assert near(engine, EAST) == []
    rival.execute("ROLLBACK")
    rival.close()

    assert embed(engine, *((each, EAST) for each in records)) == 2
    assert engine._connection().pragma("busy_timeout") == sqlite_file.BUSY_MS  # a commit is as patient as before
    engine.close()


# --- SQLite itself ---


def test_a_sqlite_that_can_corrupt_a_store_with_several_writers_is_named(store, monkeypatch):
    version = apsw.sqlite_lib_version()
    engine = open_store(store)
    assert engine.check() == []
    monkeypatch.setattr(sqlite_file, "SAFE_SQLITE", tuple(map(int, f"{version}.1".split("."))))
    (named,) = engine.check(repair=True)
    engine.close()

    assert (named.code, named.severity, named.fixable) == ("sqlite", "error", False)
    assert f"SQLite {version} has the WAL-reset bug" in named.message
    assert f"{version}.1 or later" in named.hint


def test_the_driver_that_is_asked_for_brings_a_sqlite_without_that_bug():
    asked = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["dependencies"]
    (least,) = (each.removeprefix("apsw>=") for each in asked if each.startswith("apsw>="))

    assert tuple(map(int, least.split("."))) >= sqlite_file.SAFE_SQLITE
    assert apsw.using_amalgamation  # compiled into the driver, and not the one of this machine


# --- network file systems ---

MOUNTS = [
    "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    "22 21 0:5 / /proc rw,nosuid - proc proc rw",
    "30 21 0:40 / /mnt/team rw,relatime shared:2 - nfs4 server:/export rw,vers=4.2",
    "31 30 8:2 / /mnt/team/local rw - xfs /dev/sdb1 rw",
    r"32 21 0:41 / /mnt/my\040share rw - cifs //server/share rw",
    "33 21 0:42 / /home/ada/remote rw - fuse.sshfs ada@host: rw",
    "34 21 0:43 / /c rw - 9p drvfs rw",
    "35 21 0:44 / /over rw - ext4 /dev/sdc1 rw",
    "36 21 0:45 / /over rw - nfs server:/over rw",
]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ada/engram.db", ""),
        ("/mnt/team/engram.db", "nfs4"),
        ("/mnt/team", "nfs4"),
        ("/mnt/teams/engram.db", ""),
        ("/mnt/team/local/engram.db", ""),
        ("/mnt/my share/engram.db", "cifs"),
        ("/home/ada/remote/x/engram.db", "fuse.sshfs"),
        ("/c/engram.db", "9p"),
        ("/over/engram.db", "nfs"),
    ],
)
def test_a_network_file_system_is_known_by_its_innermost_mount(path, kind):
    assert sqlite_file._network_kind(path, MOUNTS) == kind


def test_this_very_machine_tells_its_file_systems(tmp_path):
    assert sqlite_file.network_file_system(tmp_path) in ("", *sqlite_file.NETWORK_FILE_SYSTEMS)


# --- copies ---


def test_a_copied_store_begins_a_new_replica_and_the_old_one_goes_on(store, tmp_path):
    copy = tmp_path / "copy.db"
    shutil.copy(store, copy)
    for path, replica in ((store, "parent"), (copy, "second")):
        engine = open_store(path, replica)
        engine.commit(change(memory("id-9", "said after the copy"), batch="b9", at=later(99)))
        engine.commit(change(memory("id-8", "and again"), batch="b8", at=later(1)))
        events = engine.events()

        assert [event.seq for event in events] == [1, 2, 3, 4]
        assert [event.replica for event in events] == ["parent", "parent", replica, replica]
        assert [event.position for event in events[2:]] == ([3, 4] if replica == "parent" else [1, 2])
        assert events[2].prev == (events[1].id if replica == "parent" else "")
        assert [event.time for event in events] == sorted(event.time for event in events)
        assert engine.check() == []
        engine.close()


def test_a_moved_store_stays_the_same_replica(store, tmp_path):
    moved = store.rename(tmp_path / "moved.db")
    engine = open_store(moved, "another")
    engine.commit(change(memory("id-9"), batch="b9", at=later(99)))

    assert {event.replica for event in engine.events()} == {"parent"}
    engine.close()


def rename_store(old: Path, new: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(f"{old}{suffix}"):
            os.rename(f"{old}{suffix}", f"{new}{suffix}")


@pytest.mark.parametrize("held", [False, True], ids=["free", "locked"])
def test_what_is_committed_lands_in_the_file_that_has_the_name_by_then(store, tmp_path, monkeypatch, held):
    monkeypatch.setattr(sqlite_file, "BUSY_MS", 50)
    engine = open_store(store)
    engine.commit(change(memory("id-8"), batch="b8", at=later(98)))
    other = open_store(tmp_path / "other.db")
    other.close()
    with closing(apsw.Connection(str(store))) as holder:
        if held:  # and whoever has the old file in hand keeps nobody from the new one
            holder.execute("BEGIN IMMEDIATE")
        rename_store(store, store.with_name("away.db"))
        rename_store(tmp_path / "other.db", store)
        engine.commit(change(memory("id-9"), batch="b9", at=later(99)))

    assert ids(everything(engine)) == ["id-9"]
    engine.close()


def test_a_commit_to_a_store_that_was_deleted_is_refused_and_leaves_the_connection_free(store):
    engine = open_store(store)
    engine.commit(change(memory("id-8"), batch="b8", at=later(98)))
    away = store.with_name("away.db")
    rename_store(store, away)

    with pytest.raises(Unavailable, match="is not there any more") as refused:
        engine.commit(change(memory("id-9"), batch="b9", at=later(99)))
    assert refused.value.hint == (
        "Move it back, or restore a backup. A process started now would begin with an empty store."
    )

    rename_store(away, store)
    with closing(apsw.Connection(str(store))) as other:
        other.execute("BEGIN IMMEDIATE; ROLLBACK")
    engine.commit(change(memory("id-10"), batch="b10", at=later(100)))
    assert "id-9" not in ids(everything(engine))
    engine.close()


# --- check and repair ---


@pytest.mark.parametrize(
    "damage",
    [
        ("INSERT INTO words (words) VALUES ('delete-all')",),
        ("DELETE FROM words WHERE rowid = 1",),
        ("INSERT INTO words (rowid, text) VALUES (77, 'stray')",),
        ("UPDATE meta SET value = 0 WHERE name = 'terms'", "DELETE FROM words WHERE rowid = 2"),
    ],
    ids=["all lost", "one lost", "one too many", "old terms"],
)
def test_a_lost_word_index_is_reported_and_rebuilt(store, damage):
    engine = open_store(store)
    tamper(store, *damage)
    (finding,) = engine.check()

    assert (finding.code, finding.fixable) == ("words", True)
    assert engine.check(repair=True) == []
    assert engine.check() == []
    assert len(found(engine, DEPLOY)) == len(found(engine, "8080")) == 1
    engine.close()


def test_a_dropped_word_index_is_reported_and_rebuilt(store):
    tamper(store, "DROP TABLE words")
    engine = open_store(store)

    assert [finding.code for finding in engine.check()] == ["words"]
    assert engine.check(repair=True) == []
    assert len(found(engine, DEPLOY)) == 1


@pytest.mark.parametrize(
    "damage",
    ["kind = 'other'", "owner = 'thief'", "visibility = 'shared'", "digest = ''", "stale_at = NULL", "tags = ''"],
)
def test_drifted_columns_are_reported_and_made_anew(store, damage):
    tamper(store, f"UPDATE memory SET {damage} WHERE n = 2")
    engine = open_store(store)
    (finding,) = engine.check()

    assert finding.code == "columns"
    assert "mem-0002" in finding.message
    assert engine.check(repair=True) == engine.check() == []
    engine.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE event SET payload = replace(payload, 'Fridays', 'Mondays') WHERE seq = 1",
        "UPDATE event SET envelope = replace(envelope, 'remember', 'forget') WHERE seq = 1",
        "DELETE FROM event WHERE seq = 1",
        "UPDATE event SET id = 'another' WHERE seq = 2",
    ],
    ids=["payload", "envelope", "removed", "id"],
)
def test_changed_history_is_reported(store, damage):
    tamper(store, damage)
    engine = open_store(store)

    assert "history" in {finding.code for finding in engine.check()} <= {"history", "records"}
    engine.close()


DEEP = "'" + "[" * 100_000 + "'"


@pytest.mark.parametrize(
    "damage",
    [
        "envelope = '{'",
        "envelope = '{}'",
        "envelope = '[1]'",
        f"envelope = {DEEP}",
        "envelope = replace(envelope, '\"at\"', '\"bt\"')",
        "envelope = json_set(envelope, '$.at', 'yesterday')",
        "envelope = json_set(envelope, '$.subjects', json('null'))",
        "envelope = json_set(envelope, '$.subjects', json('[[1]]'))",
        "payload = '[]'",
        "payload = '{}'",
        f"payload = {DEEP}",
        """payload = '{"edits": [[1]], "note": {}, "salt": ""}'""",
        """payload = '{"edits": [["memory", ["x"], "text", 1, 2]], "note": {}, "salt": ""}'""",
        """payload = '{"edits": [], "note": [1], "salt": ""}'""",
    ],
    ids=lambda damage: damage[:60],
)
def test_an_event_that_cannot_be_read_is_named_and_stops_nothing_else(store, damage):
    tamper(store, f"UPDATE event SET {damage} WHERE seq = 1")
    engine = open_store(store)

    for repair in (False, True):
        told = [(finding.code, finding.message) for finding in engine.check(repair=repair)]
        assert told == [("history", "Event 1 cannot be read: history was changed.")]
    with pytest.raises(Corrupt, match="Event 1 is damaged"):
        engine.events()
    assert len(engine.events(after=1)) == 1
    Story(engine, name="goes on", start=9).remember("It goes on")
    assert [finding.code for finding in engine.check()] == ["history"]
    engine.close()


@pytest.mark.parametrize("book", ["{", "{}", "[1, 2, 3]", '[["r", 1], 7, 8]', '[["r"], {}, "x"]'])
def test_a_store_that_has_lost_its_place_in_history_says_so_and_writes_nothing(store, book):
    tamper(store, f"UPDATE meta SET value = '{book}' WHERE name = 'book'")
    engine = open_store(store)

    for act in (engine.check, lambda: Story(engine, start=9).remember("It goes on")):
        with pytest.raises(Corrupt, match="damaged"):
            act()
    assert len(everything(engine)) == len(engine.events()) == 2
    engine.close()


def test_a_record_changed_from_outside_is_reported_and_never_blessed(store):
    tamper(store, """UPDATE memory SET doc = replace(doc, 'Fridays', 'Mondays')""")
    engine = open_store(store)

    assert "records" in {finding.code for finding in engine.check()}
    assert "records" in {finding.code for finding in engine.check(repair=True)}
    engine.close()


def test_a_record_removed_from_outside_is_missed(store):
    tamper(store, "DELETE FROM memory WHERE n = 1")
    engine = open_store(store)

    assert "removed from outside" in " ".join(finding.message for finding in engine.check())
    engine.close()


def test_strays_are_reported_and_swept(store):
    tamper(
        store,
        "INSERT INTO vector VALUES (1, 1, 1, 999, x'00', x'00')",
        "INSERT INTO claim VALUES ('name', 'nobody')",
    )
    engine = open_store(store)

    assert sorted(finding.code for finding in engine.check()) == ["claim", "vector"]
    assert engine.check(repair=True) == engine.check() == []
    engine.close()


@pytest.fixture
def embedded(store: Path) -> Path:
    """The closed store, with a vector for the first memory and none for the second."""
    engine = open_store(store)
    embed(engine, (engine.get("memory", ["mem-0001"], MINE)["mem-0001"], EAST + UP))
    engine.close()
    return store


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vector SET p = 99",
        "UPDATE memory SET p = 99 WHERE n = 1",
        "UPDATE memory SET imprint = 'another' WHERE n = 1",
        "UPDATE memory SET p = NULL",
        "DELETE FROM lacking",
        "DELETE FROM vector",
        "INSERT INTO lacking VALUES (1, 1)",
        "INSERT INTO lacking VALUES (1, 999)",
        "INSERT INTO lacking VALUES (7, 1)",
        "INSERT INTO vector SELECT 99, 7, p, n, code, halves FROM vector LIMIT 1",
    ],
)
def test_vectors_that_fit_no_more_are_reported_and_swept(embedded, damage):
    """After the repair every memory has a vector of its own, in its own place, or lacks one and says so."""
    tamper(embedded, damage)
    engine = open_store(embedded)
    assert {finding.fixable for finding in engine.check()} == {True}

    assert engine.check(repair=True) == engine.check() == []
    has, lacks = set(near(engine, EAST)), set(waiting(engine))
    assert has | lacks == set(ids(everything(engine)))
    assert not has & lacks
    assert engine.backlog(MINE) == Backlog(SPACE, None, len(lacks), 0)
    embed(engine, *((each, NORTH) for each in engine.lacking(SPACE, MINE)))
    assert len(near(engine, NORTH)) == 2
    engine.close()


CUT = {
    "halves cut off": "UPDATE vector SET halves = x'00'",
    "halves lost": "UPDATE vector SET halves = x''",
    "halves of another space": "UPDATE vector SET halves = halves || halves",
    "code lost": "UPDATE vector SET code = x''",
    "code too long": "UPDATE vector SET code = x'0000'",
    "text": "UPDATE vector SET halves = 'text', code = 'text'",
}


@pytest.mark.parametrize("damage", [*CUT.values(), "UPDATE space SET centre = x'0000'"], ids=[*CUT, "centre"])
def test_vectors_of_another_length_are_corrupt_or_harmless_but_never_a_bug(embedded, damage):
    tamper(embedded, damage)

    assert bugs_of(embedded) == set()


@pytest.mark.parametrize("damage", CUT.values(), ids=CUT)
def test_vectors_of_another_length_are_reported_and_made_anew(embedded, damage):
    tamper(embedded, damage)
    engine = open_store(embedded)

    assert {(finding.code, finding.fixable) for finding in engine.check()} == {("vector", True)}
    assert engine.check(repair=True) == engine.check() == []
    assert set(waiting(engine)) == set(ids(everything(engine)))
    engine.close()


@pytest.mark.parametrize(
    "damage", ["owner = 'thief'", "scope = 'project:x'", "visibility = 'shared'", "place = 'x'"]
)
def test_places_that_fit_no_more_are_reported_and_made_anew(embedded, damage):
    tamper(embedded, f"UPDATE place SET {damage}")
    engine = open_store(embedded)
    assert near(engine, EAST, access=Access("thief")) == []
    assert {finding.fixable for finding in engine.check()} == {True}

    assert engine.check(repair=True) == engine.check() == []
    embed(engine, *((each, NORTH) for each in engine.lacking(SPACE, MINE)))
    assert len(near(engine, NORTH)) == 2
    assert len(found(engine, DEPLOY)) == 1
    engine.close()


def test_repair_keeps_the_vectors_that_fit(embedded):
    tamper(embedded, "INSERT INTO words (words) VALUES ('delete-all')")
    engine = open_store(embedded)
    kept = raw(embedded, "SELECT * FROM vector")
    engine.check(repair=True)

    assert raw(embedded, "SELECT * FROM vector") == kept
    assert engine.backlog(MINE) == Backlog(SPACE, None, 1, 0)
    engine.close()


def test_a_new_way_to_make_terms_keeps_the_vectors(embedded):
    tamper(embedded, "UPDATE meta SET value = -1 WHERE name = 'terms'")
    engine = open_store(embedded)

    assert len(near(engine, EAST)) == 1
    assert engine.backlog(MINE) == Backlog(SPACE, None, 1, 0)
    engine.close()


@pytest.mark.parametrize("document", ["{", "[]", '"text"', '{"id": "x"}', "[" * 100_000], ids=lambda doc: doc[:9])
def test_a_document_that_cannot_be_read_is_told_and_repairs_nothing(store, document):
    tamper(store, f"UPDATE memory SET doc = '{document}' WHERE n = 1", "DELETE FROM words WHERE rowid = 1")
    engine = open_store(store)

    for repair in (False, True):
        found = {(each.code, each.message) for each in engine.check(repair=repair)}
        assert ("records", "The document of mem-0001 is damaged.") in found
        assert "words" in {code for code, _ in found}
    with pytest.raises(Corrupt, match="mem-0001 is damaged"):
        engine.get("memory", ["mem-0001"], MINE)
    assert engine.get("memory", ["mem-0002"], MINE)["mem-0002"].text == "The port is 8080"
    engine.close()


def test_repair_changes_no_record(store):
    engine = open_store(store)
    before = (everything(engine), engine.events())
    tamper(store, "INSERT INTO words (words) VALUES ('delete-all')")
    engine.check(repair=True)

    assert (everything(engine), engine.events()) == before
    assert engine.scan("memory", Filter(), MINE, limit=1).next is not None
    engine.close()


def test_a_path_that_sqlite_cannot_open_is_told_as_too_long(tmp_path):
    deep = tmp_path.joinpath(*["y" * 100] * 5, "store.db")
    with pytest.raises(Unavailable) as refused:
        open_store(deep)

    assert "more than 511 bytes" in refused.value.hint
    assert not deep.exists()


# --- what raw bytes still tell ---


@pytest.mark.parametrize("edge", [sqlite_rescue.SMALL, sqlite_rescue.SMALL << 4, sqlite_rescue.LARGEST])
@pytest.mark.parametrize("letter", ["a", "é", "漢", "\\", '"', "\n", "\x01"], ids=ascii)
def test_a_document_of_any_length_is_found_among_raw_bytes(tmp_path, edge, letter):
    """Whatever stands where a look at the bytes ends: half a letter, half an escape, the end itself."""
    unit = len(json.dumps(letter, ensure_ascii=False).encode()) - 2
    many = edge // unit
    texts = [letter * (many - n) + "!" * (n % 7) for n in range(0, 40, 1 if edge < sqlite_rescue.LARGEST else 8)]
    fits = [text for text in texts if len(as_bytes(text)) <= sqlite_rescue.LARGEST]
    path = tmp_path / "raw"
    path.write_bytes(b'\x00{"torn": "\xff\x00' + b'"{"\x00'.join(map(as_bytes, texts)) + b"\x00" * 99)

    assert [each["text"] for each in sqlite_rescue._carved(str(path)) if "text" in each] == fits
    assert 0 < len(fits) < len(texts) or edge < sqlite_rescue.LARGEST


def as_bytes(text: str) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode()


def test_a_log_that_grew_beside_a_long_read_shrinks_when_that_has_ended(store, monkeypatch):
    monkeypatch.setattr(sqlite_file, "MOST_LOG", 200_000)
    engine = open_store(store)
    story, log = Story(engine, name="grown", start=100), Path(f"{store}-wal")
    with closing(apsw.Connection(str(store))) as reader:
        reader.execute("BEGIN; SELECT count(*) FROM memory").fetchall()
        for n in range(80):
            story.remember(f"Note {n} of the quiet house {'and more of it ' * 200}")
        grown = log.stat().st_size
    for n in range(20):
        story.remember(f"Later note {n} of the quiet house")

    assert grown > 2_000_000
    assert log.stat().st_size < grown / 2
    engine.close()
    assert_whole(store, MINE)


def test_a_schema_in_which_a_bit_was_flipped_is_told_as_damage(store):
    with closing(apsw.Connection(str(store))) as db:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'contentless_delete', 'contentless_deletg')")
    engine = open_store(store)
    with pytest.raises(Corrupt, match="contentless_deletg"):
        Story(engine, name="after", start=500).remember("It goes on")
    with pytest.raises(Corrupt, match="contentless_deletg"):
        engine.check()
    engine.close()
