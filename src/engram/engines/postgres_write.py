"""Applying a Change inside a PostgreSQL transaction: rows, words, claims, event; exactly as it stands."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from psycopg.errors import UniqueViolation

from engram.engines.postgres_schema import Part
from engram.errors import Conflict, Moved
from engram.model.change import ABSENT, Change, Token
from engram.model.codec import RECORDS, Record, RecordType, encode, index, searchable, type_of
from engram.model.event import Event, Head, canonical, seal
from engram.model.memory import Memory
from engram.model.query import FIELD_WEIGHTS

MOVED = "It changed in the meantime."
TAKEN = "Another memory holds this place."
RETRY = "Read it again, and repeat what you asked for."


_BOOK = "SELECT head, numbers, earlier, memories, words FROM org WHERE org = :org"


class Book(NamedTuple):
    """What a store knows of itself: the end of its chain, the last numbers given, and what its words amount to.

    `earlier` are the replicas it was before it went on with another chain.
    """

    head: Head
    numbers: dict[str, int]
    earlier: tuple[str, ...] = ()
    memories: int = 0
    words: int = 0  # the terms of all memories together

    @staticmethod
    def read(part: Part, new_replica: Callable[[], str]) -> "Book":
        """The book as it stands, locked until the transaction ends: one commit of an org at a time."""
        for _ in range(2):
            row = part.first(f"{_BOOK} FOR UPDATE")
            if row:
                return Book(Head(*row[0]), row[1], tuple(row[2]), *row[3:])
            begun = json.dumps(list(Head(new_replica())))
            part.run("INSERT INTO org (org, head, numbers) VALUES (:org, %s, '{}') ON CONFLICT DO NOTHING", begun)
        raise Moved(MOVED, RETRY)

    def write(self, part: Part) -> None:
        """Keep it, in the transaction that made it true."""
        sets = "head = %s, numbers = %s, earlier = %s, memories = %s, words = %s"
        told = (json.dumps(each) for each in (list(self.head), self.numbers, list(self.earlier)))
        part.run(f"UPDATE org SET {sets} WHERE org = :org", *told, self.memories, self.words)

    @staticmethod
    def replicas(part: Part) -> list[str]:
        """Who this store is in history, and who it was; nobody before its first event."""
        row = part.first(_BOOK)
        return [Head(*row[0]).replica, *row[2]] if row and Head(*row[0]).position else []

    def going_on(self, head: Head) -> "Book":
        """The same book with another end of the chain, which may be one of another name."""
        was = self.head.replica
        renamed = head.replica != was and self.head.position and was not in self.earlier
        return self._replace(head=head, earlier=(*self.earlier, was) if renamed else self.earlier)

    def number(self, type: RecordType, wanted: int | None = None) -> int:
        """The next number of a type, or the wanted one: never given again, even when its record is purged."""
        last = self.numbers.get(type, 0)
        number = wanted or last + 1
        self.numbers[type] = max(last, number)
        return number


def replay(part: Part, token: Token) -> int | None:
    """The event that a token was first used for.

    Raises:
        Conflict: when it was for another request.
    """
    sql = "SELECT request, seq FROM token WHERE org = :org AND owner = %s AND operation = %s AND name = %s"
    for request, seq in part.fetch(sql, token.owner, token.operation, token.name):
        if request != token.request:
            raise Conflict("That token was used for another request.", "Use a new token for a new request.")
        return int(seq)
    return None


def check(part: Part, change: Change) -> dict[str, int]:
    """Make sure that every expectation holds; answers with the numbers of what exists already.

    Raises:
        Moved: when one does not.
    """
    types = {record.id: type_of(record) for record in change.puts} | {id: type for type, id in change.drops}
    ids = [*{**types, **change.expects}]
    found: dict[str, tuple[int, int]] = {}
    for table in RECORDS:
        some = [id for id in ids if types.get(id, table) == table]
        if some:
            sql = f"SELECT id, revision, n FROM {table} WHERE org = :org AND id = ANY(%s)"
            found |= {id: (revision, n) for id, revision, n in part.fetch(sql, some)}
    for id, revision in change.expects.items():
        if found.get(id, (ABSENT, 0))[0] != revision:
            raise Moved(MOVED, RETRY)
    return {id: n for id, (_, n) in found.items()}


def apply(part: Part, change: Change, book: Book, numbers: dict[str, int]) -> Book:
    """Put and drop records with their words and claims; `numbers` gains those of new records."""
    known = set(numbers)
    for type, id in change.drops:
        book = _drop(part, book, type, id, numbers.pop(id))
    for record in change.puts:
        new = record.id not in known
        if new:
            numbers[record.id] = book.number(type_of(record), change.numbers.get(record.id))
        place = _put(part, record, numbers[record.id], new=new)
        if isinstance(record, Memory):
            book = index_words(part, book, numbers[record.id], record, place)
    for given, n in change.past.given.items() if change.past else ():
        book.numbers[given] = max(n, book.numbers.get(given, 0))
    _claim(part, change, known)
    if change.erase:
        seqs = "SELECT seq FROM subject WHERE org = :org AND id = ANY(%s)"
        part.run(f"UPDATE event SET payload = NULL WHERE org = :org AND seq IN ({seqs})", [*change.erase])
        part.run(f"DELETE FROM token WHERE org = :org AND seq IN ({seqs})", [*change.erase])
    return book


def append(part: Part, change: Change, head: Head) -> tuple[Event, Head]:
    """Seal the Change's event, chain it to the head and keep it, with the token that asked for it."""
    assert change.draft
    event, head, envelope, payload = seal(change.draft, head)
    _keep_event(part, event, envelope, payload, change.token)
    return event, head


