"""`engram doctor --hygiene PATH`: the command on a store of another program."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.dirty_stores import DIRTY_STORES, GH
from surfaces.driving import Driver

COUNTS = re.compile(r"^  ([a-z][a-z ]*?) +(\d+)  ", re.MULTILINE)
AILS = {"secrets": 1, "recall loops": 1, "repeats": 1, "near repeats": 1, "empty words": 1}


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("form", "made"), DIRTY_STORES.items(), ids=DIRTY_STORES)
def test_another_store_is_looked_at_by_its_path_and_nothing_is_written(
    engram: Driver, form: str, made: Callable[[Path], Path]
):
    (theirs := engram.folder / "theirs").mkdir()
    path = made(theirs)
    before = everything(engram.folder)
    done = engram("doctor", "--hygiene", str(path))
    told = {name: int(count) for name, count in COUNTS.findall(done.out)}
    told.pop("stale", None)  # by the day it is

    assert (done.code, done.err) == (0, "")
    assert f"memories of {path} ({form}):" in done.out
    assert "% junk (4 of " in done.out
    assert told == AILS | {"secrets": 3 if form == "observations" else 1}  # its session and relation hold one too
    assert GH not in done.out
    assert everything(engram.folder) == before
    assert not engram.store.exists()


@pytest.mark.parametrize("made", DIRTY_STORES.values(), ids=DIRTY_STORES)
def test_the_command_that_it_names_takes_the_other_store_in_without_its_secrets(
    engram: Driver, made: Callable[[Path], Path]
):
    (theirs := engram.folder / "theirs").mkdir()
    said = engram("doctor", "--hygiene", str(made(theirs)), "--json").json
    [command] = re.findall(r"engram import .+? --dry-run", said["hint"])
    words = shlex.split(command)[1:]
    tried, taken = engram(*words), engram(*words[:-1], "--trust")
    ours = engram("doctor", "--hygiene", "--json").json

    assert (said["junk"], tried.code, taken.code) == (4, 0, 0), (tried.err, taken.err)
    assert "secrets" not in {row["name"] for row in ours["rows"]}
    assert all(row["mend"] for row in ours["rows"])
