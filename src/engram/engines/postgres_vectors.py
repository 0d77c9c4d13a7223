"""Vectors in PostgreSQL: half precision beside the memories they belong to, in one or two spaces."""

import struct
from collections.abc import Iterator, Sequence

from engram.engines.postgres_schema import Part
from engram.engines.rows import outdated
from engram.model.query import Space

NAMED = "model = %s AND dim = %s AND prefix = %s"


def space_of(part: Part, space: Space | None) -> int | None:
    """The number of a space, if the store knows it."""
    if space is None:
        return None
    found = part.first(f"SELECT s FROM space WHERE org = :org AND {NAMED}", *space)
    return int(found[0]) if found else None


def spaces(part: Part) -> list[int]:
    """The numbers of the spaces there are: the active one, and one that is coming."""
    return [s for (s,) in part.fetch("SELECT s FROM space WHERE org = :org ORDER BY s")]


def begin(part: Part, space: Space) -> int:
    """A new space, which every memory lacks; one that was coming before it gives way."""
    for s in spaces(part)[1:]:
        _drop(part, s)
    sql = "INSERT INTO space (org, model, dim, prefix) VALUES (:org, %s, %s, %s) RETURNING s"
    row = part.first(sql, *space)
    assert row
    part.run("INSERT INTO lacking SELECT org, %s, n FROM memory WHERE org = :org", row[0])
    return int(row[0])


def keep(part: Part, s: int, dim: int, rows: Sequence[tuple[str, str, bytes]]) -> int:
    """Keep the vectors of memories in place of those they had in this space; answers with how many got theirs.

    What changed since its vectors were made (its imprint moved) is left as it is.
    """
    sql = "SELECT id, imprint, n, p FROM memory WHERE org = :org AND id = ANY(%s)"
    known = {(id, imprint): (n, p) for id, imprint, n, p in part.fetch(sql, [id for id, _, _ in rows])}
    current = [(*known[id, imprint], vectors) for id, imprint, vectors in rows if (id, imprint) in known]
    last = {n: (p, vectors) for n, p, vectors in current}  # of two for one memory, the later
    numbers = [*last]
    each = [(p, n, one) for n, (p, vectors) in last.items() for one in printed(vectors, dim)]
    for table in ("vector", "lacking"):
        part.run(f"DELETE FROM {table} WHERE org = :org AND s = %s AND n = ANY(%s)", s, numbers)
    if each:
        sql = "SELECT :org, %s, p, n, e::halfvec FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS u (p, n, e)"
        part.run(f"INSERT INTO vector (org, s, p, n, e) {sql}", s, *map(list, zip(*each, strict=True)))
    return len(current)


def retire(part: Part, wanted: int | None) -> None:
    """Drop a space that has had its time."""
    some = "SELECT 1 FROM lacking WHERE org = :org AND s = %s LIMIT 1"
    for s in outdated(spaces(part), wanted, lambda s: part.first(some, s) is not None):
        _drop(part, s)


def printed(vectors: bytes, dim: int) -> Iterator[str]:
    """Vectors of single numbers as pgvector reads them."""
    numbers = memoryview(vectors).cast("f").tolist()
    for at in range(0, len(numbers), dim):
        yield str(numbers[at : at + dim])


def read(text: str) -> bytes:
    """Vectors as pgvector prints them, one after the other, as an embedder gives them."""
    numbers = [float(number) for each in text.split("|") if each for number in each.strip("[]").split(",")]
    return struct.pack(f"<{len(numbers)}f", *numbers)


def _drop(part: Part, s: int) -> None:
    for table in ("vector", "lacking", "space"):
        part.run(f"DELETE FROM {table} WHERE org = :org AND s = %s", s)
