"""Candidates by words and by meaning at once: either list is cut after the filter, every document is read once."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import apsw

from engram.engines.rows import Row, record_of
from engram.engines.sqlite_rows import Unchanged, fetch
from engram.engines.sqlite_words import Words, expression_of
from engram.engines.where import Clause
from engram.engines.where import where as to_sql
from engram.model.filter import ANYTHING, Access, Filter
from engram.model.memory import Memory
from engram.model.query import Census, Hit, Query, Space, in_order, says_all

if TYPE_CHECKING:
    from engram.engines.sqlite_vectors import Asked, Room, Vectors

T = TypeVar("T")

AHEAD, FURTHER = 2, 10
"""So many times what is wanted is taken at first, for most of it passes the filter; where too little did, so many
times that."""

NAMED, MOST_NAMED = 16, 256


class Searcher:
    """Answers queries for one engine, with what it remembers: counts of terms, places, and arrays of vectors."""

    def __init__(self, unchanged: Unchanged) -> None:
        self._unchanged = unchanged
        self._words = Words()
        self._vectors: Vectors | None = None

    def search(self, db: apsw.Connection, query: Query, access: Access) -> list[Hit]:
        """See `ports.Engine.search`: candidates of the readable places, filtered before they are cut."""
        where = to_sql(query.where, access)
        if query.limit < 1:
            return []
        places, readable = self._places(db, query.where, access)
        if places == []:
            return []
        if query.terms and not (query.ranked or query.phrases or query.vector or query.coming):
            return _any(db, query, places, where)
        space = self._space(db, query.space)
        documents = _Documents(db, where, space[0] if space else None)
        carrying = _Candidates(
            lambda count: self._words.matches(db, query, count, places, readable),
            AHEAD * query.limit,
        )
        by_words = carrying.best(query.limit, documents, lambda row: documents.say(row[0], query.phrases))
        worded = [Hit(documents.memory(n), share) for n, share in by_words.items()]
        room = self._room(db, query, places, space) if space else None
        # Up to here the vector was not needed, and may have been on its way.
        query = query.arrived(worded)
        meaning = _Meaning.of(query, room) if query.vector and room else None
        near = _near(db, query, meaning)
        by_meaning = near.best(query.limit, documents, lambda row: documents.have(row[0], row[2]))
        if meaning:
            by_meaning |= meaning.cosines(
                db, {n: documents.vectors.get(n, []) for n in by_words if n not in by_meaning}
            )
        hits = [
            Hit(documents.memory(n), by_words.get(n), by_meaning.get(n))
            for n in dict.fromkeys((*by_words, *by_meaning))
        ]
        return in_order(hits)

    def census(self, db: apsw.Connection, terms: Sequence[str], access: Access) -> Census:
        """See `ports.Engine.census`."""
        return self._words.census(db, terms, self._places(db, ANYTHING, access)[1])

    def containing(self, db: apsw.Connection, piece: str, access: Access, limit: int) -> list[str]:
        """See `ports.Engine.containing`."""
        return self._words.containing(db, piece, self._places(db, ANYTHING, access)[1], limit)

    def _places(self, db: apsw.Connection, where: Filter, access: Access) -> "_Places":
        """Kept, for they are asked for several times a recall."""
        asked = ("places", *map(str, where.scopes), None, str(where.within), access)
        scoped = Filter(scopes=where.scopes, within=where.within)
        return self._unchanged.read(
            db, asked, lambda: _Places(_read(db, scoped, access), _read(db, ANYTHING, access))
        )

    def _space(self, db: apsw.Connection, space: Space | None) -> Row | None:
        """See `space_of`; kept, and asked for only where there is one."""
        return self._unchanged.read(db, ("space", space), lambda: space_of(db, space)) if space else None

    def _room(self, db: apsw.Connection, query: Query, places: list[int] | None, space: Row) -> "Room":
        """Where vectors are compared, in a space that is known; with all of them, if the nearest are wanted."""
        from engram.engines import sqlite_vectors as near  # noqa: PLC0415 - numpy stays out of keyword recall

        self._vectors = self._vectors or near.Vectors()
        place = near.Place(space[0], space[1], None if places is None else tuple(places))
        if query.space is None or query.phrases or query.where.ids is not None:
            return self._vectors.held(place)
        return self._vectors.room(db, place, query.space.dim)


class _Places(NamedTuple):
    """The places that are asked for, of those that may be read; and all that may be read. None is all there are."""

    asked: list[int] | None
    readable: list[int] | None


def _read(db: apsw.Connection, where: Filter, access: Access) -> list[int] | None:
    clause, values = to_sql(where, access)
    places = [p for (p,) in fetch(db, f"SELECT p FROM place WHERE {clause}", *values)]
    return None if places and len(places) == fetch(db, "SELECT count(*) FROM place")[0][0] else places


def _any(db: apsw.Connection, query: Query, places: list[int] | None, where: Clause) -> list[Hit]:
    """Whatever matches by words, in one pass: where nothing has a score, nothing need be taken in order."""
    clause, values = where
    sql = f"SELECT n, doc FROM memory WHERE n IN (SELECT rowid FROM words WHERE words MATCH ?) AND {clause} LIMIT ?"
    rows = fetch(db, sql, expression_of(query, places), *values, query.limit)
    return in_order(Hit(cast("Memory", record_of("memory", row)), 1.0) for row in rows)


def space_of(db: apsw.Connection, space: Space | None) -> Row | None:
    """Number, centre and times of centring of a space, if the store knows it."""
    sql = "SELECT s, centre, centred FROM space WHERE model = ? AND dim = ? AND prefix = ?"
    found = fetch(db, sql, *space) if space else []
    return found[0] if found else None


class _Documents:
    """The documents of memories that the filter lets through, each read once, and the vectors these have now."""

    def __init__(self, db: apsw.Connection, where: Clause, s: int | None) -> None:
        self.known: dict[int, str] = {}
        self._made: dict[int, Memory] = {}
        self.vectors: dict[int, list[int]] = {}
        self._db, self._where, self._s = db, where, s
        self._looked_at: set[int] = set()

    def read(self, numbers: Iterable[int]) -> None:
        """Look at these memories, unless that was done."""
        new = set(numbers) - self._looked_at
        if not new:
            return
        self._looked_at |= new
        clause, values = self._where
        these, numbered = _among(new)
        # One statement for both: two take half as long again.
        of = "memory LEFT JOIN vector INDEXED BY vector_by_memory ON vector.n = memory.n AND s = ?"
        sql = f"SELECT memory.n, doc, v FROM {of} WHERE memory.n {these} AND {clause}"
        for n, doc, v in fetch(self._db, sql, self._s, *numbered, *values):
            self.known[n] = doc
            if v is not None:
                self.vectors.setdefault(n, []).append(v)

    def memory(self, n: int) -> Memory:
        """One that was let through."""
        if n not in self._made:
            self._made[n] = cast("Memory", record_of("memory", (n, self.known[n])))
        return self._made[n]

    def say(self, n: int, phrases: Sequence[str]) -> bool:
        """Whether it was let through and says all of these."""
        return n in self.known and (not phrases or says_all(self.memory(n), phrases))

    def have(self, n: int, v: int) -> bool:
        """Whether it was let through and still has this vector."""
        return n in self.known and v in self.vectors.get(n, ())


def _among(numbers: Collection[int]) -> tuple[str, Sequence[int | str]]:
    """A condition that a number is one of these, and its values.

    A few are named one by one, which takes half the time; always a multiple of so many, the rest being numbers of
    nothing, so that there are few different statements to plan.
    """
    if len(numbers) > MOST_NAMED:
        return "IN (SELECT value FROM json_each(?))", (str([*numbers]),)  # numbers print as JSON does
    spare = -len(numbers) % NAMED
    return f"IN ({','.join('?' * (len(numbers) + spare))})", (*numbers, *(0,) * spare)


class _Candidates:
    """One list of candidates: rows that begin with a memory's number and its score, best first."""

    def __init__(self, ask: Callable[[int], Sequence[Row]], count: int) -> None:
        """`ask` tells the first so many; fewer than that are all there are."""
        self._ask, self._count = ask, count
        self.rows = ask(count)

    def best(self, limit: int, documents: _Documents, allowed: Callable[[Row], bool]) -> dict[int, float]:
        """Number and score of the best that are allowed: more are looked at until there are enough."""
        while True:
            found: dict[int, float] = {}
            for some in _chunks(self.rows, limit):
                documents.read(row[0] for row in some)
                for row in some:
                    if row[0] not in found and allowed(row):
                        found[row[0]] = row[1]
                if len(found) >= limit:
                    return dict(islice(found.items(), limit))
            if len(self.rows) < self._count:
                return found
            self._count *= FURTHER
            self.rows = self._ask(self._count)


