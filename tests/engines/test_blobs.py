"""Where bytes of attachments rest: one suite for this process, a folder and a database; and what a crash leaves."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from engines.samples import START
from engines.servers import database_url, new_org, shared_database
from engram.engines.blobs_folder import FolderBlobs
from engram.engines.blobs_ram import RamBlobs
from engram.engines.postgres_blobs import PostgresBlobs
from engram.engines.postgres_schema import ROLE
from engram.errors import Corrupt, NotFound, Unavailable
from engram.ports import Blobs

BIG = bytes(range(256)) * 4096  # one MiB: several parts and blocks
HASH = hashlib.sha256(BIG).hexdigest()


@pytest.fixture(params=["ram", "folder", "postgres"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "ram":
        return RamBlobs()
    return (
        FolderBlobs(str(tmp_path / "s.db.assets"))
        if request.param == "folder"
        else new_org(shared_database()).blobs()
    )


def keep(blobs: Blobs, content: bytes = BIG, owner: str = "ada") -> str:
    stage = blobs.stage(START)
    for at in range(0, len(content), 100_000):
        stage.write(content[at : at + 100_000])
    name = hashlib.sha256(content).hexdigest()
    stage.keep(owner, name, START)
    stage.close()
    return name


def staged(blobs: Blobs) -> list[object]:
    """What is on its way in, or was, wherever that lies."""
    if isinstance(blobs, FolderBlobs):
        return os.listdir(os.path.join(blobs._folder, "staged"))
    if isinstance(blobs, PostgresBlobs):
        return blobs._ask("SELECT n FROM blob_part WHERE org = :org")
    return []  # in this process nothing lies anywhere


def test_what_is_kept_comes_back_whole(blobs: Blobs):
    assert keep(blobs) == HASH
    assert b"".join(blobs.read("ada", HASH)) == BIG
    assert max(map(len, blobs.read("ada", HASH))) < len(BIG)
    assert blobs.size("ada", HASH) == len(BIG)
    assert [(one.sha256, one.size, one.at, one.hidden) for one in blobs.held("ada")] == [
        (HASH, len(BIG), START, False)
    ]


def test_one_owners_bytes_are_nothing_to_another(blobs: Blobs):
    keep(blobs)

    assert blobs.size("ben", HASH) is None
    assert blobs.held("ben") == []
    for owner, name in (("ben", HASH), ("", HASH), ("ada", "0" * 64)):
        with pytest.raises(NotFound):
            blobs.read(owner, name)


def test_what_is_staged_and_not_kept_is_nowhere(blobs: Blobs):
    stage = blobs.stage(START)
    stage.write(BIG)
    assert staged(blobs) or isinstance(blobs, RamBlobs)
    stage.close()

    assert staged(blobs) == blobs.held("ada") == []


def test_the_same_bytes_are_kept_once_and_their_moment_is_renewed(blobs: Blobs):
    keep(blobs)
    stage = blobs.stage(START)
    stage.write(BIG)
    stage.keep("ada", HASH, START + timedelta(days=1))
    stage.close()

    assert [one.at for one in blobs.held("ada")] == [START + timedelta(days=1)]
    assert b"".join(blobs.read("ada", HASH)) == BIG


def test_what_is_hidden_is_not_there_and_can_be_shown_or_erased(blobs: Blobs):
    keep(blobs)
    blobs.erase("ada", HASH)
    assert blobs.size("ada", HASH) == len(BIG), "what is in use is not erased"
    blobs.hide("ada", HASH)
    assert (blobs.size("ada", HASH), [one.hidden for one in blobs.held("ada")]) == (None, [True])
    with pytest.raises(NotFound):
        blobs.read("ada", HASH)
    blobs.show("ada", HASH)
    assert b"".join(blobs.read("ada", HASH)) == BIG
    blobs.hide("ada", HASH)
    blobs.erase("ada", HASH)
    blobs.show("ada", HASH)
    assert blobs.held("ada") == []


def test_bytes_kept_again_while_they_go_are_there_afterwards(blobs: Blobs):
    keep(blobs)
    stage = blobs.stage(START)
    stage.write(BIG)
    stage.keep("ada", HASH, START)
    blobs.hide("ada", HASH)
    blobs.erase("ada", HASH)
    stage.keep("ada", HASH, START)
    stage.close()

    assert b"".join(blobs.read("ada", HASH)) == BIG


def test_what_is_passed_on_outlives_its_first_owner(blobs: Blobs):
    keep(blobs)
    blobs.pass_on("ada", "ben", HASH, START)
    blobs.pass_on("ada", "ben", "0" * 64, START)
    blobs.hide("ada", HASH)
    blobs.erase("ada", HASH)

    assert b"".join(blobs.read("ben", HASH)) == BIG
    assert [one.sha256 for one in blobs.held("ben")] == [HASH]


# in a folder


def test_files_are_private_and_named_by_their_hash(tmp_path: Path):
    folder = tmp_path / "s.db.assets"
    keep(FolderBlobs(str(folder)), owner="ada@example.org")
    files = [each for each in folder.rglob("*") if each.is_file()]

    assert [each.name for each in files] == [HASH]
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, *folder.rglob("*")) if each.is_dir()} == {0o700}
    assert "ada" not in str(files[0].relative_to(folder))


@pytest.mark.parametrize("damage", [BIG[:-1], BIG[:-1] + b"?", b""])
def test_what_was_damaged_is_whole_again_when_it_is_kept_again(tmp_path: Path, damage: bytes):
    blobs = FolderBlobs(str(tmp_path / "s.db.assets"))
    keep(blobs)
    Path(blobs.path("ada", HASH)).write_bytes(damage)
    keep(blobs)

    assert b"".join(blobs.read("ada", HASH)) == BIG
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == [HASH]


def test_no_link_leads_out_of_the_folder(tmp_path: Path):
    folder, elsewhere = tmp_path / "s.db.assets", tmp_path / "elsewhere"
    blobs = FolderBlobs(str(folder))
    keep(blobs)
    elsewhere.mkdir()
    (elsewhere / "secret").write_bytes(b"x")
    path = Path(blobs.path("ada", HASH))
    path.unlink()
    path.symlink_to(elsewhere / "secret")

    assert blobs.size("ada", HASH) is None
    with pytest.raises(NotFound):
        blobs.read("ada", HASH)
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(elsewhere)
    with pytest.raises(Corrupt):
        keep(blobs)


def test_a_folder_that_cannot_be_written_is_told_of(tmp_path: Path):
    (tmp_path / "s.db.assets").write_text("a file")

    with pytest.raises(Unavailable):
        keep(FolderBlobs(str(tmp_path / "s.db.assets")))


CHILD = """
import os, sys, signal
from datetime import datetime, UTC
from engram.engines.blobs_folder import FolderBlobs
from engram.engines import blobs_folder
from engram.engines.postgres_blobs import PostgresBlobs
from engram.engines.postgres_database import Database
where, point = sys.argv[1:3]
if where.startswith("org:"):
    blobs = PostgresBlobs(Database(os.environ["DATABASE"]), where[4:])
