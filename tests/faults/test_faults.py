"""Faults on every engine: what was acknowledged is there, nothing is half, and damage is named and rescued."""

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import apsw
import psycopg
import pytest

from engines.samples import Story, everything
from engines.stores import open_any, wrong
from engines.test_crashes import notes, notes_so_far
from engines.test_postgres import wait_for
from engines.test_read_only import only_reading
from engram.engines.files.beside import audited
from engram.errors import Corrupt, EngramError, Unavailable
from faults.clusters import open_folder
from faults.harness import (
    ENGINES,
    TIMES,
    address,
    assert_holding,
    assert_nothing_lost,
    child,
    drawing,
    heard,
    killed_while_writing,
    opened,
    place_of,
    rescued,
    rescued_texts,
    store_of,
    tell,
    texts,
    wait_for_more,
    work,
)
from faults.test_full_disk import small_disk
from surfaces.mcp_clients import COMMAND

IN_FILES = ("sqlite", "files")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kill_at_any_moment_of_any_writing_operation_loses_nothing(tmp_path, engine):
    store, acks, dice, kills = store_of(engine, tmp_path), tmp_path / "acks", random.Random(engine), 4 * TIMES
    for run in range(1, kills + 1):
        killed_while_writing(store, acks, run, dice.randrange(1, 40))
        assert_nothing_lost(store, acks)
    tell("`kill -9` while remembering, revising, forgetting, promoting, purging", engine, kills)


@pytest.mark.parametrize("engine", IN_FILES)
@pytest.mark.parametrize("size", [120_000, 400_000])
def test_a_full_disk_refuses_and_loses_nothing(tmp_path, engine, size):
    store = store_of(engine, tmp_path)
    open_any(store).close()
    told, errors = child("fill", store, size).communicate(timeout=120)
    assert errors == ""
    kept, error, readable = json.loads(told)

    assert error == "Unavailable"
    assert readable == len(kept) - 1
    assert rescued(*address(store, tmp_path)).keys() == set(kept)
    found = open_any(store)
    assert {each.id for each in everything(found)} == set(kept)
    assert wrong(found.check()) == []
    found.close()
    tell("disk full in the middle of a write (a limit on the size of files)", engine, 1, simulated=True)


# --- damage from outside ---


def flipped(content: bytearray, dice: random.Random) -> None:
    for _ in range(3):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)


def cut(content: bytearray, dice: random.Random) -> None:
    del content[int(len(content) * dice.uniform(0.3, 0.99)) :]


def emptied(content: bytearray, dice: random.Random) -> None:
    del dice, content[:]


Damage = Callable[[bytearray, random.Random], None]
TEXTS = {f"Fact {n} of the quiet house" for n in range(30)}


@pytest.mark.parametrize("engine", IN_FILES)
@pytest.mark.parametrize("damage", [flipped, cut, emptied])
def test_damage_is_named_never_taken_for_an_empty_store_and_what_is_left_is_rescued(tmp_path, engine, damage):
    whole, dice, tries = tmp_path / "whole", random.Random(f"{engine} {damage.__name__}"), 3 * TIMES
    with opened(place_of(engine, whole), whole) as memory:
        for text in sorted(TEXTS):
            memory.remember(text)
    for n in range(tries):
        folder = tmp_path / f"{n}"
        shutil.copytree(whole, folder)
        shutil.rmtree(folder / "cache", ignore_errors=True)
        place = place_of(engine, folder).removeprefix("files:")  # as people name it
        names = ["engram.db"] if engine == "sqlite" else ["store/memory.md", "store/events.jsonl"]
        content = hurt(folder / "home" / dice.choice(names), damage, dice)
        assert_named_or_harmless(place, folder, TEXTS)
        with opened(place, folder, apart=True) as memory:
            memory.rescue(str(folder / "rescued.jsonl"))
        with opened("ram:", folder) as other:
            other.import_(str(folder / "rescued.jsonl"), trust=True)
            left = texts(other)
            assert len(left) <= len(TEXTS) + 3  # a flipped bit may make another text of a memory's
            assert damage is not flipped or len(left & TEXTS) >= len(TEXTS) - 6  # three bits hurt few of them
            if damage is not flipped and engine == "files":
                assert left == TEXTS  # the other file has them all
            elif damage is not flipped:
                standing = {text for text in TEXTS if text.encode() in content}
                assert len(left & standing) >= len(standing) - 1  # the cut may go through one of them
    told = {"flipped": "bits flipped", "cut": "the tail cut off", "emptied": "a file of no length"}
    tell(f"{told[damage.__name__]}: named by an error or `doctor`, the rest rescued", engine, tries, damaged=True)


