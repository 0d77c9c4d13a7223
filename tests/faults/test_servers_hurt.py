"""A PostgreSQL server that is killed, restarted or refused by its disk while it is written to: nothing is lost."""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from engines.test_crashes import notes_so_far
from engines.test_postgres import wait_for
from engram.errors import Corrupt
from faults.clusters import Cluster, cluster
from faults.harness import TIMES, assert_nothing_lost, child, opened, tell, texts
from faults.test_faults import assert_named_or_harmless, cut, emptied
from faults.tracing import hurt

STORE = Path("org") / "hurt"
Damage = Callable[[bytearray, random.Random], None]


def a_backend_killed(made: Cluster, dice: random.Random) -> None:
    """`kill -9` of a process of the server that serves a writer"""
    made.kill_one(dice)


def the_postmaster_killed(made: Cluster, dice: random.Random) -> None:
    """`kill -9` of the first process of the server beside a writer, then a start"""
    del dice
    made.kill()
    made.start()


def a_restart(made: Cluster, dice: random.Random) -> None:
    """the server restarted in the middle of commits"""
    made.stop(dice.choice(["fast", "immediate"]))
    made.start()


def a_kill_of_a_hasty_one(made: Cluster, dice: random.Random) -> None:
    """`kill -9` of a server set up to answer before it is on its disk (`synchronous_commit = off`)"""
    with psycopg.connect(made.url, autocommit=True) as db:
        for setting in ("synchronous_commit = off", "wal_writer_delay = '10s'"):
            db.execute(f"ALTER SYSTEM SET {setting}")
        db.execute("SELECT pg_reload_conf()")
    wait_for(lambda: "synchronous_commit" in (made.data / "server.log").read_text())
    time.sleep(0.2 + dice.random() / 5)  # it is written to meanwhile
    the_postmaster_killed(made, dice)


def calls_that_fail(made: Cluster, dice: random.Random) -> None:
    """calls of the server to its disk that fail (EIO) beside a writer"""
    when = f"{dice.randrange(1, 20)}+{dice.randrange(2, 20)}"
    command = hurt(["-p", str(made.pid)], "pwrite64,pwritev,fdatasync,fsync", "error=EIO", when)
    tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_for(lambda: "TracerPid:\t0" not in Path(f"/proc/{made.pid}/status").read_text())
    made.kill_one(dice)  # so that those who serve clients are new, and watched
    wait_for(lambda: "Input/output error" in (made.data / "server.log").read_text())
    tracer.terminate()
    tracer.wait()
    made.stop()
    made.start()


def two_checkpointers(made: Cluster, dice: random.Random) -> None:
    """two checkpointers beside a writer"""
    with psycopg.connect(made.url, autocommit=True) as one, psycopg.connect(made.url, autocommit=True) as two:
        for _ in range(dice.randrange(5, 10)):
            with ThreadPoolExecutor(2) as both:
                list(both.map(lambda each: each.execute("CHECKPOINT"), (one, two)))


@pytest.mark.parametrize(
    "fault",
    [
        a_backend_killed,
        the_postmaster_killed,
        a_kill_of_a_hasty_one,
        a_restart,
        calls_that_fail,
        two_checkpointers,
    ],
)
def test_a_server_that_is_hurt_while_it_is_written_to_loses_nothing(tmp_path, fault):
    dice, acks = random.Random(fault.__name__), tmp_path / "acks"
    with cluster() as made:
        os.environ["DATABASE"] = made.start().url
        for run in range(1, TIMES + 1):
            writer = child("stumble", STORE, acks, run, 100_000)
            more(acks, dice.randrange(10, 60))
            fault(made, dice)
            more(acks, 20)  # it goes on
            writer.kill()
            writer.wait()
            assert_nothing_lost(STORE, acks)
    tell(fault.__doc__, "postgres", TIMES, simulated=fault is calls_that_fail)


def test_a_server_that_does_not_wait_for_its_disk_is_named(tmp_path):
    with cluster() as made:
        with opened(made.start().url, tmp_path) as memory:
            memory.remember("We deploy on Fridays")
            assert memory.doctor().findings == ()
        with psycopg.connect(made.url, autocommit=True) as db:
            db.execute("ALTER SYSTEM SET fsync = off")
            db.execute("SELECT pg_reload_conf()")
        wait_for(lambda: '"fsync" changed' in (made.data / "server.log").read_text())
        with opened(made.url, tmp_path) as memory:
            (found,) = memory.doctor().findings

    assert found.message.startswith("The server has fsync = off")
    assert found.severity == "warning"


