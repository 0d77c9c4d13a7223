"""The processes that the fault suite starts: each does one thing to one store, for ever or until it is done.

worker.py PLACE FOLDER write NAME [PAUSE]  a memory after another; prints each text that was acknowledged
worker.py PLACE FOLDER import FILE         one import
worker.py PLACE FOLDER operate ACKS ROUND  every writing operation, once each
worker.py PLACE FOLDER fix                 one repair
worker.py PLACE FOLDER reembed URL MODEL   vectors of a model of an endpoint, for all that lack them
worker.py PLACE FOLDER reindex INDEX       brings an index up to date
worker.py PLACE FOLDER attach ACKS COUNT   so many memories with an attachment each
worker.py URL FOLDER migrate               brings the schema of a database up to date
worker.py PLACE FOLDER as VERSION migrate  brings a store to a schema, as the release does that knows no later one
worker.py PLACE FOLDER as VERSION export FILE  as such a release, which opens the store
worker.py PLACE FOLDER exchange ENVIRONMENT git CLONE, push REMOTE, pull REMOTE, accept REPLICA or drop REPLICA
worker.py DATA FOLDER powered ACKS COUNT WHAT  lets a PostgreSQL server of its own churn or attach, and ends it
worker.py PLACE FOLDER checkpoint          empties the log of a SQLite file again and again
"""

import functools
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import apsw
import psycopg

import engram
from engines.children import churn
from engram.engines import postgres_schema, sqlite_file
from engram.indexes import indexed
from faults.clusters import Cluster
from faults.harness import drawing, embedding, opened
from faults.operating import Noted, operate


def write(place: str, folder: Path, name: str, pause: str = "0") -> None:
    with opened(place, folder) as memory:
        for n in range(1_000_000):
            text = f"{name} keeps note {n} of the quiet house"
            memory.remember(text)
            print(text, flush=True)
            time.sleep(float(pause))


def operate_(place: str, folder: Path, acks: str, round: str) -> None:
    with opened(place, folder, channel="flag") as memory:
        operate(Noted(memory, acks), folder, round)


def import_(place: str, folder: Path, path: str) -> None:
    with opened(place, folder) as memory:
        print("begun", flush=True)
        memory.import_(path, trust=True)


def fix(place: str, folder: Path) -> None:
    with opened(place, folder, lenient=True) as memory:
        memory.doctor(fix=True)


def reembed(place: str, folder: Path, url: str, model: str) -> None:
    with opened(place, folder, settings=embedding(url, model)) as memory:
        memory.reembed()


def reindex(place: str, folder: Path, index: str) -> None:
    indexed.BATCH = 5
    with opened(place, folder, settings={"ENGRAM_INDEX": index}) as memory:
        memory.reindex()


def attach(place: str, folder: Path, acks: str, count: str) -> None:
    noted = os.open(acks, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    with opened(place, folder) as memory:
        for n in range(int(count)):
            kept = memory.remember(f"Drawing {n} of the quiet house").memory.id
            (path := Path(acks).with_name(f"{n}.txt")).write_text(drawing(n))
            memory.attach(kept, str(path))
            os.writev(noted, [json.dumps([kept, n]).encode() + b"\n"])


def migrate_(url: str, folder: Path) -> None:
    del folder
    postgres_schema.migrate(url, lambda *_: None)


def as_(place: str, folder: Path, version: str, way: str, *words: str) -> None:
    schema = postgres_schema if place.startswith("postgres") else sqlite_file
    known = schema.MIGRATIONS[: int(version)]
    schema.MIGRATIONS = (*known, *[lambda _: None] * (int(version) - len(known)))
    if way == "export":
        with opened(place, folder) as memory:
            memory.export(*words)
    elif schema is postgres_schema:
        migrate_(place, folder)
    else:
        sqlite_file.migrate(sqlite_file.connect(place), place)


def exchange(place: str, folder: Path, environment: str, way: str, where: str) -> None:
    with engram.open(place, environment=json.loads(environment), folder=folder, channel="flag") as memory:
        {
            "git": memory.sync_git,
            "push": memory.remote_push,
            "pull": memory.remote_pull,
            "accept": functools.partial(memory.replicas_accept, confirm=True),
            "drop": functools.partial(memory.replicas_drop, confirm=True),
        }[way](where)


def checkpoint(place: str, folder: Path) -> None:
    del folder
    db = apsw.Connection(place)
    db.set_busy_timeout(5000)
    while True:
        ((busy, _, _),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if not busy:
            print("emptied", flush=True)
        time.sleep(0.001)


def powered(data: str, folder: Path, acks: str, count: str, what: str) -> None:
    made = Cluster(Path(data)).start()
    os.environ["DATABASE"] = made.url
    try:
        if what == "attach":
            attach(made.url, folder, acks, count)
            return
        for run in (1, 2):
            churn("org/power", acks, str(run), count)
            with psycopg.connect(made.url, autocommit=True) as db:
                db.execute("CHECKPOINT")
        churn("org/power", acks, "3", count)
    finally:
        made.stop()


if __name__ == "__main__":
    commands = (
        write,
        import_,
        operate_,
        fix,
        reembed,
        reindex,
        attach,
        migrate_,
        as_,
        exchange,
        checkpoint,
        powered,
    )
    {each.__name__.rstrip("_"): each for each in commands}[sys.argv[3]](
        sys.argv[1], Path(sys.argv[2]), *sys.argv[4:]
    )
