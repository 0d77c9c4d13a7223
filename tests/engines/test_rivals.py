"""E8: several processes and threads on one store: no lost update, no half-seen Change, no error."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from engines.asking import found
from engines.samples import MINE, Story, change, everything, memory
from engines.stores import assert_any_whole, assert_whole, open_any, open_store
from engram.engines.sqlite import SqliteEngine
from engram.errors import Conflict, Unavailable
from engram.model.filter import Filter
from engram.model.record import replace

CHILD = str(Path(__file__).with_name("children.py"))


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, CHILD, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answers(children: list[subprocess.Popen[str]]) -> list[str]:
    told = [child.communicate(timeout=120) for child in children]
    assert [(child.returncode, said[1]) for child, said in zip(children, told, strict=True)] == [(0, "")] * len(
        told
    )
    return [said[0] for said in told]


def both(sqlite: int, files: int) -> pytest.MarkDecorator:
    """For either engine that keeps files, so many times: plain files take longer."""
    return pytest.mark.parametrize(("name", "many"), [("store.db", sqlite), ("store", files)])


@both(200, 60)
def test_e8_eight_processes_with_many_writes_each_lose_none(tmp_path, name, many):
    store, names = tmp_path / name, [f"rival{n}" for n in range(8)]
    handles = [json.loads(said) for said in answers([start("write", store, each, many) for each in names])]
    engine = open_any(store)
    records, events = everything(engine), engine.events(limit=10_000)

    assert {record.text for record in records} == {f"{each} says {n}" for each in names for n in range(many)}
    given = [handle for each in handles for handle in each]
    wanted = [f"mem-{n:04d}" for n in range(1, 8 * many + 1)]
    assert sorted(given) == sorted(record.handle for record in records) == wanted
    assert [event.seq for event in events] == list(range(1, 8 * many + 1))
    assert len({event.replica for event in events}) == 1
    engine.close()
    assert_any_whole(store, MINE)


@both(150, 60)
def test_e8_two_processes_updating_one_record_lose_no_update(tmp_path, name, many):
    engine = open_any(tmp_path / name)
    engine.commit(change(memory("counter")))
    tries = [int(said) for said in answers([start("count", tmp_path / name, f"rival{n}", many) for n in range(2)])]
    counter = engine.get("memory", ["counter"], MINE)["counter"]

    assert (counter.seen, counter.revision) == (2 * many + 1, 2 * many + 1)
    assert sum(tries) >= 2 * many
    assert len(engine.events(limit=1000)) == 2 * many + 1
    engine.close()


@pytest.fixture(params=[("store.db", 400), ("store", 120)], ids=["sqlite", "files"])
def pairs(request, tmp_path):
    """A store in which another process keeps putting two records, always both in one Change."""
    name, many = request.param
    engine = open_any(tmp_path / name)
    child = start("pairs", tmp_path / name, many)
    yield engine, child
    answers([child])
    last = everything(engine)
    assert [(record.seen, record.text) for record in last] == [(many, f"zebra round{many}")] * 2
    engine.close()


def test_e8_a_scan_never_sees_half_a_change(pairs):
    engine, child = pairs
    looks = 0
    while child.poll() is None:
        seen = [record.seen for record in engine.scan("memory", Filter(), MINE).records]
        assert seen == [] or (len(seen) == 2 and seen[0] == seen[1])
        looks += 1
    assert looks > 10


def test_e8_a_search_never_sees_half_a_change(pairs):
    engine, child = pairs
    looks = 0
    while child.poll() is None:
        assert len(found(engine, "zebra")) in (0, 2)
        looks += 1
    assert looks > 10


def test_e8_a_get_never_sees_half_a_change(pairs):
    engine, child = pairs
    looks = 0
    while child.poll() is None:
        both = engine.get("memory", ["pair-left", "pair-right"], MINE)
        assert len(both) in (0, 2)
        assert len({record.seen for record in both.values()}) <= 1
        looks += 1
    assert looks > 10


@both(300, 100)
def test_e8_a_check_beside_a_writer_finds_nothing(tmp_path, name, many):
    engine = open_any(tmp_path / name)
    child = start("write", tmp_path / name, "rival", many)
    while child.poll() is None:
        assert engine.check() == []
    answers([child])
    engine.close()


def in_threads(work: list) -> list[Exception]:
    """Run all at once; what they raised."""
    failures, gate = [], threading.Barrier(len(work))

    def run(task) -> None:
        gate.wait()
        try:
            task()
        except Exception as error:  # noqa: BLE001 - whatever a thread raises must reach the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@both(40, 15)
def test_e8_eight_threads_on_one_engine_lose_none(tmp_path, name, many):
    engine = open_any(tmp_path / name)

    def writes(thread: str) -> None:
        story = Story(engine, name=thread)
        for n in range(many):
            made = story.remember(f"{thread} says {n}")
            assert engine.get("memory", [made.handle], MINE)[made.handle] == made
            assert made.id in found(engine, *(f"{n}", thread), limit=100)
            assert len(everything(engine)) > n

    assert in_threads([lambda n=n: writes(f"thread{n}") for n in range(8)]) == []
    assert len({record.handle for record in everything(engine)}) == len(everything(engine)) == 8 * many
    engine.close()
    assert_any_whole(tmp_path / name, MINE)


@both(25, 10)
def test_e8_eight_threads_updating_one_record_lose_no_update(tmp_path, name, many):
    engine = open_any(tmp_path / name)
    engine.commit(change(memory("counter")))

    def increments(thread: str) -> None:
        done = 0
        while done < many:
            old = engine.get("memory", ["counter"], MINE)["counter"]
            new = replace(old, seen=old.seen + 1, revision=old.revision + 1)
            try:
                engine.commit(change(new, batch=f"{thread}-{done}"))
                done += 1
            except Conflict:
                continue

    assert in_threads([lambda n=n: increments(f"thread{n}") for n in range(8)]) == []
    assert engine.get("memory", ["counter"], MINE)["counter"].seen == 8 * many + 1
    engine.close()


def test_e8_rivals_for_one_claim_leave_one_holder(tmp_path):
    store = tmp_path / "store.db"
    open_store(store).close()
    engines = [SqliteEngine(store, new_replica=lambda: "r") for _ in range(8)]

    def says(n: int) -> None:
        story = Story(engines[n], name=f"rival{n}")
        engines[n].commit(story.admission(story.request(), "We deploy on Fridays").change)

    failures = in_threads([lambda n=n: says(n) for n in range(8)])

    assert all(isinstance(each, Conflict) for each in failures)
    record = everything(engines[0])
    assert len(record) == 1
    assert record[0].seen == 8 - len(failures)
    for engine in engines:
        engine.close()


@pytest.mark.parametrize(("name", "files"), [("new/store.db", ["store.db"]), ("new", [".lock", "memory.md"])])
def test_e8_processes_that_make_one_store_at_once_share_it(tmp_path, name, files):
    for n in range(4):
        store = tmp_path / str(n) / "in" / name
        answers([start("open", store) for _ in range(6)])
        assert_any_whole(store, MINE)
        assert sorted(each.name for each in (tmp_path / str(n) / "in" / "new").iterdir()) == files


def test_e8_threads_that_make_one_store_at_once_share_it(tmp_path):
    store = tmp_path / "store.db"
    failures = in_threads([lambda: open_store(store).close() for _ in range(8)])

    assert failures == []
    assert_whole(store, MINE)


def test_e8_threads_that_end_leave_no_connection_open(tmp_path):
    engine = open_store(tmp_path / "store.db")
    engine.commit(change(memory("id-1")))

    def open_files() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    assert in_threads([lambda: everything(engine)]) == []
    before = open_files()
    for _ in range(20):
        assert in_threads([lambda: everything(engine)]) == []

    assert open_files() <= before + 4
    engine.close()


@pytest.mark.parametrize("whose", ["parents", "own"])
@pytest.mark.parametrize("name", ["store.db", "store"])
def test_e8_what_a_forked_process_writes_is_kept_when_its_parent_has_closed_the_store(tmp_path, name, whose):
    """The locks of SQLite do not follow into a child: the last to close would take the log away under its hands."""
    answers([start("fork", tmp_path / name, whose)])
    engine = open_any(tmp_path / name)

    assert {record.id for record in everything(engine)} == {"parent", "again", "forked"}
    assert engine.check() == []
    engine.close()


def in_a_fork(work: Callable[[], object]) -> int:
    """How a forked process ends that does one thing, and never goes on with ours."""
    if pid := os.fork():
        return os.waitpid(pid, 0)[1]
    failed = 1
    try:
        work()
        failed = 0
    finally:
        os._exit(failed)


def test_e8_a_fork_beside_threads_that_read_and_write_loses_nothing(tmp_path):
    engine, stopped = open_store(tmp_path / "store.db"), threading.Event()
    story = Story(engine, name="thread")

    def writes() -> set[str]:
        kept = set()
        while not stopped.is_set():
            with suppress(Unavailable):  # a read that a fork met between two statements
                kept.add(story.remember(f"thread says {len(kept)}").text)
                assert kept <= {record.text for record in everything(engine)}
        return kept

    with ThreadPoolExecutor() as pool:
        writing = pool.submit(writes)
        try:
            for n in range(10):
                forked = Story(engine, name=f"fork{n}")
                assert in_a_fork(lambda forked=forked, n=n: forked.remember(f"fork says {n}")) == 0
        finally:
            stopped.set()
        kept = writing.result()
    assert kept | {f"fork says {n}" for n in range(10)} <= {record.text for record in everything(engine)}
    engine.close()
    assert_whole(tmp_path / "store.db", MINE)