def take_over(part: Part, change: Change, head: Head) -> tuple[Event, Head]:
    """Keep the events of a past as they are, and what is sealed after them; answers with the last, and the head."""
    assert change.past
    event, time = None, head.time
    for seq, (told, token) in enumerate(change.past.events, head.seq + 1):
        event = told._replace(seq=seq)
        payload = event.payload.print() if event.payload else None
        _keep_event(part, event, canonical(event.envelope()), payload, token)
        time = max(time, event.time)
    onward = (change.past.head or head)._replace(time=time, seq=event.seq if event else head.seq)
    if change.draft:
        return append(part, change, onward)
    assert event, "a Change without a draft has a past with events"
    return event, onward


def _keep_event(part: Part, event: Event, envelope: str, payload: str | None, token: Token | None) -> None:
    values = (event.seq, event.id, event.batch, envelope, payload)
    part.run("INSERT INTO event VALUES (:org, %s, %s, %s, %s, %s)", *values)
    subjects = list(dict.fromkeys(event.subjects))
    part.run("INSERT INTO subject SELECT :org, unnest(%s::text[]), %s", subjects, event.seq)
    if token:
        part.run("INSERT INTO token VALUES (:org, %s, %s, %s, %s, %s)", *token, event.seq)


def _put(part: Part, record: Record, n: int, *, new: bool) -> int:
    """Keep a record with its columns; a memory's place is returned, and 0 for others."""
    if not new:
        place = put_columns(part, record, n)
    else:
        place, columns = _columns(part, record)
        names = ", ".join(("org", "n", "id", *columns))
        values = [n, record.id, *columns.values()]
        with _unique(MOVED):
            part.run(f"INSERT INTO {type_of(record)} ({names}) VALUES (:org, {_marks(values)})", *values)
    if isinstance(record, Memory):
        part.run(
            "INSERT INTO lacking SELECT org, s, %s FROM space WHERE org = :org AND NOT EXISTS (SELECT 1 FROM vector"
            " WHERE vector.org = space.org AND vector.n = %s AND vector.s = space.s) ON CONFLICT DO NOTHING",
            *(n, n),
        )
    return place


def put_columns(part: Part, record: Record, n: int) -> int:
    """Keep a record that is there already, with its columns; answers with its place, 0 for what has none."""
    place, columns = _columns(part, record)
    if isinstance(record, Memory):
        _loosen_vectors(part, n, record.imprint, place)
    sets = ", ".join(f"{name} = %s" for name in columns)
    part.run(f"UPDATE {type_of(record)} SET {sets} WHERE org = :org AND n = %s", *columns.values(), n)
    return place


def _columns(part: Part, record: Record) -> tuple[int, dict[str, str | int | None]]:
    """A record's place, and all of its columns."""
    doc = json.dumps(encode(record), ensure_ascii=False, separators=(",", ":"))
    columns = {"revision": record.revision, "doc": doc, **index(record)}
    if not isinstance(record, Memory):
        return 0, columns
    place = _place(part, columns)
    return place, {**columns, "p": place}


def _place(part: Part, columns: Mapping[str, str | int | None]) -> int:
    """The number of a memory's place: all that decides who may read it, and in which scope it holds."""
    names = ("owner", "visibility", "workspace", "scope", "place")
    values = [columns[name] for name in names]
    same = "owner IS NOT DISTINCT FROM %s AND visibility = %s AND workspace = %s AND scope = %s AND place = %s"
    found = part.first(f"SELECT p FROM place WHERE org = :org AND {same}", *values)
    if not found:
        sql = f"INSERT INTO place (org, {', '.join(names)}) VALUES (:org, {_marks(values)}) RETURNING p"
        found = part.first(sql, *values)
    assert found
    return int(found[0])


