"""Vectors in the SQLite file: one bit per dimension for the scan, float16 for the score; and arrays kept in memory.

A search goes through the codes of the places the caller may read, takes the nearest `ROUGHLY` by their distance,
of these the nearest `SHORTLIST` by the distance in which telling bits count twice, and scores those with the real
numbers. Up to `EXACT` vectors it scores all of them. The first search of a process lets SQLite scan (with
sqlite-vec, where it can be loaded); later ones use arrays that the process keeps.

A code holds the sign of each number after the space's centre was taken away: models put all their vectors to
one side, and without that the signs would say little. The centre is the mean of the store's own vectors, taken
when there are first enough of them to need codes.
"""

import functools
import importlib.util
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from engram.arrays import np, npt
from engram.engines.rows import Row
from engram.engines.sqlite_rows import fetch
from engram.errors import Corrupt

EXACT = 4096
"""Up to so many vectors are all scored: a millisecond, and nothing can be missed."""

ROUGHLY, SHORTLIST = 4000, 1000
"""How many are taken by code, and how many of them are scored. Measured on the default model (docs/benchmarks.md):
of 100,000 vectors they hold 99.9 % of the true first ten and 97 % of the first sixty."""

LOOKED_AT_TWICE = 4 * ROUGHLY
"""Up to so many codes it takes less to count telling bits twice at once than to choose some first."""

TELLING = 0.35
"""The share of a question's numbers that lie furthest from the centre: to differ in their bits counts twice. With
that, half the shortlist is as good; from a quarter to a half of the numbers serve as well."""

CENTRED_AT = (EXACT,)

HELD, HELD_AS_FLOATS = 1 << 17, 1 << 14
"""Up to so many vectors a process keeps whole, and beyond only their codes; up to so many as float32, which is not
converted for each question and takes 25 megabytes at most."""

MOST_VIEWS = 8
AT_A_TIME = 256

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


Near = tuple[int, float, int]
"""One vector among the nearest: the number of its memory, its cosine, and its own number."""


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


class Asked:
    """A question: its vector; and where codes are compared, its own code, and which bits of that are telling."""

    def __init__(self, vector: bytes, lean: bytes, centre: bytes) -> None:
        """`lean` is what lies between questions and texts as such."""
        self.vector: Floats = np.frombuffer(vector, "<f4")
        self._lean, self._centre = lean, centre

    @functools.cached_property
    def code(self) -> bytes:
        """On which side of the centre it lies, as a text would."""
        return _packed(self._aside > 0)

    @functools.cached_property
    def telling(self) -> bytes:
        """The bits of those numbers that lie furthest from the centre."""
        apart = np.abs(self._aside)
        most = max(round(TELLING * len(apart)), 1)
        return _packed(apart >= np.partition(apart, -most)[-most])

    @functools.cached_property
    def _aside(self) -> Floats:
        upright = self.vector - _middle(self._lean, len(self.vector)) if self._lean else self.vector
        return upright - _middle(self._centre, len(upright))


