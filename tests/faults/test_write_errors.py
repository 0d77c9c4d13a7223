"""Calls that the disk refuses: told in plain words, nothing acknowledged lost, nothing half, and on it goes."""

import json
import random
import subprocess
import sys

import pytest

from engines.samples import everything
from engines.stores import open_any
from faults.harness import CHILD, TIMES, assert_nothing_lost, store_of, tell
from faults.tracing import hurt

CALLS = {
    "sqlite": ("pwrite64", "fdatasync", "pwrite64,fdatasync,fsync,ftruncate,link,unlink"),
    "files": ("write", "fsync", "write,fsync,pwrite64,fdatasync,rename,ftruncate,mkdir,unlink"),
}
"""What each engine asks of the disk to keep something."""

UNSYNCED = "the sync of a commit that fails (EIO): told as not sure, or taken back"
PLAIN = ("Nothing was written", "may be there after all", "cannot")


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("engine", CALLS)
def test_calls_that_fail_are_told_and_lose_nothing(tmp_path, engine, error):
    dice, refused, runs = random.Random(f"{engine} {error}"), 0, list(CALLS[engine]) * TIMES
    for n, calls in enumerate(runs):
        folder = tmp_path / f"{n}"
        folder.mkdir(mode=0o700)
        store, acks = store_of(engine, folder), folder / "acks"
        words = [sys.executable, CHILD, "stumble", str(store), str(acks), "1", "18"]
        when = f"{dice.randrange(1, 60)}+{dice.randrange(3, 30)}"
        command = hurt(words, calls, f"error={error}", when)
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        told = json.loads(ended.stdout)
        refused += len(told)
        assert all(any(word in each for word in PLAIN) for each in told), told
        if acks.exists():
            assert_nothing_lost(store, acks, mending=engine == "files")
    assert refused
    tell(f"calls to the disk that fail, every n-th of them ({error}): refusals", engine, refused, simulated=True)


def test_a_sync_that_fails_is_not_told_as_if_nothing_had_been_written(tmp_path):
    """The bytes are in the log of SQLite, whole: whoever opens the store next finds them."""
    store, acks = store_of("sqlite", tmp_path), tmp_path / "acks"
    open_any(store).close()
    words = [sys.executable, CHILD, "stumble", str(store), str(acks), "1", "1"]
    ended = subprocess.run(hurt(words, "fdatasync", "error=EIO", "1"), capture_output=True, text=True, check=True)
    (told,) = json.loads(ended.stdout)

    assert "may be there after all, or not" in told
    assert_nothing_lost(store, acks)
    tell(UNSYNCED, "sqlite", 1, simulated=True)


def test_a_line_of_plain_files_that_cannot_be_synced_is_refused_and_taken_back(tmp_path):
    store, acks = store_of("files", tmp_path), tmp_path / "acks"
    open_any(store).close()
    words = [sys.executable, CHILD, "stumble", str(store), str(acks), "1", "1"]
    ended = subprocess.run(hurt(words, "fsync", "error=EIO", "1+"), capture_output=True, text=True, check=True)
    (told,) = json.loads(ended.stdout)

    assert "Nothing was written" in told
    found = open_any(store)
    assert everything(found) == ()
    found.close()
    tell(UNSYNCED, "files", 1, simulated=True)
