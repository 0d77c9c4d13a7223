"""E7 and E8 for `files`: kill -9 at every named point and at any moment, and eight writers at once."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.asking import found
from engines.children import OPERATIONS
from engines.samples import MINE, Story, change, everything, memory
from engines.stores import assert_files_whole, open_files
from engines.test_crashes import CHILD, acknowledged, notes, notes_so_far
from engines.test_rivals import answers, in_threads, start
from engram.engines.files.folder import Folder
from engram.engines.files.scribe import POINTS
from engram.engines.sqlite import SqliteEngine
from engram.errors import Conflict, Corrupt, Unavailable
from engram.model.codec import encode
from engram.model.filter import Filter
from engram.model.record import replace

KEPT = POINTS.index("appended")


def assert_kept(store: Path, acks: Path, *, kept: bool | None) -> None:
    engine = open_files(store, "parent")
    there = {record.id: json.dumps(encode(record), sort_keys=True) for record in everything(engine)}
    engine.close()
    for id, states in acknowledged(acks, kept=kept).items():
        assert there.pop(id, "null") in states
    assert there == {}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_e7_a_kill_at_any_point_of_any_operation_loses_nothing_and_leaves_nothing_half(tmp_path, operation, point):
    store, acks = tmp_path / "store", tmp_path / "acks"
    for hit in range(1, 4):
        command = [sys.executable, CHILD, "crash", store, acks, str(hit), operation, point, str(hit)]
        child = subprocess.run(command, capture_output=True, check=False, text=True)
        assert child.returncode == -signal.SIGKILL, child.stderr

        said, kept = notes(acks), POINTS.index(point) >= KEPT
        assert said[-1][0] == "begun"
        assert_kept(store, acks, kept=kept)
        engine = open_files(store, "parent")
        assert len(engine.events(limit=1000)) == [word for word, _ in said].count("done") + (hit if kept else 0)
        engine.close()
        assert_files_whole(store, MINE)
    if operation == "purge":
        assert_purged_texts_are_gone(tmp_path, acks, but={} if kept else said[-1][1])


def assert_purged_texts_are_gone(folder: Path, acks: Path, but: dict) -> None:
    engine = open_files(folder / "store", "parent")
    present = {record.id for record in everything(engine)}
    engine.close()
    left = b"".join(
        each.read_bytes() for part in ("store", "cache") for each in (folder / part).rglob("*") if each.is_file()
    )
    for _, states in notes(acks):
        for id, state in states.items():
            if state and id not in present and id not in but:
                assert state["text"].encode() not in left
                assert state["text"].split()[1].encode() not in left


@pytest.mark.parametrize("seed", range(4))
def test_e7_a_kill_from_outside_at_any_moment_loses_nothing(tmp_path, seed):
    store, acks, dice = tmp_path / "store", tmp_path / "acks", random.Random(seed)
    for run in range(1, 4):
        known = len(notes(acks))
        child = subprocess.Popen([sys.executable, CHILD, "churn", store, acks, str(run)])
        wanted = known + dice.randrange(1, 60)
        give_up = time.monotonic() + 30
        while len(notes_so_far(acks)) < wanted and child.poll() is None and time.monotonic() < give_up:
            time.sleep(dice.random() / 200)
        child.kill()
        assert child.wait() == -signal.SIGKILL

        assert len(notes(acks)) >= wanted
        assert_kept(store, acks, kept=None)
        assert_files_whole(store, MINE)


def test_e8_eight_processes_with_many_writes_each_lose_none(tmp_path):
    store = tmp_path / "store"
    names = [f"rival{n}" for n in range(8)]
    handles = [json.loads(said) for said in answers([start("write", store, name, 60) for name in names])]
    engine = open_files(store, "parent")
    records = everything(engine)

    assert {record.text for record in records} == {f"{name} says {n}" for name in names for n in range(60)}
    given = [handle for each in handles for handle in each]
    assert sorted(given) == sorted(record.handle for record in records) == [f"mem-{n:04d}" for n in range(1, 481)]
    assert len({event.replica for event in engine.events(limit=10_000)}) == 1
    engine.close()
    assert_files_whole(store, MINE)


def test_e8_two_processes_updating_one_record_lose_no_update(tmp_path):
    store = tmp_path / "store"
    engine = open_files(store, "parent")
    engine.commit(change(memory("counter")))
    tries = [int(said) for said in answers([start("count", store, f"rival{n}", 60) for n in range(2)])]
    counter = engine.get("memory", ["counter"], MINE)["counter"]

    assert (counter.seen, counter.revision) == (121, 121)
    assert sum(tries) >= 120
    assert len(engine.events(limit=1000)) == 121
    engine.close()


def test_e8_a_reader_never_sees_half_a_change(tmp_path):
    store = tmp_path / "store"
    engine = open_files(store, "parent")
    child, looks = start("pairs", store, 120), 0
    while child.poll() is None:
        seen = [record.seen for record in engine.scan("memory", Filter(), MINE).records]
        assert seen == [] or (len(seen) == 2 and seen[0] == seen[1])
        assert len(found(engine, "zebra")) in (0, 2)
        looks += 1
    answers([child])

    assert looks > 10
    assert [(record.seen, record.text) for record in everything(engine)] == [(120, "zebra round120")] * 2
    engine.close()


def test_e8_a_check_beside_a_writer_finds_nothing(tmp_path):
    engine = open_files(tmp_path / "store", "parent")
    child = start("write", engine.path, "rival", 100)
    while child.poll() is None:
        assert engine.check() == []
    answers([child])
    engine.close()


def test_e8_eight_threads_on_one_engine_lose_none(tmp_path):
    engine = open_files(tmp_path / "store", "parent")

    def writes(name: str) -> None:
        story = Story(engine, name=name)
        for n in range(15):
            made = story.remember(f"{name} says {n}")
            assert engine.get("memory", [made.handle], MINE)[made.handle] == made
            assert len(everything(engine)) > n

    assert in_threads([lambda n=n: writes(f"thread{n}") for n in range(8)]) == []
    assert len({record.handle for record in everything(engine)}) == 120
    engine.close()
    assert_files_whole(tmp_path / "store", MINE)


def test_e8_eight_threads_updating_one_record_lose_no_update(tmp_path):
    engine = open_files(tmp_path / "store", "parent")
    engine.commit(change(memory("counter")))

    def increments(name: str) -> None:
        done = 0
        while done < 10:
            old = engine.get("memory", ["counter"], MINE)["counter"]
            new = replace(old, seen=old.seen + 1, revision=old.revision + 1)
            try:
                engine.commit(change(new, batch=f"{name}-{done}"))
                done += 1
            except Conflict:
                continue

    assert in_threads([lambda n=n: increments(f"thread{n}") for n in range(8)]) == []
    assert engine.get("memory", ["counter"], MINE)["counter"].seen == 81
    engine.close()


def test_e8_processes_that_make_one_store_at_once_share_it(tmp_path):
    for n in range(3):
        store = tmp_path / f"new{n}" / "store"
        answers([start("open", store) for _ in range(6)])
        assert_files_whole(store, MINE)
        assert sorted(each.name for each in store.iterdir()) == [".lock", "memory.md"]


@pytest.mark.parametrize("size", [20_000, 60_000, 150_000, 400_000])
def test_e4_a_full_disk_refuses_and_loses_nothing(tmp_path, size):
    """Whichever file meets the limit first: history, registry, snapshot, log or index."""
    store = tmp_path / "store"
    open_files(store).close()
    command = [sys.executable, CHILD, "fill", store, str(size)]
    child = subprocess.run(command, capture_output=True, check=True, text=True)
    kept, error, _ = json.loads(child.stdout)

    assert error == "Unavailable"
    engine = open_files(store)
    assert {record.id for record in everything(engine)} == set(kept)
    engine.close()
    assert_files_whole(store, MINE)


def test_e4_an_index_that_fails_after_the_line_was_written_takes_the_line_back(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays")
    before = (tmp_path / "store" / "events.jsonl").read_bytes()

    class Failing:
        """An index whose disk is full at the last moment."""

        def __init__(self, index):
            self._index = index

        def __getattr__(self, name):
            return getattr(self._index, name)

        def commit(self, change, witness):
            def refuse(done, numbers):
                witness(done, numbers)
                raise Unavailable("The disk is full.")

            return self._index.commit(change, refuse)

    good, engine._shelf.index = engine._shelf.index, Failing(engine._shelf.index)
    with pytest.raises(Unavailable):
        story.remember("Use uv")
    engine._shelf.index = good

    assert (tmp_path / "store" / "events.jsonl").read_bytes() == before
    assert len(everything(engine)) == 1
    assert story.remember("Use uv").handle == "mem-0002"
    assert engine.check() == []
    engine.close()


@pytest.mark.parametrize("name", ["memory.md", "memory-log.md", "audit.jsonl"])
def test_e4_what_could_not_be_written_after_the_line_is_made_up_for(tmp_path, monkeypatch, name):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays")
    with monkeypatch.context() as patch:
        for act in ("write", "append"):
            done = getattr(engine._folder, act)

            def fail(content, *names, done=done, **more):
                if names[-1] == name:
                    raise Unavailable("The disk is full.")
                return done(content, *names, **more)

            patch.setattr(engine._folder, act, fail)
        story.remember("Use uv")
        with pytest.raises(Unavailable):
            story.remember("Use ruff")
    assert {record.text for record in everything(engine)} == {"We deploy on Fridays", "Use uv"}
    story.remember("Use ruff")
    engine.close()

    assert_files_whole(tmp_path / "store", MINE)
    assert len(everything(open_files(tmp_path / "store"))) == 3


def test_e4_a_link_in_the_queue_fails_no_write_that_is_committed_and_is_never_followed(tmp_path):
    engine, outside = open_files(tmp_path / "store"), tmp_path / "outside"
    story = Story(engine)
    link = tmp_path / "store" / "queue" / "mem-0001.json"
    link.parent.mkdir(mode=0o700, exist_ok=True)
    outside.write_text("theirs")
    link.symlink_to(outside)

    assert story.remember("I pay in euros", kind="fiscal").handle == "mem-0001"
    assert [record.text for record in everything(engine)] == ["I pay in euros"]
    with pytest.raises(Corrupt, match="symbolic link"):
        story.remember("Use uv")
    link.unlink()
    story.remember("Use uv")
    assert len(everything(engine)) == 2
    assert outside.read_text() == "theirs"
    assert engine.check() == []
    engine.close()


@pytest.mark.parametrize("cache", ["cache", "another"])
def test_e4_a_full_disk_stops_no_reading_of_what_is_there(tmp_path, monkeypatch, cache):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays")

    def full(*_: object, **__: object) -> None:
        raise Unavailable("The disk is full.")

    with monkeypatch.context() as patch:
        for act in ("write", "append", "keep_aside"):
            patch.setattr(engine._folder, act, full)
            patch.setattr(Folder, act, full)
        with pytest.raises(Unavailable):
            story.remember("Use uv")
        with (tmp_path / "store" / "memory.md").open("a") as file:
            file.write("\n")
        (tmp_path / "store" / "audit.jsonl").unlink()
        again = open_files(tmp_path / "store", cache=tmp_path / cache)
        assert [record.text for record in everything(again)] == ["We deploy on Fridays"]
        assert [each.code for each in again.check()] == ["behind", "audit"]
        again.close()
    assert engine.check() == []
    engine.close()


def test_e4_an_index_that_cannot_be_written_is_made_in_memory_instead(tmp_path, monkeypatch):
    engine = open_files(tmp_path / "store")
    Story(engine).remember("We deploy on Fridays")
    engine.close()

    def full(*_: object, **__: object) -> None:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(SqliteEngine, "commit", full)
    again = open_files(tmp_path / "store", cache=tmp_path / "another")
    assert [record.text for record in everything(again)] == ["We deploy on Fridays"]
    again.close()


def test_e7_what_a_crash_left_before_it_got_its_name_is_swept_away(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    gone = story.remember("The quagga runs at night", kind="identity")
    for name in (".memory.md.1.2.new", "queue/.mem-0001.json.1.2.new"):
        (tmp_path / "store" / name).write_text("The quagga runs")
    story.purge(gone)

    assert not list((tmp_path / "store").rglob("*.new"))
    engine.close()
