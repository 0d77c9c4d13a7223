"""Applying a Change inside a PostgreSQL transaction: rows, words, claims, event; exactly as it stands."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from psycopg.errors import UniqueViolation

from engram.engines import chain as chains
from engram.engines.chain import Chain, moved, same_request, sealed
from engram.engines.postgres_schema import Part
from engram.engines.rows import place_term
from engram.errors import Moved
from engram.model.change import ABSENT, Change, Token
from engram.model.codec import RECORDS, Record, RecordType, encode, index, type_of
from engram.model.event import Event, Head
from engram.model.memory import Memory
from engram.model.query import weighed

PLACE = ("owner", "visibility", "workspace", "scope", "place")
Place = tuple[str | int | None, ...]
"""What these columns of a memory hold: who may read it, and in which scope it holds."""


_BOOK = "SELECT head, numbers, earlier, memories, words FROM org WHERE org = :org"


class Book(NamedTuple):
    """What a store knows of itself: its chain, and what its words amount to."""

    chain: Chain
    memories: int
    words: int  # the terms of all memories together
    carried: Counter[tuple[str, int]]  # how many more carry a term in a place, by this commit

    @staticmethod
    def read(part: Part, new_replica: Callable[[], str]) -> "Book":
        """The book as it stands, locked until the transaction ends: one commit of an org at a time."""
        for _ in range(2):
            if book := Book.later(part)():
                return book
            Book.begin(part, new_replica)
        raise moved()

    @staticmethod
    def later(part: Part) -> "Callable[[], Book | None]":
        """Ask for the book, and lock it; returns a callable that gives it later, None where the org has none."""
        asked = part.later(f"{_BOOK} FOR UPDATE")

        def read() -> Book | None:
            for head, numbers, earlier, memories, words in asked():
                return Book(Chain(Head(*head), numbers, tuple(earlier)), memories, words, Counter())
            return None

        return read

    @staticmethod
    def begin(part: Part, new_replica: Callable[[], str]) -> None:
        """Open an org's book, unless another does so at this moment."""
        begun = json.dumps(list(Head(new_replica())))
        part.run("INSERT INTO org (org, head, numbers) VALUES (:org, %s, '{}') ON CONFLICT DO NOTHING", begun)

    def write(self, part: Part) -> None:
        """Keep it, in the transaction that made it true."""
        sets = "head = %s, numbers = %s, earlier = %s, memories = %s, words = %s"
        told = map(json.dumps, self.chain)
        part.run(f"UPDATE org SET {sets} WHERE org = :org", *told, self.memories, self.words)
        if moved := [(term, p, by) for (term, p), by in self.carried.items() if by]:
            _count_carriers(part, moved)

    @staticmethod
    def replicas(part: Part) -> list[str]:
        """Who this store is in history, and who it was; nobody before its first event."""
        row = part.first(_BOOK)
        return [Head(*row[0]).replica, *row[2]] if row and Head(*row[0]).position else []

    def counting(self, p: int, terms: Iterable[str], length: int, by: int) -> "Book":
        """The book with one memory of a place more, or less, that carries these terms."""
        for term in terms:
            self.carried[term, p] += by
        return self._replace(memories=self.memories + by, words=self.words + by * length)


def _count_carriers(part: Part, moved: Sequence[tuple[str, int, int]]) -> None:
    """Add to how many carry a term in a place, and in all; what nobody carries any more goes."""
    part.run(
        "INSERT INTO carrier SELECT :org, * FROM unnest(%s::text[], %s::bigint[], %s::bigint[])"
        " ON CONFLICT (org, term, p) DO UPDATE SET count = carrier.count + excluded.count",
        *map(list, zip(*moved, strict=True)),
    )
    every: Counter[str] = Counter()
    for term, _, by in moved:
        every[term] += by
    part.run(
        "INSERT INTO vocabulary SELECT :org, * FROM unnest(%s::text[], %s::bigint[])"
        " ON CONFLICT (org, term) DO UPDATE SET carriers = vocabulary.carriers + excluded.carriers",
        *([*every], [*every.values()]),
    )
    if less := sorted({term for term, _, by in moved if by < 0}):
        part.run("DELETE FROM carrier WHERE org = :org AND term = ANY(%s) AND count = 0", less)
        part.run("DELETE FROM vocabulary WHERE org = :org AND term = ANY(%s) AND carriers = 0", less)


def replay(part: Part, token: Token | None) -> Callable[[], int | None]:
    """Ask for the event that a token was first used for; returns a callable that gives the answer later.

    Raises:
        Conflict: later, from that callable, when it was for another request.
    """
    if token is None:
        return lambda: None
    sql = "SELECT request, seq FROM token WHERE org = :org AND owner = %s AND operation = %s AND name = %s"
    asked = part.later(sql, token.owner, token.operation, token.name)

    def told() -> int | None:
        for request, seq in asked():
            same_request(token, request)
            return int(seq)
        return None

    return told


