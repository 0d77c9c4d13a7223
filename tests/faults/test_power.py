"""Power loss at any moment of any write: what is left of the disk has all that was acknowledged, nothing half."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.clusters import cluster, given, open_folder, template
from faults.harness import CHILD, TIMES, WORKER, assert_nothing_lost, tell
from faults.tracing import Disk, Trace, traced

LOST = "power loss at any moment: what was synced is left, and by chance some of the rest"
NAMES = {"sqlite": Path("home") / "store.db", "files": Path("home") / "store", "postgres": Path("org") / "power"}


def recorded(log: Path, *command: object) -> None:
    words = traced(log, [sys.executable, *map(str, command)])
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def record(engine: str, folder: Path) -> Trace:
    """A process does all writing operations for a while; what it did to its disk."""
    acks, log = folder / "acks", folder / "log"
    if engine == "postgres":
        with cluster() as made:
            recorded(log, WORKER, made.data, folder, "powered", acks, 12)
            return Trace(log, made.data, acks, before=template())
    root = folder / "disk"
    root.mkdir(mode=0o700)
    recorded(log, CHILD, "churn", root / NAMES[engine], acks, 1, 24)
    return Trace(log, root, acks)


@contextmanager
def running(engine: str, left: Path) -> Iterator[Path]:
    """The store on what is left of the disk, once its server has recovered where it has one."""
    if engine != "postgres":
        (left / "home").mkdir(mode=0o700, exist_ok=True)
        yield left / NAMES[engine]
        return
    made = given(left).start()
    os.environ["DATABASE"] = made.url
    try:
        yield NAMES[engine]
    finally:
        made.stop()


@pytest.mark.parametrize(("engine", "cuts"), [("sqlite", 12), ("files", 8), ("postgres", 3)])
def test_a_power_cut_at_any_moment_loses_nothing_acknowledged(engine, cuts):
    """Half of the cuts leave what was synced and nothing else; the others also what chance kept of the rest."""
    dice, cuts = random.Random(engine), cuts * TIMES
    with open_folder() as folder:
        trace = record(engine, folder)
        moments = [len(trace) - 1, *(dice.randrange(trace.begun, len(trace)) for _ in range(cuts - 1))]
        for said, disk in trace.walk(sorted(moments)):
            assert_survived(engine, folder, said, disk, dice if dice.random() < 0.5 else None)
    tell(LOST, engine, cuts, simulated=True)


def assert_survived(engine: str, folder: Path, said: bytes, disk: Disk, dice: random.Random | None) -> None:
    left, noted = folder / "left", folder / "said"
    noted.write_bytes(said)
    disk.without_power(left, dice)
    with running(engine, left) as store:
        assert_nothing_lost(store, noted, mending=engine == "files")  # its trail is not synced
    shutil.rmtree(left)


WRITES = """
import os, sys
def write(name, *sync):
    handle = os.open(sys.argv[1] + "/" + name, os.O_CREAT | os.O_WRONLY)
    os.write(handle, b"x" * 9000)
    [os.fsync(each) for each in (handle,) if "file" in sync]
    [os.fsync(os.open(sys.argv[1], os.O_RDONLY)) for _ in (1,) if "folder" in sync]
    return handle
late = write("late", "folder")
write("found", "file")
os.rename(sys.argv[1] + "/late", sys.argv[1] + "/later")
write("safe", "file", "folder")
os.pwrite(write("torn", "file", "folder"), b"y" * 9000, 0)
write("gone", "file")
"""


def test_the_power_cut_of_this_suite_drops_what_is_not_synced(tmp_path):
    """The oracle itself: without a sync neither content nor name is safe, and chance may keep parts of both."""
    root, log = tmp_path / "disk", tmp_path / "log"
    root.mkdir()
    recorded(log, "-c", WRITES, root)
    ((_, disk),) = Trace(log, root, tmp_path / "acks").walk([1000])
    disk.without_power(tmp_path / "left")
    kept = {each.name: each.read_bytes() for each in (tmp_path / "left").iterdir()}

    assert kept == {"later": b"", "found": b"x" * 9000, "safe": b"x" * 9000, "torn": b"x" * 9000}
    dice, seen = random.Random(1), set()
    for n in range(40):
        disk.without_power(tmp_path / f"left{n}", dice)
        seen.add(((tmp_path / f"left{n}") / "torn").read_bytes())
    assert len(seen) == 8  # three pages, each old or new