def _loosen_vectors(part: Part, n: int, imprint: str, place: int) -> None:
    """Drop the vectors of what a memory said before, and move those it keeps along with it."""
    was = part.first("SELECT imprint FROM memory WHERE org = :org AND n = %s", n)
    if was and was[0] != imprint:
        part.run("DELETE FROM vector WHERE org = :org AND n = %s", n)
    else:
        part.run("UPDATE vector SET p = %s WHERE org = :org AND n = %s AND p <> %s", place, n, place)


# --- words ---


class Worded(NamedTuple):
    """A memory's terms with how much each counts, and how many words it has."""

    terms: list[str]
    counts: list[float]
    length: int

    @staticmethod
    def of(memory: Memory) -> "Worded":
        """Each term once, weighed by the columns it stands in."""
        counts: Counter[str] = Counter()
        length = 0
        for weight, column in zip(FIELD_WEIGHTS, searchable(memory), strict=True):
            for term in (found := column.split()):
                counts[term] += weight  # type: ignore[assignment] # a Counter counts in floats as well
            length += len(found)
        return Worded([*counts], [*map(float, counts.values())], length)


def place_term(p: int) -> str:
    """A place as a term of the word index; no text makes a term that begins with a colon."""
    return f":{p}"


def index_words(part: Part, book: Book, n: int, memory: Memory, p: int) -> Book:
    """Make a memory findable by its words, among those of its place."""
    book = _uncount(part, book, n)
    worded = Worded.of(memory)
    part.run(
        "SELECT put_words(%s, %s, %s::text[], %s::real[], %s, %s)",
        *(n, p, worded.terms, worded.counts, worded.length, place_term(p)),
    )
    _count(part, worded.terms, p, 1)
    return book._replace(memories=book.memories + 1, words=book.words + worded.length)


def _uncount(part: Part, book: Book, n: int) -> Book:
    """Take away what a memory counted for before."""
    for p, terms, length in part.fetch("SELECT p, terms, length FROM words_of(%s)", n):
        _count(part, terms, p, -1)
        return book._replace(memories=book.memories - 1, words=book.words - length)
    return book


def _count(part: Part, terms: Sequence[str], p: int, by: int) -> None:
    """One memory of a place more, or less, carries each of these."""
    if by > 0:
        part.run(
            "INSERT INTO carrier SELECT :org, unnest(%s::text[]), %s, 1"
            " ON CONFLICT (org, term, p) DO UPDATE SET count = carrier.count + 1",
            *(terms, p),
        )
        return
    these = "org = :org AND term = ANY(%s) AND p = %s"
    part.run(f"DELETE FROM carrier WHERE {these} AND count = 1", terms, p)
    # What was deleted just now is not there any more; the others lose one.
    part.run(f"UPDATE carrier SET count = count - 1 WHERE {these}", terms, p)


# --- claims, removal ---


def _claim(part: Part, change: Change, known: set[str]) -> None:
    """Every memory put holds its given claims and no other; all are given up before any is taken."""
    if freed := [*known.intersection(change.claims)]:
        part.run("DELETE FROM claim WHERE org = :org AND id = ANY(%s)", freed)
    taken = [(claim, id) for id, claims in change.claims.items() for claim in claims]
    if taken:
        with _unique(TAKEN):
            sql = "INSERT INTO claim SELECT :org, unnest(%s::text[]), unnest(%s::text[])"
            part.run(sql, *map(list, zip(*taken, strict=True)))


@contextmanager
def _unique(message: str) -> Iterator[None]:
    """Let the table itself find out that another record holds the place, and say so in our words."""
    try:
        yield
    except UniqueViolation as error:
        raise Moved(message, RETRY) from error


def _drop(part: Part, book: Book, type: RecordType, id: str, n: int) -> Book:
    if type == "memory":
        book = _uncount(part, book, n)
        part.run("SELECT drop_words(%s)", n)
        for table in ("vector", "lacking"):
            part.run(f"DELETE FROM {table} WHERE org = :org AND n = %s", n)
        part.run("DELETE FROM claim WHERE org = :org AND id = %s", id)
    part.run(f"DELETE FROM {type} WHERE org = :org AND n = %s", n)
    return book


def _marks(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))
