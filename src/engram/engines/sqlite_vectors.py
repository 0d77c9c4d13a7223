"""Vectors in the SQLite file: one bit per dimension for the scan, float16 for the score; and arrays kept in memory.

A search goes through the codes of the places the caller may read, takes the nearest `SHORTLIST` and scores
those with the real numbers. Up to `EXACT` vectors it scores all of them. The first search of a process lets SQLite
scan (with sqlite-vec, where it can be loaded); later ones use arrays that the process keeps.

A code holds the sign of each number after the space's centre was taken away: models put all their vectors to
one side, and without that the signs would say little. The centre is the mean of the store's own vectors, taken
when there are first enough of them to need codes.
"""

import importlib.util
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from engram.engines.sqlite_rows import Row, fetch
from engram.errors import Corrupt

EXACT = 4096
"""Up to so many vectors are all scored: a millisecond, and nothing can be missed."""

SHORTLIST = 2000
"""How many are taken by code and then scored. Measured on the default model (docs/benchmarks.md): of 100,000
vectors they hold 99.9 % of the true first ten and 97 % of the first sixty."""

CENTRED_AT = (EXACT,)
EXACT_HELD = 1 << 14
"""The same where they are at hand as float32: a millisecond again, and 25 megabytes."""

HELD = 1 << 17
"""Up to so many vectors a process keeps whole; beyond, only their codes."""

MOST_VIEWS = 8

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


class Near(NamedTuple):
    """One vector among the nearest: its number, and its cosine."""

    v: int
    cosine: float


class Place(NamedTuple):
    """Where vectors are looked for: in a space with this centre, in these places (None is all of them)."""

    s: int
    centre: bytes
    places: tuple[int, ...] | None

    @property
    def clause(self) -> tuple[str, list[Any]]:
        """As SQL, and its values."""
        if self.places is None:
            return "s = ?", [self.s]
        return "s = ? AND p IN (SELECT value FROM json_each(?))", [self.s, json.dumps(self.places)]


class Asked(NamedTuple):
    """A question: its vector, and the code to compare with the codes of texts."""

    vector: Floats
    code: bytes

    @staticmethod
    def read(vector: bytes, lean: bytes, centre: bytes) -> "Asked":
        """From bytes; `lean` is what lies between questions and texts as such."""
        numbers = np.frombuffer(vector, "<f4")
        upright = numbers - np.frombuffer(lean, "<f4") if lean else numbers
        return Asked(numbers, code_of(upright, centre))


