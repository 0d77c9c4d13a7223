"""Every operation that writes, killed at any of its calls: what was acknowledged is there, nothing else moved."""

import hashlib
import json
import random
from pathlib import Path

import pytest

from engram.rules.hearing import told_of
from engram.service import OPERATIONS, Engram
from faults.harness import ENGINES, EXPORTED, TIMES, WORKER, opened, place_of, rescued, tell
from faults.operating import ELSEWHERE, Noted, is_there, last_event, operate, records, state
from faults.test_killed_work import CALLS, NEVER, killed, killed_at, moments_of


def assert_kept(memory: Engram, acks: Path) -> None:
    """All is as it was after the last acknowledged operation, but for what events since then tell of."""
    lines = [line for line in acks.read_bytes().split(b"\n") if line]
    _, seq, known = json.loads(lines[-1])
    found, since = state(memory), memory.engine.events(after=seq, limit=1000)
    # An erasure names what it erased, and tells of what it moved beside.
    touched = {id for event in since for id in (*event.subjects, *told_of(event))}
    moved = {id for id in found.keys() | known.keys() if found.get(id) != known.get(id)}
    assert {id for id in moved if not id.startswith("remote ")} <= touched
    assert {id for id in known if id.startswith("remote server-")} <= found.keys()  # one is just being left
    assert memory.doctor().healthy
    fetched = acks.with_name("fetched")
    for id, told in records(memory, ["memory"]).items():
        for asset in json.loads(told).get("assets", ()):
            memory.fetch(id, asset["sha256"], str(fetched), overwrite=True)
            assert hashlib.sha256(fetched.read_bytes()).hexdigest() == asset["sha256"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kill_at_any_call_of_any_operation_leaves_what_was_acknowledged(tmp_path, engine):
    place, acks = place_of(engine, tmp_path).removeprefix("files:"), tmp_path / "acks"  # as people name it
    dice, kills = random.Random(engine), 0
    (first := tmp_path / "whole").mkdir()
    begun = [WORKER, place_of(engine, first), first, "operate", first / "acks", "nought"]
    known = moments_of(tmp_path / "log", CALLS[engine], *begun)
    with opened(place, tmp_path) as memory:
        memory.remember("The first of all notes")
    for round in range(3 * TIMES):
        kills += killed_at(dice.choice(known), WORKER, place, tmp_path, "operate", acks, round)
        saved = rescued(place, tmp_path)
        with opened(place, tmp_path) as memory:
            assert saved.items() >= records(memory, EXPORTED).items()
            if acks.exists():
                assert_kept(memory, acks)
    assert not killed(engine, NEVER, WORKER, place, tmp_path, "operate", acks, "last")
    assert kills
    tell("`kill -9` at any call of any writing operation", engine, kills)


def test_every_operation_that_writes_is_among_those_that_are_killed(tmp_path):
    with opened(place_of("sqlite", tmp_path), tmp_path, channel="flag") as memory:
        operate(Noted(memory, str(tmp_path / "acks")), tmp_path, "1")
        assert last_event(memory) > len(OPERATIONS) / 4
    done = {json.loads(line)[0] for line in (tmp_path / "acks").read_text().splitlines()}
    assert {name for name, one in OPERATIONS.items() if one.writes} - done == ELSEWHERE.keys()
    assert [test for test in ELSEWHERE.values() if not is_there(test)] == []
