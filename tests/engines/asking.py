"""How the tests of engines ask one, and what they ask for."""

from engines.samples import (
    DOWN,
    EAST,
    MINE,
    NORTH,
    SPACE,
    UP,
    WEST,
    everything,
    rows,
    vector,
)
from engram.model.codec import searchable
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import Query, Space
from engram.model.text import query_terms
from engram.ports import Engine

DEPLOY, FRIDAY = query_terms("deploy Friday")
WAYS = (EAST, NORTH, WEST, UP, DOWN)
ASKED_FOR = (DEPLOY, "port", FRIDAY, "8080", "café", "cafe", "金曜", "on", "nil")
PHRASED = ("a zebra", "a striped zebra", "a zebra, striped", "a lion")
SECOND, THIRD = Space("sextant", 4), Space("compass", 4, prefix="where: ")
NONSENSE = {
    "nothing": b"",
    "one byte less": EAST[:-1],
    "one number more": EAST + EAST[:4],
    "half of one": EAST[:8],
    "no number": vector(1, 0, float("nan"), 0),
    "without end": vector(1, 0, float("inf"), 0),
    "without beginning": vector(float("-inf"), 0, 0, 0),
    "a second one without end": EAST + vector(0, 0, 0, float("inf")),
}
"""Bytes that are no vectors of SPACE."""


def found(engine: Engine, *terms: str, access: Access = MINE, **asked: object) -> list[str]:
    return [hit.memory.id for hit in engine.search(Query(terms=terms, **asked), access)]


def shares(engine: Engine, *terms: str, access: Access = MINE, **asked: object) -> dict[str, float]:
    return {hit.memory.id: hit.words for hit in engine.search(Query(terms=terms, **asked), access)}


def near(
    engine: Engine, way: bytes, space: Space | None = SPACE, *, access: Access = MINE, **asked: object
) -> list[str]:
    return [hit.memory.id for hit in engine.search(Query(vector=way, space=space, **asked), access)]


def embed(engine: Engine, *embedded: tuple[Memory, bytes], space: Space = SPACE) -> int:
    return engine.put_vectors(space, rows(*embedded))


def want(engine: Engine, space: Space) -> None:
    """Say that this space is the wanted one."""
    assert engine.put_vectors(space, []) == 0


def waiting(engine: Engine, space: Space = SPACE, access: Access = MINE, **asked: object) -> list[str]:
    return [memory.id for memory in engine.lacking(space, access, **asked)]


def pages(engine: Engine, where: Filter, access: Access, size: int, *, oldest: bool = False) -> list[list[Memory]]:
    got, after = [], None
    while True:
        page = engine.scan("memory", where, access, after=after, limit=size, oldest=oldest)
        got.append(list(page.records))
        if page.next is None:
            return got
        after = page.next


def everything_in(engine: Engine, where: Filter) -> tuple[Memory, ...]:
    return engine.scan("memory", where, MINE, limit=100_000).records


def snapshot(engine: Engine) -> dict[str, object]:
    """All that reads can tell of a store, for the local caller and a stranger."""
    return {
        "records": {type: everything(engine, type) for type in ("memory", "session", "relation")},
        "handles": [record.handle for record in everything(engine)],
        "shared": everything(engine, access=Access("stranger")),
        "events": engine.events(limit=10_000),
        "words": {word: found(engine, word) for word in (DEPLOY, "port", "zebra")},
        "near": [near(engine, way) for way in WAYS],
        "backlog": engine.backlog(MINE),
    }


def terms_of(memory: Memory) -> set[str]:
    return {term for column in searchable(memory) for term in column.split()}


NASTY = (
    *("'; DROP TABLE memory; --", "x' OR '1'='1", '" OR ""="', "%", "a_b%", "\\", "?", "%s", ":org", "$1", "{0}"),
    *("a) OR (b", "zebra* NEAR(x)", "-zebra", "a & !b | c:*", "engram.org", '{"must": []}'),
)
"""Strings that mean something to a database, an index or a formatter; here they are names like any other."""

UNHELD = ("a\0b", "\ud800", "zoo\udfff")
"""Strings that no field may hold and PostgreSQL not even be asked with; a client can send them nonetheless."""
