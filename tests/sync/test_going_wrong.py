"""Copied stores, killed processes, lost files beside the store: the next sync goes on, and nothing is lost."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import engram
from engram.model.change import Change, Past
from engram.model.event import Draft, Head, seal
from engram.sync.ledger import Ledger
from sync.devices import Clock, Device, exchange, trusting

CHILD = """
import os, signal, sys
import engram
from engram.engines.sqlite import SqliteEngine
from engram.sync.place import Place
point, count = sys.argv[2], int(sys.argv[3])
left = [count]

def strike(*_):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

if point == "write":
    kept = Place.write
    def write(self, content, *parts):
        strike()
        return kept(self, content, *parts)
    Place.write = write
else:
    made = SqliteEngine.__init__
    def init(self, *args, **more):
        made(self, *args, **more)
        self._trace = lambda name: strike() if name == point else None
    SqliteEngine.__init__ = init
memory = engram.open(sys.argv[1], folder=sys.argv[4], channel="flag")
print(memory.sync_git(sys.argv[4]).applied)
"""


@pytest.fixture
def pair(tmp_path):
    one, two = (Device(tmp_path, name, store="sqlite:") for name in ("laptop", "desktop"))
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    return one, two


def killed(device: Device, point: str, count: int) -> bool:
    """Sync in a process that is killed at the given point; False when it came to its end before."""
    device.memory.close()
    words = [sys.executable, "-c", CHILD, f"sqlite:{device.folder / 'store'}", point, str(count), str(device.clone)]
    environment = {**os.environ, **device.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
    path = f"sqlite:{device.folder / 'store'}"
    device.memory = engram.open(
        path, folder=device.clone, environment=device.environment, clock=Clock(), channel="flag"
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize(
    ("point", "count"),
    [("write", n) for n in (1, 2, 3)] + [(name, 1) for name in ("records", "event", "sealed", "committed")],
)
def test_a_sync_that_is_killed_loses_nothing_and_the_next_one_goes_on(pair, point, count):
    one, two = pair
    one.say("Said before the laptop died")
    two.memory.revise(two.say("Said by the desktop"), pinned=True)
    two.say("And more by the desktop")
    two.sync()
    one.fetch(two)
    killed(one, point, count)
    exchange(one, two)

    assert one.state() == two.state()
    assert {"Said before the laptop died", "Said by the desktop", "And more by the desktop"} <= set(one.texts())
    assert one.memory.doctor().healthy
    ids = [event.id for event in one.memory.engine.events(limit=1000)]
    assert len(ids) == len(set(ids))
    assert not [file for file in one.files() if file.name.endswith(".new")] or point == "write"


def test_the_points_of_killing_are_really_reached(pair):
    one, _ = pair
    one.say("Said before the laptop died")

    assert killed(one, "write", 1)


def test_a_copied_store_goes_on_under_a_name_of_its_own(pair, tmp_path):
    one, two = pair
    one.memory.close()
    (tmp_path / "copy").mkdir()
    shutil.copytree(one.folder / "store.sync", tmp_path / "copy" / "store.sync")
    for name in os.listdir(one.folder):
        if name.startswith("store") and name != "store.sync":
            shutil.copy(one.folder / name, tmp_path / "copy" / name)
    shutil.copytree(one.clone, tmp_path / "copy" / "clone")
    copy = Device(tmp_path, "copy", store="sqlite:")
    one = Device(tmp_path, "laptop", store="sqlite:")
    one.say("Said by the first")
    copy.say("Said by the copy")
    exchange(one, copy, two)

    assert copy.memory.engine.replica() != one.memory.engine.replica()
    assert one.state() == copy.state() == two.state()
    assert {"Said by the first", "Said by the copy"} <= set(two.texts())


def test_two_stores_that_write_under_one_name_are_told_and_one_takes_a_new_name(tmp_path):
    one, twin, two = (Device(tmp_path, name) for name in ("laptop", "twin", "desktop"))
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    _pose_as(twin, one)
    one.say("Said by the first")
    one.sync()
    twin.say("Said by the twin")
    done = twin.fetch(one, two).sync()
    exchange(one, twin, two)

    assert any("copy" in problem for problem in done.problems)
    assert twin.memory.engine.replica() != one.memory.engine.replica()
    assert {"Said by the first", "Said by the twin"} <= set(two.texts())
    assert one.state() == two.state()


def _pose_as(twin: Device, one: Device) -> None:
    """Make a store that is byte for byte what another was, as a cloned virtual machine is."""
    twin.memory.call().syncing.ledger()._key = one.memory.call().syncing.ledger().key
    first = next(e for e in one.memory.engine.events() if e.replica == one.memory.engine.replica())
    draft = Draft(first.action, first.actor, first.at, first.subjects, payload=first.payload)
    head = seal(draft, Head(first.replica))[1]
    record = one.memory.engine.get("memory", [first.subjects[0]], one.memory.call().access)[first.subjects[0]]
    past = Past(((first, None),), head._replace(prev=first.id))
    twin.memory.engine.commit(Change(draft=None, puts=(record,), past=past))


def test_a_fork_is_told_to_the_others_and_both_sides_are_kept(tmp_path):
    one, twin, two = (Device(tmp_path, name) for name in ("laptop", "twin", "desktop"))
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    _pose_as(twin, one)
    for n in range(4):
        one.say(f"Said by the first, {n}")
        twin.say(f"Said by the twin, {n}")
    one.sync()
    twin.sync()  # neither has seen the other
    done = two.fetch(one, twin).sync()

    assert any("two histories" in problem for problem in done.problems)
    assert {"Said by the first, 3", "Said by the twin, 3"} <= set(two.texts())


def test_without_the_file_beside_the_store_everything_is_still_there_and_others_are_asked_about_again(pair):
    one, two = pair
    two.say("Said meanwhile")
    two.sync()
    shutil.rmtree(one.folder / "store.sync")
    path = f"sqlite:{one.folder / 'store'}"
    one.memory = engram.open(path, folder=one.clone, environment=one.environment, clock=Clock(), channel="flag")
    done = one.fetch(two).sync()

    assert "The desktop speaks first" in {doc.get("text") for doc in one.state().values()}
    assert done.strangers
    one.accept(two)
    one.sync()
    assert "Said meanwhile" in one.texts()


def test_two_syncs_at_once_do_not_get_in_each_others_way(pair):
    from engram.errors import Unavailable

    one, _ = pair
    ledger = one.memory.call().syncing.ledger()
    other = engram.open(f"sqlite:{one.folder / 'store'}", folder=one.clone, environment=one.environment)
    with ledger.locked(), pytest.raises(Unavailable, match="Another sync"):
        other.sync_git(str(one.clone))


def test_the_key_is_private_and_a_loose_one_is_refused(pair):
    from engram.errors import Corrupt

    one, _ = pair
    key = one.folder / "store.sync" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    key.chmod(0o644)
    memory = engram.open(f"sqlite:{one.folder / 'store'}", folder=one.clone, environment=one.environment)
    memory.remember("Something new")
    with pytest.raises(Corrupt, match="can be read by others"):
        memory.sync_git(str(one.clone))


def test_a_sync_of_hundreds_of_memories_tells_how_far_it_is(tmp_path):
    one, two = Device(tmp_path, "laptop", store="sqlite:"), Device(tmp_path, "desktop", store="sqlite:")
    for n in range(400):
        one.say(f"Memory number {n} about the project")
    told: list[tuple[int, int, str]] = []
    one.memory.watched_by(lambda *said: told.append(said)).sync_git(str(one.clone))
    begun = time.monotonic()
    two.fetch(one)
    two.memory.watched_by(lambda *said: told.append(said)).sync_git(str(two.clone))

    assert {"events sent", "chunks read"} <= {what for _, _, what in told}
    assert time.monotonic() - begun < 60


def test_a_place_whose_path_is_no_text_is_noted_and_known_again(tmp_path: Path):
    place = str(tmp_path / "\udcff")
    noted = Ledger(str(tmp_path / "beside"))
    with noted.locked():
        noted.part("places")[place] = {"seen": 3}

    assert Ledger(str(tmp_path / "beside")).part("places") == {place: {"seen": 3}}
