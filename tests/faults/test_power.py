"""Power loss at any moment of any write: what is left of the disk has all that was acknowledged, nothing half."""

import json
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
from faults.harness import CHILD, TIMES, WORKER, assert_nothing_lost, drawing, opened, place_of, rescued, tell
from faults.tracing import Trace, traced

LOST = "power loss at any moment: what was synced is left, and by chance some of the rest"
NAMES = {"sqlite": Path("home") / "store.db", "files": Path("home") / "store", "postgres": Path("org") / "power"}


def recorded(log: Path, *command: object) -> None:
    words = traced(log, [sys.executable, *map(str, command)])
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def record(engine: str, folder: Path, what: str = "churn") -> Trace:
    """A process does all writing operations for a while, or attaches files; what it did to its disk."""
    acks, log = folder / "acks", folder / "log"
    if engine == "postgres":
        with cluster() as made:
            recorded(log, WORKER, made.data, folder, "powered", acks, 12, what)
            return Trace(log, made.data, acks, before=template())
    root = folder / "disk"
    root.mkdir(mode=0o700)
    if what == "churn":
        recorded(log, CHILD, what, root / NAMES[engine], acks, 1, 24)
    else:
        recorded(log, WORKER, place_of(engine, root), root, what, acks, 8)
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
    dice, cuts = random.Random(engine), cuts * TIMES
    with open_folder() as folder:
        for said in survived(folder, record(engine, folder), dice, cuts):
            (folder / "said").write_bytes(said)
            with running(engine, folder / "left") as store:
                assert_nothing_lost(store, folder / "said", mending=engine == "files")  # its trail is not synced
    tell(LOST, engine, cuts, simulated=True)


@pytest.mark.parametrize(("engine", "cuts"), [("sqlite", 6), ("files", 6), ("postgres", 2)])
def test_a_power_cut_at_any_moment_leaves_every_acknowledged_attachment_whole(engine, cuts):
    dice, cuts = random.Random(engine), cuts * TIMES
    with open_folder() as folder:
        left, fetched = folder / "left", folder / "fetched"
        for said in survived(folder, record(engine, folder, "attach"), dice, cuts):
            with running(engine, left):
                place = os.environ["DATABASE"] if engine == "postgres" else place_of(engine, left)
                home, acked = folder if engine == "postgres" else left, [*map(json.loads, said.splitlines())]
                assert rescued(place, home).keys() >= {id for id, _ in acked}
                with opened(place, home) as memory:
                    for id, n in acked:
                        memory.fetch(id, f"{n}.txt", str(fetched), overwrite=True)
                        assert fetched.read_text() == drawing(n)
                    found = memory.doctor(fix=engine == "files").findings  # its trail is not synced
                    assert [each.message for each in found if each.severity == "error"] == []
    tell("power loss at any moment: every acknowledged attachment is whole", engine, cuts, simulated=True)


def survived(folder: Path, trace: Trace, dice: random.Random, cuts: int) -> Iterator[bytes]:
    """What was acknowledged before each cut, with what is left of the disk in the folder `left` until the next.

    Half of the cuts come at any moment, and may leave what chance kept; the others right after an acknowledgement,
    and leave what was synced alone: a commit that does not wait for the disk is lost by those.
    """
    some = cuts // 2
    moments = [
        (dice.randrange(trace.begun, len(trace)), dice if dice.random() < 0.5 else None) for _ in range(some)
    ]
    moments += [(at, None) for at in (trace.noted[-1], *dice.choices(trace.noted, k=cuts - some - 1))]
    moments.sort(key=lambda each: each[0])
    for (_, chance), (said, disk) in zip(moments, trace.walk([at for at, _ in moments]), strict=True):
        disk.without_power(folder / "left", chance)
        yield said
        shutil.rmtree(folder / "left")


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
