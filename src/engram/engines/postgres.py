"""Records in PostgreSQL, for teams: one org per engine, walled off by row-level security as well."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from engram.engines import postgres_search as searching
from engram.engines import postgres_vectors as vectors_of
from engram.engines import postgres_write as writing
from engram.engines.postgres_check import check_derived, check_told, mend_derived
from engram.engines.postgres_database import Database, again
from engram.engines.postgres_schema import MIGRATIONS, Part
from engram.engines.rows import Row, event_of, record_of
from engram.engines.where import where as to_sql
from engram.errors import Conflict
from engram.model.change import Change, Commit, Finding, Token, Witness
from engram.model.codec import Record, RecordType
from engram.model.event import Event
from engram.model.filter import ANYTHING, Access, Filter, common
from engram.model.memory import Memory
from engram.model.query import Backlog, Census, Hit, Page, Query, Space, check_vectors
from engram.model.refs import SHORTEST_PREFIX, handle_number, print_handle, read_cursor, write_cursor
from engram.model.scope import Scope

EVENTS = "SELECT seq, id, envelope, payload FROM event"

MOST_COUNTED = 1_000_000


class PostgresEngine:
    """One org of one database; any number of processes and threads."""

    features = frozenset({"text", "vector"})

    def __init__(self, database: Database, org: str, *, new_replica: Callable[[], str], sole: bool = False) -> None:
        """Stand on a database; the `sole` engine of one closes it with itself."""
        self.org = org
        self._database = database
        self._new_replica = new_replica
        self._sole = sole

    def of(self, org: str) -> "PostgresEngine":
        """The same database for another org."""
        return PostgresEngine(self._database, org, new_replica=self._new_replica)

    # reading

    def get(self, type: RecordType, refs: Iterable[str], access: Access) -> dict[str, Record]:
        """See `ports.Engine.get`."""
        allowed = searching.placeholders(to_sql(ANYTHING, access))
        found: dict[str, Record] = {}
        with self._database.reading(self.org) as part:
            for ref in refs:
                if (row := self._find(part, type, ref, *allowed)) is not None:
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
        clause, values = searching.placeholders(to_sql(where if type == "memory" else common(where), access))
        order, beyond = ("ASC", ">") if oldest else ("DESC", "<")
        if after:
            clause += f" AND (created_at, id) {beyond} (%s, %s)"
            values += read_cursor(after)
        sql = f"SELECT n, doc::text, created_at, id FROM {type} WHERE org = :org AND {clause}"
        with self._database.reading(self.org) as part:
            rows = part.fetch(f"{sql} ORDER BY created_at {order}, id {order} LIMIT %s", *values, limit + 1)
        page = rows[:limit]
        more = len(rows) > limit and bool(page)
        return Page(tuple(record_of(type, row) for row in page), write_cursor(*page[-1][2:]) if more else None)

    def search(self, query: Query, access: Access) -> list[Hit]:
        """See `ports.Engine.search`."""
        to_sql(ANYTHING, access)  # refuses a missing access before anything is asked
        with self._database.reading(self.org) as part:
            return searching.search(part, query, access)

    def census(self, terms: Sequence[str], access: Access) -> Census:
        """See `ports.Engine.census`."""
        to_sql(ANYTHING, access)
        with self._database.reading(self.org) as part:
            return searching.census(part, terms, access)

    def places(self, access: Access) -> list[Scope]:
        """See `ports.Engine.places`."""
        clause, values = searching.placeholders(to_sql(ANYTHING, access))
        of = [f"SELECT scope FROM {table} WHERE org = :org AND {clause}" for table in ("place", "session")]
        with self._database.reading(self.org) as part:
            rows = part.fetch(" UNION ".join(of), *values, *values)
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
        with self._database.reading(self.org) as part:
            if token:
                seq = writing.replay(part, token)
                rows = part.fetch(f"{EVENTS} WHERE org = :org AND seq = %s", seq)
                return [event_of(row) for row in rows]
            clauses: list[tuple[str, str | int]] = [("seq < %s" if newest and after else "seq > %s", after)]
            if subject is not None:
                clauses.append(("seq IN (SELECT seq FROM subject WHERE org = :org AND id = %s)", subject))
            if batch is not None:
                clauses.append(("batch = %s", batch))
            where, order = " AND ".join(sql for sql, _ in clauses), "DESC" if newest else "ASC"
            sql = f"{EVENTS} WHERE org = :org AND {where} ORDER BY seq {order} LIMIT %s"
            rows = part.fetch(sql, *(value for _, value in clauses), limit)
            return [event_of(row) for row in rows]

    def replica(self) -> str:
        """See `ports.Engine.replica`."""
        with self._database.reading(self.org) as part:
            return next(iter(writing.Book.replicas(part)), "")

    # writing

    def commit(self, change: Change, witness: Witness | None = None) -> Commit:
        """See `ports.Engine.commit`; a `witness` is told of it before anything is kept."""
        return again(lambda: self._committed(change, witness))

    def _committed(self, change: Change, witness: Witness | None) -> Commit:
        with self._database.writing(self.org) as part:
            book = writing.Book.read(part, self._new_replica)
            if change.token and (seq := writing.replay(part, change.token)) is not None:
                numbers = writing.check(part, change._replace(expects={}, claims={}))
                row = part.first(f"{EVENTS} WHERE org = :org AND seq = %s", seq)
                assert row
                return Commit(event_of(row), _handles(change, numbers), replayed=True)
            numbers = writing.check(part, change)
            book = writing.apply(part, change, book, numbers)
            keep = writing.take_over if change.past else writing.append
            event, head = keep(part, change, book.head)
            book.going_on(head).write(part)
            if witness:
                witness(Commit(event, _handles(change, numbers)), numbers)
        return Commit(event, _handles(change, numbers), traces=0 if change.erase else None)

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """See `ports.Engine.put_vectors`."""
        for _, _, vectors in rows:
            check_vectors(space, vectors)
        return again(lambda: self._put_vectors(space, rows))

    def _put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        kept = 0
        with self._database.writing(self.org) as part:
            writing.Book.read(part, self._new_replica)  # vectors take their turn like everything else
            s = vectors_of.space_of(part, space)
            if s is None and rows and vectors_of.spaces(part):
                return 0  # the store has gone over to another space in the meantime
            if s is None:
                s = vectors_of.begin(part, space)
            for id, imprint, vectors in rows:
                sql = "SELECT n, p FROM memory WHERE org = :org AND id = %s AND imprint = %s"
                for n, p in part.fetch(sql, id, imprint):
                    vectors_of.keep(part, vectors_of.Owner(s, p, n), space.dim, vectors)
                    kept += 1
            vectors_of.retire(part, wanted=s if not rows else None)
        return kept

    def lacking(self, space: Space, access: Access, *, limit: int = 100) -> list[Memory]:
        """See `ports.Engine.lacking`."""
        clause, values = searching.placeholders(to_sql(ANYTHING, access))
        with self._database.reading(self.org) as part:
            s = vectors_of.space_of(part, space)
            if s is None and vectors_of.spaces(part):
                return []
            lacks = " AND n IN (SELECT n FROM lacking WHERE org = :org AND s = %s)" if s is not None else ""
            also = [s] if s is not None else []
            sql = f"SELECT n, doc::text FROM memory WHERE org = :org AND {clause}{lacks} ORDER BY n LIMIT %s"
            rows = part.fetch(sql, *values, *also, limit)
        return [cast("Memory", record_of("memory", row)) for row in rows]

    def backlog(self, access: Access) -> Backlog:
        """See `ports.Engine.backlog`."""
        clause, values = searching.placeholders(to_sql(ANYTHING, access))
        some = (
            "SELECT 1 FROM lacking JOIN memory USING (org, n)"
            f" WHERE lacking.org = space.org AND lacking.s = space.s AND {clause} LIMIT %s"
        )
        sql = f"SELECT model, dim, prefix, (SELECT count(*) FROM ({some}) AS each) FROM space WHERE org = :org"
        with self._database.reading(self.org) as part:
            spaces = part.fetch(f"{sql} ORDER BY s LIMIT 2", *values, MOST_COUNTED)
        named = dict(zip(("active", "coming"), (Space(*row[:3]) for row in spaces), strict=False))
        counts = [row[3] for row in spaces] + [0, 0]
        return Backlog(**named, lacking=counts[0], remaining=counts[1])

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`."""
        with self._database.reading(self.org) as part:
            told = check_told(part)
            findings = [*told, *check_derived(part)]
        if repair and not told and findings:  # never bless what was tampered with
            with self._database.writing(self.org) as part:
                book = writing.Book.read(part, self._new_replica)
                mend_derived(part, book).write(part)
            return self.check()
        return findings

    def facts(self) -> dict[str, str]:
        """What `doctor` says about the store besides findings."""
        with self._database.reading(self.org) as part:
            row = part.first("SHOW server_version")
        return {"schema": str(len(MIGRATIONS)), "postgres": row[0] if row else "", "org": self.org}

    def close(self) -> None:
        """See `ports.Engine.close`."""
        if self._sole:
            self._database.close()

    def _find(self, part: Part, type: RecordType, ref: str, allowed: str, values: list[Any]) -> Row | None:
        select = f"SELECT n, doc::text, id FROM {type} WHERE org = :org AND"
        if "\x00" in ref or any("\ud800" <= mark <= "\udfff" for mark in ref):  # it is no text and names nothing
            return None
        if row := part.first(f"{select} id = %s AND {allowed}", ref, *values):
            return row
        if (number := handle_number(type, ref)) is not None:
            if number >= 1 << 63:
                return None
            return part.first(f"{select} n = %s AND {allowed}", number, *values)
        if len(ref) < SHORTEST_PREFIX:
            return None
        # A prefix is a range of ids: the index finds it, and no wildcard can be smuggled in.
        sql = f"{select} id >= %s AND id < %s AND {allowed} ORDER BY id LIMIT 4"
        rows = part.fetch(sql, ref, ref + "\U0010ffff", *values)
        if len(rows) > 1:
            fits = ", ".join(row[2] for row in rows[:3])
            raise Conflict(
                f"{ref} fits {'more than 3' if len(rows) > 3 else len(rows)} memories.",
                f"Give more of the id: {fits}.",
            )
        return rows[0] if rows else None


def _handles(change: Change, numbers: dict[str, int]) -> dict[str, str]:
    memories = [record.id for record in change.puts if isinstance(record, Memory)]
    return {id: print_handle("memory", numbers[id]) for id in memories if id in numbers}
