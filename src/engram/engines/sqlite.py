"""Records in one SQLite file: documents, their columns, the word index and history in one transaction."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

import apsw

from engram.engines import sqlite_file
from engram.engines.audit import is_mendable
from engram.engines.pieces import TELLING, as_json, pieces_of
from engram.engines.rows import (
    EVENTS,
    MOST_COUNTED,
    Row,
    backlog_of,
    event_of,
    events_where,
    handles_of,
    outdated,
    page_of,
    record_of,
    the_one,
    whole,
)
from engram.engines.sqlite_check import check_derived, check_told, integrity, tallies
from engram.engines.sqlite_connections import Connections
from engram.engines.sqlite_errors import StrPath, mapped
from engram.engines.sqlite_rows import Book, Unchanged, fetch, meta
from engram.engines.sqlite_search import Searcher, space_of
from engram.engines.sqlite_write import append, apply, check, mend_derived, replay
from engram.engines.where import where as to_sql
from engram.model.change import Change, Commit, Finding, Token, Witness, noted_at
from engram.model.codec import RECORDS, Record, RecordType, strings
from engram.model.event import Event, Payload
from engram.model.filter import ANYTHING, Access, Filter, common
from engram.model.limits import storable
from engram.model.memory import Memory
from engram.model.query import Backlog, Census, Hit, Page, Query, Space, check_vectors
from engram.model.refs import SHORTEST_PREFIX, handle_number, read_cursor
from engram.model.scope import Scope
from engram.model.text import TERMS_VERSION
from engram.ports import Progress

POINTS = ("begun", "checked", "records", "words", "claims", "event", "sealed", "committed")
"""The named points of a commit, in order: what crash tests kill at. Before "committed" nothing is kept."""

VECTORS_WAIT = 2000
"""Milliseconds that vectors wait for another writer: they come beside a question, and can come later."""

_POINTED = ("ids", "key", "digest", "outline", "near", "amends", "replaced_by", "touches")
"""Clauses that an index answers with a handful of rows."""


class SqliteEngine:
    """One file, any number of processes and threads; every acknowledged commit survives a crash."""

    def __init__(
        self,
        path: StrPath,
        *,
        new_replica: Callable[[], str],
        private_folder: bool = False,
        anywhere: bool = False,
        lenient: bool = False,
        losable: bool = False,
        trace: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open the store, making or migrating it where needed.

        `losable` says that it can be made again from something else, and may be deleted while it is open.

        Raises:
            Invalid, Corrupt, Unavailable: see `sqlite_file.open_file`.
        """
        self.path = path
        self._private_folder = private_folder
        self._new_replica = new_replica
        self._trace = trace

        def usable() -> None:
            sqlite_file.open_file(
                path, private_folder=private_folder, anywhere=anywhere or lenient, lenient=lenient
            )

        self._connections = Connections(path, usable=usable, renewed=self._renew, losable=losable)
        self._unchanged = Unchanged()
        self._searcher = Searcher(self._unchanged)
        usable()
        try:
            self._bring_up_to_date()
        except BaseException:
            self.close()
            raise

    def _bring_up_to_date(self) -> None:
        with mapped(self.path):
            db = self._connection()
            if sqlite_file.schema_of(db) != len(sqlite_file.MIGRATIONS):
                sqlite_file.migrate(db, self.path)
            if meta(db, "terms") != TERMS_VERSION:
                with self._connections.transaction():
                    mend_derived(db)

    # reading

    def get(self, type: RecordType, refs: Iterable[str], access: Access) -> dict[str, Record]:
        """See `ports.Engine.get`."""
        allowed, values = to_sql(ANYTHING, access)
        found: dict[str, Record] = {}
        with mapped(self.path), self._connection():  # one snapshot for all refs
            for ref in refs:
                if (row := self._find(type, ref, allowed, values)) is not None:
                    found[ref] = record_of(type, row)
        return found

    def scan(
        self,
        type: RecordType,
        where: Filter,
        access: Access,
        *,
        after: str | None = None,
        limit: int = 100,
        oldest: bool = False,
    ) -> Page:
        """See `ports.Engine.scan`."""
        clause, values = to_sql(where if type == "memory" else common(where), access)
        order, beyond = ("ASC", ">") if oldest else ("DESC", "<")
        if after:
            clause += f" AND (created_at, id) {beyond} (?, ?)"
            values += read_cursor(after)
        # A unary plus keeps the planner from walking all of time where a few rows can be looked up and sorted.
        by = "+created_at" if any(getattr(where, name) for name in _POINTED) else "created_at"
        sql = f"SELECT n, doc, created_at, id FROM {type} WHERE {clause} ORDER BY {by} {order}, id {order} LIMIT ?"
        with mapped(self.path):
            db = self._connection()
            rows = fetch(db, sql, *values, limit + 1) if type == "memory" or self._any(db, type) else []
        return page_of(type, rows, limit)

    def _any(self, db: apsw.Connection, type: RecordType) -> bool:
        """Whether there are records of a type: every recall asks for relations, and many stores have none."""
        return self._unchanged.read(db, ("any", type), lambda: bool(fetch(db, f"SELECT 1 FROM {type} LIMIT 1")))

    def search(self, query: Query, access: Access) -> list[Hit]:
        """See `ports.Engine.search`."""
        with mapped(self.path):
            db = self._connection()  # first: another file has another searcher
            return self._searcher.search(db, query, access)

    def census(self, terms: Sequence[str], access: Access) -> Census:
        """See `ports.Engine.census`."""
        with mapped(self.path):
            db = self._connection()  # first: another file has another searcher
            return self._searcher.census(db, terms, access)

    def containing(self, piece: str, access: Access, *, limit: int = 8) -> list[str]:
        """See `ports.Engine.containing`."""
        with mapped(self.path):
            db = self._connection()  # first: another file has another searcher
            return self._searcher.containing(db, piece, access, limit)

    def places(self, access: Access) -> list[Scope]:
        """See `ports.Engine.places`."""
        with mapped(self.path):
            db = self._connection()
            return [*self._unchanged.read(db, ("scopes", access), lambda: _scopes(db, access))]

    def events(
        self,
        *,
        after: int = 0,
        subject: str | None = None,
        batch: str | None = None,
        token: Token | None = None,
        newest: bool = False,
        limit: int = 100,
    ) -> list[Event]:
        """See `ports.Engine.events`."""
        with mapped(self.path):
            db = self._connection()
            if token:
                seq = replay(db, token)
                return [event_of(row) for row in fetch(db, f"{EVENTS} WHERE seq = ?", seq)]
            where, values = events_where(after, subject, batch, newest=newest)
            sql = f"{EVENTS} WHERE {where} ORDER BY seq {'DESC' if newest else 'ASC'} LIMIT ?"
            return [event_of(row) for row in fetch(db, sql, *values, limit)]

    def replica(self) -> str:
        """See `ports.Engine.replica`."""
        with mapped(self.path):
            head = Book.read(self._connection(), self._connections.home, lambda: "").chain.head
        return head.replica if head.position else ""

    # writing

    def commit(self, change: Change, witness: Witness | None = None) -> Commit:
        """See `ports.Engine.commit`; a `witness` is told of it before anything is kept."""
        with mapped(self.path):
            needles = self._needles(change) if change.erase else []
            with self._connections.transaction() as db:
                self._trace("begun")
                if change.token and (seq := replay(db, change.token)) is not None:
                    numbers = check(db, change._replace(expects={}, claims={}))
                    event = event_of(fetch(db, f"{EVENTS} WHERE seq = ?", seq)[0])
                    return Commit(event, handles_of(change, numbers), replayed=True)
                numbers = check(db, change)
                self._trace("checked")
                book = Book.read(db, self._connections.home, self._new_replica)
                apply(db, change, book.chain, numbers, self._trace)
                event, head = append(db, change, book.chain.head)
                self._trace("event")
                book._replace(chain=book.chain.going_on(head)).write(db)
                self._trace("sealed")
                if witness:
                    witness(Commit(event, handles_of(change, numbers)), numbers)
            self._trace("committed")
            traces, places = self._scrub(needles) if change.erase else (None, ())
        return Commit(event, handles_of(change, numbers), traces=traces, places=places)

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """See `ports.Engine.put_vectors`."""
        for _, _, vectors in rows:
            check_vectors(space, vectors)
        from engram.engines import sqlite_vectors as near  # noqa: PLC0415 - saving a text needs no numpy

        kept = 0
        with mapped(self.path), self._connections.transaction(patience=VECTORS_WAIT) as db:
            known = space_of(db, space)
            if known is None and rows and fetch(db, "SELECT 1 FROM space"):
                return 0  # the store has gone over to another space in the meantime
            s, centre, centred = known or _begin_space(db, space)
            for id, imprint, vectors in rows:
                for n, p in fetch(db, "SELECT n, p FROM memory WHERE id = ? AND imprint = ?", id, imprint):
                    near.keep(db, near.Place(s, centre, (p,)), n, vectors)
                    kept += 1
            if centred < len(near.CENTRED_AT) and near.count(db, s) > near.CENTRED_AT[centred]:
                near.centre(db, s)
                db.execute("UPDATE space SET centred = ? WHERE s = ?", (centred + 1, s))
            _retire_spaces(db, wanted=s if not rows else None)
        return kept

    def feed(self, ids: Sequence[str], space: Space | None) -> dict[str, tuple[Memory, bytes]]:
        """See `indexes.indexed.Source.feed`."""
        fed: dict[str, tuple[Memory, bytes]] = {}
        with mapped(self.path):
            db = self._connection()
            known = space_of(db, space)
            for id in ids:
                for n, doc in fetch(db, "SELECT n, doc FROM memory WHERE id = ?", id):
                    of = "SELECT halves FROM vector WHERE n = ? AND s = ? ORDER BY v"
                    kept = fetch(db, of, n, known[0]) if known else []
                    fed[id] = (
                        cast("Memory", record_of("memory", (n, doc))),
                        b"".join(map(whole, (h for (h,) in kept))),
                    )
        return fed

    def lacking(self, space: Space, access: Access, *, limit: int = 100) -> list[Memory]:
        """See `ports.Engine.lacking`."""
        clause, values = to_sql(ANYTHING, access)
        with mapped(self.path):
            db = self._connection()
            known = space_of(db, space)
            if known is None and fetch(db, "SELECT 1 FROM space"):
                return []
            table = "lacking JOIN memory USING (n)" if known else "memory"
            of_space = f"s = {known[0]} AND " if known else ""
            sql = f"SELECT n, doc FROM {table} WHERE {of_space}{clause} ORDER BY n LIMIT ?"
            return [cast("Memory", record_of("memory", row)) for row in fetch(db, sql, *values, limit)]

    def backlog(self, access: Access) -> Backlog:
        """See `ports.Engine.backlog`."""
        with mapped(self.path):
            db = self._connection()
            return self._unchanged.read(db, ("backlog", access), lambda: _backlog(db, access))

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`."""
        with mapped(self.path):
            self._connection()  # to the file that has the name now, if there is one
        findings = [*self._check_file(repair=repair)]
        with mapped(self.path), self._connections.fresh() as db:
            if damage := integrity(db):
                return [*findings, damage]
            if repair:
                with self._connections.transaction() as writer:
                    if is_mendable(check_derived(writer)) and not check_told(writer):
                        mend_derived(writer)
            db.execute("BEGIN")  # one snapshot: a writer beside the check must not look like damage
            return findings + check_told(db) + check_derived(db)

    def facts(self) -> dict[str, str]:
        """See `ports.Engine.facts`."""
        return {"schema": str(len(sqlite_file.MIGRATIONS)), "sqlite": apsw.sqlite_lib_version()}

    def tallies(self) -> dict[str, int]:
        """See `ports.Engine.tallies`."""
        with mapped(self.path):
            return tallies(self._connection())

    form = "sqlite"

    def copy_to(self, folder: str, progress: Progress) -> Mapping[str, int]:
        """See `ports.Copies.copy_to`."""
        from engram.engines.sqlite_copy import copy  # noqa: PLC0415 - start-up

        return copy(self.path, folder, progress)

    def close(self) -> None:
        """See `ports.Engine.close`. Whoever asks again finds the file that is there then."""
        self._connections.close()
        self._searcher = Searcher(self._unchanged)

    def _renew(self) -> None:
        """Another file has taken the name: nothing that is known of the one before counts any more."""
        self._searcher = Searcher(self._unchanged)
        self._bring_up_to_date()

    def _connection(self) -> apsw.Connection:
        return self._connections.mine()

    def _find(self, type: RecordType, ref: str, allowed: str, values: list[str | int]) -> Row | None:
        db = self._connection()
        select = f"SELECT n, doc FROM {type} WHERE"
        if not storable(ref):  # it names nothing
            return None
        if rows := fetch(db, f"{select} id = ? AND {allowed}", ref, *values):
            return rows[0]
        if (number := handle_number(type, ref)) is not None:
            rows = fetch(db, f"{select} n = ? AND {allowed}", number, *values)
            return rows[0] if rows else None
        if len(ref) < SHORTEST_PREFIX:
            return None
        # A prefix is a range of ids: the index finds it, and no wildcard can be smuggled in.
        sql = f"SELECT n, doc, id FROM {type} WHERE id >= ? AND id < ? AND {allowed} ORDER BY id LIMIT 4"
        return the_one(ref, fetch(db, sql, ref, ref + "\U0010ffff", *values))

    # erasure

    def _needles(self, change: Change) -> list[bytes]:
        """Pieces of the texts about to be erased, long enough to be telling, to look for afterwards."""
        db, told = self._connection(), set[str]()
        for id in change.erase:
            docs = [row for type in RECORDS for row in fetch(db, f"SELECT doc FROM {type} WHERE id = ?", id)]
            sql = "SELECT payload FROM event WHERE seq IN (SELECT seq FROM subject WHERE id = ?)"
            for (doc,) in docs:
                told.update(strings([json.loads(doc).get(name) for name in TELLING]))
            for (payload,) in fetch(db, f"{sql} AND payload IS NOT NULL", id):
                edits = Payload.parse(payload).edits
                told.update(strings([[edit.old, edit.new] for edit in edits if edit.field in TELLING]))
        return [piece.encode() for piece in pieces_of(map(as_json, told))]

    def _scrub(self, needles: list[bytes]) -> tuple[int | None, tuple[str, ...]]:
        """Empty the write-ahead log and count the pieces that can still be read in the raw files, and say where.

        None says that there was no piece long enough to look for.
        """
        db = self._connection()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        raw = [file for suffix in ("", "-wal") if os.path.exists(file := f"{self.path}{suffix}")]
        left = [needle for file in raw for needle in _held_in(file, needles)]
        noted: list[tuple[int, bytes]] = []
        for seq, note in db.execute("SELECT seq, payload -> '$.note' FROM event WHERE payload IS NOT NULL"):
            noted += [(seq, needle) for needle in needles if needle in note.encode()]
        # What another record says as well is no trace of this one, nor is what agents and places are called.
        told = [*(f"{type} WHERE instr(doc, ?1)" for type in RECORDS), "place WHERE instr(scope, ?1)"]
        told += ["event WHERE instr(payload -> '$.edits', ?1) OR instr(envelope, ?1)"]
        said = " UNION ALL ".join(f"SELECT 1 FROM {each}" for each in told) + " LIMIT 1"
        mine = {n for n in {*left, *(n for _, n in noted)} if not fetch(db, said, n.decode())}
        found = sum(needle in mine for needle in left)
        places = sorted({seq for seq, needle in noted if needle in mine})
        return (found if needles else None), tuple(map(noted_at, places))

    def _check_file(self, *, repair: bool) -> Iterator[Finding]:
        problems = sqlite_file.loose_modes(self.path, os.stat(self.path), private_folder=self._private_folder)
        for loose in problems:
            if repair:
                os.chmod(loose.path, loose.wanted)
            else:
                hint = f"Make it private: {loose.command}  (or: engram doctor --fix)"
                yield Finding("modes", loose.sentence, hint, fixable=True)
        version = apsw.sqlite_lib_version()
        if tuple(map(int, version.split("."))) < sqlite_file.SAFE_SQLITE:
            wanted = ".".join(map(str, sqlite_file.SAFE_SQLITE))
            yield Finding(
                "sqlite",
                f"SQLite {version} has the WAL-reset bug.",
                f"Upgrade apsw to bring {wanted} or later.",
            )
        if kind := sqlite_file.network_file_system(self.path):
            yield Finding(
                "network", f"The store lies on a network file system ({kind}).", "Move it to a local disk."
            )


def _begin_space(db: apsw.Connection, space: Space) -> Row:
    """A new space, which every memory lacks; one that was coming before it gives way."""
    spaces = fetch(db, "SELECT s FROM space ORDER BY s")
    for (s,) in spaces[1:]:
        _drop_space(db, s)
    db.execute("INSERT INTO space (model, dim, prefix) VALUES (?, ?, ?)", tuple(space))
    s = db.last_insert_rowid()
    db.execute("INSERT INTO lacking SELECT ?, n FROM memory", (s,))
    return (s, b"", 0)


def _retire_spaces(db: apsw.Connection, wanted: int | None) -> None:
    spaces = [s for (s,) in fetch(db, "SELECT s FROM space ORDER BY s")]
    for s in outdated(spaces, wanted, lambda s: bool(fetch(db, "SELECT 1 FROM lacking WHERE s = ? LIMIT 1", s))):
        _drop_space(db, s)


def _drop_space(db: apsw.Connection, s: int) -> None:
    for table in ("vector", "lacking", "space"):
        db.execute(f"DELETE FROM {table} WHERE s = ?", (s,))


def _scopes(db: apsw.Connection, access: Access) -> list[Scope]:
    clause, values = to_sql(ANYTHING, access)
    of = [f"SELECT scope FROM {table} WHERE {clause}" for table in ("place", "session")]
    rows = fetch(db, " UNION ".join(of), *values, *values)
    return sorted((Scope.parse(scope) for (scope,) in rows), key=str)


def _backlog(db: apsw.Connection, access: Access) -> Backlog:
    clause, values = to_sql(ANYTHING, access)
    some = f"SELECT 1 FROM lacking JOIN memory USING (n) WHERE lacking.s = space.s AND {clause} LIMIT ?"
    sql = f"SELECT model, dim, prefix, (SELECT count(*) FROM ({some})) FROM space ORDER BY s LIMIT 2"
    return backlog_of(fetch(db, sql, *values, MOST_COUNTED))


def _held_in(file: str, needles: list[bytes]) -> set[bytes]:
    """Those of these that can be read in a file."""
    missing, kept = set(needles), b""
    for block in sqlite_file.raw_bytes(file):
        window = kept + block
        missing -= {needle for needle in missing if needle in window}
        kept = window[-256:]  # more than a piece is long, so that none is cut in two
    return set(needles) - missing
