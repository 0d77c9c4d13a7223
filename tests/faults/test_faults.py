"""Faults on every engine: what was acknowledged is there, nothing is half, and damage is named and rescued."""

import gzip
import json
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from engines.samples import MINE, SPACE, Story, everything
from engines.stores import assert_whole, open_any, open_files, open_store, wrong
from engram.engines.files.folder import Folder
from engram.engines.sqlite_file import _network_kind
from engram.errors import Corrupt, EngramError
from faults.harness import (
    CHILD,
    ENGINES,
    TIMES,
    assert_nothing_lost,
    child,
    killed_while_writing,
    opened,
    place_of,
    store_of,
    tell,
    texts,
    work,
)

IN_FILES = ("sqlite", "files")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kill_at_any_moment_of_any_writing_operation_loses_nothing(tmp_path, engine):
    store, acks, dice, kills = store_of(engine, tmp_path), tmp_path / "acks", random.Random(engine), 4 * TIMES
    for run in range(1, kills + 1):
        killed_while_writing(store, acks, run, dice.randrange(1, 40))
        assert_nothing_lost(store, acks)
    tell("`kill -9` while remembering, revising, forgetting, promoting, purging", engine, kills)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_kill_during_an_import_is_made_up_for_by_importing_again(tmp_path, engine):
    place, path, dice, kills = place_of(engine, tmp_path), tmp_path / "all.jsonl", random.Random(engine), 2 * TIMES
    wanted = {f"Line {n} of an export of the quiet house" for n in range(60)}
    with opened("ram:", tmp_path) as other:
        for text in sorted(wanted):
            other.remember(text)
        other.export(str(path))
    for _ in range(kills):
        process = work(place, tmp_path, "import", path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(dice.random() * 0.4)
        process.kill()
        process.wait()
        with opened(place, tmp_path) as memory:
            assert texts(memory) <= wanted
            assert memory.doctor().healthy
    with opened(place, tmp_path) as memory:
        memory.import_(str(path), trust=True)
        assert texts(memory) == wanted
        assert memory.list(everywhere=True, limit=1000).memories.__len__() == len(wanted)
    tell("`kill -9` during an import, then the same import again", engine, kills)


def test_a_kill_during_a_migration_is_resumed(tmp_path):
    old, dice, kills = tmp_path / "old.db", random.Random(1), 3 * TIMES
    data = Path(CHILD).with_name("data") / "schema-1.db.gz"
    old.write_bytes(gzip.decompress(data.read_bytes()))
    for n in range(kills):
        store = tmp_path / f"{n}" / "store.db"
        store.parent.mkdir(mode=0o700)
        shutil.copy(old, store)
        store.chmod(0o600)
        process = child("migrate", store, dice.randrange(2, 60))
        process.wait()
        engine = open_store(store)
        assert wrong(engine.check()) == []
        assert everything(engine)
        engine.close()
    tell("`kill -9` during a migration from schema 1", "sqlite", kills)


def test_a_kill_during_a_re_embedding_leaves_every_vector_whole_or_absent(tmp_path):
    store, dice, kills = tmp_path / "store.db", random.Random(2), 3 * TIMES
    engine = open_store(store)
    story = Story(engine)
    for n in range(20):
        story.remember(f"number {n}")
    engine.close()
    for _ in range(kills):
        child("vectors", store, SPACE.model, dice.randrange(1, 40)).wait()
        assert_whole(store, MINE)
    tell("`kill -9` during a re-embedding", "sqlite", kills)


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
        place = place_of(engine, folder)
        names = ["engram.db"] if engine == "sqlite" else ["store/memory.md", "store/events.jsonl"]
        path = folder / "home" / dice.choice(names)
        content = bytearray(path.read_bytes())
        damage(content, dice)
        path.write_bytes(content)
        assert_named_or_harmless(place, folder)
        with opened(place, folder, apart=True) as memory:
            memory.rescue(str(folder / "rescued.jsonl"))
        with opened("ram:", folder) as other:
            other.import_(str(folder / "rescued.jsonl"), trust=True)
            assert len(texts(other)) <= len(TEXTS) + 3  # a flipped bit may make another text of a memory's
    told = {"flipped": "bits flipped", "cut": "the tail cut off", "emptied": "a file of no length"}
    tell(f"{told[damage.__name__]}: named by an error or `doctor`, the rest rescued", engine, tries, damaged=True)


def assert_named_or_harmless(place: str, folder: Path) -> None:
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
    assert said or found == TEXTS


def test_a_log_of_sqlite_that_was_deleted_takes_no_more_than_it_held_and_leaves_a_whole_store(tmp_path):
    place, tries = place_of("sqlite", tmp_path), 2 * TIMES
    for n in range(tries):
        process = work(place, tmp_path, "write", f"writer{n}")
        assert process.stdout is not None
        acked = {process.stdout.readline().strip() for _ in range(5)}
        process.kill()
        acked |= set(process.stdout.read().split("\n"))
        for suffix in ("-wal", "-shm"):
            Path(f"{place}{suffix}").unlink(missing_ok=True)
        with opened(place, tmp_path) as memory:
            assert {each for each in texts(memory) if each.startswith(f"writer{n} ")} <= acked
            assert memory.doctor().healthy
    tell("the `-wal` deleted after a kill: what was in the file itself is whole", "sqlite", tries, damaged=True)


# --- the world around ---


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_clock_that_jumps_loses_nothing_and_history_keeps_its_order(tmp_path, engine):
    dice, at, wanted = random.Random(engine), datetime(2026, 6, 1, tzinfo=UTC), set[str]()
    jumps = 12 * TIMES
    for n in range(jumps):
        at += timedelta(days=dice.choice([-4000, -30, -1, 0, 1, 30, 4000]) % 4000 - 2000)
        with opened(place_of(engine, tmp_path), tmp_path, clock=lambda now=at: now) as memory:
            wanted.add(memory.remember(f"Note {n} at some time").memory.text)
            assert texts(memory) == wanted
            events = memory.engine.events(limit=1000)
            assert [each.time for each in events] == sorted(each.time for each in events)
            assert memory.doctor().healthy
    tell("the clock jumps by years, back and forth", engine, jumps)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lock_that_a_killed_process_held_stops_nobody(tmp_path, engine):
    store, acks = store_of(engine, tmp_path), tmp_path / "acks"
    for run in range(1, 2 * TIMES + 1):
        killed_while_writing(store, acks, run, 5)
        begun = time.monotonic()
        found = open_any(store)
        Story(found, name=f"after{run}", start=run).remember(f"after kill {run}")
        assert time.monotonic() - begun < 20
        found.close()
    tell("the lock of a killed process, taken by the next", engine, 2 * TIMES)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_backup_made_while_others_write_is_whole(tmp_path, engine):
    place, tries = place_of(engine, tmp_path), 2 * TIMES
    process = work(place, tmp_path, "write", "writer")
    assert process.stdout is not None
    process.stdout.readline()
    try:
        with opened(place, tmp_path) as memory:
            for n in range(tries):
                before = texts(memory)
                path = memory.backup_create(f"{tmp_path}/{n}.zip").path
                assert memory.backup_verify(path).healthy
                with opened(place_of(engine, tmp_path / f"{n}"), tmp_path / f"{n}", apart=True) as copy:
                    copy.backup_restore(path)
                with opened(place_of(engine, tmp_path / f"{n}"), tmp_path / f"{n}") as copy:
                    assert texts(copy) >= before
    finally:
        process.kill()
        process.wait()
    tell("a backup while another process writes, verified and restored", engine, tries)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_store_of_a_newer_schema_is_refused_and_not_touched(tmp_path, engine):
    place = place_of(engine, tmp_path)
    with opened(place, tmp_path) as memory:
        memory.remember("From the future")
    path = Path(place.removeprefix("files:"))
    if engine == "sqlite":
        db = apsw.Connection(str(path))
        db.execute("PRAGMA user_version = 99")
        db.close()
    else:
        path /= "memory.md"
        path.write_text(path.read_text().replace("memory.v1", "memory.v2"))
    before = path.read_bytes()
    with pytest.raises(Corrupt, match="schema"), opened(place, tmp_path):
        pass

    assert path.read_bytes() == before
    tell("a store of a newer release, opened by this one: refused, untouched", engine, 1)


def test_a_network_file_system_is_known_by_the_table_of_mounts():
    mounts = [
        "36 25 0:32 / /home rw shared:1 - nfs4 server:/home rw",
        "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw",
    ]

    assert _network_kind("/home/ada/engram.db", mounts) == "nfs4"
    assert _network_kind("/var/engram.db", mounts) == ""
    tell("a network file system: told by the table of mounts, and refused", "sqlite", 1, simulated=True)


def test_two_checkpointers_beside_a_writer_lose_nothing(tmp_path):
    place, tries, wanted = place_of("sqlite", tmp_path), 20 * TIMES, set()
    with opened(place, tmp_path) as memory:
        wanted.add(memory.remember("The first of all notes").memory.text)
    processes = [work(place, tmp_path, "checkpoint") for _ in range(2)]
    writer = work(place, tmp_path, "write", "writer")
    assert writer.stdout is not None
    for _ in range(tries):
        wanted.add(writer.stdout.readline().strip())
    for process in (writer, *processes):
        process.kill()
        process.wait()
    with opened(place, tmp_path) as memory:
        assert wanted <= texts(memory)
        assert memory.doctor().healthy
    tell("two checkpointers beside a writer", "sqlite", tries)


# --- power loss ---

CUT = """
import os, shutil, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from engines.samples import Story
from engines.stores import open_files
store, durable = Path({store!r}), Path({durable!r})
real, kept = os.fsync, {{}}
def fsync(handle):
    real(handle)
    path = Path(os.readlink(f"/proc/self/fd/{{handle}}"))
    if path.is_dir():  # its names are on the disk now, each with what was last synced of its file
        shutil.rmtree(durable, ignore_errors=True)
        for each in store.rglob("*"):
            number = each.stat().st_ino
            if each.is_file() and number in kept:
                (durable / each.relative_to(store)).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                (durable / each.relative_to(store)).write_bytes(kept[number])
                (durable / each.relative_to(store)).chmod(0o600)
    else:
        kept[os.stat(path).st_ino] = path.read_bytes()
        if (durable / path.name).exists():
            (durable / path.name).write_bytes(path.read_bytes())
os.fsync = fsync
durable.mkdir(mode=0o700)
engine = open_files(store, "child")
story = Story(engine, start={start})
for n in range({count}):
    print(story.remember(f"note {{n}} of run {start}").text, flush=True)
"""


def test_a_power_cut_that_drops_what_was_not_synced_loses_nothing_acknowledged(tmp_path):
    """Simulated: only what was synced, under the names that were synced, is left."""
    tries = 3 * TIMES
    for n in range(1, tries + 1):
        store, durable = tmp_path / f"store{n}", tmp_path / f"durable{n}"
        tests = str(Path(__file__).parents[1])
        code = CUT.format(tests=tests, store=str(store), durable=str(durable), start=n * 100, count=n % 7 + 1)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        left = tmp_path / f"left{n}"
        durable.rename(left)
        engine = open_files(left, "after", cache=tmp_path / f"cache{n}")
        assert {each.text for each in everything(engine)} == set(done.stdout.split("\n")[:-1])
        assert wrong(engine.check(repair=True)) == []
        engine.close()
    tell("power loss: only what was synced is left", "files", tries, simulated=True)


def test_the_power_cut_of_this_suite_drops_what_is_not_synced(tmp_path):
    """The oracle itself: an unsynced write is gone."""
    folder = Folder(str(tmp_path / "store"))
    folder.make()
    code = CUT.format(
        tests=str(Path(__file__).parents[1]), store=folder.path, durable=str(tmp_path / "d"), start=1, count=1
    )
    code += "\nengine._folder.write(b'unsynced', 'unsynced.txt', durable=False)\n"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert (tmp_path / "d" / "events.jsonl").exists()
    assert not (tmp_path / "d" / "unsynced.txt").exists()
