"""Applying a Change inside a transaction: rows, words, claims, event; exactly as it stands."""

import json
from collections.abc import Callable, Mapping, Sequence

import apsw

from engram.engines.chain import Chain, moved, same_request, sealed, taken
from engram.engines.rows import Row, place_term
from engram.engines.sqlite_file import make_words
from engram.engines.sqlite_rows import fetch, print_json, set_meta
from engram.errors import Moved
from engram.model.change import ABSENT, Change, Token
from engram.model.codec import RECORDS, Record, RecordType, decode, encode, index, searchable, type_of
from engram.model.event import Event, Head
from engram.model.memory import Memory
from engram.model.text import TERMS_VERSION


def replay(db: apsw.Connection, token: Token) -> int | None:
    """The event that a token was first used for.

    Raises:
        Conflict: when it was for another request.
    """
    sql = "SELECT request, seq FROM token WHERE owner = ? AND operation = ? AND name = ?"
    for request, seq in fetch(db, sql, token.owner, token.operation, token.name):
        same_request(token, request)
        return int(seq)
    return None


def check(db: apsw.Connection, change: Change) -> dict[str, int]:
    """Make sure that every expectation holds; answers with the numbers of what exists already.

    Raises:
        Moved: when one does not.
    """
    types = {record.id: type_of(record) for record in change.puts} | {id: type for type, id in change.drops}
    numbers = {}
    for id in {**types, **change.expects}:
        if change.expects.get(id) == ABSENT and id in types:
            continue  # the table refuses a second record with this id by itself
        found = _stored(db, id, types.get(id))
        if id in change.expects and (found[0] if found else ABSENT) != change.expects[id]:
            raise moved()
        if found:
            numbers[id] = int(found[1])
    return numbers


def _stored(db: apsw.Connection, id: str, type: RecordType | None) -> Row | None:
    """Revision and number of a record, wherever it is kept."""
    for table in (type,) if type else RECORDS:
        for row in fetch(db, f"SELECT revision, n FROM {table} WHERE id = ?", id):
            return row
    return None


def apply(
    db: apsw.Connection, change: Change, chain: Chain, numbers: dict[str, int], trace: Callable[[str], None]
) -> None:
    """Put and drop records with their words and claims; `numbers` gains those of new records."""
    known = set(numbers)
    for type, id in change.drops:
        _drop(db, type, id, numbers.pop(id))
    places = {}
    for record in change.puts:
        if record.id not in known:
            numbers[record.id] = chain.number(type_of(record), change.numbers.get(record.id))
        places[record.id] = _put(db, record, numbers[record.id], new=record.id not in known)
    chain.given(change)
    trace("records")
    for record in change.puts:
        if isinstance(record, Memory):
            index_words(db, numbers[record.id], record, places[record.id], new=record.id not in known)
    trace("words")
    _claim(db, change, known)
    if change.erase:
        _erase(db, change.erase)
    trace("claims")


def append(db: apsw.Connection, change: Change, head: Head) -> tuple[Event, Head]:
    """Keep the events of a Change; answers with the last, and the head after it."""
    kept, head = sealed(change, head)
    for event, envelope, payload, token in kept:
        row = (event.seq, event.id, event.batch, envelope, payload)
        db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", row)
        for subject in dict.fromkeys(event.subjects):
            db.execute("INSERT INTO subject VALUES (?, ?)", (subject, event.seq))
        if token:
            db.execute("INSERT INTO token VALUES (?, ?, ?, ?, ?)", (*token, event.seq))
    return kept[-1].event, head


def mend_derived(db: apsw.Connection) -> None:
    """Make anew what is derived from the records: columns, places and words; and drop what belongs to none."""
    make_words(db)
    db.execute("DELETE FROM vector WHERE EXISTS (SELECT 1 FROM memory WHERE n = vector.n AND p IS NOT vector.p)")
    # What is of another length than its space asks for is damaged, and made anew like one that is missing.
    fits = "space.s = vector.s AND length(halves) = 2 * dim AND length(code) = (dim + 7) / 8"
    db.execute(f"DELETE FROM vector WHERE NOT EXISTS (SELECT 1 FROM space WHERE {fits})")
    db.execute("UPDATE space SET centre = x'', centred = 0 WHERE length(centre) NOT IN (0, 4 * dim)")
    for table in ("place", "lacking"):
        db.execute(f"DELETE FROM {table}")
    for type in RECORDS:
        for (n,) in fetch(db, f"SELECT n FROM {type} ORDER BY n"):  # not the documents: all may be too much to hold
            record = decode(type, json.loads(fetch(db, f"SELECT doc FROM {type} WHERE n = ?", n)[0][0]))
            p = _put(db, record, n, new=False)
            if isinstance(record, Memory):
                index_words(db, n, record, p, new=True)
    db.execute("DELETE FROM claim WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.id = claim.id)")
    for table in ("vector", "lacking"):
        db.execute(f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.n = {table}.n)")
    set_meta(db, "terms", TERMS_VERSION)