class Known(NamedTuple):
    """What a Change is about, as it stands before it: the revision and number of each record, and the places."""

    found: dict[str, tuple[int, int]]
    places: dict[Place, int]

    @staticmethod
    def later(part: Part, change: Change) -> "Callable[[], Known]":
        """Ask for all of it at once; returns a callable that gives the answer later."""
        types = {record.id: type_of(record) for record in change.puts} | {id: type for type, id in change.drops}
        ids = [*{**types, **change.expects}]
        asked = []
        for table in RECORDS:
            if some := [id for id in ids if types.get(id, table) == table]:
                sql = f"SELECT id, revision, n FROM {table} WHERE org = :org AND id = ANY(%s)"
                asked.append(part.later(sql, some))
        memories = [record for record in change.puts if isinstance(record, Memory)]
        places = {place: place_number(part, place) for place in dict.fromkeys(map(place_of, memories))}

        def told() -> Known:
            found = {id: (revision, n) for rows in asked for id, revision, n in rows()}
            return Known(found, {place: number() for place, number in places.items()})

        return told

    def numbers(self, expects: Mapping[str, int]) -> dict[str, int]:
        """The numbers of what exists already.

        Raises:
            Moved: when an expectation does not hold.
        """
        for id, revision in expects.items():
            if self.found.get(id, (ABSENT, 0))[0] != revision:
                raise moved()
        return {id: n for id, (_, n) in self.found.items()}


def apply(part: Part, change: Change, book: Book, numbers: dict[str, int], places: Mapping[Place, int]) -> Book:
    """Put and drop records with their words and claims; `numbers` gains those of new records."""
    known = set(numbers)
    gone = [numbers.pop(id) for type, id in change.drops if type == "memory"]
    changed = [numbers[each.id] for each in change.puts if isinstance(each, Memory) and each.id in known]
    book = _uncount(part, book, [*gone, *changed])
    for n in gone:
        _drop_memory(part, n)
    for type, id in change.drops:
        _drop(part, type, id)
        numbers.pop(id, None)
    for record in change.puts:
        new = record.id not in known
        if new:
            numbers[record.id] = book.chain.number(type_of(record), change.numbers.get(record.id))
        p = places[place_of(record)] if isinstance(record, Memory) else 0
        (put_new if new else put_columns)(part, record, numbers[record.id], p)
        if isinstance(record, Memory):
            book = index_words(part, book, numbers[record.id], record, p)
    book.chain.given(change)
    _claim(part, change, known)
    if change.erase:
        seqs = "SELECT seq FROM subject WHERE org = :org AND id = ANY(%s)"
        part.run(f"UPDATE event SET payload = NULL WHERE org = :org AND seq IN ({seqs})", [*change.erase])
        part.run(f"DELETE FROM token WHERE org = :org AND seq IN ({seqs})", [*change.erase])
    return book


def append(part: Part, change: Change, head: Head) -> tuple[Event, Head]:
    """Keep the events of a Change; answers with the last, and the head after it."""
    kept, head = sealed(change, head)
    for event, envelope, payload, token in kept:
        values = (event.seq, event.id, event.batch, envelope, payload)
        part.run("INSERT INTO event VALUES (:org, %s, %s, %s, %s, %s)", *values)
        subjects = list(dict.fromkeys(event.subjects))
        part.run("INSERT INTO subject SELECT :org, unnest(%s::text[]), %s", subjects, event.seq)
        if token:
            part.run("INSERT INTO token VALUES (:org, %s, %s, %s, %s, %s)", *token, event.seq)
    return kept[-1].event, head


def put_new(part: Part, record: Record, n: int, p: int) -> None:
    """Keep a record that was not there, with its columns; a memory lacks a vector in every space."""
    columns = _columns(record, p)
    names = ", ".join(("org", "n", "id", *columns))
    values = [n, record.id, *columns.values()]
    part.run(f"INSERT INTO {type_of(record)} ({names}) VALUES (:org, {_marks(values)})", *values)
    if isinstance(record, Memory):
        part.run("INSERT INTO lacking SELECT org, s, %s FROM space WHERE org = :org ON CONFLICT DO NOTHING", n)


