"""E4 and E7 for `files`: kill -9 at every named point, full disks, and what is made up for afterwards."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engines.children import OPERATIONS
from engines.samples import MINE, Story, everything
from engines.stores import assert_files_whole, open_files
from engines.test_crashes import CHILD, assert_kept, notes
from engram.engines.files.folder import Folder
from engram.engines.files.scribe import POINTS
from engram.engines.sqlite import SqliteEngine
from engram.errors import Corrupt, Unavailable

KEPT = POINTS.index("appended")


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