def hurt(path: Path, damage: Damage, dice: random.Random) -> bytes:
    """Damage a file; answers with what is in it then."""
    damage(content := bytearray(path.read_bytes()), dice)
    path.write_bytes(content)
    return bytes(content)


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 0.99])
def test_a_sqlite_file_that_is_cut_gives_up_what_stands_in_its_pages_however_long_the_texts_are(tmp_path, share):
    """A text longer than a page lies in several, and only SQLite itself can follow it: the raw bytes cannot."""
    place, wanted = place_of("sqlite", tmp_path), [f"Fact {n} of the quiet house" for n in range(60)]
    wanted[1::2] = [" ".join([f"{text}, line {line}" for line in range(200)]) for text in wanted[1::2]]
    with opened(place, tmp_path) as memory:
        for text in wanted:
            memory.remember(text)
    content = Path(place).read_bytes()
    Path(place).write_bytes(content[: int(len(content) * share)])
    assert_named_or_harmless(place, tmp_path, set(wanted))
    saved = rescued_texts(place, tmp_path)
    assert saved <= set(wanted)
    assert len(saved) >= len(wanted) * (share - 0.1)
    tell("the tail cut off: named by an error or `doctor`, the rest rescued", "sqlite", 1, damaged=True)


BESIDE = ("queue", "queue/_done", "audit.jsonl", "memory-log.md")
"""What plain files keep beside the text and history: all of it follows from these."""


@pytest.mark.parametrize("damage", [flipped, cut, emptied])
def test_a_queue_a_trail_or_a_log_that_is_damaged_is_named_or_mended_and_nothing_is_lost(tmp_path, damage):
    whole, dice, tries = tmp_path / "whole", random.Random(damage.__name__), TIMES
    wanted = {f"Fact {n} of the quiet house" for n in range(6)} | {f"Page {n} says so" for n in range(4)}
    with opened(place_of("files", whole), whole) as memory:
        for text in sorted(wanted):
            memory.remember(text, source="https://a.page/of" if text.startswith("Page") else "")
        memory.promote("mem-0007")
        memory.reject("mem-0008")
    for name, n in product(BESIDE, range(tries)):
        folder = tmp_path / name / f"{n}"
        shutil.copytree(whole, folder)
        place, path = place_of("files", folder), folder / "home" / "store" / name
        path = dice.choice(sorted(path.glob("*.json"))) if path.is_dir() else path
        events = audited(path.read_bytes())
        hurt(path, damage, dice)

        assert rescued_texts(place, folder) == wanted
        left = troubles(place, folder, wanted)
        assert left == [] or damage is flipped
        assert all(each.startswith(path.name) for each in left)
        assert is_readable(path) or left
        assert audited(path.read_bytes()) >= events
        if name == "memory-log.md" and left:  # it may be another program's: that is for a person
            path.unlink()
            assert troubles(place, folder, wanted) == []
            assert is_readable(path)
    tell("queue, trail or log of plain files damaged: named or mended", "files", len(BESIDE) * tries)


def troubles(place: str, folder: Path, wanted: set[str]) -> list[str]:
    """What is wrong with a store after its repair, which holds these texts wherever it can be opened."""
    try:
        with opened(place, folder, lenient=True) as memory:
            assert texts(memory) == wanted
            memory.doctor(fix=True)
            assert texts(memory) == wanted
            return [each.message for each in memory.doctor().findings if each.severity != "note"]
    except EngramError as error:
        return [error.message]


