"""A PostgreSQL store filled with the texts and vectors of `benches/speed`, a thousand memories at a time.

Filling and indexing a large one takes minutes, so `filled` keeps each size in a server of its own in
`benches/.cache`, and answers with a copy, which may be written to.
"""

import hashlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "speed")]

import embedded_postgres  # noqa: E402 - after the path
import psycopg  # noqa: E402
import texts  # noqa: E402
import vectors  # noqa: E402
from stores import NEWEST, _batches, _memories  # noqa: E402
from stores import Store as Wanted  # noqa: E402

from common import CACHE, Bar  # noqa: E402
from engram.engines.postgres import PostgresEngine  # noqa: E402
from engram.engines.postgres_database import Database  # noqa: E402
from engram.engines.postgres_nearest import index_vectors  # noqa: E402
from engram.engines.postgres_schema import MIGRATIONS, migrate  # noqa: E402
from engram.inference import models  # noqa: E402
from engram.model.caller import Caller  # noqa: E402
from engram.model.change import Request  # noqa: E402
from engram.model.query import Space  # noqa: E402
from engram.model.text import TERMS_VERSION  # noqa: E402
from engram.rules.changes import Step, compose  # noqa: E402
from engram.wiring.clock import new_id  # noqa: E402

MODEL = models.MODELS[models.DEFAULT]
SPACE = Space(MODEL.id, MODEL.dim)
ORG = "bench"


@contextmanager
def filled(size: int) -> Iterator[str]:
    """The address of a database with so many memories of `ORG` and the index that `engram migrate` makes."""
    server = embedded_postgres.get_server(CACHE / "postgres", cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as db:
            kept = f"filled_{size}_{_form()}"
            if not db.execute("SELECT 1 FROM pg_database WHERE datname = %s", [kept]).fetchone():
                db.execute("DROP DATABASE IF EXISTS draft")
                db.execute("CREATE DATABASE draft")
                _build(server.get_uri("draft"), size)
                db.execute(f"ALTER DATABASE draft RENAME TO {kept}")
            db.execute("DROP DATABASE IF EXISTS trial WITH (FORCE)")
            db.execute(f"CREATE DATABASE trial TEMPLATE {kept}")
        yield server.get_uri("trial")
    finally:
        server.cleanup()


def _build(url: str, size: int) -> None:
    migrate(url, lambda *_: None)
    database = Database(url)
    fill(PostgresEngine(database, ORG, new_replica=new_id), size)
    database.close()
    index_vectors(url, lambda *_: None)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")


def _form() -> str:
    """A short name for how databases are laid out now: another schema, text or model is another one."""
    steps = [step.__name__ for step in MIGRATIONS]
    return hashlib.sha256(repr((steps, TERMS_VERSION, MODEL.id, texts.fingerprint())).encode()).hexdigest()[:8]


def fill(engine: PostgresEngine, size: int) -> float:
    """Memories in a hundredth of one scope, the rest in a thousand; answers with memories a second."""
    rows = vectors.vectors(size)
    bar, done, begun = Bar(f"filling {size:,}", size), 0, time.perf_counter()
    for batch in _batches(_memories(Wanted(Path(), size, "many"))):
        request = Request(caller=Caller(), now=NEWEST, batch=new_id(), fresh=new_id(), salt=new_id())
        engine.commit(compose("import", request, [Step(None, memory) for memory in batch]))
        floats = rows[done : done + len(batch)].astype("<f4")
        pairs = zip(batch, floats, strict=True)
        engine.put_vectors(SPACE, [(memory.id, memory.imprint, row.tobytes()) for memory, row in pairs])
        done += len(batch)
        bar.to(done)
    return size / (time.perf_counter() - begun)