class _Meaning(NamedTuple):
    """A question's vector, and where it is compared."""

    room: "Room"
    asked: "Asked"

    @staticmethod
    def of(query: Query, room: "Room") -> "_Meaning":
        """A query whose vector is there, in a room of its space."""
        from engram.engines.sqlite_vectors import Asked  # noqa: PLC0415 - as above

        return _Meaning(room, Asked(query.vector, query.lean, room.place.centre))

    def nearest(self, db: apsw.Connection, count: int) -> list[Row]:
        """Number, cosine and vector of the nearest, best first; a memory may be there several times."""
        return self.room.nearest(db, self.asked, count)

    def among(self, db: apsw.Connection, ids: Sequence[str]) -> list[Row]:
        """The same of these memories alone."""
        # CROSS JOIN keeps the order: from the few memories to their vectors, never through all vectors.
        of = "memory CROSS JOIN vector USING (n) WHERE s = ? AND id IN (SELECT value FROM json_each(?))"
        owners: dict[int, int] = dict(fetch(db, f"SELECT v, n FROM {of}", self.room.place.s, json.dumps(ids)))
        scores = self.room.cosines(db, self.asked.vector, [*owners])
        return sorted(((owners[v], score, v) for v, score in scores.items()), key=lambda row: (-row[1], row[0]))

    def cosines(self, db: apsw.Connection, vectors: dict[int, list[int]]) -> dict[int, float]:
        """The cosine of each memory that has a vector, by the nearest of those it has."""
        scores = self.room.cosines(db, self.asked.vector, [v for several in vectors.values() for v in several])
        told = {n: [scores[v] for v in several if v in scores] for n, several in vectors.items()}
        return {n: max(several) for n, several in told.items() if several}


def _near(db: apsw.Connection, query: Query, meaning: _Meaning | None) -> _Candidates:
    """What is near by meaning, with its cosine; where something must be said, nothing is found by meaning alone."""
    if meaning is None or query.phrases:
        return _Candidates(lambda _: (), 1)
    if query.where.ids is not None:
        few = meaning.among(db, query.where.ids)
        return _Candidates(lambda _: few, len(few) + 1)
    return _Candidates(lambda count: meaning.nearest(db, count), AHEAD * query.limit)


def _chunks(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """As many as are wanted, then more and more: usually the first are enough."""
    at = 0
    while at < len(rows):
        yield rows[at : at + size]
        at, size = at + size, 4 * size
