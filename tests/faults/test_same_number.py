"""A process that has the number of a killed one, as in a container, where each has the same: what that one left."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from faults.harness import TIMES, WORKER, assert_holding, opened, place_of, tell, texts
from faults.test_killed_commands import CALLS, WAYS, asked, furnished
from faults.test_killed_work import moments_of
from faults.tracing import FAST, moments, strace

CONTAINER = ("setarch", "--addr-no-randomize", "unshare", "--pid", "--fork", "--mount-proc")
ALONE = (*CONTAINER, "sh", "-c", '"$0" "$@"; exit $?')
"""What a command begins with that is the second process of a container, with the same threads each time."""

KILLED = 137

__all__ = ["furnished"]  # a fixture

ENDING = {"rename", "fsync", "fdatasync"}
"""Calls before which a draft lies there."""


@pytest.fixture(autouse=True)
def _containers() -> None:
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("processes may only be numbered anew by root")


def drafts(folder: Path) -> list[str]:
    return [each.name for each in folder.rglob("*.new") if ".2." in each.name]


@pytest.mark.parametrize("engine", ["sqlite", "files"])
def test_what_a_killed_process_of_the_same_number_left_in_a_store_stops_nobody(tmp_path, engine):
    path, dice, left = tmp_path / "theirs.json", random.Random(engine), 0
    things = [{"type": "entity", "name": f"Thing {n}", "entityType": "note"} for n in range(5)]
    path.write_text("\n".join(map(json.dumps, things)))
    with opened("ram:", tmp_path) as other:
        other.import_(str(path), trust=True)
        wanted = texts(other)

    def process(name: str) -> list[str]:
        (tmp_path / name).mkdir(exist_ok=True)
        place = place_of(engine, tmp_path / name)
        return [sys.executable, WORKER, place, str(tmp_path / name), "import", str(path)]

    known = moments_of(tmp_path / "log", ",".join(ENDING), *process("whole")[1:])
    for n, moment in enumerate([known[2], *dice.sample(known, 2 * TIMES)]):
        killed = subprocess.run(moment.kills([*ALONE, *process(f"{n}")]), capture_output=True, check=False)
        assert killed.returncode == KILLED, killed.stderr
        left += bool(drafts(tmp_path / f"{n}"))
        again = subprocess.run([*ALONE, *process(f"{n}")], capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stderr
        assert_holding(place_of(engine, tmp_path / f"{n}"), tmp_path / f"{n}", wanted)
    assert left
    tell("`kill -9`, and the next process has the same number", engine, 2 * TIMES + 1)


def test_what_a_killed_set_up_of_the_same_number_left_does_not_stop_the_next(tmp_path, furnished):
    folder, log, dice = tmp_path / "home-of-one", tmp_path / "log", random.Random("setup")
    shutil.copytree(furnished, folder)
    assert asked(folder, WAYS["setup"], *strace(log, FAST, "-e", f"trace={CALLS}")).returncode == 0
    some = dice.sample([each for each in moments(log) if each.name in ENDING], 2 * TIMES)
    for moment in some:
        shutil.rmtree(folder)
        shutil.copytree(furnished, folder)
        killed = asked(folder, WAYS["setup"], *moment.kills(), *ALONE)
        assert killed.returncode == KILLED, killed.stderr
        again = asked(folder, WAYS["setup"], *ALONE)
        assert again.returncode == 0, again.stderr
        assert asked(folder, WAYS["setup --remove"], *ALONE).returncode == 0
    tell("`kill -9`, and the next process has the same number", "sqlite", len(some))
