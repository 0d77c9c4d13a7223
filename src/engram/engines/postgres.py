"""Records in PostgreSQL, for teams: one org per engine, walled off by row-level security as well."""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from psycopg.errors import UniqueViolation

from engram.engines import postgres_search as searching
from engram.engines import postgres_vectors as vectors_of
from engram.engines import postgres_words as words_of
from engram.engines import postgres_write as writing
from engram.engines.audit import is_mendable
from engram.engines.chain import moved
from engram.engines.postgres_blobs import PostgresBlobs
from engram.engines.postgres_check import TALLIES, check_derived, check_server, check_told, mend_derived
from engram.engines.postgres_database import Database
from engram.engines.postgres_schema import MIGRATIONS, Part
from engram.engines.rows import (
    EVENTS,
    MOST_COUNTED,
    Row,
    backlog_of,
    event_of,
    events_where,
    handles_of,
    page_of,
    record_of,
    tallied,
    the_one,
)
from engram.engines.where import Clause
from engram.engines.where import where as to_sql
from engram.model.change import Change, Commit, Finding, Token, Witness
from engram.model.codec import Record, RecordType
from engram.model.event import Event
from engram.model.filter import ANYTHING, Access, Filter, common
from engram.model.limits import storable
from engram.model.memory import Memory
from engram.model.query import Backlog, Census, Hit, Page, Query, Space, check_vectors
from engram.model.refs import SHORTEST_PREFIX, handle_number, read_cursor
from engram.model.scope import Scope


