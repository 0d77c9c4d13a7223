"""The file of the `sqlite` engine: schemas (E9), modes, damage, full and read-only disks, copies and repair."""

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from engines.laws import DEPLOY, found
from engines.samples import MINE, Story, change, everything, ids, later, memory
from engines.stores import assert_whole, count, open_store, raw
from engram.engines import sqlite_file
from engram.engines.sqlite import SqliteEngine
from engram.errors import Corrupt, EngramError, Invalid, Unavailable
from engram.model.filter import Filter
from engram.model.query import Query

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


def test_a_new_way_to_make_terms_rebuilds_the_word_index(store):
    tamper(store, "UPDATE meta SET value = -1 WHERE name = 'terms'", "DELETE FROM words WHERE rowid = 1")
    engine = open_store(store)

    assert len(found(engine, DEPLOY)) == 1
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


def test_check_reports_loose_modes_and_repairs_them(store):
    engine = open_store(store)
    store.chmod(0o644)
    (finding,) = engine.check()

    assert (finding.code, finding.fixable) == ("modes", True)
    assert engine.check(repair=True) == []
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    engine.close()


# --- what is no store of ours ---


def test_a_directory_is_invalid(tmp_path):
    refused(tmp_path, Invalid, says="directory", hint="engram.db")


def test_a_store_of_plain_files_is_invalid_and_named(tmp_path):
    (tmp_path / "memory.md").write_text("# memory")

    refused(tmp_path, Invalid, says="Markdown", hint="ENGRAM_STORE")


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


def test_a_locked_store_is_unavailable_and_nothing_was_written(store):
    engine, rival = open_store(store), apsw.Connection(str(store))
    engine.commit(change(memory("id-1"), at=later(50)))
    engine._connection().set_busy_timeout(20)
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
        "INSERT INTO vector VALUES ('nobody', 'model', 'digest', x'00')",
        "INSERT INTO claim VALUES ('name', 'nobody')",
    )
    engine = open_store(store)

    assert sorted(finding.code for finding in engine.check()) == ["claim", "vector"]
    assert engine.check(repair=True) == engine.check() == []
    engine.close()


def test_repair_changes_no_record(store):
    engine = open_store(store)
    before = (everything(engine), engine.events())
    tamper(store, "INSERT INTO words (words) VALUES ('delete-all')")
    engine.check(repair=True)

    assert (everything(engine), engine.events()) == before
    assert engine.scan("memory", Filter(), MINE, limit=1).next is not None
    engine.close()