def is_readable(path: Path) -> bool:
    """Whether a file still is text, and each of its records is JSON: what it says may be another thing."""
    content = path.read_bytes()
    try:
        for each in {".json": [content], ".jsonl": content.splitlines()}.get(path.suffix, ()):
            json.loads(each)
        return bool(content.decode())
    except ValueError:
        return False


def assert_named_or_harmless(place: str, folder: Path, wanted: set[str]) -> None:
    """The store says what is wrong, or has everything: it never answers with less and calls itself healthy."""
    try:
        with opened(place, folder, lenient=True) as memory:
            said = (
                [*(each.message for each in memory.engine.notices())] if hasattr(memory.engine, "notices") else []
            )
            found = texts(memory)
            said += [each.message for each in memory.doctor().findings if each.severity != "note"]
    except EngramError:
        return
    assert said or found == wanted


def change_bytes(place: str, folder: Path, damage: Damage, dice: random.Random) -> None:
    """Damage the one attachment of a store, where its bytes rest."""
    if not place.startswith("postgres"):
        (path,) = (each for each in (folder / "home").glob("*.assets/*/*/*") if each.is_file())
        damage(content := bytearray(path.read_bytes()), dice)
        path.write_bytes(content)
        return
    with psycopg.connect(place) as db:
        ((data, body),) = db.execute("SELECT data, body FROM engram.blob_part").fetchall()
        damage(content := bytearray(data), dice)
        db.execute("UPDATE engram.blob_part SET data = %s WHERE body = %s", [bytes(content), body])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("damage", [flipped, cut, emptied])
def test_an_attachment_that_was_damaged_is_named_and_never_handed_out(tmp_path, engine, damage):
    place, dice, tries = place_of(engine, tmp_path), random.Random(f"{engine} {damage.__name__}"), TIMES
    (tmp_path / "plan.txt").write_text(drawing(1))
    with opened(place, tmp_path) as memory:
        memory.remember("The plan of the quiet house")
        for _ in range(tries):
            memory.attach("mem-0001", str(tmp_path / "plan.txt"))
            assert memory.doctor().findings == ()
            change_bytes(place, tmp_path, damage, dice)
            (found,) = memory.doctor().findings
            assert "plan.txt of mem-0001" in found.message
            assert not memory.doctor().healthy
            with pytest.raises(EngramError):
                memory.fetch("mem-0001", "plan.txt", str(tmp_path / "fetched.txt"))
            assert not (tmp_path / "fetched.txt").exists()
        memory.attach("mem-0001", str(tmp_path / "plan.txt"))
        assert memory.doctor().findings == ()
    tell("an attachment damaged: named by `doctor`, never handed out, attached again", engine, tries, damaged=True)


def test_a_log_of_sqlite_that_was_deleted_takes_no_more_than_it_held_and_leaves_a_whole_store(tmp_path):
    place, tries, known = place_of("sqlite", tmp_path), 2 * TIMES, set[str]()
    for n in range(tries):
        process = work(place, tmp_path, "write", f"writer{n}")
        assert process.stdout is not None
        known |= {process.stdout.readline().strip() for _ in range(5)}
        assert emptied_log(place) == (0, 0, 0)
        acked = known | {process.stdout.readline().strip() for _ in range(5)}
        process.kill()
        acked |= set(process.stdout.read().split("\n"))
        for suffix in ("-wal", "-shm"):
            Path(f"{place}{suffix}").unlink()
        saved = rescued_texts(place, tmp_path)
        with opened(place, tmp_path) as memory:
            assert known <= texts(memory) == saved
            assert len(saved - acked) <= 1  # the last one may be kept, and not be acknowledged yet
            assert memory.doctor().healthy
            known = texts(memory)
    tell("the `-wal` deleted after a kill: what was in the file itself is whole", "sqlite", tries, damaged=True)


