"""E7: after commit returned, kill -9 loses nothing; a crash inside a commit leaves it whole or absent."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.children import OPERATIONS
from engines.samples import MINE, everything
from engines.stores import assert_whole, count, open_store, raw_bytes
from engram.engines.sqlite import POINTS
from engram.model.codec import encode

CHILD = str(Path(__file__).with_name("children.py"))
KILLS = 5  # for each of 8 points and 6 operations: 240 in all


def notes(acks: Path) -> list[tuple[str, dict]]:
    return [tuple(json.loads(line)) for line in acks.read_text().splitlines()] if acks.exists() else []


def acknowledged(acks: Path, *, kept: bool | None) -> dict[str, set[str]]:
    """Id → the states it may be in. `kept` tells whether what was under way must be there; None: either."""
    may: dict[str, set[str]] = {}
    said = notes(acks)
    for at, (word, states) in enumerate(said):
        pending = word == "begun" and (at + 1 == len(said) or said[at + 1][0] == "begun")
        for id, state in states.items():
            new = json.dumps(state, sort_keys=True)
            if word == "done" or (pending and kept):
                may[id] = {new}
            elif pending and kept is None:
                may[id] = may.get(id, {"null"}) | {new}
    return may


def assert_kept(store: Path, acks: Path, *, kept: bool | None) -> None:
    """Every acknowledged write is there with equal content, and nothing that was not asked for."""
    engine = open_store(store)
    found = {record.id: json.dumps(encode(record), sort_keys=True) for record in everything(engine)}
    engine.close()
    may = acknowledged(acks, kept=kept)
    for id, states in may.items():
        assert found.pop(id, "null") in states
    assert found == {}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_e7_a_kill_at_any_point_of_any_operation_loses_nothing_and_leaves_nothing_half(tmp_path, operation, point):
    store, acks = tmp_path / "store.db", tmp_path / "acks"
    for hit in range(1, KILLS + 1):
        command = [sys.executable, CHILD, "crash", store, acks, str(hit), operation, point, str(hit)]
        child = subprocess.run(command, capture_output=True, check=False, text=True)
        assert child.returncode == -signal.SIGKILL, child.stderr

        said = notes(acks)
        assert said[-1][0] == "begun"
        assert_kept(store, acks, kept=point == "committed")
        events = [word for word, _ in said].count("done") + (hit if point == "committed" else 0)
        assert count(store, "event") == events
        assert_whole(store, MINE)
    if operation == "purge":
        assert_purged_texts_are_gone(store, acks, but=said[-1][1] if point != "committed" else {})


def assert_purged_texts_are_gone(store: Path, acks: Path, but: dict) -> None:
    """Also of what was purged just before the kill: the next to close the store cleans up behind it."""
    engine = open_store(store)
    present = {record.id for record in everything(engine)}
    engine.close()
    left = raw_bytes(store)
    for _, states in notes(acks):
        for id, state in states.items():
            if state and id not in present and id not in but:
                assert state["text"].encode() not in left
                assert state["text"].split()[1].encode() not in left


@pytest.mark.parametrize("seed", range(6))
def test_e7_a_kill_from_outside_at_any_moment_loses_nothing(tmp_path, seed):
    store, acks, dice = tmp_path / "store.db", tmp_path / "acks", random.Random(seed)
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
        assert_whole(store, MINE)


def notes_so_far(acks: Path) -> list[str]:
    return acks.read_text().splitlines() if acks.exists() else []
