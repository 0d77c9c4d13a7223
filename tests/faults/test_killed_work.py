"""Long work that is killed at any of its calls (import, re-embedding, migration, sync): the next one goes on."""

import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines.asking import near
from engines.samples import EAST, MINE, SPACE, Story, everything
from engines.servers import put_first_schema
from engines.stores import open_any, open_files, open_store, wrong
from engines.test_files_format import DATA, JUNE
from engines.test_postgres import wait_for
from engram.engines.postgres_schema import migrate
from engram.model.query import Backlog, Query, Space
from engram.operations.intake import GROUP
from faults.harness import (
    CHILD,
    ENGINES,
    TIMES,
    WORKER,
    embedding,
    new_database,
    opened,
    place_of,
    rescued_texts,
    store_of,
    tell,
    texts,
)
from faults.tracing import FAST, Moment, hurt, moments, strace
from inference.serving import serving as serving_vectors
from inference.test_endpoint import good
from surfaces.mcp_clients import COMMAND, serving
from sync.devices import Device, exchange, trusting
from sync.test_served import swap, trusting_the_server

CALLS = {"sqlite": "pwrite64,fdatasync", "files": "write,fsync,rename,pwrite64", "postgres": "sendto"}
"""How each engine keeps something: on the disk, or by asking its server."""

WRITES = re.compile(r"INSERT|UPDATE|DELETE|COMMIT")
"""What a server of a database is asked that makes a difference."""

KEEPING = {
    engine: ",".join(dict.fromkeys(f"{calls},write,fsync,rename".split(","))) for engine, calls in CALLS.items()
}
"""The same, with the files that lie beside a store: chunks of an exchange, and how far it came."""

NEVER = 60_000


def killed(engine: str, at: int, *command: object) -> bool:
    """Run a process that is killed before the so many-th of its calls of a name; False when it ended before."""
    return ended_by_a_kill(hurt([sys.executable, *map(str, command)], CALLS[engine], "signal=KILL", str(at)))


def killed_at(moment: Moment, *command: object) -> bool:
    """The same at a moment that a process before it had."""
    return ended_by_a_kill(moment.kills([sys.executable, *map(str, command)]))


def ended_by_a_kill(words: list[str]) -> bool:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, -9), done.stderr
    return done.returncode != 0


