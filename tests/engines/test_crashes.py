"""E7: after commit returned, kill -9 loses nothing; a crash inside a commit leaves it whole or absent."""

import json
import random
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from engines.asking import SECOND, embed, near, waiting, want
from engines.children import OPERATIONS
from engines.samples import EAST, MINE, NORTH, SPACE, Story, everything, rows
from engines.stores import assert_any_whole, assert_whole, count, open_any, open_store, raw, raw_bytes
from engram.engines.sqlite import POINTS
from engram.model.codec import encode
from engram.model.query import Backlog

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
    engine = open_any(store)
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


@pytest.mark.parametrize(("name", "seed"), [*product(["store.db"], range(6)), *product(["store"], range(4))])
def test_e7_a_kill_from_outside_at_any_moment_loses_nothing(tmp_path, name, seed):
    store, acks, dice = tmp_path / name, tmp_path / "acks", random.Random(seed)
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
        assert_any_whole(store, MINE)


def notes_so_far(acks: Path) -> list[str]:
    return acks.read_text().splitlines() if acks.exists() else []


# --- vectors ---


def embeddable(path: Path, memories: int) -> Path:
    """A store with memories that all have a vector in SPACE, and lack one in SECOND, which is wanted."""
    engine = open_store(path)
    story = Story(engine)
    for n in range(memories):
        story.remember(f"note {n}")
    embed(engine, *((each, EAST) for each in everything(engine)))
    want(engine, SECOND)
    engine.close()
    return path


def statements_of_a_batch(path: Path) -> int:
    """How many statements SQLite is asked for, when all that lack get vectors in the second space."""
    engine, told = open_store(path), []
    lacking = engine.lacking(SECOND, MINE)
    engine._connection().set_exec_trace(lambda _, sql, __: told.append(sql) or True)
    engine.put_vectors(SECOND, rows(*((each, EAST + NORTH) for each in lacking)))
    engine.close()
    assert told[-1] == "COMMIT"
    return len(told)


def test_e7_a_kill_while_vectors_are_put_leaves_all_of_a_batch_or_nothing(tmp_path):
    """The batch makes a new space take over, so that the old one goes in the same moment or stays whole."""
    last = statements_of_a_batch(embeddable(tmp_path / "dry.db", 6))
    store = embeddable(tmp_path / "store.db", 6)
    for at in (1, 2, 3, last // 4, last // 2, last - 2, last - 1, last):
        command = [sys.executable, CHILD, "vectors", store, SECOND.model, str(at)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        engine = open_store(store)

        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 0, 6)
        assert len(near(engine, EAST)) == len(waiting(engine, SECOND)) == count(store, "vector") == 6
        assert near(engine, EAST, SECOND) == []
        engine.close()
        assert_whole(store, MINE)

    command = [sys.executable, CHILD, "vectors", store, SECOND.model, "0"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    engine = open_store(store)

    assert engine.backlog(MINE) == Backlog(SECOND, None, 0, 0)
    assert (len(near(engine, NORTH, SECOND)), near(engine, EAST)) == (6, [])
    assert raw(store, "SELECT n, count(*) FROM vector GROUP BY n") == [(n, 2) for n in range(1, 7)]
    engine.close()
    assert_whole(store, MINE)


@pytest.mark.parametrize("seed", range(2))
def test_e7_a_kill_from_outside_loses_no_vector_that_was_acknowledged(tmp_path, seed):
    store, acks, dice = embeddable(tmp_path / "store.db", 60), tmp_path / "acks", random.Random(seed)
    kept: set[str] = set()
    while len(kept) < 60:
        wanted = len(notes_so_far(acks)) + dice.randrange(1, 30)
        child = subprocess.Popen([sys.executable, CHILD, "batches", store, SECOND.model, acks])
        while len(notes_so_far(acks)) < wanted and child.poll() is None:
            time.sleep(dice.random() / 500)
        child.kill()
        assert child.wait() in (-signal.SIGKILL, 0)

        engine, before = open_store(store), kept
        kept = set(near(engine, EAST, SECOND, limit=1000))
        assert kept > before
        assert kept >= set(notes_so_far(acks))
        assert len(kept) % 5 == 0
        whole = Backlog(SECOND, None, 0, 0)
        assert engine.backlog(MINE) == (whole if len(kept) == 60 else Backlog(SPACE, SECOND, 0, 60 - len(kept)))
        assert count(store, "vector") == 2 * len(kept) + len(near(engine, EAST, limit=1000))
        assert {*waiting(engine, SECOND, limit=1000)} == {each.id for each in everything(engine)} - kept
        engine.close()
        assert_whole(store, MINE)