class Held(NamedTuple):
    """Vectors as arrays: their numbers, their codes (a row for each 64 bits), and, if not too many, themselves.

    The arrays have room behind the last vector, where more are written. What somebody looks at never changes.
    """

    size: int
    numbers: Integers
    codes: Bits
    rows: npt.NDArray[Any] | None

    @staticmethod
    def none(dim: int, *, whole: bool) -> "Held":
        """No vectors yet; whether they are kept whole is decided by how many will come."""
        codes = np.empty(((dim + 63) // 64, 0), np.uint64)
        return Held(0, np.empty(0, np.int64), codes, np.empty((0, dim), np.float32) if whole else None)

    def with_more(self, added: Sequence[Row], dim: int) -> "Held":
        """These, and those of (number, code, halves)."""
        v, codes, *halves = zip(*added, strict=True)
        count = self.size + len(v)
        numbers = _with_room(self.numbers, self.size, count)
        numbers[self.size : count] = v
        bits = _with_room(self.codes, self.size, count, axis=1)
        bits[:, self.size : count] = read_codes(codes, dim).T
        rows = self.rows if count <= HELD else None
        if rows is not None:
            kind = np.float32 if count <= EXACT_HELD else np.float16
            rows = _with_room(rows.astype(kind, copy=False), self.size, count)
            rows[self.size : count] = _rows(halves[0], "<f2", dim)
        return Held(count, numbers, bits, rows)


def _with_room(array: npt.NDArray[Any], used: int, wanted: int, axis: int = 0) -> npt.NDArray[Any]:
    """The array, or where it is too short a longer one with the same beginning: an eighth longer than is wanted."""
    if array.shape[axis] >= wanted:
        return array
    room = np.empty(
        [wanted + wanted // 8 if at == axis else size for at, size in enumerate(array.shape)], array.dtype
    )
    kept = (slice(None),) * axis + (slice(used),)
    room[kept] = array[kept]
    return room


class View:
    """The vectors of one place as arrays. Rows are only added; whoever takes one finds out whether it is gone."""

    def __init__(self, place: Place, dim: int) -> None:
        self._place, self._dim = place, dim
        self._last = 0  # the highest number of a vector looked at
        self._held: Held | None = None  # replaced as a whole: a search beside a catching up sees all or nothing

    def catch_up(self, db: apsw.Connection) -> None:
        """Take in what was added since."""
        newest = fetch(db, "SELECT max(v) FROM vector")[0][0] or 0
        if self._held is not None and newest == self._last:
            return
        held = self._held or Held.none(self._dim, whole=not _many(db, self._place, HELD))
        clause, values = self._place.clause
        columns = "v, code, halves" if held.rows is not None else "v, code"
        # Much of a few places is found by place; all of it, or the little that is new, by number.
        by = "INDEXED BY vector_codes" if not self._last and self._place.places is not None else "NOT INDEXED"
        sql = f"SELECT {columns} FROM vector {by} WHERE {clause} AND v > ? AND v <= ? ORDER BY v"
        rows = fetch(db, sql, *values, self._last, newest)
        self._held = held.with_more(rows, self._dim) if rows else held
        self._last = newest

    def nearest(self, db: apsw.Connection, asked: Asked, count: int) -> list[Near]:
        """The nearest, best first."""
        query = asked.vector
        assert self._held is not None
        size, numbers, codes, rows = self._held
        if rows is not None and size <= EXACT_HELD:
            at, scores = np.arange(size), products(rows[:size], query)
        else:
            code = read_codes([asked.code], self._dim)[0]
            apart = np.zeros(size, np.int16)
            for word, mine in zip(codes, code, strict=True):  # no array of all differences is ever made
                apart += np.bitwise_count(word[:size] ^ mine)
            at = _smallest(apart, max(count, SHORTLIST))
            if rows is None:
                return rescored(db, numbers[at].tolist(), query, count)
            scores = products(rows[at].astype(np.float32), query)
        best = _largest(scores, count)
        return list(map(Near, numbers[at[best]].tolist(), scores[best].tolist()))

    def cosines(self, db: apsw.Connection, query: Floats, wanted: Sequence[int]) -> list[Near]:
        """The cosines of these vectors, of those that are still there."""
        assert self._held is not None
        size, numbers, _, rows = self._held
        if rows is None or not size or not wanted:
            return rescored(db, wanted, query)
        numbers = numbers[:size]
        at = np.minimum(np.searchsorted(numbers, wanted), size - 1)
        known = at[numbers[at] == wanted]
        scores = products(rows[known].astype(np.float32), query)
        return [Near(int(v), float(score)) for v, score in zip(numbers[known], scores, strict=True)]


class Vectors:
    """Nearest vectors for one engine: finds them, and keeps the arrays of what is asked for again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: OrderedDict[Place, View] = OrderedDict()
        self._asked: set[Place] = set()

    def nearest(self, db: apsw.Connection, place: Place, asked: Asked, count: int) -> list[Near]:
        """The `count` nearest vectors of a place, best first."""
        with self._lock:
            first = place not in self._asked
            self._asked.add(place)
            if first and _many(db, place, EXACT) and can_scan(db):
                view = None
            else:
                view = self._views.pop(place, None) or View(place, len(asked.vector))
                view.catch_up(db)
                self._views[place] = view
                while len(self._views) > MOST_VIEWS:
                    self._views.popitem(last=False)
        if view is None:
            return rescored(db, scan(db, place, asked.code, max(count, SHORTLIST)), asked.vector, count)
        return view.nearest(db, asked, count)

    def cosines(self, db: apsw.Connection, place: Place, query: Floats, numbers: Sequence[int]) -> list[Near]:
        """The cosines of these vectors, best first."""
        view = self._views.get(place)
        return rescored(db, numbers, query) if view is None else view.cosines(db, query, numbers)


def scan(db: apsw.Connection, place: Place, code: bytes, count: int) -> list[int]:
    """The numbers of the nearest by code, found by SQLite itself: no vector is loaded for it."""
    clause, values = place.clause
    sql = (
        f"SELECT v FROM vector INDEXED BY vector_codes WHERE {clause}"
        " ORDER BY vec_distance_hamming(vec_bit(code), vec_bit(?)) LIMIT ?"
    )
    return [v for (v,) in db.execute(sql, (*values, code, count))]


def rescored(db: apsw.Connection, numbers: Sequence[int], query: Floats, count: int | None = None) -> list[Near]:
    """These vectors by their cosine, best first; as many as are wanted."""
    sql = "SELECT v, halves FROM vector WHERE v IN (SELECT value FROM json_each(?))"
    rows = fetch(db, sql, json.dumps(list(numbers)))
    if not rows:
        return []
    scores = products(read_halves([halves for _, halves in rows], len(query)), query)
    return [Near(rows[at][0], float(scores[at])) for at in _largest(scores, len(rows) if count is None else count)]


def can_scan(db: apsw.Connection) -> bool:
    """Whether this connection has sqlite-vec, loading it where it is installed.

    It is found by its place: importing its Python module would cost more than the scan.
    """
    if _has_functions(db):
        return True
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        return False
    try:
        db.enable_load_extension(True)
        db.load_extension(f"{spec.submodule_search_locations[0]}/vec0")
    except apsw.Error:  # built for another machine, or loading is forbidden: numpy does the same, more slowly
        return False
    finally:
        db.enable_load_extension(False)
    return _has_functions(db)


def _has_functions(db: apsw.Connection) -> bool:
    return bool(fetch(db, "SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_hamming'"))


def keep(db: apsw.Connection, place: Place, n: int, vectors: bytes) -> None:
    """Keep the vectors of a memory, in place of those it had in this space."""
    assert place.places is not None
    db.execute("DELETE FROM vector WHERE n = ? AND s = ?", (n, place.s))
    dim = fetch(db, "SELECT dim FROM space WHERE s = ?", place.s)[0][0]
    rows = np.frombuffer(vectors, "<f4").reshape(-1, dim)
    units = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))
    for unit in units.astype("<f2"):
        row = (place.s, place.places[0], n, code_of(unit.astype(np.float32), place.centre), unit.tobytes())
        db.execute("INSERT INTO vector (s, p, n, code, halves) VALUES (?, ?, ?, ?, ?)", row)
    db.execute("DELETE FROM lacking WHERE s = ? AND n = ?", (place.s, n))


def count(db: apsw.Connection, s: int) -> int:
    """How many vectors a space has, counted up to the last number at which that matters."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM vector INDEXED BY vector_codes WHERE s = ? LIMIT ?)"
    return int(fetch(db, sql, s, CENTRED_AT[-1] + 1)[0][0])


def centre(db: apsw.Connection, s: int) -> None:
    """Take the mean of all vectors of a space as its centre, and write their codes anew."""
    dim = fetch(db, "SELECT dim FROM space WHERE s = ?", s)[0][0]
    rows = fetch(db, "SELECT v, halves FROM vector WHERE s = ?", s)
    numbers = read_halves([halves for _, halves in rows], dim)
    middle = numbers.mean(axis=0).astype("<f4")
    codes = np.packbits(numbers > middle, axis=1, bitorder="little")
    for (v, _), code in zip(rows, codes, strict=True):
        db.execute("UPDATE vector SET code = ? WHERE v = ?", (code.tobytes(), v))
    db.execute("UPDATE space SET centre = ? WHERE s = ?", (middle.tobytes(), s))


def code_of(vector: Floats, centre: bytes) -> bytes:
    """One bit per dimension: on which side of the centre the vector lies."""
    middle = _rows([centre], "<f4", len(vector))[0] if centre else np.zeros(1, np.float32)
    return np.packbits(vector > middle, bitorder="little").tobytes()


def read_codes(codes: Iterable[bytes], dim: int) -> Bits:
    """Codes as rows of 64-bit words; the last word is filled up with zeros."""
    rows = _rows(codes, np.uint8, (dim + 7) // 8)
    spare = -rows.shape[1] % 8
    return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, spare))) if spare else rows).view(np.uint64)