def put_columns(part: Part, record: Record, n: int, p: int) -> None:
    """Keep a record that is there already, with its columns.

    A memory loses the vectors of what it said before, and takes those it keeps along to its place.
    """
    columns = _columns(record, p)
    if isinstance(record, Memory):
        was = "(SELECT imprint FROM memory WHERE org = :org AND n = %s)"
        these = "org = :org AND n = %s"
        part.run(f"DELETE FROM vector WHERE {these} AND {was} IS DISTINCT FROM %s", n, n, record.imprint)
        part.run(f"UPDATE vector SET p = %s WHERE {these} AND p <> %s", p, n, p)
    sets = ", ".join(f"{name} = %s" for name in columns)
    part.run(f"UPDATE {type_of(record)} SET {sets} WHERE org = :org AND n = %s", *columns.values(), n)
    if isinstance(record, Memory):
        part.run(
            "INSERT INTO lacking SELECT org, s, %s FROM space WHERE org = :org AND NOT EXISTS (SELECT 1 FROM vector"
            " WHERE vector.org = space.org AND vector.n = %s AND vector.s = space.s) ON CONFLICT DO NOTHING",
            *(n, n),
        )


def _columns(record: Record, p: int) -> dict[str, str | int | None]:
    """All columns of a record; a memory has its place beside them."""
    doc = json.dumps(encode(record), ensure_ascii=False, separators=(",", ":"))
    columns = {"revision": record.revision, "doc": doc, **index(record)}
    return {**columns, "p": p} if isinstance(record, Memory) else columns


def place_of(memory: Memory) -> Place:
    """All that decides who may read a memory, and in which scope it holds."""
    columns = index(memory)
    return tuple(columns[name] for name in PLACE)


def place_number(part: Part, place: Place) -> Callable[[], int]:
    """Ask for the number of a place, which a new one gets now; returns a callable that gives the answer later."""
    same = "owner IS NOT DISTINCT FROM %s AND visibility = %s AND workspace = %s AND scope = %s AND place = %s"
    there = f"SELECT p FROM place WHERE org = :org AND {same}"
    asked = part.later(
        f"WITH made AS (INSERT INTO place (org, {', '.join(PLACE)}) SELECT :org, %s::text, %s, %s, %s, %s"
        f" WHERE NOT EXISTS ({there}) RETURNING p) {there} UNION ALL SELECT p FROM made",
        *(*place, *place, *place),
    )
    return lambda: int(asked()[0][0])


# --- words ---


class Worded(NamedTuple):
    """A memory's terms with how much each counts, and how many words it has."""

    terms: list[str]
    counts: list[float]
    length: int

    @staticmethod
    def of(memory: Memory) -> "Worded":
        """Each term once, weighed by the columns it stands in."""
        counts, length = weighed(memory)
        return Worded([*counts], [*counts.values()], length)


def index_words(part: Part, book: Book, n: int, memory: Memory, p: int) -> Book:
    """Make a memory findable by its words, among those of its place; what it counted for before was taken away."""
    worded = Worded.of(memory)
    part.run(
        "SELECT put_words(%s, %s, %s::text[], %s::real[], %s, %s)",
        *(n, p, worded.terms, worded.counts, worded.length, place_term(p)),
    )
    return book.counting(p, worded.terms, worded.length, 1)


def _uncount(part: Part, book: Book, numbers: Sequence[int]) -> Book:
    """Take away what memories counted for before."""
    asked = [part.later("SELECT p, terms, length FROM words_of(%s)", n) for n in numbers]
    for p, terms, length in (row for rows in asked for row in rows()):
        book = book.counting(p, terms, length, -1)
    return book


# --- claims, removal ---


def _claim(part: Part, change: Change, known: set[str]) -> None:
    """Every memory put holds its given claims and no other; all are given up before any is taken."""
    if freed := [*known.intersection(change.claims)]:
        part.run("DELETE FROM claim WHERE org = :org AND id = ANY(%s)", freed)
    taken = [(claim, id) for id, claims in change.claims.items() for claim in claims]
    if taken:
        sql = "INSERT INTO claim SELECT :org, unnest(%s::text[]), unnest(%s::text[])"
        part.run(sql, *map(list, zip(*taken, strict=True)))


def taken(error: UniqueViolation) -> Moved:
    """What the table itself found out, that another record holds the place, in our words."""
    return chains.taken() if error.diag.table_name == "claim" else moved()


def _drop_memory(part: Part, n: int) -> None:
    """Drop what is derived from a memory."""
    part.run("SELECT drop_words(%s)", n)
    for table in ("vector", "lacking"):
        part.run(f"DELETE FROM {table} WHERE org = :org AND n = %s", n)


def _drop(part: Part, type: RecordType, id: str) -> None:
    if type == "memory":
        part.run("DELETE FROM claim WHERE org = :org AND id = %s", id)
    part.run(f"DELETE FROM {type} WHERE org = :org AND id = %s", id)


def _marks(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))