@pytest.mark.parametrize("damage", [flipped, cut, emptied])
def test_a_log_of_sqlite_that_was_damaged_takes_no_more_than_it_held_and_the_rest_is_rescued(tmp_path, damage):
    place, tries, known, dice = place_of("sqlite", tmp_path), TIMES, set[str](), random.Random(damage.__name__)
    for n in range(tries):
        process = work(place, tmp_path, "write", f"writer{n}")
        assert process.stdout is not None
        known |= {process.stdout.readline().strip() for _ in range(5)}
        assert emptied_log(place) == (0, 0, 0)
        acked, log = set(known), Path(f"{place}-wal")
        while log.stat().st_size < 100_000:  # a few writes are in it, and not in the file
            line = process.stdout.readline()
            assert line, "the writer ended"
            acked.add(line.strip())
        process.kill()
        acked |= set(process.stdout.read().splitlines())
        hurt(log, damage, dice)
        saved = rescued_texts(place, tmp_path)
        with opened(place, tmp_path) as memory:
            found = texts(memory)
            assert known <= found <= saved
            assert len(found - acked) <= 1  # the last one may be kept, and not be acknowledged yet
            assert memory.doctor().healthy
        assert damage is not flipped or len(saved & acked) >= len(acked) - 3  # three bits hurt no more than that
        known = found
    told = {"flipped": "bits of the `-wal` flipped", "cut": "the `-wal` cut", "emptied": "a `-wal` of no length"}
    tell(
        f"{told[damage.__name__]} after a kill: what was in the file itself is whole", "sqlite", tries, damaged=True
    )


def test_a_file_of_sqlite_that_was_deleted_beside_its_log_is_never_begun_anew_and_the_log_is_rescued(tmp_path):
    tries = 2 * TIMES
    for n in range(tries):
        folder = tmp_path / f"{n}"
        place = place_of("sqlite", folder)
        process = work(place, folder, "write", "writer", 0.02)  # so little that the log holds all of it
        assert process.stdout is not None
        acked = {process.stdout.readline().strip() for _ in range(5)}
        process.kill()
        acked |= set(process.stdout.read().splitlines())
        Path(place).unlink()
        left = {path: path.read_bytes() for path in Path(place).parent.iterdir()}
        assert left
        for making in ("now", "later", "never"):
            for lenient in (False, True):
                with pytest.raises(Corrupt, match="is gone, and its log"):
                    opened(place, folder, making=making, lenient=lenient)
        saved = rescued_texts(place, folder)
        assert {path: path.read_bytes() for path in Path(place).parent.iterdir()} == left
        assert acked <= saved
        for suffix in ("-wal", "-shm"):
            Path(f"{place}{suffix}").rename(folder / suffix)
        with opened(place, folder) as memory:
            memory.import_(str(folder / "rescued.jsonl"), trust=True)
            assert texts(memory) == saved
    told = "the file deleted after a kill, its log left: named by an error, untouched, the log rescued"
    tell(told, "sqlite", tries, damaged=True)


@pytest.mark.parametrize("named", ["files:", "a path", "not at all"])
def test_a_store_of_plain_files_is_the_same_store_when_one_of_them_was_deleted(tmp_path, named):
    gone = ("memory.md", "memory-log.md", "events.jsonl")
    for name in gone:
        folder = tmp_path / name
        store = folder / ".local" / "share" / "engram" if named == "not at all" else folder / "store"
        place = {"files:": f"files:{store}", "a path": f"{store}", "not at all": ""}[named]
        with opened(f"files:{store}", folder) as memory:
            for text in TEXTS:
                memory.remember(text)
        (store / name).unlink()
        assert rescued_texts(place, folder) == TEXTS
        with opened(place, folder, making="never") as memory:
            assert texts(memory) == TEXTS
            report = memory.doctor()
            assert any(name in each.message for each in (*report.findings, *memory.notices()))
            memory.remember("We go on here")
        assert {"memory.md", "events.jsonl"} <= {each.name for each in store.iterdir()}
        assert not list(store.glob("engram.db*"))
        with opened(place, folder, making="never") as memory:
            assert texts(memory) == {*TEXTS, "We go on here"}
    tell("a file of plain files deleted, however the store is named: told, nothing lost", "files", len(gone))