def read_halves(halves: Iterable[bytes], dim: int) -> Floats:
    """Vectors kept as float16, as rows of float32."""
    return _rows(halves, "<f2", dim).astype(np.float32)


def _rows(kept: Iterable[bytes], kind: npt.DTypeLike, width: int) -> npt.NDArray[Any]:
    """What the store keeps as bytes, as rows of numbers.

    Raises:
        Corrupt: when it is of another length.
    """
    try:
        return np.frombuffer(b"".join(kept), kind).reshape(-1, width)
    except (TypeError, ValueError):
        raise Corrupt("A vector in this store is damaged.", "Make it anew: engram doctor --fix.") from None


def _many(db: apsw.Connection, place: Place, most: int) -> bool:
    """Whether a place has more than so many vectors."""
    clause, values = place.clause
    sql = f"SELECT count(*) FROM (SELECT 1 FROM vector INDEXED BY vector_codes WHERE {clause} LIMIT ?)"
    return bool(fetch(db, sql, *values, most + 1)[0][0] > most)


def products(rows: Floats, query: Floats) -> Floats:
    """The cosine of each row. Not by `@`: its threads wait by spinning, which takes longer than the work."""
    return np.asarray(np.einsum("ij,j->i", rows, query), np.float32)


def _smallest(values: npt.NDArray[Any], count: int) -> Integers:
    """Where the smallest values are, in order of place; all that are equal to the last one as well."""
    if count >= len(values):
        return np.arange(len(values))
    return np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])


def _largest(values: npt.NDArray[Any], count: int) -> Integers:
    """Where the largest values are, in descending order; equal ones by their place."""
    if count < len(values):
        best = np.argpartition(-values, count)[:count]
        best.sort()
    else:
        best = np.arange(len(values))
    return best[np.argsort(-values[best], kind="stable")]
