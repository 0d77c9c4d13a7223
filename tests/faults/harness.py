"""What the fault suite shares: how often each fault is done, the processes it is done to, and its ledger."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import engram
from engines.asking import found
from engines.samples import change, everything
from engines.samples import memory as sample
from engines.servers import database_url
from engines.stores import open_any, wrong
from engines.test_crashes import acknowledged, notes, notes_so_far
from engram.engines.postgres_schema import migrate
from engram.engines.ram import RamEngine
from engram.errors import Conflict
from engram.model.codec import encode
from engram.model.text import query_terms
from engram.ports import Engine
from engram.rules.changes import claims_of
from engram.service import Engram
from engram.wiring import stores
from faults.operating import records

TIMES = int(os.environ.get("FAULTS", "1"))
"""How many times as often as in CI: `make faults` sets it."""

SAMPLED = 12
"""How many memories are asked for by their words, and for their claims, after each fault."""

EXPORTED = ("memory", "session", "relation")
"""The types of the records that an export tells of."""

LEDGER = "FAULTS_LEDGER"
"""The variable that names the file in which faults are noted, for the page that is made of it."""

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
CHILD = str(Path(__file__).parents[1] / "engines" / "children.py")
WORKER = str(Path(__file__).with_name("worker.py"))
ENGINES = ("sqlite", "files", "postgres")


def tell(fault: str, engine: str, tries: int, *, simulated: bool = False, damaged: bool = False) -> None:
    """Note that a fault was survived so many times; a loss fails the test that would have noted it.

    `damaged` says that the fault itself takes bytes away: then what it left must be whole, and the rest be named.
    Where no ledger is written, the page must tell of this fault on this engine.
    """
    row = f"{fault} *(simulated)*" if simulated else fault
    assert LEDGER in os.environ or engine in on_the_page().get(row, ()), f"{row!r} on {engine}: run make faults"
    note(fault=fault, engine=engine, tries=tries, simulated=simulated, damaged=damaged)


def note(**row: object) -> None:
    """A line for the ledger that `tools/faults.py` makes the page of, where it asked for one."""
    if ledger := os.environ.get(LEDGER):
        with open(ledger, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


@functools.cache
def on_the_page() -> dict[str, set[str]]:
    """The rows of the table of faults, each with the engines that it was survived on."""
    table = (
        PAGE.read_text(encoding="utf-8").partition("<!-- faults:begin -->")[2].partition("<!-- faults:end -->")[0]
    )
    rows = [[cell.strip() for cell in line.split(" | ")] for line in table.splitlines() if line.startswith("| ")]
    return {
        row[0].removeprefix("| "): {engine for engine, cell in zip(ENGINES, row[1:], strict=False) if cell != "-"}
        for row in rows
    }


def store_of(engine: str, folder: Path) -> Path:
    """A place for a new store, as `engines.stores.open_any` takes it."""
    if engine == "postgres":
        os.environ["DATABASE"] = database_url()
        return Path("org") / f"{folder.name}-{os.getpid()}-{time.monotonic_ns()}"
    return folder / {"sqlite": "store.db", "files": "store"}[engine]


def child(*words: object) -> subprocess.Popen[str]:
    """A process of the engine tests."""
    command = [sys.executable, CHILD, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed_while_writing(store: Path, acks: Path, run: int, steps: int) -> None:
    """Let a process do all writing operations, and kill it from outside after so many steps."""
    known = len(notes(acks))
    writer = child("churn", store, acks, run)
    until = time.monotonic() + 60
    while len(notes_so_far(acks)) < known + steps and writer.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    writer.kill()
    assert writer.wait() == -signal.SIGKILL


def assert_nothing_lost(store: Path, acks: Path, *, mending: bool = False) -> None:
    """Every acknowledged write is there with equal content, nothing else is, and a check is clean.

    A rescue brings the same before anybody opens the store; beside it, only what was just being written.
    `mending` says that what follows from the rest may be wrong, as long as a repair sets all of it right.
    """
    may = acknowledged(acks, kept=None)
    saved = rescued(*address(store, acks.parent))
    engine = open_any(store)
    try:
        there = {record.id: json.dumps(encode(record), sort_keys=True) for record in everything(engine)}
        assert there.items() <= saved.items()
        assert there.keys() <= may.keys()
        for id, states in may.items():
            assert there.get(id, "null") in states
            assert saved.get(id, "null") in states
        assert saved.keys() <= may.keys()
        errors = [each for each in engine.check(repair=mending) if each.severity == "error"]
        assert errors == []
        assert mending or wrong(engine.check()) == []
        assert_agreeing(engine)
    finally:
        engine.close()


def address(store: Path, folder: Path) -> tuple[str, Path, str]:
    """What `rescued` is asked with for a store of `store_of`."""
    if store.parts[0] == "org":
        return os.environ["DATABASE"], folder, store.name
    return f"{store}" if store.suffix == ".db" else f"files:{store}", folder, ""


def assert_agreeing(engine: Engine) -> None:
    """The newest memories are found by their words as the reference engine finds them, and hold their claims.

    A check counts the words and cannot know the claims: these follow from rules.
    """
    kept = everything(engine)
    reference = RamEngine("reference")
    reference.commit(change(*kept, batch="all")._replace(expects={}))
    for record in kept[:SAMPLED]:
        terms = query_terms(record.text)
        assert set(found(engine, *terms, limit=len(kept))) == set(found(reference, *terms, limit=len(kept)))
        for claim in claims_of(record):
            with pytest.raises(Conflict):
                engine.commit(change(sample("a-rival", "of another"), batch="rival", claims={"a-rival": (claim,)}))


def opened(place: str, folder: Path, *, settings: Mapping[str, str] | None = None, **more: object) -> Engram:
    """A memory in a home of its own; `settings` are further variables."""
    variables = {"HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache", "ENGRAM_EMBEDDER": "none"}
    variables |= settings or {}
    return engram.open(place, environment=variables, folder=folder, **more)


def embedding(url: str, model: str) -> dict[str, str]:
    """The settings by which a model of an endpoint makes vectors of four numbers."""
    named = {"ENGRAM_EMBEDDER_URL": url, "ENGRAM_EMBEDDER_MODEL": model, "ENGRAM_EMBEDDER_DIM": "4"}
    return {"ENGRAM_EMBEDDER": "endpoint", **named}


def place_of(engine: str, folder: Path) -> str:
    """A place for a new store, as a user names it."""
    if engine == "postgres":
        return new_database()
    return {"sqlite": f"{folder}/home/engram.db", "files": f"files:{folder}/home/store"}[engine]


def new_database(*, schema: bool = True) -> str:
    """The address of a database of its own, with our schema, in the server that tests share."""
    name = f"faults_{uuid.uuid4().hex}"
    with psycopg.connect(database_url(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    url = psycopg.conninfo.conninfo_to_dict(database_url())
    made = f"postgres://{url['user']}@/{name}?host={quote(url['host'], safe='')}"
    if schema:
        migrate(made, lambda *_: None)
    return made


def drawing(n: int) -> str:
    """What is in an attachment: some pages of a disk, and no two alike."""
    return f"Drawing {n}: " + f"a line of drawing {n}, " * 600


def texts(memory: Engram) -> set[str]:
    found = memory.list(standing=["all"], everywhere=True, limit=1000)
    kept = {each.text for each in found.memories}
    while found.next:
        found = memory.list(standing=["all"], everywhere=True, limit=1000, after=found.next)
        kept |= {each.text for each in found.memories}
    return kept


def rescued(place: str, folder: Path, org: str = "") -> dict[str, str]:
    """Every record that a rescue of a store brings, by its id, in its form at rest; it does not open the store.

    None where a kill came before there was a store: a rescue refuses what is not there.
    """
    if not stores.is_made(*stores.place_of(place, {"HOME": str(folder)})):
        return {}
    path = folder / "rescued.jsonl"
    with opened(place, folder, settings={"ENGRAM_ORG": org} if org else None, apart=True) as memory:
        memory.rescue(str(path), overwrite=True)
    told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = [line[type] for line in told for type in EXPORTED if type in line]
    return {each["id"]: json.dumps(each, sort_keys=True) for each in found}


def rescued_texts(place: str, folder: Path) -> set[str]:
    """The texts of all memories that a rescue of a store brings."""
    return {text for each in rescued(place, folder).values() if (text := json.loads(each).get("text"))}


def assert_holding(place: str, folder: Path, wanted: set[str]) -> None:
    """A store has these texts and no others, a check is clean, and a rescue brings each record as it is."""
    saved = rescued(place, folder)
    with opened(place, folder) as memory:
        assert texts(memory) == wanted
        assert memory.doctor().healthy
        assert saved == records(memory, EXPORTED)


def work(place: str, folder: Path, *words: object) -> subprocess.Popen[str]:
    """A process of this suite (`worker.py`), in a home of its own."""
    command = [sys.executable, WORKER, place, str(folder), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def heard(process: subprocess.Popen[str]) -> list[str]:
    """What a process prints, line by line as it comes: it never has to wait until somebody reads."""
    assert process.stdout is not None
    lines: list[str] = []
    threading.Thread(target=lambda: lines.extend(map(str.strip, process.stdout)), daemon=True).start()
    return lines


def wait_for_more(lines: list[str], count: int) -> None:
    """Wait until so many lines have come that were not there yet."""
    wanted, until = len(lines) + count, time.monotonic() + 60
    while len(lines) < wanted:
        assert time.monotonic() < until
        time.sleep(0.005)