def index_words(db: apsw.Connection, n: int, memory: Memory, p: int, *, new: bool) -> None:
    """Make a memory findable by its words, among those of its place."""
    if not new:
        db.execute("DELETE FROM words WHERE rowid = ?", (n,))
    sql = "INSERT INTO words (rowid, name, summary, tags, text, place) VALUES (?, ?, ?, ?, ?, ?)"
    db.execute(sql, (n, *searchable(memory), place_term(p)))


def _put(db: apsw.Connection, record: Record, n: int, *, new: bool) -> int:
    """Keep a record with its columns; a memory's place is returned, and 0 for others."""
    type, doc, columns = type_of(record), print_json(encode(record)), index(record)
    place = 0
    if type == "memory":
        place = _place(db, columns)
        columns["p"] = place
    if new:
        marks = ", ".join("?" * (len(columns) + 4))
        with _unique(moved):
            db.execute(
                f"INSERT INTO {type} (n, id, revision, doc, {', '.join(columns)}) VALUES ({marks})",
                (n, record.id, record.revision, doc, *columns.values()),
            )
    else:
        if type == "memory":
            _loosen_vectors(db, n, str(columns["imprint"]), place)
        sets = ", ".join(f"{name} = ?" for name in ("revision", "doc", *columns))
        db.execute(f"UPDATE {type} SET {sets} WHERE n = ?", (record.revision, doc, *columns.values(), n))
    if type == "memory":
        lacks = (
            "SELECT s, ?1 FROM space WHERE NOT EXISTS (SELECT 1 FROM vector WHERE n = ?1 AND vector.s = space.s)"
        )
        db.execute(f"INSERT OR IGNORE INTO lacking {lacks}", (n,))
    return place


def _place(db: apsw.Connection, columns: Mapping[str, str | int | None]) -> int:
    """The number of a memory's place: all that decides who may read it, and in which scope it holds."""
    names = ("owner", "visibility", "workspace", "scope", "place")
    found = fetch(
        db,
        "SELECT p FROM place WHERE scope = ? AND visibility = ? AND coalesce(owner, char(0)) = coalesce(?, char(0))"
        " AND workspace = ?",
        *(columns[name] for name in ("scope", "visibility", "owner", "workspace")),
    )
    if found:
        return int(found[0][0])
    sql = f"INSERT INTO place ({', '.join(names)}) VALUES (?, ?, ?, ?, ?)"
    db.execute(sql, tuple(columns[name] for name in names))
    return db.last_insert_rowid()


def _loosen_vectors(db: apsw.Connection, n: int, imprint: str, place: int) -> None:
    """Drop the vectors of what a memory said before, and move those it keeps along with it.

    A moved vector gets a new number, as if it were new: whoever holds codes in memory goes by that.
    """
    was = fetch(db, "SELECT imprint, p FROM memory WHERE n = ?", n)[0]
    if was[0] != imprint:
        db.execute("DELETE FROM vector WHERE n = ?", (n,))
    elif was[1] != place:
        kept = fetch(db, "SELECT s, code, halves FROM vector WHERE n = ? ORDER BY v", n)
        db.execute("DELETE FROM vector WHERE n = ?", (n,))
        sql = "INSERT INTO vector (s, p, n, code, halves) VALUES (?, ?, ?, ?, ?)"
        for s, code, halves in kept:
            db.execute(sql, (s, place, n, code, halves))


def _claim(db: apsw.Connection, change: Change, known: set[str]) -> None:
    """Every memory put holds its given claims and no other; all are given up before any is taken."""
    for id in known.intersection(change.claims):
        db.execute("DELETE FROM claim WHERE id = ?", (id,))
    for id, claims in change.claims.items():
        for claim in claims:
            with _unique(taken):
                db.execute("INSERT INTO claim VALUES (?, ?)", (claim, id))


class _unique:  # noqa: N801 - used like a function; a class because it is on the path of every save
    """Let the table itself find out that another record holds the place, and say so in our words."""

    def __init__(self, told: Callable[[], Moved]) -> None:
        self._told = told

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.ConstraintError):
            raise self._told() from error


def _drop(db: apsw.Connection, type: RecordType, id: str, n: int) -> None:
    if type == "memory":
        db.execute("DELETE FROM words WHERE rowid = ?", (n,))
        db.execute("DELETE FROM vector WHERE n = ?", (n,))
        db.execute("DELETE FROM lacking WHERE n = ?", (n,))
        db.execute("DELETE FROM claim WHERE id = ?", (id,))
    db.execute(f"DELETE FROM {type} WHERE n = ?", (n,))


def _erase(db: apsw.Connection, ids: Sequence[str]) -> None:
    for id in ids:
        for (seq,) in fetch(db, "SELECT seq FROM subject WHERE id = ?", id):
            db.execute("UPDATE event SET payload = NULL WHERE seq = ?", (seq,))
            db.execute("DELETE FROM token WHERE seq = ?", (seq,))
    # Deleted rows leave their words behind in old index segments until these are merged.
    db.execute("INSERT INTO words (words) VALUES ('optimize')")