else:
    blobs = FolderBlobs(where)
    for name in ("link", "fsync", "utime"):
        real = getattr(os, name)
        def dying(*a, _real=real, _name=name, **k):
            if point == f"before {_name}":
                os.kill(os.getpid(), signal.SIGKILL)
            done = _real(*a, **k)
            if point == f"after {_name}":
                os.kill(os.getpid(), signal.SIGKILL)
            return done
        setattr(os, name, dying)
stage = blobs.stage(datetime.now(UTC))
for _ in range(16):
    stage.write(bytes(range(256)) * 256)
if point == "before keep":
    os.kill(os.getpid(), signal.SIGKILL)
stage.keep("ada", sys.argv[3], datetime.now(UTC))
os.kill(os.getpid(), signal.SIGKILL)
"""

POINTS = ["before keep", "before fsync", "before link", "after link", "after utime", "after all"]


def killed(where: str, point: str) -> None:
    environment = {**os.environ, "DATABASE": database_url() if where.startswith("org:") else ""}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, where, point, HASH], env=environment, check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
def test_a_process_killed_while_it_keeps_leaves_bytes_whole_or_absent(tmp_path: Path, point: str):
    blobs = FolderBlobs(str(tmp_path / "s.db.assets"))
    killed(str(tmp_path / "s.db.assets"), point)
    kept = blobs.size("ada", HASH)

    assert kept == (len(BIG) if point.startswith("after") else None)
    assert kept is None or b"".join(blobs.read("ada", HASH)) == BIG
    blobs.clear(START + timedelta(days=36500))
    assert not list((tmp_path / "s.db.assets").glob("staged/*"))
    assert keep(blobs) == HASH


@pytest.mark.parametrize("point", ["before keep", "after all"])
def test_a_process_killed_on_a_database_leaves_bytes_whole_or_absent(point: str):
    org = uuid.uuid4().hex
    killed(f"org:{org}", point)
    blobs = new_org(shared_database()).of(org).blobs()

    assert blobs.size("ada", HASH) == (len(BIG) if point == "after all" else None)
    blobs.clear(START + timedelta(days=36500))
    with psycopg.connect(database_url(), options="-c search_path=engram,public") as db:
        left = db.execute("SELECT count(*) FROM blob_part WHERE org = %s", [org]).fetchone()
    assert left == ((4,) if point == "after all" else (0,))


# in a database


@pytest.mark.parametrize("table", ["blob", "blob_part"])
def test_the_role_sees_the_bytes_of_its_own_org_only(table: str):
    mine, theirs = new_org(shared_database()), new_org(shared_database())
    for engine in (mine, theirs):
        keep(engine.blobs())
    with psycopg.connect(database_url(), autocommit=True, options="-c search_path=engram,public") as app:
        app.execute(f"SET ROLE {ROLE}")
        assert app.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        app.execute("SELECT set_config('engram.org', %s, false)", [mine.org])
        assert app.execute(f"SELECT DISTINCT org FROM {table}").fetchall() == [(mine.org,)]
        assert app.execute(f"DELETE FROM {table} WHERE org = %s", [theirs.org]).rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(f"UPDATE {table} SET org = %s", [theirs.org])
    with pytest.raises(NotFound):
        new_org(shared_database()).blobs().read("ada", HASH)


def test_nothing_of_erased_bytes_is_left_in_the_tables():
    engine = new_org(shared_database())
    blobs: Blobs = engine.blobs()
    keep(blobs)
    keep(blobs)
    blobs.hide("ada", HASH)
    blobs.erase("ada", HASH)
    rows: Callable[[str], int] = lambda table: owner_count(table, engine.org)  # noqa: E731 - one line

    assert (rows("blob"), rows("blob_part")) == (0, 0)


def owner_count(table: str, org: str) -> int:
    with psycopg.connect(database_url(), options="-c search_path=engram,public") as db:
        row = db.execute(f"SELECT count(*) FROM {table} WHERE org = %s", [org]).fetchone()
        return row[0] if row else -1


def test_bytes_that_are_erased_while_they_are_passed_on_leave_no_name_without_bytes():
    engine = new_org(shared_database())
    blobs = engine.blobs()
    keep(blobs)
    with psycopg.connect(database_url(), options="-c search_path=engram,public") as erasing:
        erasing.execute("SELECT set_config('engram.org', %s, true)", [engine.org])
        erasing.execute("DELETE FROM blob WHERE org = %s", [engine.org])
        with ThreadPoolExecutor() as pool:
            passing = pool.submit(blobs.pass_on, "ada", "ben", HASH, START)
            with pytest.raises(TimeoutError):
                passing.result(timeout=0.5)
            erasing.commit()
            passing.result(timeout=20)

    assert blobs.held("ben") == []