def flipped(content: bytearray, dice: random.Random) -> None:
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)


def shaken(content: bytearray, dice: random.Random) -> None:
    for _ in range(200):
        flipped(content, dice)


@contextmanager
def damaged(made: Cluster, path: str, dice: random.Random, damage: Damage = flipped) -> Iterator[None]:
    """A file of the server is damaged until the block ends; the server runs."""
    made.stop("fast")
    whole = (made.data / path).read_bytes()
    content = bytearray(whole)
    damage(content, dice)
    (made.data / path).write_bytes(content)
    made.start()
    try:
        yield
    finally:
        made.stop("fast")
        (made.data / path).write_bytes(whole)
        made.start()


def files_of(url: str, *tables: str) -> list[str]:
    """Where in its folder the server keeps these tables or indexes."""
    with psycopg.connect(url) as db:
        return [db.execute("SELECT pg_relation_filepath(%s)", [f"engram.{name}"]).fetchone()[0] for name in tables]


def rescued(url: str, folder: Path) -> set[str]:
    """What a rescue brings, read back by an import of a new store."""
    path = str(folder / "rescued.jsonl")
    with opened(url, folder, apart=True) as memory:
        memory.rescue(path, overwrite=True)
    with opened("ram:", folder) as other:
        other.import_(path, trust=True)
        return texts(other)


def test_a_page_that_was_damaged_is_named_never_answered_from_and_the_rest_is_rescued(tmp_path):
    """The server's own check sums see it; what matters is that it is told as damage, and that there is a way on."""
    dice, named = random.Random(7), 0
    with cluster() as made:
        with opened(made.start().url, tmp_path) as memory:
            wanted = {memory.remember(f"Fact {n} of the quiet house").memory.text for n in range(60)}
            gone = memory.remember("The quagga is a secret of ours").memory
            memory.purge(gone.handle, confirm=True)
        memories, history, index = files_of(made.url, "memory", "event", "memory_org_n_key")
        assert rescued(made.url, tmp_path) == wanted
        for _ in range(TIMES):
            with damaged(made, memories, dice):
                with opened(made.url, tmp_path) as memory:
                    try:
                        assert texts(memory) == wanted
                    except Corrupt as error:
                        named += "damaged" in error.message and "engram rescue FILE" in error.hint
                assert rescued(made.url, tmp_path) == wanted  # what its page took away, history still tells
            with damaged(made, memories, dice), damaged(made, history, dice):
                assert rescued(made.url, tmp_path) <= wanted
            with damaged(made, index, dice, shaken):
                assert rescued(made.url, tmp_path) == wanted
    assert named
    tell("bits flipped: named by an error or `doctor`, the rest rescued", "postgres", 3 * TIMES, damaged=True)


@pytest.mark.parametrize("damage", [cut, emptied])
def test_a_file_of_the_server_that_lost_bytes_is_named_and_what_is_left_is_rescued(tmp_path, damage):
    """The server itself takes a shorter file for a smaller table: that rows are gone is known by history."""
    dice = random.Random(damage.__name__)
    with cluster() as made:
        with opened(made.start().url, tmp_path) as memory:
            wanted = {memory.remember(f"Fact {n} of the quiet house").memory.text for n in range(60)}
        memories, index = files_of(made.url, "memory", "memory_pkey")
        for path in (memories, index) * TIMES:
            with damaged(made, path, dice, damage):
                assert_named_or_harmless(made.url, tmp_path, wanted)
                assert rescued(made.url, tmp_path) == wanted
    told = {"cut": "the tail cut off", "emptied": "a file of no length"}[damage.__name__]
    tell(f"{told}: named by an error or `doctor`, the rest rescued", "postgres", 2 * TIMES, damaged=True)


def more(acks: Path, wanted: int) -> None:
    """Wait until so much more was acknowledged."""
    known = done(acks)
    wait_for(lambda: done(acks) >= known + wanted, seconds=120)


def done(acks: Path) -> int:
    return sum(line.startswith('["done"') for line in notes_so_far(acks))
