"""Backups: whole while others write, never half a file, checked to the last record, restored as a new replica."""

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
import uuid
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import engram
from engines.servers import database_url
from engram.errors import Conflict, Corrupt, Forbidden, Invalid, Unavailable
from engram.interop import backup_file
from engram.model.caller import Caller
from engram.service import Engram

Open = Callable[..., Engram]


@pytest.fixture(params=["sqlite", "files"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is kept, by each engine that keeps one."""
    return {"sqlite": f"{tmp_path}/store/engram.db", "files": f"files:{tmp_path}/store/plain"}[request.param]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def open(place: str, **more: object) -> Engram:
        variables = {"HOME": str(tmp_path), "XDG_CACHE_HOME": f"{tmp_path}/cache", "ENGRAM_EMBEDDER": "none"}
        return engram.open(place, environment=variables, folder=tmp_path, **more)

    return open


def path_of(place: str) -> Path:
    return Path(place.removeprefix("files:"))


def texts(memory: Engram) -> set[str]:
    return {one.text for one in memory.list(standing=["all"], everywhere=True, limit=1000).memories}


def healthy(memory: Engram) -> bool:
    return [each for each in memory.doctor().findings if each.severity == "error"] == []


@pytest.fixture
def saved(place: str, opened: Open, tmp_path: Path) -> Path:
    """A backup of a store with two memories, a session, a relation and a forgotten memory."""
    with opened(place) as memory:
        memory.session_begin("s-1", agent="tester")
        memory.remember("We deploy on Fridays", kind="convention", session="s-1")
        memory.remember("The port of the database is 5432 — größer", cite=["src/db.py:3"])
        memory.forget(memory.remember("Gone again").memory.id)
        memory.relate("mem-0001", "mem-0002", "related")
        return Path(memory.backup_create(str(tmp_path / "saved.zip")).path)


def test_a_backup_is_one_private_file_with_a_manifest(place, saved):
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert sorted(os.listdir(saved.parent)) == sorted(
        {"saved.zip", "store", *({"cache"} & set(os.listdir(saved.parent)))}
    )
    with zipfile.ZipFile(saved) as archive:
        told = json.loads(archive.read("manifest.json"))
        assert sorted(archive.namelist()) == sorted(["manifest.json", *(each["name"] for each in told["files"])])
    assert told["format"] == "engram.backup.v1"
    assert told["engine"] == ("files" if place.startswith("files:") else "sqlite")
    assert told["counts"] == {"memories": 3, "sessions": 1, "relations": 1, "events": told["counts"]["events"]}
    assert told["version"] == engram.__version__


def test_a_restored_store_has_everything_and_is_a_new_replica(place, opened, saved):
    with opened(place) as memory:
        before = memory.engine.events(limit=100)
        everything = texts(memory)
        memory.remember("Said after the backup")
    elsewhere = place.replace("/store/", "/other/")
    with opened(elsewhere, apart=True) as memory:
        done = memory.backup_restore(str(saved))
    assert (done.kept, done.store) == ("", elsewhere)
    with opened(elsewhere) as memory:
        assert texts(memory) == everything
        assert memory.engine.events(limit=100) == before
        assert healthy(memory)
        memory.remember("Said in the restored store")
        memory.undo(last=1)
        memory.remember("And once more")
        after = memory.engine.events(limit=100)[len(before) :]
        assert {event.replica for event in after}.isdisjoint({event.replica for event in before})
        assert [event.position for event in after] == [1, 2, 3]
        assert healthy(memory)
        assert memory.related("mem-0001").relatives
    with opened(elsewhere) as memory:
        memory.remember("After opening again")
        [last] = memory.engine.events(newest=True, limit=1)
        assert (last.replica, last.position) == (after[-1].replica, 4)
        assert healthy(memory)


def test_a_restored_store_that_was_written_to_can_be_backed_up_and_restored_again(place, opened, saved, tmp_path):
    """It knows which replicas it was before, and its copy knows it too."""
    second, third = (place.replace("/store/", f"/{name}/") for name in ("second", "third"))
    with opened(second, apart=True) as memory:
        memory.backup_restore(str(saved))
    with opened(second) as memory:
        memory.remember("Said in the restored store")
        everything, before = texts(memory), memory.engine.events(limit=100)
        again = memory.backup_create(str(tmp_path / "again.zip"))
    with opened(third, apart=True) as memory:
        memory.backup_restore(again.path)
    with opened(third) as memory:
        assert (texts(memory), memory.engine.events(limit=100)) == (everything, before)
        memory.remember("Said in the third")
        [last] = memory.engine.events(newest=True, limit=1)
        assert last.position == 1
        assert last.replica not in {event.replica for event in before}
        assert healthy(memory)


@pytest.mark.parametrize("there", [False, True], ids=["nothing", "an empty store"])
def test_restoring_touches_nothing_else_that_lies_beside_the_store(place, opened, saved, there):
    elsewhere = place.replace("/store/", "/other/")
    if there:
        opened(elsewhere).close()
    beside = path_of(f"{elsewhere}.empty") / "mine.txt"
    beside.parent.mkdir(parents=True)
    beside.write_text("mine")
    with opened(elsewhere, apart=True) as memory:
        memory.backup_restore(str(saved))

    assert beside.read_text() == "mine"
    assert [each.name for each in beside.parent.parent.glob("*.empty")] == [beside.parent.name]
    with opened(elsewhere) as memory:
        assert len(texts(memory)) == 3


def test_a_store_that_holds_anything_stays_unless_it_may_be_replaced_and_is_kept_aside(place, opened, saved):
    with opened(place) as memory:
        memory.remember("Said after the backup")
    with opened(place, apart=True) as memory:
        with pytest.raises(Conflict, match="holds something"):
            memory.backup_restore(str(saved))
        with opened(place) as unchanged:
            assert "Said after the backup" in texts(unchanged)
        kept = memory.backup_restore(str(saved), overwrite=True).kept
    with opened(place) as memory:
        assert "Said after the backup" not in texts(memory)
        assert healthy(memory)
    with opened(f"files:{kept}" if place.startswith("files:") else kept) as memory:
        assert "Said after the backup" in texts(memory)
        assert healthy(memory)
        memory.remember("The old one lives on")


def test_a_link_to_a_store_stays_a_link(place, opened, saved, tmp_path):
    real, link = path_of(place), tmp_path / "link"
    link.symlink_to(real)
    with opened(f"files:{link}" if place.startswith("files:") else str(link), apart=True) as memory:
        memory.backup_restore(str(saved), overwrite=True)
    assert link.is_symlink()
    with opened(place) as memory:
        assert {event.replica for event in memory.engine.events(limit=100)}
        assert healthy(memory)


def test_a_store_that_was_only_just_made_gives_way(place, opened, saved):
    elsewhere = place.replace("/store/", "/other/")
    opened(elsewhere).close()
    with opened(elsewhere, apart=True) as memory:
        assert memory.backup_restore(str(saved)).kept == ""
    with opened(elsewhere) as memory:
        assert "We deploy on Fridays" in texts(memory)
    assert len(os.listdir(path_of(elsewhere).parent)) == 1


def test_an_open_memory_can_be_restored_and_goes_on(place, opened, saved):
    with opened(place) as memory:
        memory.remember("Said after the backup")
        memory.backup_restore(str(saved), overwrite=True)
        assert "Said after the backup" not in texts(memory)
        replicas = {event.replica for event in memory.engine.events(limit=100)}
        memory.remember("Goes on")
        [last] = memory.engine.events(newest=True, limit=1)
        assert last.replica not in replicas
        assert healthy(memory)


def test_a_damaged_store_is_no_obstacle_and_is_kept_as_it_is(place, opened, saved):
    victim = path_of(place)
    victim = victim if victim.is_file() else victim / "memory.md"
    victim.write_bytes(b"\xff\xfe nothing that anybody could read")
    with opened(place, apart=True) as memory:
        assert memory.backup_verify(str(saved)).healthy
        kept = Path(memory.backup_restore(str(saved), overwrite=True).kept)
    with opened(place) as memory:
        assert healthy(memory)
        assert "We deploy on Fridays" in texts(memory)
    assert (kept if kept.is_file() else kept / "memory.md").read_bytes().startswith(b"\xff\xfe")


def with_a_log_left(opened, place: str) -> tuple[str, bytes]:
    """A backup of a store, and the log with what was saved since, which lies beside it as after a kill."""
    with opened(place) as memory:
        memory.remember("In the backup")
        saved = memory.backup_create(f"{place}.zip").path
        memory.remember("Only in the log")
        left = Path(f"{place}-wal").read_bytes()
    Path(f"{place}-wal").write_bytes(left)
    return saved, left


def test_a_log_of_a_damaged_store_is_not_taken_for_that_of_the_new_one(opened, tmp_path):
    place = f"{tmp_path}/engram.db"
    saved, left = with_a_log_left(opened, place)
    Path(place).write_bytes(b"damaged")
    with opened(place, apart=True) as memory:
        kept = memory.backup_restore(saved, overwrite=True).kept
    assert Path(f"{kept}-wal").read_bytes() == left
    with opened(place) as memory:
        assert texts(memory) == {"In the backup"}
        assert healthy(memory)


def test_a_log_whose_store_is_gone_is_kept_aside_and_not_taken_for_that_of_the_new_one(opened, tmp_path):
    place = f"{tmp_path}/engram.db"
    saved, left = with_a_log_left(opened, place)
    Path(place).unlink()
    with opened(place, apart=True) as memory:
        with pytest.raises(Conflict):
            memory.backup_restore(saved)
        kept = memory.backup_restore(saved, overwrite=True).kept
    assert Path(f"{kept}-wal").read_bytes() == left
    with opened(place) as memory:
        assert texts(memory) == {"In the backup"}
        assert healthy(memory)


def test_another_program_that_has_the_store_open_keeps_it_from_being_replaced(opened, tmp_path):
    place = f"{tmp_path}/engram.db"
    with opened(place) as memory:
        memory.remember("Here")
        saved = memory.backup_create(f"{tmp_path}/b.zip").path
        code = f"import apsw; db = apsw.Connection({place!r}); db.execute('SELECT * FROM meta').fetchall(); input()"
        with subprocess.Popen([sys.executable, "-c", f"{code}"], stdin=subprocess.PIPE) as other:
            time.sleep(0.7)
            with pytest.raises(Unavailable, match="open"):
                memory.backup_restore(saved, overwrite=True)
            other.communicate(b"\n")
        assert texts(memory) == {"Here"}
        assert sorted(name for name in os.listdir(tmp_path) if "before-restore" in name or "parts" in name) == []


# what is wrong with a backup


def damaged(saved: Path, tmp_path: Path, change: Callable[[dict[str, bytes]], None]) -> str:
    """The backup with some of its files changed, packed anew."""
    with zipfile.ZipFile(saved) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return str(path)


def test_verify_says_that_a_whole_backup_is_whole(opened, place, saved):
    with opened(place) as memory:
        report = memory.backup_verify(str(saved))
    assert report.healthy
    assert report.findings == ()
    assert report.counts["memories"] == 3


def test_a_changed_file_is_found_by_its_hash_and_never_restored(opened, place, saved, tmp_path):
    def change(files: dict[str, bytes]) -> None:
        name = next(name for name in files if name.endswith(("engram.db", "events.jsonl")))
        files[name] = files[name][:-1] + b"\x00"

    path = damaged(saved, tmp_path, change)
    with opened(place, apart=True) as memory:
        report = memory.backup_verify(path)
        assert not report.healthy
        assert "is not what it was" in report.findings[0].message
        with pytest.raises(Corrupt):
            memory.backup_restore(path, overwrite=True)
    with opened(place) as memory:
        assert "We deploy on Fridays" in texts(memory)


def test_a_store_whose_hash_is_right_but_whose_records_are_not_is_found_by_the_check(opened, tmp_path):
    place = f"{tmp_path}/engram.db"
    with opened(place) as memory:
        memory.remember("The truth")
        db = apsw.Connection(place)
        db.execute("UPDATE memory SET doc = replace(doc, 'The truth', 'A lie')")
        db.close()
        path = memory.backup_create(f"{tmp_path}/b.zip").path
        assert not memory.backup_verify(path).healthy
        with pytest.raises(Corrupt, match="damaged"):
            memory.backup_restore(path, overwrite=True)


def test_a_manifest_that_counts_otherwise_is_found(opened, place, saved, tmp_path):
    def change(files: dict[str, bytes]) -> None:
        told = json.loads(files["manifest.json"])
        told["counts"]["memories"] += 1
        files["manifest.json"] = json.dumps(told).encode()

    with opened(place) as memory:
        report = memory.backup_verify(damaged(saved, tmp_path, change))
    assert [finding.code for finding in report.findings] == ["counts"]


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "a\\b", ""])
def test_a_name_that_leads_out_of_the_store_is_refused(opened, place, saved, tmp_path, name):
    def change(files: dict[str, bytes]) -> None:
        told = json.loads(files["manifest.json"])
        told["files"][0]["name"] = name
        files["manifest.json"] = json.dumps(told).encode()

    with opened(place) as memory, pytest.raises(Corrupt, match="names a file"):
        memory.backup_restore(damaged(saved, tmp_path, change), overwrite=True)


def test_what_is_no_backup_or_cut_off_or_of_a_newer_form_is_refused(opened, place, saved, tmp_path):
    def newer(files: dict[str, bytes]) -> None:
        files["manifest.json"] = files["manifest.json"].replace(b"backup.v1", b"backup.v9")

    words, cut, other = (tmp_path / name for name in ("words.zip", "cut.zip", "other.zip"))
    words.write_text("plain words", "utf-8")
    cut.write_bytes(saved.read_bytes()[:-40])
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("something.txt", "else")
    with opened(place, apart=True) as memory:
        for path, error in ((words, Invalid), (cut, Corrupt), (other, Invalid), (tmp_path / "none", Invalid)):
            with pytest.raises(error):
                memory.backup_verify(str(path))
            with pytest.raises(error):
                memory.backup_restore(str(path))
        with pytest.raises(Corrupt, match=r"backup\.v9"):
            memory.backup_verify(damaged(saved, tmp_path, newer))
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".parts")]


def test_a_backup_of_one_engine_is_not_put_in_the_place_of_another(opened, place, saved, tmp_path):
    other = f"{tmp_path}/x.db" if place.startswith("files:") else f"files:{tmp_path}/x"
    with opened(other, apart=True) as memory, pytest.raises(Invalid, match="of the form"):
        memory.backup_restore(str(saved))


# where to, and who


def test_a_backup_without_a_name_lies_in_a_folder_beside_the_store(place, opened):
    with opened(place) as memory:
        memory.remember("Here")
        made = Path(memory.backup_create().path)
        assert made.parent == Path(place.removeprefix("files:")).parent / "backups"
        assert memory.backup_verify(str(made)).healthy


def test_backups_without_a_name_within_one_second_are_numbered(place, tmp_path):
    variables = {"HOME": str(tmp_path), "XDG_CACHE_HOME": f"{tmp_path}/cache", "ENGRAM_EMBEDDER": "none"}
    now = datetime(2026, 5, 1, 9, tzinfo=UTC)
    with engram.open(place, environment=variables, folder=tmp_path, clock=lambda: now) as memory:
        memory.remember("Here")
        made = [Path(memory.backup_create().path) for _ in range(3)]
        inside = [Path(memory.backup_create(f"{made[0].parent}/").path)]

    names = [each.name.removeprefix("engram-20260501T090000") for each in made + inside]
    assert names == [".zip", "-2.zip", "-3.zip", "-4.zip"]
    assert all(each.exists() for each in made + inside)


def test_a_backup_that_is_there_already_is_named_by_its_whole_path(opened, tmp_path):
    with opened(f"{tmp_path}/engram.db") as memory:
        memory.remember("Here")
        first = memory.backup_create(f"{tmp_path}/b.zip")
        with pytest.raises(Conflict) as refused:
            memory.backup_create(f"{tmp_path}/x/../b.zip")

    assert refused.value.message == f"{first.path} is there already."


def test_a_backup_never_replaces_a_file_by_itself_and_never_the_store(opened, tmp_path):
    place = f"{tmp_path}/engram.db"
    with opened(place) as memory:
        memory.remember("Here")
        first = memory.backup_create(f"{tmp_path}/b.zip")
        with pytest.raises(Conflict, match="already"):
            memory.backup_create(first.path)
        memory.remember("More")
        assert memory.backup_create(first.path, overwrite=True).counts["memories"] == 2
        with pytest.raises(Invalid, match="store itself"):
            memory.backup_create(place, overwrite=True)
        with pytest.raises(Unavailable):
            memory.backup_create("/proc/nowhere/b.zip")
        (tmp_path / "folder").mkdir()
        named = Path(memory.backup_create(f"{tmp_path}/folder").path)
        assert named.parent.name == "folder"
        assert named.name.startswith("engram-2")


def test_a_store_without_a_file_cannot_be_copied(opened, saved):
    with opened("ram:") as memory:
        with pytest.raises(Invalid, match="no file"):
            memory.backup_create("b.zip")
        with pytest.raises(Invalid, match="of the form"):
            memory.backup_restore(str(saved))


@pytest.mark.parametrize("caller", [Caller(human=False, agent="codex"), Caller(owner="alice")])
def test_neither_an_agent_nor_one_of_several_owners_copies_what_everybody_keeps(opened, tmp_path, caller, saved):
    with opened(f"{tmp_path}/engram.db", caller=caller) as memory:
        for ask in (memory.backup_create, memory.backup_verify, memory.backup_restore):
            with pytest.raises(Forbidden):
                ask(str(saved))


def test_a_backup_and_all_that_is_restored_from_it_have_their_names_on_the_disk(
    opened, place, saved, tmp_path, monkeypatch
):
    told, sync = set(), os.fsync

    def note(handle: int) -> None:
        told.add(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", note)
    (tmp_path / "kept").mkdir()
    with opened(place) as memory:
        memory.backup_create(str(tmp_path / "kept" / "one.zip"))
    assert (tmp_path / "kept").stat().st_ino in told

    path = path_of(place)
    path.rename(path.with_name("before"))
    with opened(place, apart=True) as memory:
        memory.backup_restore(str(saved))
    files = [path, *(each for each in path.rglob("*") if each.name != ".lock")]  # which holds nothing
    assert path.parent.stat().st_ino in told
    assert [each.name for each in files if each.stat().st_ino not in told] == []


def test_a_full_disk_leaves_no_half_a_backup(opened, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with opened(f"{tmp_path}/engram.db") as memory:
        memory.remember("Here")
        monkeypatch.setattr(backup_file.os, "fsync", full)
        with pytest.raises(Unavailable, match="space"):
            memory.backup_create(f"{tmp_path}/b.zip")
    assert not [name for name in os.listdir(tmp_path) if name.startswith((".b.zip", "b.zip"))]


# beside writers, and killed

CHILD = """
import os, signal, sys
import engram

place, what, phase, at = sys.argv[1:5]
memory = engram.open(place, apart=what == "restore")

def progress(done, total, now):
    if now == phase and (done >= total if at == "end" else True):
        os.kill(os.getpid(), signal.SIGKILL)

watched = memory.watched_by(progress)
if what == "create":
    watched.backup_create(sys.argv[5], overwrite=True)
else:
    watched.backup_restore(sys.argv[5], overwrite=True)
"""

WRITER = """
import sys
import engram

memory = engram.open(sys.argv[1])
n = 0
while True:
    n += 1
    memory.remember(f"Written meanwhile, number {n}", scope="project:busy")
    print(n, flush=True)
"""


def child(code: str, tmp_path: Path, *words: str) -> subprocess.Popen[bytes]:
    variables = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": f"{tmp_path}/cache",
        "ENGRAM_EMBEDDER": "none",
    }
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *words], env=variables, stdout=subprocess.PIPE
    )


def test_a_backup_beside_a_writer_is_one_moment_of_it(place, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "engram.engines.sqlite_copy.PAGES", 2
    )  # many steps, with commits of the writer between them
    with opened(place) as memory, child(WRITER, tmp_path, place) as writer:
        assert writer.stdout
        backups = []
        for n in range(3):
            before = int(writer.stdout.readline())
            done = memory.backup_create(f"{tmp_path}/b{n}.zip")
            backups.append((before, done))
        writer.kill()
        acknowledged = [int(line) for line in writer.stdout.read().split()]
        for before, done in backups:
            assert memory.backup_verify(done.path).healthy
            assert done.counts["memories"] >= before
            assert done.counts["memories"] == done.counts["events"]
        assert len(texts(memory)) >= max([*acknowledged, backups[-1][0]])
        assert healthy(memory)


@pytest.mark.parametrize(
    ("phase", "at"), [("copying", "begin"), ("copying", "end"), ("packing", "begin"), ("packing", "end")]
)
def test_killed_while_it_is_made_a_backup_is_the_old_one_or_none(place, opened, tmp_path, phase, at):
    target = tmp_path / "b.zip"
    with opened(place) as memory:
        memory.remember("Here")
        memory.backup_create(str(target))
        memory.remember("And there")
    old = target.read_bytes()
    with child(CHILD, tmp_path, place, "create", phase, at, str(target)) as killed:
        assert killed.wait() == -signal.SIGKILL
    assert target.read_bytes() == old
    with opened(place) as memory:
        assert healthy(memory)
        assert memory.backup_create(str(target), overwrite=True).counts["memories"] == 2
        assert memory.backup_verify(str(target)).healthy
    left = [name for name in os.listdir(tmp_path) if "b.zip" in name]
    assert left == ["b.zip"]


@pytest.mark.parametrize(
    "moment", [("unpacking", "begin"), ("checking", "begin"), ("placing", "begin"), ("placing", "end")]
)
def test_killed_while_it_restores_there_is_the_old_store_or_the_new_one(place, opened, saved, tmp_path, moment):
    with opened(place) as memory:
        memory.remember("Said after the backup")
    with child(CHILD, tmp_path, place, "restore", *moment, str(saved)) as killed:
        assert killed.wait() == -signal.SIGKILL
    with opened(place) as memory:
        assert healthy(memory)
        assert ("Said after the backup" in texts(memory)) is (moment != ("placing", "end"))
    with opened(place, apart=True) as memory:
        memory.backup_restore(str(saved), overwrite=True)
    with opened(place) as memory:
        assert "Said after the backup" not in texts(memory)
        assert healthy(memory)
    assert not [name for name in os.listdir(path_of(place).parent) if name.endswith(".parts")]


def test_a_crash_between_the_two_renames_of_a_folder_loses_neither_store(opened, tmp_path, monkeypatch):
    place = f"files:{tmp_path}/plain"
    with opened(place) as memory:
        memory.remember("Here")
        saved = memory.backup_create(f"{tmp_path}/b.zip").path
        memory.remember("Said after the backup")
    renames = []

    def once(*paths: str) -> None:
        renames.append(paths)
        if len(renames) == 2:
            raise KeyboardInterrupt
        os.replace(*paths)

    with opened(place, apart=True) as memory:
        with monkeypatch.context() as patch:
            patch.setattr("engram.engines.files.copying.os.rename", once)
            with pytest.raises(KeyboardInterrupt):
                memory.backup_restore(saved, overwrite=True)
        [kept] = tmp_path.glob("plain.before-restore-*")
        with opened(f"files:{kept}") as old:
            assert "Said after the backup" in texts(old)
        memory.backup_restore(saved)
    with opened(place) as memory:
        assert texts(memory) == {"Here"}


def test_progress_is_told_of_every_phase(place, opened, saved, tmp_path):
    told: list[str] = []
    with opened(place) as memory:
        watched = memory.watched_by(lambda _done, _total, what: told.append(what))
        watched.backup_create(f"{tmp_path}/again.zip")
        watched.backup_verify(str(saved))
        watched.backup_restore(str(saved), overwrite=True)
    assert list(dict.fromkeys(told)) == ["copying", "packing", "unpacking", "checking", "placing"]


# What only others may read


def test_a_database_is_copied_by_its_own_means_and_no_export_is_a_copy_of_it(tmp_path: Path):
    variables = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_ORG": uuid.uuid4().hex}

    def opened_as(caller: Caller | None = None) -> Engram:
        return engram.open(database_url(), environment=variables, folder=tmp_path, caller=caller)

    with opened_as(Caller(org=variables["ENGRAM_ORG"], owner="ann", actor="ann")) as ann:
        ann.remember("Ann likes the quiet")
        ann.remember("Ann likes tea")
        ann.remember("Deploys are on Fridays", visibility="shared")
        assert ann.export(str(tmp_path / "of-ann.jsonl")).problems == ()
    with opened_as() as operator:
        operator.remember("What the operator keeps")
        with pytest.raises(Invalid, match="cannot be copied") as refused:
            operator.backup_create()
        told = operator.export(str(tmp_path / "all.jsonl"))
        narrow = operator.export(str(tmp_path / "live.jsonl"), standing=["pending"])

    assert "pg_dump" in refused.value.hint
    assert "docs/guides/deploy.md" in refused.value.hint
    assert (told.memories, told.problems, told.hint) == (
        2,
        ("2 memories are for others to read, and not in it.",),
        refused.value.hint,
    )
    assert (narrow.memories, narrow.problems) == (0, told.problems)


def test_an_export_of_a_store_in_a_file_says_what_it_lacks_to_whoever_looks_after_it(
    place: str, opened: Open, tmp_path: Path
):
    with opened(place, caller=Caller(org="acme", owner="ann", actor="ann")) as ann:
        ann.remember("Ann likes the quiet")
        assert ann.export(str(tmp_path / "of-ann.jsonl")).problems == ()
    with opened(place) as operator:
        told = operator.export(str(tmp_path / "all.jsonl"))
        assert (told.problems, told.hint) == (
            ("1 memory is for others to read, and not in it.",),
            "Copy all of them: engram backup create.",
        )


def test_an_export_of_all_there_is_has_nothing_more_to_say(place: str, opened: Open, tmp_path: Path):
    with opened(place) as memory:
        memory.remember("We deploy on Fridays")
        memory.remember("Soon gone")
        told = memory.export(str(tmp_path / "live.jsonl"), standing=["pending"])
    assert (told.memories, told.problems, told.hint) == (0, (), "")