def moments_of(log: Path, calls: str, *command: object) -> list[Moment]:
    """When a process can be killed, told by one that comes to its end."""
    words = strace(log, FAST, "-s", "200", "-e", f"trace={calls}")
    subprocess.run([*words, sys.executable, *map(str, command)], check=True, stdout=subprocess.DEVNULL, timeout=120)
    return moments(log)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_import_that_is_killed_is_made_up_for_by_importing_again(tmp_path, engine):
    path, dice, kills, partly = tmp_path / "all.jsonl", random.Random(engine), 0, 0
    things = [{"type": "entity", "name": f"Thing {n}", "entityType": "note"} for n in range(2 * GROUP + GROUP // 4)]
    (tmp_path / "theirs.json").write_text("\n".join(map(json.dumps, things)))
    with opened("ram:", tmp_path) as other:
        other.import_(str(tmp_path / "theirs.json"), trust=True)
        other.export(str(path))
        wanted = texts(other)
    assert len(wanted) == len(things)
    (first := tmp_path / "whole").mkdir()
    known = moments_of(tmp_path / "log", CALLS[engine], WORKER, place_of(engine, first), first, "import", path)
    some = [known[dice.randrange(len(known))] for _ in range(2 * TIMES)]
    some += [
        known[int(len(known) * dice.uniform(0.5, 0.65))] for _ in range(TIMES)
    ]  # one group is there, one is not
    for n, moment in enumerate(some):
        (folder := tmp_path / f"{n}").mkdir()
        place = place_of(engine, folder)
        kills += killed_at(moment, WORKER, place, folder, "import", path)
        saved = rescued_texts(place, folder)
        with opened(place, folder) as memory:
            kept = texts(memory)
            assert kept <= saved <= wanted  # SQLite's log also has what was just being committed
            assert len(kept) % GROUP == 0 or kept == wanted
            assert memory.doctor().healthy
            memory.import_(str(path), trust=True)
            assert texts(memory) == wanted
            assert memory.stats().memories == len(wanted)  # and none of them twice
            assert memory.doctor().healthy
        partly += 0 < len(kept) < len(wanted)
    assert kills == len(some)
    assert partly >= TIMES
    tell("`kill -9` during an import, then the same import again", engine, kills)


@pytest.mark.parametrize("engine", ["sqlite", "files"])
def test_an_import_that_is_stopped_by_the_keyboard_says_what_is_kept_and_goes_on(tmp_path, engine):
    rows = [
        {"type": "entity", "name": f"Thing {n}", "entityType": "note", "observations": [f"It is {n}"]}
        for n in range(40_000)  # far more than are taken in before the key is pressed
    ]
    path, place = tmp_path / "theirs.json", place_of(engine, tmp_path)
    path.write_text("\n".join(map(json.dumps, rows)))
    variables = {"HOME": str(tmp_path), "XDG_CACHE_HOME": f"{tmp_path}/cache", "ENGRAM_EMBEDDER": "none"}
    heard = ("env", "--default-signal=INT")  # what a shell starts in the background ignores the key
    process = subprocess.Popen(
        [*heard, *COMMAND, "import", str(path), "--store", place],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )

    def kept() -> int:
        with opened(place, tmp_path) as memory:
            return memory.engine.tallies()["rows"]

    wait_for(lambda: Path(place.removeprefix("files:")).exists() and kept() > 0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    there = kept()

    assert process.returncode == 130
    assert f"Stopped. Of {path}, {there:,} were taken in before that, and are kept." in told
    assert "The same import again goes on there; engram undo" in told
    with opened(place, tmp_path) as memory:
        assert memory.doctor().healthy
    tell("Ctrl-C during an import: told what is kept, and how to go on", engine, 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_first_embedding_that_is_killed_leaves_every_vector_whole_or_absent(tmp_path, engine):
    acks, dice, kills = tmp_path / "acks", random.Random(engine), 0

    def begun(folder: Path) -> Path:
        folder.mkdir()
        made = open_any(store := store_of(engine, folder))
        story = Story(made)
        for n in range(40):
            story.remember(f"number {n}")
        made.close()
        return store

    whole = [CHILD, "batches", begun(tmp_path / "whole"), SPACE.model, tmp_path / "other-acks"]
    known = moments_of(tmp_path / "log", CALLS[engine], *whole)
    store = begun(tmp_path / "killed")
    for moment in [*dice.choices(known, k=3 * TIMES), None]:
        command = (CHILD, "batches", store, SPACE.model, acks)
        kills += killed_at(moment, *command) if moment else killed(engine, NEVER, *command)
        made = open_any(store)
        there = set(near(made, EAST, limit=1000))
        assert there >= set(acks.read_text().split() if acks.exists() else ())
        assert len(there) + len(made.lacking(SPACE, MINE, limit=1000)) == 40
        assert wrong(made.check()) == []
        made.close()
    assert len(there) == 40
    tell("`kill -9` during a first embedding, which goes on", engine, kills)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_of_the_model_that_is_killed_leaves_the_old_vectors_whole_until_the_new_ones_are(tmp_path, engine):
    dice, kills, count = random.Random(engine), 0, 70
    with serving_vectors(good) as endpoint:

        def begun(folder: Path) -> list[object]:
            folder.mkdir()
            place = place_of(engine, folder)
            with opened(place, folder, settings=embedding(endpoint.url, "old")) as memory:
                for n in range(count):
                    memory.remember(f"Fact {n} of the quiet house")
                memory.reembed()
            return [WORKER, place, folder, "reembed", endpoint.url, "new"]

        old, new = Space("endpoint/old", 4), Space("endpoint/new", 4)
        known = moments_of(tmp_path / "log", CALLS[engine], *begun(tmp_path / "whole"))
        some = sorted(dice.choices(range(len(known) // 3, len(known)), k=3 * TIMES))  # before that it is opened
        command = begun(tmp_path / "killed")
        for moment in [*(known[at] for at in some), None]:
            kills += killed_at(moment, *command) if moment else killed(engine, NEVER, *command)
            with opened(str(command[1]), tmp_path / "killed") as memory:
                told = memory.engine.backlog(MINE)
                assert told == Backlog(new) or told._replace(coming=None, remaining=0) == Backlog(old)
                assert len(near(memory.engine, EAST, told.active, limit=1000)) == count
                assert memory.doctor().healthy
    assert told == Backlog(new)
    assert kills
    tell("`kill -9` during a change of the model: the old vectors are whole until the new ones are", engine, kills)


OF_QDRANT = "write,pwrite64,fdatasync,rename,mkdir,unlink"
"""How the small Qdrant keeps something that has a folder and no server."""


def test_a_reindex_that_is_killed_is_made_up_for_by_the_next_one(tmp_path):
    place, dice, tries, kills, partly = place_of("sqlite", tmp_path), random.Random("reindex"), 3 * TIMES, 0, 0
    with opened(place, tmp_path) as memory:
        ids = {memory.remember(f"Fact {n} of the quiet house").memory.id for n in range(20)}

    def command(name: str) -> list[object]:
        return [WORKER, place, tmp_path, "reindex", f"qdrant:{tmp_path}/{name}"]

    known = moments_of(tmp_path / "log", OF_QDRANT, *command("whole"))
    for n in range(tries):  # one in each part of it
        moment = known[int(len(known) * (n + dice.random()) / tries)]
        kills += killed_at(moment, *command(f"{n}"))
        with opened(place, tmp_path, settings={"ENGRAM_INDEX": f"qdrant:{tmp_path}/{n}"}) as memory:
            partly += 0 < memory.engine._index.mark() < 20
            assert {each.memory.id for each in memory.recall("quiet house", limit=50).hits} == ids
            memory.reindex()
            assert {*memory.engine._index.find(Query(terms=("quiet",)), MINE, 100)} == ids
            assert {each.memory.id for each in memory.recall("quiet house", limit=50).hits} == ids
            assert [each for each in memory.doctor().findings if each.severity != "note"] == []
    assert kills == tries
    assert partly
    tell("`kill -9` during a reindex, and the next one", "sqlite", kills)


# --- migration ---


def old_sqlite(folder: Path) -> tuple[list[object], object]:
    """A store of the first schema, and what opens it."""
    store = folder / "store.db"
    store.write_bytes(gzip.decompress((Path(CHILD).with_name("data") / "schema-1.db.gz").read_bytes()))
    store.chmod(0o600)
    return [CHILD, "open", store], lambda: open_store(store)


def old_files(folder: Path) -> tuple[list[object], object]:
    """A folder of the program that plain files come from, and what takes it over."""
    shutil.copytree(DATA / "june", folder / "store")
    for each in ((folder / "store"), *(folder / "store").rglob("*")):
        each.chmod(0o700 if each.is_dir() else 0o600)
    return [CHILD, "open", folder / "store"], lambda: open_files(folder / "store", clock=lambda: JUNE)


def old_postgres(folder: Path) -> tuple[list[object], object]:
    """A database of the first version that kept memories in one, and what opens it."""
    url = new_database(schema=False)
    put_first_schema(url)
    os.environ["DATABASE"] = url

    def opens() -> object:
        migrate(url, lambda *_: None)
        return open_any(Path("org") / "default")

    return [WORKER, url, folder, "migrate"], opens


@pytest.mark.parametrize(
    ("engine", "older"), [("sqlite", old_sqlite), ("files", old_files), ("postgres", old_postgres)]
)
def test_a_migration_that_is_killed_is_resumed(tmp_path, engine, older):
    dice, kills = random.Random(engine), 0
    (tmp_path / "whole").mkdir(mode=0o700)
    command, opens = older(tmp_path / "whole")
    known = moments_of(tmp_path / "log", CALLS[engine], *command)
    whole = opens()
    assert (wanted := {each.text for each in everything(whole)})
    whole.close()
    for n in range(3 * TIMES):
        (folder := tmp_path / f"{n}").mkdir(mode=0o700)
        command, opens = older(folder)
        files = {"sqlite": f"{folder}/store.db", "files": f"files:{folder}/store"}
        place = files.get(engine) or os.environ["DATABASE"]
        for _ in range(2):
            kills += killed_at(dice.choice(known), *command)
            assert rescued_texts(place, folder) >= wanted
        found = opens()
        assert {each.text for each in everything(found)} == wanted
        assert [each for each in found.check(repair=engine == "files") if each.severity == "error"] == []
        Story(found, name="after", start=500).remember("It goes on")
        found.close()
    assert kills
    tell("`kill -9` during a migration from the oldest schema, which is resumed", engine, kills)


# --- sync ---


def device(folder: Path, engine: str, name: str) -> Device:
    """A machine whose store is of the engine."""
    made = Device(folder, name, store="ram:", clock=lambda: datetime.now(UTC))
    made.path = place_of(engine, folder / name)
    made.open()
    return made


@contextmanager
def away(made: Device) -> Iterator[tuple[object, ...]]:
    """How another process of the machine is started, while nobody else has its store open."""
    made.memory.close()
    try:
        yield WORKER, made.path, made.clone, "exchange", json.dumps(made.environment)
    finally:
        made.open()


def moments_there(made: Device, engine: str, *words: str) -> tuple[list[Moment], list[Moment]]:
    """When to kill such a process: at any of its calls, and at those that keep something."""
    with away(made) as process:
        known = moments_of(made.folder / "log", KEEPING[engine], *process, *words)
    return known, [each for each in known if each.name != "sendto" or WRITES.search(each.told)]


@contextmanager
def by_git(folder: Path, engine: str) -> Iterator[tuple[Device, Device, list[tuple[str, ...]], object]]:
    """Two machines that exchange by the files of a repository, and one round of that."""
    one, two = device(folder, engine, "one"), device(folder, "sqlite", "two")
    one.say("The one speaks first")
    two.say("The two speaks first")
    trusting(one, two)

    def meet() -> None:
        two.sync()
        one.fetch(two)

    yield one, two, [("git", str(one.clone))], meet
    exchange(one, two)
    assert one.state() == two.state()


@contextmanager
def by_server(folder: Path, engine: str) -> Iterator[tuple[Device, Device, list[tuple[str, ...]], object]]:
    """Two machines that exchange by a server, and one round of that."""
    (folder / "served").mkdir()
    with serving(folder / "served", ENGRAM_EMBEDDER="none") as served:
        one, two = device(folder, engine, "one"), device(folder, "sqlite", "two")
        for each in (one, two):
            each.environment["ENGRAM_REMOTE_TOKEN_TEAM"] = served.token
            each.memory.remote_add("team", f"http://127.0.0.1:{served.port}")
            each.memory.remote_enrol("team", "project:acme")
        trusting_the_server(one, two)
        yield one, two, [("push", "team"), ("pull", "team")], lambda: two.memory.remote_push("team")
        swap(one, two)
        assert one.state() == two.state()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", [by_git, by_server])
def test_a_sync_that_is_killed_loses_nothing_and_the_next_one_goes_on(tmp_path, engine, way):
    dice, kills, said = random.Random(f"{engine} {way.__name__}"), 0, set()
    with way(tmp_path, engine) as (one, two, works, meet):

        def talk(round: str) -> None:
            said.update(texts := (f"Said by one in round {round}", f"Said by two in round {round}"))
            for each, text in zip((one, two), texts, strict=True):
                each.say(text)
            meet()

        talk("nought")
        known = {words: moments_there(one, engine, *words) for words in works}
        for n in range(2 * TIMES):
            talk(f"{n}")
            for words in works:
                with away(one) as process:
                    kills += killed_at(dice.choice(known[words][n % 2]), *process, *words)
                assert rescued_texts(one.path, tmp_path) >= set(one.texts())
                assert one.memory.doctor().healthy
    assert said <= set(one.texts())
    assert kills > len(works) * TIMES
    told = {by_git: "git", by_server: "a server"}[way]
    tell(f"`kill -9` during a sync by {told}, and the next one", engine, kills)


def test_a_replica_is_accepted_or_dropped_or_not_wherever_that_is_killed(tmp_path):
    one, two = device(tmp_path, "sqlite", "one"), device(tmp_path, "sqlite", "two")
    one.say("The one speaks first")
    two.say("The two speaks first")
    exchange(one, two, rounds=2)
    replica, kills = two.memory.engine.replica(), 0
    for word, wanted in (("accept", "accepted"), ("drop", "dropped")):
        (before,) = (each.state for each in one.memory.replicas().replicas if each.replica == replica)
        for at in range(1, 100):
            with away(one) as process:
                ended = not killed("files", at, *process, word, replica)
            (found,) = (each.state for each in one.memory.replicas().replicas if each.replica == replica)
            assert found in (before, wanted)
            assert one.memory.doctor().healthy
            before = found
            if ended:
                break
            kills += 1
        assert found == wanted
    assert kills
    tell("`kill -9` while a replica is accepted or dropped", "sqlite", kills)