class Held(NamedTuple):
    """Vectors as arrays: their numbers, whose they are, their codes, and, if not too many, themselves.

    Codes are kept by column, a row for each 64 bits of all of them. The arrays have room behind the last vector,
    where more are written. What somebody looks at never changes.
    """

    size: int
    numbers: Integers
    owners: Integers
    codes: Bits
    rows: npt.NDArray[Any] | None

    @staticmethod
    def none(dim: int, *, whole: bool) -> "Held":
        """No vectors yet; whether they are kept whole is decided by how many will come."""
        codes = np.empty(((dim + 63) // 64, 0), np.uint64)
        nobody = np.empty(0, np.int64)
        return Held(0, nobody, nobody, codes, np.empty((0, dim), np.float32) if whole else None)

    def with_more(self, added: Sequence[Row], dim: int) -> "Held":
        """These, and those of (memory, number, code, halves)."""
        n, v, codes, *halves = zip(*added, strict=True)
        count = self.size + len(v)
        numbers = _with_room(self.numbers, self.size, count)
        numbers[self.size : count] = v
        owners = _with_room(self.owners, self.size, count)
        owners[self.size : count] = n
        bits = _with_room(self.codes, self.size, count, axis=1)
        bits[:, self.size : count] = read_codes(codes, dim).T
        rows = self.rows if count <= HELD else None
        if rows is not None:
            kind = np.float32 if count <= HELD_AS_FLOATS else np.float16
            rows = _with_room(rows.astype(kind, copy=False), self.size, count)
            rows[self.size : count] = _rows(halves[0], "<f2", dim)
        return Held(count, numbers, owners, bits, rows)


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
        self._there = 0  # how many were there when they were last counted
        self._held: Held | None = None  # replaced as a whole: a search beside a catching up sees all or nothing

    def catch_up(self, db: apsw.Connection) -> None:
        """Take in what was added since; where most of what is held is gone, all of it is read anew."""
        newest = fetch(db, "SELECT max(v) FROM vector")[0][0] or 0
        if self._held is not None and newest == self._last:
            return
        held = self._with_more(db, self._held, newest)
        if held.size > 2 * self._there + EXACT:
            self._there = _count(db, self._place)
        if held.size > 2 * self._there + EXACT:
            self._last = 0
            held = self._with_more(db, None, newest)
        self._held, self._last = held, newest

    def _with_more(self, db: apsw.Connection, known: Held | None, newest: int) -> Held:
        held = known or Held.none(self._dim, whole=not _many(db, self._place, HELD))
        clause, values = self._place.clause
        columns = "n, v, code, halves" if held.rows is not None else "n, v, code"
        # Much of a few places is found by place; all of it, or the little that is new, by number.
        by = "INDEXED BY vector_codes" if not self._last and self._place.places is not None else "NOT INDEXED"
        sql = f"SELECT {columns} FROM vector {by} WHERE {clause} AND v > ? AND v <= ? ORDER BY v"
        rows = fetch(db, sql, *values, self._last, newest)
        return held.with_more(rows, self._dim) if rows else held

    def nearest(self, db: apsw.Connection, asked: Asked, count: int) -> list[Near]:
        """The nearest, best first."""
        query = asked.vector
        assert self._held is not None
        size, numbers, owners, codes, rows = self._held
        if rows is not None and size <= EXACT:
            at, scores = np.arange(size), products(rows[:size], query)
        else:
            at = _shortlist_of(codes[:, :size], asked, count)
            if rows is None:
                return rescored(db, numbers[at].tolist(), query, count)
            scores = products_at(rows, at, query)
        best = _largest(scores, count)
        at = at[best]
        return list(zip(owners[at].tolist(), scores[best].tolist(), numbers[at].tolist(), strict=True))

    def cosines(self, query: Floats, wanted: Sequence[int]) -> dict[int, float]:
        """The cosines of these vectors, of those that are held whole here."""
        assert self._held is not None
        size, numbers, _, _, rows = self._held
        if rows is None or not size:
            return {}
        numbers = numbers[:size]
        at = np.minimum(np.searchsorted(numbers, wanted), size - 1)
        known = at[numbers[at] == wanted]
        scores = products_at(rows, known, query)
        return dict(zip(numbers[known].tolist(), scores.tolist(), strict=True))


class Vectors:
    """The vectors of one engine: keeps the arrays of what is asked for again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: OrderedDict[Place, View] = OrderedDict()
        self._asked: OrderedDict[Place, None] = OrderedDict()

    def held(self, place: Place) -> "Room":
        """A place with what is kept of it, for questions about a few vectors."""
        return Room(place, self._views.get(place))

    def room(self, db: apsw.Connection, place: Place, dim: int) -> "Room":
        """A place with its arrays and all that was added since; without, where it takes less to let SQLite scan."""
        with self._lock:
            first = place not in self._asked and place not in self._views
            self._asked[place] = None
            self._asked.move_to_end(place)
            while len(self._asked) > MOST_VIEWS:
                self._asked.popitem(last=False)
            if first and _many(db, place, EXACT) and can_scan(db):
                return Room(place, None)
            view = self._views.pop(place, None) or View(place, dim)
            view.catch_up(db)
            self._views[place] = view
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
        return Room(place, view)


class Room(NamedTuple):
    """A place that questions are asked in, with the arrays of its vectors where they are kept."""

    place: Place
    view: View | None

    def nearest(self, db: apsw.Connection, asked: Asked, count: int) -> list[Near]:
        """The `count` nearest vectors, best first; some may be gone by now."""
        if self.view is None:
            return rescored(db, scan(db, self.place, asked, count), asked.vector, count)
        return self.view.nearest(db, asked, count)

    def cosines(self, db: apsw.Connection, query: Floats, numbers: Sequence[int]) -> dict[int, float]:
        """The cosines of these vectors: from the arrays, where they are held, and else as the store has them."""
        scores = self.view.cosines(query, numbers) if self.view and numbers else {}
        lost = [v for v in numbers if v not in scores]
        return scores | {v: score for _, score, v in rescored(db, lost, query)} if lost else scores


def scan(db: apsw.Connection, place: Place, asked: Asked, count: int) -> list[int]:
    """The numbers of the nearest by code, found by SQLite itself: no vector is loaded for it."""
    clause, values = place.clause
    sql = (
        f"SELECT v, code FROM vector INDEXED BY vector_codes WHERE {clause}"
        " ORDER BY vec_distance_hamming(vec_bit(code), vec_bit(?)) LIMIT ?"
    )
    rows: list[Row] = db.execute(sql, (*values, asked.code, max(count, ROUGHLY))).fetchall()
    codes = read_codes([code for _, code in rows], len(asked.vector))
    return [rows[at][0] for at in shortlist(codes.T, asked, count).tolist()]


def _shortlist_of(codes: Bits, asked: Asked, count: int) -> Integers:
    """Which of all codes are worth scoring. Of very many, those that are roughly near are looked at twice."""
    if codes.shape[1] <= LOOKED_AT_TWICE:
        return shortlist(codes, asked, count)
    apart = np.zeros(codes.shape[1], np.int16)
    for word, mine in zip(codes, read_codes([asked.code], len(asked.vector))[0], strict=True):
        apart += np.bitwise_count(word ^ mine)  # no array of all differences is ever made
    at = _smallest(apart, max(count, ROUGHLY))
    return at[shortlist(codes[:, at], asked, count)]


def shortlist(codes: Bits, asked: Asked, count: int) -> Integers:
    """Which of these codes, by column, are worth scoring where so many are wanted: telling bits count twice."""
    code, telling = read_codes([asked.code, asked.telling], len(asked.vector))[:, :, np.newaxis]
    differ = codes ^ code
    apart = np.bitwise_count(differ)
    differ &= telling
    apart += np.bitwise_count(differ)  # 128 at most for 64 bits
    return _smallest(apart.sum(axis=0, dtype=np.uint16), max(count, SHORTLIST))


def rescored(db: apsw.Connection, numbers: Sequence[int], query: Floats, count: int | None = None) -> list[Near]:
    """These vectors by their cosine, best first; as many as are wanted."""
    sql = "SELECT v, n, halves FROM vector WHERE v IN (SELECT value FROM json_each(?))"
    rows = fetch(db, sql, json.dumps(list(numbers)))
    if not rows:
        return []
    scores = products(read_halves([halves for _, _, halves in rows], len(query)), query)
    best = _largest(scores, len(rows) if count is None else count).tolist()
    return [(rows[at][1], float(scores[at]), rows[at][0]) for at in best]


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
    return _count(db, Place(s, b"", None), CENTRED_AT[-1] + 1)


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
    return _packed(vector > _middle(centre, len(vector)))


def _packed(signs: npt.NDArray[np.bool_]) -> bytes:
    return np.packbits(signs, bitorder="little").tobytes()


@functools.lru_cache(maxsize=16)
def _middle(centre: bytes, dim: int) -> Floats:
    """A vector that every question of a space is compared with."""
    return _rows([centre], "<f4", dim)[0] if centre else np.zeros(1, np.float32)


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
    return _count(db, place, most + 1) > most


def _count(db: apsw.Connection, place: Place, most: int = -1) -> int:
    """How many vectors a place has, counted up to so many; below zero, all of them."""
    clause, values = place.clause
    sql = f"SELECT count(*) FROM (SELECT 1 FROM vector INDEXED BY vector_codes WHERE {clause} LIMIT ?)"
    return int(fetch(db, sql, *values, most)[0][0])


def products(rows: Floats, query: Floats) -> Floats:
    """The cosine of each row. Not by `@`: its threads wait by spinning, which takes longer than the work."""
    return np.asarray(np.vecdot(rows, query), np.float32)


def products_at(rows: npt.NDArray[Any], at: Integers, query: Floats) -> Floats:
    """The cosine of each of these rows, of either kind of float.

    Some at a time, always in the same memory, which stays in the processor's cache: fresh memory for all of them
    would take longer to get than to fill.
    """
    scores = np.empty(len(at), np.float32)
    room = np.empty((min(len(at), AT_A_TIME), len(query)), rows.dtype)
    for begin in range(0, len(at), AT_A_TIME):
        some = slice(begin, begin + AT_A_TIME)
        # "clip" lets it write there at once; by default it would write elsewhere, check, and copy.
        taken = rows.take(at[some], axis=0, out=room[: len(at[some])], mode="clip")
        scores[some] = products(taken.astype(np.float32, copy=False), query)
    return scores


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
