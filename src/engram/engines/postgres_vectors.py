"""Vectors in PostgreSQL: half precision beside the memories they belong to, in one or two spaces."""

from collections.abc import Iterator
from typing import NamedTuple

from engram.engines.postgres_schema import Part
from engram.model.query import Space


class Owner(NamedTuple):
    """Whose vectors they are: a space, a place and a memory, by number."""

    s: int
    p: int
    n: int


def space_of(part: Part, space: Space | None) -> int | None:
    """The number of a space, if the store knows it."""
    if space is None:
        return None
    sql = "SELECT s FROM space WHERE org = :org AND model = %s AND dim = %s AND prefix = %s"
    found = part.first(sql, *space)
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


def keep(part: Part, owner: Owner, dim: int, vectors: bytes) -> None:
    """Keep the vectors of a memory in place of those it had in this space."""
    part.run("DELETE FROM vector WHERE org = :org AND n = %s AND s = %s", owner.n, owner.s)
    sql = "INSERT INTO vector (org, s, p, n, e) SELECT :org, %s, %s, %s, unnest(%s::text[])::halfvec"
    part.run(sql, *owner, [*printed(vectors, dim)])
    part.run("DELETE FROM lacking WHERE org = :org AND s = %s AND n = %s", owner.s, owner.n)


def retire(part: Part, wanted: int | None) -> None:
    """Once no memory lacks a vector in the coming space, the one before it goes; an unwanted one goes at once."""
    known = spaces(part)
    if len(known) < 2:
        return
    if wanted == known[0]:
        for s in known[1:]:
            _drop(part, s)
    elif not part.first("SELECT 1 FROM lacking WHERE org = :org AND s = %s LIMIT 1", known[-1]):
        for s in known[:-1]:
            _drop(part, s)


def printed(vectors: bytes, dim: int) -> Iterator[str]:
    """Vectors of single numbers as pgvector reads them."""
    numbers = memoryview(vectors).cast("f").tolist()
    for at in range(0, len(numbers), dim):
        yield str(numbers[at : at + dim])


def _drop(part: Part, s: int) -> None:
    for table in ("vector", "lacking", "space"):
        part.run(f"DELETE FROM {table} WHERE org = :org AND s = %s", s)