class PostgresEngine:
    """One org of one database; any number of processes and threads."""

    def __init__(self, database: Database, org: str, *, new_replica: Callable[[], str], sole: bool = False) -> None:
        """Stand on a database; the `sole` engine of one closes it with itself."""
        self.org = org
        self._database = database
        self._new_replica = new_replica
        self._sole = sole
        self._begun = False  # whether the org is known to have its row, which commits lock

    def of(self, org: str) -> "PostgresEngine":
        """See `ports.ManyOrgs.of`."""
        return PostgresEngine(self._database, org, new_replica=self._new_replica)

    def blobs(self) -> PostgresBlobs:
        """See `ports.KeepsBytes.blobs`."""
        return PostgresBlobs(self._database, self.org)

    # reading

    def get(self, type: RecordType, refs: Iterable[str], access: Access) -> dict[str, Record]:
        """See `ports.Engine.get`."""
        allowed = words_of.placeholders(to_sql(ANYTHING, access))
        wanted = [ref for ref in dict.fromkeys(refs) if storable(ref)]
        rows = self._database.read(self.org, lambda part: _named(part, type, wanted, allowed)) if wanted else {}
        return {ref: record_of(type, rows[ref]) for ref in wanted if ref in rows}

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
        clause, values = words_of.placeholders(to_sql(where if type == "memory" else common(where), access))
        order, beyond = ("ASC", ">") if oldest else ("DESC", "<")
        if after:
            clause += f" AND (created_at, id) {beyond} (%s, %s)"
            values += read_cursor(after)
        sql = f"SELECT n, doc::text, created_at, id FROM {type} WHERE org = :org AND {clause}"
        sql += f" ORDER BY created_at {order}, id {order} LIMIT %s"
        rows = self._database.ask(self.org, sql, *values, limit + 1)
        return page_of(type, rows, limit)

    def search(self, query: Query, access: Access) -> list[Hit]:
        """See `ports.Engine.search`."""
        to_sql(ANYTHING, access)  # refuses a missing access before anything is asked
        whole = query.arrived()  # before there is a connection: none is kept from others meanwhile
        hits = self._database.read(self.org, lambda part: searching.search(part, whole, access))
        if hits is not None:
            return hits
        found = self._database.read(self.org, lambda part: searching.search(part, whole, access, thorough=True))
        return found or []

    def census(self, terms: Sequence[str], access: Access) -> Census:
        """See `ports.Engine.census`."""
        to_sql(ANYTHING, access)
        return self._database.read(self.org, lambda part: words_of.counted(part, terms, access)).told

    def containing(self, piece: str, access: Access, *, limit: int = 8) -> list[str]:
        """See `ports.Engine.containing`."""
        to_sql(ANYTHING, access)
        return self._database.read(self.org, lambda part: words_of.containing(part, piece, access, limit))

    def places(self, access: Access) -> list[Scope]:
        """See `ports.Engine.places`."""
        clause, values = words_of.placeholders(to_sql(ANYTHING, access))
        of = [f"SELECT scope FROM {table} WHERE org = :org AND {clause}" for table in ("place", "session")]
        rows = self._database.ask(self.org, " UNION ".join(of), *values, *values)
        return sorted((Scope.parse(scope) for (scope,) in rows), key=str)

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
        if token:
            seq = self._database.read(self.org, lambda part: writing.replay(part, token))
            rows = self._database.ask(self.org, f"{EVENTS} WHERE org = :org AND seq = %s", seq) if seq else []
            return [event_of(row) for row in rows]
        mine = "org = :org AND "
        where, values = words_of.placeholders(events_where(after, subject, batch, newest=newest, among=mine))
        sql = f"{EVENTS} WHERE {mine}{where} ORDER BY seq {'DESC' if newest else 'ASC'} LIMIT %s"
        return [event_of(row) for row in self._database.ask(self.org, sql, *values, limit)]

    def replica(self) -> str:
        """See `ports.Engine.replica`."""

        def told(part: Part) -> Callable[[], list[str]]:
            known = writing.Book.replicas(part)
            return lambda: known

        return next(iter(self._database.read(self.org, told)), "")

    # writing

    def commit(self, change: Change, witness: Witness | None = None) -> Commit:
        """See `ports.Engine.commit`; a `witness` is told of it before anything is kept."""
        sealed: list[Commit] = []
        try:
            commit = self._database.write(self.org, lambda part: self._committed(part, change, witness, sealed))
        except UniqueViolation as error:
            raise writing.taken(error) from error
        self._begun = True
        return commit

    def _committed(self, part: Part, change: Change, witness: Witness | None, sealed: list[Commit]) -> Commit:
        """Carry out a Change; `sealed` are the commits of earlier tries, of which one may have got through."""
        book, known, seq = self._opened(part, change)
        for commit in sealed:  # the connection broke before the answer came
            if part.first("SELECT 1 FROM event WHERE org = :org AND id = %s", commit.event.id):
                return commit
        if seq is not None:
            row = part.first(f"{EVENTS} WHERE org = :org AND seq = %s", seq)
            assert row
            return Commit(event_of(row), handles_of(change, known.numbers({})), replayed=True)
        numbers = known.numbers(change.expects)
        book = writing.apply(part, change, book, numbers, known.places)
        event, head = writing.append(part, change, book.chain.head)
        book._replace(chain=book.chain.going_on(head)).write(part)
        sealed.append(Commit(event, handles_of(change, numbers), traces=0 if change.erase else None))
        if witness:
            part.fetch("SELECT 1")  # whatever was refused is raised here
            witness(Commit(event, handles_of(change, numbers)), numbers)
        return sealed[-1]

    def _opened(self, part: Part, change: Change) -> tuple[writing.Book, writing.Known, int | None]:
        """The org's book, locked, what the Change is about, and the event its token stands for; in one round trip.

        Each is read when the lock is held, since the database takes one statement after the other; but there must
        be a book to lock.
        """
        if not self._begun:
            writing.Book.read(part, self._new_replica)
        book = writing.Book.later(part)
        known, seq = writing.Known.later(part, change), writing.replay(part, change.token)
        if (opened := book()) is None:
            raise moved()
        return opened, known(), seq()

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """See `ports.Engine.put_vectors`."""
        for _, _, vectors in rows:
            check_vectors(space, vectors)
        return self._database.write(self.org, lambda part: self._put_vectors(part, space, rows))

    def _put_vectors(self, part: Part, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        writing.Book.read(part, self._new_replica)  # vectors take their turn like everything else
        s = vectors_of.space_of(part, space)
        if s is None and rows and vectors_of.spaces(part):
            return 0  # the store has gone over to another space in the meantime
        if s is None:
            s = vectors_of.begin(part, space)
        kept = vectors_of.keep(part, s, space.dim, rows) if rows else 0
        vectors_of.retire(part, wanted=s if not rows else None)
        return kept

    def feed(self, ids: Sequence[str], space: Space | None) -> dict[str, tuple[Memory, bytes]]:
        """See `indexes.indexed.Source.feed`."""
        named = space or Space("", 0)
        vectors = (
            "SELECT string_agg(e::text, '|' ORDER BY v) FROM vector JOIN space USING (org, s)"
            f" WHERE vector.org = memory.org AND vector.n = memory.n AND {vectors_of.NAMED}"
        )
        sql = f"SELECT n, doc::text, id, ({vectors}) FROM memory WHERE org = :org AND id = ANY(%s)"
        rows = self._database.ask(self.org, sql, *named, [id for id in ids if storable(id)])
        return {row[2]: (cast("Memory", record_of("memory", row)), vectors_of.read(row[3] or "")) for row in rows}

    def lacking(self, space: Space, access: Access, *, limit: int = 100) -> list[Memory]:
        """See `ports.Engine.lacking`."""
        clause, values = words_of.placeholders(to_sql(ANYTHING, access))
        first, known = "ORDER BY n LIMIT %s", "SELECT s FROM space WHERE org = :org"
        behind = (
            "SELECT n, doc::text FROM lacking JOIN memory USING (org, n) WHERE lacking.org = :org"
            f" AND s = ({known} AND {vectors_of.NAMED}) AND {clause} {first}"
        )
        # Where the store knows no space yet, every memory lacks a vector in this one.
        every = f"SELECT n, doc::text FROM memory WHERE org = :org AND NOT EXISTS ({known}) AND {clause} {first}"
        rows = self._database.ask(
            self.org, f"({behind}) UNION ALL ({every})", *space, *values, limit, *values, limit
        )
        return [cast("Memory", record_of("memory", row)) for row in rows]

    def backlog(self, access: Access) -> Backlog:
        """See `ports.Engine.backlog`."""
        clause, values = words_of.placeholders(to_sql(ANYTHING, access))
        some = (
            "SELECT 1 FROM lacking JOIN memory USING (org, n)"
            f" WHERE lacking.org = space.org AND lacking.s = space.s AND {clause} LIMIT %s"
        )
        sql = f"SELECT model, dim, prefix, (SELECT count(*) FROM ({some}) AS each) FROM space WHERE org = :org"
        return backlog_of(self._database.ask(self.org, f"{sql} ORDER BY s LIMIT 2", *values, MOST_COUNTED))

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`."""

        def look(part: Part) -> Callable[[], tuple[list[Finding], list[Finding], list[Finding]]]:
            found = check_told(part), check_derived(part), check_server(part)
            return lambda: found

        def mend(part: Part) -> None:
            mend_derived(part, writing.Book.read(part, self._new_replica)).write(part)

        told, derived, risks = self._database.read(self.org, look)
        if repair and not told and is_mendable(derived):
            self._database.write(self.org, mend)
            return self.check()
        return [*told, *derived, *risks]

    def facts(self) -> dict[str, str]:
        """See `ports.Engine.facts`."""
        ((version,),) = self._database.ask(self.org, "SHOW server_version")
        return {"schema": str(len(MIGRATIONS)), "postgres": version, "org": self.org}

    def unbound(self) -> str:
        """See `ports.ManyOrgs.unbound`: a superuser, or one who bypasses row-level security."""
        free = "SELECT rolname FROM pg_roles WHERE rolname = session_user AND (rolsuper OR rolbypassrls)"
        return next((str(name) for (name,) in self._database.ask(self.org, free)), "")

    def tallies(self) -> dict[str, int]:
        """See `ports.Engine.tallies`."""
        return tallied(*self._database.ask(self.org, TALLIES)[0])

    def probe(self) -> None:
        """See `ports.Probed.probe`."""
        self._database.probe()

    def close(self) -> None:
        """See `ports.Engine.close`."""
        if self._sole:
            self._database.close()


def _named(part: Part, type: RecordType, refs: Sequence[str], allowed: Clause) -> Callable[[], dict[str, Row]]:
    """Ask for the row (number, document, id) of each ref; returns a callable that gives the answer later.

    A ref is an id, a handle, or the beginning of an id. A beginning is a range of ids, and a whole id the first of
    it: the index finds either, and no wildcard can be smuggled in.
    """
    clause, values = allowed
    numbers = {ref: n for ref in refs if (n := handle_number(type, ref)) is not None and n < 1 << 63}
    ends = [ref if ref in numbers or len(ref) < SHORTEST_PREFIX else ref + "\U0010ffff" for ref in refs]
    select = f"SELECT n, doc::text AS doc, id FROM {type} WHERE org = :org AND {clause} AND"
    begun = part.later(
        "SELECT found.*, ref FROM unnest(%s::text[], %s::text[]) AS asked (ref, last) CROSS JOIN LATERAL"
        f" ({select} id >= ref AND id <= last ORDER BY id LIMIT 4) AS found",
        *(refs, ends, *values),
    )
    handled = part.later(f"{select} n = ANY(%s)", *values, [*numbers.values()]) if numbers else list

    def told() -> dict[str, Row]:
        several: dict[str, list[Row]] = {}
        for found in begun():
            several.setdefault(found[3], []).append(found[:3])
        by_number = {row[0]: row for row in handled()}
        by_handle = {ref: by_number[n] for ref, n in numbers.items() if n in by_number}
        return by_handle | {ref: one for ref, rows in several.items() if (one := the_one(ref, rows))}

    return told
