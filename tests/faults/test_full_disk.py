"""A disk that is really full: writes are refused in plain words, all is readable, and with room it goes on."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engines.samples import everything
from engines.stores import wrong
from engram.errors import Unavailable
from faults.clusters import given, open_folder, template
from faults.harness import (
    ENGINES,
    TIMES,
    assert_holding,
    assert_nothing_lost,
    child,
    opened,
    place_of,
    rescued_texts,
    tell,
    texts,
)
from faults.test_killed_work import old_sqlite

ROOM = 400_000


@contextmanager
def small_disk(size: int, files: int = 0) -> Iterator[Path]:
    """A file system of so many bytes and files; without a number, of as many as there is memory for."""
    with open_folder() as around:
        options = f"size={size},nr_inodes={files},mode=0755"
        words = ["mount", "-t", "tmpfs", "-o", options, "none", str(around)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("a file system may only be mounted by root")
        try:
            yield around
        finally:
            subprocess.run(["umount", "-l", str(around)], check=True)


@contextmanager
def on(engine: str, disk: Path) -> Iterator[Path]:
    """A store on the disk."""
    if engine != "postgres":
        (disk / "home").mkdir(mode=0o700)
        yield disk / "home" / {"sqlite": "store.db", "files": "store"}[engine]
        return
    shutil.copytree(template(), disk / "data")
    made = given(disk / "data").start()
    os.environ["DATABASE"] = made.url
    try:
        yield Path("org") / "full"
    finally:
        made.stop()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_disk_that_is_full_refuses_and_loses_nothing(tmp_path, engine):
    taken = sum(each.stat().st_size for each in template().rglob("*")) if engine == "postgres" else 0
    acks = tmp_path / "acks"
    for run in range(1, TIMES + 1):
        acks.unlink(missing_ok=True)
        with small_disk(taken + 60_000_000) as disk, on(engine, disk) as store:
            child("stumble", store, acks, 1, 6).wait()
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(shutil.disk_usage(disk).free - ROOM - 10_000 * run))
            told, errors = child("stumble", store, acks, 2, 90).communicate(timeout=280)
            assert errors == ""
            refused = json.loads(told)
            assert refused
            assert all("full" in each or "No space left" in each for each in refused), set(refused)
            ballast.unlink()
            told, _ = child("stumble", store, acks, 3, 6).communicate(timeout=120)
            assert json.loads(told) == []
            assert_nothing_lost(store, acks)
    tell("a disk that is really full, then has room again", engine, TIMES)


@pytest.mark.parametrize("engine", ["sqlite", "files"])
@pytest.mark.parametrize("lacking", ["bytes", "files"])
def test_a_store_on_a_full_disk_is_read_by_whoever_opens_it_then(tmp_path, engine, lacking):
    with small_disk(2_000_000, files=30) as disk:
        place = place_of(engine, disk)
        with opened(place, tmp_path) as memory:
            memory.remember("Before it was full")
        fill(disk, lacking)
        with opened(place, tmp_path) as memory:
            kept = {"Before it was full"}
            assert texts(memory) == kept
            assert len(memory.recall("full").hits) == 1
            if engine == "sqlite":  # a line of plain files may have room in the last page of its file
                with pytest.raises(Unavailable, match=r"is full\. Nothing was written"):
                    memory.remember("While it was full")
            for each in disk.glob("ballast*"):
                each.unlink()
            kept.add(memory.remember("With room again").memory.text)
            assert texts(memory) == kept
        assert_holding(place, tmp_path, kept)
    tell("a disk without a byte or a file to spare: read by whoever opens the store then", engine, 1)


def fill(disk: Path, lacking: str) -> None:
    """Leave no byte, or no file."""
    with suppress(OSError):
        if lacking == "files":
            for n in range(1000):
                (disk / f"ballast{n}").touch()
        else:
            with (disk / "ballast").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1024))


@pytest.mark.parametrize("engine", ["sqlite", "files"])
def test_an_import_that_the_disk_ends_says_what_is_there_and_goes_on_with_room(tmp_path, engine):
    rows = [
        {"type": "entity", "name": f"Thing {n}", "entityType": "note", "observations": [f"{n} " * 80]}
        for n in range(800)
    ]
    (tmp_path / "theirs.json").write_text("\n".join(map(json.dumps, rows)))
    with small_disk(1_500_000) as disk:
        place = place_of(engine, disk)
        with opened(place, tmp_path) as memory, pytest.raises(Unavailable) as refused:
            memory.import_(str(tmp_path / "theirs.json"))
        saved = rescued_texts(place, tmp_path)
        with opened(place, tmp_path) as memory:
            assert (kept := texts(memory)) == saved
        subprocess.run(["mount", "-o", "remount,size=60M", str(disk)], check=True)
        with opened(place, tmp_path) as memory:
            done = memory.import_(str(tmp_path / "theirs.json"))
            memory.undo(done.batch)
            assert texts(memory) == set()

    assert f"{len(kept):,} were taken in before that, and are kept" in refused.value.message
    assert "Nothing was written" not in refused.value.message
    assert done.outcomes == {"held": 2 * len(rows) - len(kept), "known": len(kept)}
    assert f"engram undo {done.batch}" in refused.value.hint
    tell("an import that a full disk ends: told what is kept, and the same import goes on", engine, 1)


@pytest.mark.parametrize(("engine", "size"), [("files", 200_000), ("sqlite", 2_000_000)])
def test_a_backup_that_the_disk_ends_leaves_nothing_behind_and_is_made_with_room(tmp_path, engine, size):
    place = place_of(engine, tmp_path)
    with small_disk(size) as disk, opened(place, tmp_path) as memory:
        kept = {memory.remember(f"Note {n} of the quiet house").memory.text for n in range(5)}
        fill(disk, "bytes")
        os.truncate(disk / "ballast", (disk / "ballast").stat().st_size - 20_000)  # it begins, and comes not far
        with pytest.raises(Unavailable, match=r"full|No space left"):
            memory.backup_create(f"{disk}/kept.zip")
        assert [each.name for each in disk.iterdir()] == ["ballast"]
        (disk / "ballast").unlink()
        assert memory.backup_verify(memory.backup_create(f"{disk}/kept.zip").path).healthy
    assert_holding(place, tmp_path, kept)
    tell("a disk that is full during a backup: refused, nothing left of it, and made with room", engine, 1)


def test_a_migration_that_the_disk_ends_is_refused_and_done_with_room(tmp_path):
    _, opens = old_sqlite(tmp_path)
    whole = opens()
    wanted = {each.text for each in everything(whole)}
    whole.close()
    with small_disk(8_000_000) as disk:
        (disk / "home").mkdir(mode=0o700)
        _, opens = old_sqlite(disk / "home")
        fill(disk, "bytes")
        with pytest.raises(Unavailable, match=r"full|No space left"):
            opens()
        assert rescued_texts(f"{disk}/home/store.db", tmp_path) == wanted
        (disk / "ballast").unlink()
        found = opens()
        assert {each.text for each in everything(found)} == wanted
        assert wrong(found.check()) == []
        found.close()
    tell("a migration that a full disk ends: refused, all of it rescued, and done with room", "sqlite", 1)
