"""Rescue: whatever happened to the file or folder of a store, what is still there is written as an export."""

import random
from pathlib import Path

import apsw
import pytest

import engram
from engram.errors import EngramError, Unavailable
from engram.service import Engram
from faults.harness import new_database, tell


def opened(place: str, folder: Path, **more: object) -> Engram:
    variables = {"HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache", "ENGRAM_EMBEDDER": "none"}
    return engram.open(place, environment=variables, folder=folder, **more)


@pytest.fixture(params=["sqlite", "files"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store with forty memories and a purged one, closed."""
    place = {"sqlite": f"{tmp_path}/store/engram.db", "files": f"files:{tmp_path}/store"}[request.param]
    with opened(place, tmp_path) as memory:
        for n in range(40):
            memory.remember(f"Fact number {n} of the quiet house")
        gone = memory.remember("The quagga is a secret of ours").memory
        memory.purge(gone.handle, confirm=True)
    return place


def rescued(place: str, folder: Path) -> set[str]:
    """What a rescue brings, read back by an import of a new store."""
    path = str(folder / "rescued.jsonl")
    with opened(place, folder, apart=True) as memory:
        memory.rescue(path, overwrite=True)
    with opened("ram:", folder) as other:
        other.import_(path, trust=True)
        return {each.text for each in other.list(standing=["all"], everywhere=True, limit=1000).memories}


EVERY = {f"Fact number {n} of the quiet house" for n in range(40)}


def test_a_rescue_says_how_to_go_on_and_that_works(place, tmp_path):
    with opened(place, tmp_path, apart=True) as memory:
        told = memory.rescue(str(tmp_path / "rescued.jsonl"))
    store = Path(place.removeprefix("files:"))
    store.rename(store.with_name("damaged"))
    command, _, rest = told.hint.partition(": engram ")[2].partition(" ")
    path, option = rest.split(" ")
    with opened(place, tmp_path) as memory:
        assert (command, option) == ("import", "--trust")
        memory.import_(path, trust=True)
        assert {each.text for each in memory.list(standing=["all"], everywhere=True, limit=1000).memories} == EVERY


def test_a_whole_store_is_rescued_whole_and_what_was_purged_is_not(place, tmp_path):
    assert rescued(place, tmp_path) == EVERY


def test_what_was_purged_while_another_process_was_reading_is_not_rescued_from_the_log(tmp_path, monkeypatch):
    """The log cannot be emptied then: it still has the words, and SQLite no longer."""
    monkeypatch.setattr("engram.engines.sqlite_file.BUSY_MS", 100)
    place = f"{tmp_path}/engram.db"
    with opened(place, tmp_path) as memory:
        memory.remember("Fact of the quiet house")
        gone = memory.remember("The quagga is a secret of ours").memory
        reader = apsw.Connection(place)
        reader.execute("BEGIN; SELECT count(*) FROM memory").fetchall()
        memory.purge(gone.handle, confirm=True)
        assert b"quagga" in Path(f"{place}-wal").read_bytes()
        assert rescued(place, tmp_path) == {"Fact of the quiet house"}
        reader.close()


@pytest.mark.parametrize("damage", ["header", "middle", "tail", "every file cut in half"])
def test_what_is_left_of_a_damaged_store_is_rescued_and_the_store_is_not_touched(place, tmp_path, damage):
    store = Path(place.removeprefix("files:"))
    files = [each for each in store.rglob("*") if each.is_file()] if store.is_dir() else [store]
    for each in files:
        content = bytearray(each.read_bytes())
        if damage == "header":
            content[:100] = bytes(min(100, len(content)))
        elif damage == "middle":
            at = len(content) // 2
            content[at : at + 500] = random.Random(1).randbytes(len(content[at : at + 500]))
        else:
            del content[int(len(content) * (0.9 if damage == "tail" else 0.5)) :]
        each.write_bytes(content)
    before = {each: each.read_bytes() for each in files}

    found = rescued(place, tmp_path)
    half_of_one_file = damage == "every file cut in half" and len(files) == 1  # its first half may be our schema
    assert len(found & EVERY) >= (0 if half_of_one_file else 15)
    assert found <= EVERY  # nothing half, and nothing that was purged
    assert {each: each.read_bytes() for each in files} == before
    engine = "files" if place.startswith("files:") else "sqlite"
    tell(
        "beginning, middle or end of every file destroyed: the rest rescued, nothing touched",
        engine,
        1,
        damaged=True,
    )


def test_an_empty_file_gives_an_export_without_memories(tmp_path):
    (tmp_path / "store").mkdir(mode=0o700)
    (tmp_path / "store" / "engram.db").write_bytes(b"")

    with opened(f"{tmp_path}/store/engram.db", tmp_path, apart=True) as memory:
        assert memory.rescue(str(tmp_path / "none.jsonl")).hint.startswith("Nothing that could be read is left")
    assert rescued(f"{tmp_path}/store/engram.db", tmp_path) == set()


def test_a_store_that_is_kept_nowhere_has_nothing_to_rescue(tmp_path):
    with opened("ram:", tmp_path) as memory, pytest.raises(EngramError, match="in memory only"):
        memory.rescue(str(tmp_path / "rescued.jsonl"))


def test_of_a_database_only_the_part_of_the_org_is_rescued(tmp_path):
    place = new_database()
    for org, text in (("acme", "The quokka naps"), ("other", "The wombat digs")):
        variables = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_ORG": org}
        with engram.open(place, environment=variables, folder=tmp_path) as memory:
            memory.remember(text)
    variables["ENGRAM_ORG"] = "acme"
    with engram.open(place, environment=variables, folder=tmp_path, apart=True) as memory:
        assert memory.rescue(str(tmp_path / "rescued.jsonl")).memories == 1

    assert "wombat" not in (tmp_path / "rescued.jsonl").read_text()
    assert "quokka" in (tmp_path / "rescued.jsonl").read_text()


def test_a_database_that_does_not_answer_is_told(tmp_path):
    with (
        opened("postgres://nobody@127.0.0.1:9/none", tmp_path, apart=True) as memory,
        pytest.raises(Unavailable, match="cannot be reached"),
    ):
        memory.rescue(str(tmp_path / "rescued.jsonl"))
