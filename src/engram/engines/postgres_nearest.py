"""An index of vectors for wide questions: one for each large space, made beside the work that goes on."""

from collections.abc import Callable
from typing import Any, cast

from engram.engines.postgres_rights import OWNING, permitted
from engram.engines.postgres_schema import LOCK, SCHEMA, Connection, connected

EXACT = 20_000
"""Up to so many vectors in reach all are compared, which takes some 20 ms and misses nothing."""

SHARE = 10
"""An index over everybody's vectors is only walked for those who may read one in so many of them: where a filter is
narrower, the walk leaves good answers out, or takes longer than comparing them all."""

LARGEST = 4000
"""Numbers of a vector: pgvector indexes no longer ones."""


def index_name(s: int | str) -> str:
    """How the index of a space is called."""
    return f"vector_near_{s}"


def index_vectors(url: str, progress: Callable[[int, int, str], None]) -> int:
    """Make an index for every space that has grown large and has none; answers with how many were made.

    Nobody waits for it: questions are answered by comparing all until it is there. What was cut off is made anew;
    an index whose space is gone goes too.

    Raises:
        Unavailable: when the database cannot be reached, or does not let this user do it.
    """
    made = 0
    with connected(url) as db, permitted(db, OWNING):
        db.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        db.execute(cast("Any", f"SET search_path = {SCHEMA}, public"))
        spaces = db.execute("SELECT org, s, dim FROM space ORDER BY s").fetchall()
        ready = _indexed(db)
        for name, valid in ready.items():
            if not valid or name not in {index_name(s) for _, s, _ in spaces}:
                _run(db, f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        for at, (org, s, dim) in enumerate(spaces):
            if ready.get(index_name(s)) or dim > LARGEST or not _is_large(db, org, s):
                continue
            progress(at, len(spaces), f"An index for {dim} numbers a vector of {org}.")
            _run(
                db,
                f"CREATE INDEX CONCURRENTLY {index_name(s)} ON {_table_of(db, org, s)}"
                f" USING hnsw ((e::halfvec({dim})) halfvec_ip_ops) WITH (ef_construction = 200) WHERE s = {s}",
            )
            made += 1
        if made:
            _run(db, "ANALYZE memory, vector")  # else the index may not be thought worth asking
    return made


def _indexed(db: Connection) -> dict[str, bool]:
    """The indexes of this kind that are there, and whether each was finished."""
    sql = (
        "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        f" WHERE relnamespace = '{SCHEMA}'::regnamespace AND relname LIKE 'vector\\_near\\_%'"
    )
    return dict(db.execute(cast("Any", sql)).fetchall())


def _table_of(db: Connection, org: str, s: int) -> str:
    """The table that has the vectors of a space: where they are partitioned by org, one part has all of them."""
    row = db.execute(
        "SELECT tableoid::regclass::text FROM vector WHERE org = %s AND s = %s LIMIT 1", [org, s]
    ).fetchone()
    return str(row[0]) if row else "vector"


def _is_large(db: Connection, org: str, s: int) -> bool:
    """Whether a space holds more than is always compared."""
    db.execute("SELECT set_config('engram.org', %s, false)", [org])
    counted = "SELECT count(*) FROM (SELECT 1 FROM vector WHERE org = %s AND s = %s LIMIT %s) AS each"
    row = db.execute(counted, [org, s, EXACT + 1]).fetchone()
    return bool(row and row[0] > EXACT)


def _run(db: Connection, statement: str) -> None:
    db.execute(cast("Any", statement))