def emptied_log(place: str) -> tuple[int, ...]:
    """Bring what the log of a SQLite file holds into the file itself: nothing is busy or left in the log."""
    db = apsw.Connection(place)
    try:
        db.set_busy_timeout(5000)
        return tuple(db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
    finally:
        db.close()


# --- the world around ---


@pytest.mark.parametrize("engine", ENGINES)
def test_a_clock_that_jumps_loses_nothing_and_history_keeps_its_order(tmp_path, engine):
    dice, start, wanted = random.Random(engine), datetime(2026, 6, 1, tzinfo=UTC), set[str]()
    place, jumps = place_of(engine, tmp_path), 12 * TIMES
    for n in range(jumps):
        at = start + timedelta(days=dice.choice([-15_000, -4000, -30, -1, 0, 1, 30, 4000, 60_000]))
        with opened(place, tmp_path, clock=lambda now=at: now) as memory:
            wanted.add(memory.remember(f"Note {n} at some time").memory.text)
            assert texts(memory) == wanted
            events = memory.engine.events(limit=1000)
            assert [each.time for each in events] == sorted(each.time for each in events)
            assert memory.doctor().healthy
    assert_holding(place, tmp_path, wanted)
    tell("the clock jumps by years, back and forth", engine, jumps, simulated=True)


def take_the_lock(engine: str, store: Path) -> None:
    """Have the lock of a store for a moment, and wait for nobody."""
    match engine:
        case "files":
            with (store / ".lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        case "postgres":
            time.sleep(0.02)  # what its server was asked before is done by then
            with psycopg.connect(os.environ["DATABASE"]) as db:
                db.execute("SELECT 1 FROM engram.org WHERE org = %s FOR UPDATE NOWAIT", [store.name])
        case _:
            with closing(apsw.Connection(str(store))) as db:
                db.execute("BEGIN IMMEDIATE; ROLLBACK").fetchall()


def is_locked(engine: str, store: Path) -> bool:
    """Whether another process is in the middle of a commit."""
    try:
        take_the_lock(engine, store)
    except (BlockingIOError, apsw.BusyError, psycopg.errors.LockNotAvailable):
        return True
    return False


def killed_with_the_lock(engine: str, store: Path, acks: Path, run: int) -> None:
    """Let a process do all writing operations, and kill it while it holds the lock of the store."""
    known, writer, until = len(notes(acks)), child("churn", store, acks, run), time.monotonic() + 60
    wait_for(lambda: len(notes_so_far(acks)) > known)
    while True:
        time.sleep(0.001)
        writer.send_signal(signal.SIGSTOP)
        assert os.WIFSTOPPED(os.waitpid(writer.pid, os.WUNTRACED)[1])
        if is_locked(engine, store):
            break
        assert time.monotonic() < until
        writer.send_signal(signal.SIGCONT)
    writer.kill()
    assert writer.wait() == -signal.SIGKILL


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lock_that_a_killed_process_held_stops_nobody(tmp_path, engine):
    store, acks = store_of(engine, tmp_path), tmp_path / "acks"
    for run in range(1, 2 * TIMES + 1):
        killed_with_the_lock(engine, store, acks, run)
        begun = time.monotonic()
        found = open_any(store)
        after = Story(found, name=f"after{run}", start=run).remember(f"after kill {run}")
        assert time.monotonic() - begun < 20
        found.close()
        assert after.id in rescued(*address(store, tmp_path))
    tell("the lock of a killed process, taken by the next", engine, 2 * TIMES)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_backup_made_while_others_write_is_whole(tmp_path, engine):
    place, tries = place_of(engine, tmp_path), 2 * TIMES
    process = work(place, tmp_path, "write", "writer", 0.01)
    told = heard(process)
    try:
        with opened(place, tmp_path) as memory:
            for n in range(tries):
                wait_for_more(told, 1)
                before = texts(memory)
                path = memory.backup_create(f"{tmp_path}/{n}.zip").path
                assert memory.backup_verify(path).healthy
                with opened(place_of(engine, tmp_path / f"{n}"), tmp_path / f"{n}", apart=True) as copy:
                    copy.backup_restore(path)
                with opened(place_of(engine, tmp_path / f"{n}"), tmp_path / f"{n}") as copy:
                    assert texts(copy) >= before
                    assert copy.doctor().healthy
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    tell("a backup while another process writes, verified and restored", engine, tries)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_home_and_a_store_that_can_only_be_read_are_read_and_refuse_in_plain_words(engine):
    with open_folder() as folder:
        home = folder / "store"
        home.mkdir(mode=0o700)
        place = {"sqlite": f"{home}/engram.db", "files": f"files:{home}"}[engine]
        with opened(place, home) as memory:
            memory.remember("We deploy on Fridays")
        with only_reading(folder), opened(place, home) as memory:
            assert texts(memory) == {"We deploy on Fridays"}
            with pytest.raises(Unavailable, match="can only be read here"):
                memory.remember("Use uv")
        assert_holding(place, home, {"We deploy on Fridays"})
    tell("a home and a store that can only be read: shown, and a write refused", engine, 1)


def test_a_home_that_can_only_be_read_stops_nobody_whose_store_is_a_database(tmp_path):
    place = place_of("postgres", tmp_path)
    with small_disk(1_000_000) as home:
        subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
        with opened(place, home) as memory:
            memory.remember("We deploy on Fridays")
            memory.remember("Use uv")
            assert [each.memory.text for each in memory.recall("deploy Fridays").hits] == ["We deploy on Fridays"]
            assert texts(memory) == {"We deploy on Fridays", "Use uv"}
            assert memory.doctor().healthy
        assert list(home.iterdir()) == []
    tell("a home that can only be read, with the store elsewhere: used as ever", "postgres", 1)


def on_a_network(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command to which the table of mounts says that a folder lies on another machine."""
    mounts = folder.parent / "mounts"
    mounts.write_text(
        f"36 25 0:32 / {folder} rw shared:1 - nfs4 server:/home rw\n22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
    )
    told = 'mount --bind "$0" /proc/$$/mountinfo && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", told, str(mounts), *command]
    variables = {**os.environ, "HOME": str(folder.parent), "ENGRAM_EMBEDDER": "none"}
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder.parent, env=variables)


def test_a_store_on_a_network_file_system_is_refused_untouched_unless_it_is_wanted(tmp_path):
    (folder := tmp_path / "far").mkdir(mode=0o700)
    if on_a_network(folder, "true").returncode:
        pytest.skip("mounts may only be imitated by root")
    store, remember = f"{folder}/engram.db", (*COMMAND, "remember", "We deploy on Fridays", "--store")
    refused = on_a_network(folder, *remember, store)

    assert refused.returncode == Unavailable.exit_code
    assert "nfs4" in refused.stderr
    assert list(folder.iterdir()) == []
    assert on_a_network(folder, *remember, f"{tmp_path}/near/engram.db").returncode == 0
    assert on_a_network(folder, "env", "ENGRAM_NETWORK_STORE=true", *remember, store).returncode == 0
    tell("a network file system: told by the table of mounts, and refused", "sqlite", 1, simulated=True)


def test_two_checkpointers_beside_a_writer_lose_nothing(tmp_path):
    for run in range(TIMES):
        place = place_of("sqlite", tmp_path / f"{run}")
        with opened(place, tmp_path) as memory:
            first = memory.remember("The first of all notes").memory.text
        checkpointers = [work(place, tmp_path, "checkpoint") for _ in range(2)]
        emptied = [heard(each) for each in checkpointers]
        for each in emptied:
            wait_for_more(each, 1)
        writer = work(place, tmp_path, "write", "writer")
        told = heard(writer)
        for each in (told, *emptied):
            wait_for_more(each, 20)
        assert [each.poll() for each in (writer, *checkpointers)] == [None] * 3
        wanted = {first, *told}
        for process in (writer, *checkpointers):
            process.kill()
            process.wait()
        saved = rescued_texts(place, tmp_path)
        with opened(place, tmp_path) as memory:
            assert wanted <= texts(memory) <= saved
            assert memory.doctor().healthy
    tell("two checkpointers beside a writer", "sqlite", TIMES)
