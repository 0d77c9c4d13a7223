"""Records in a dict: the reference engine, for tests and for what need not last."""

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from engram.engines.chain import moved, same_request, sealed, taken
from engram.engines.groups import groups_of
from engram.engines.rows import handles_of
from engram.errors import Moved
from engram.model.change import ABSENT, Change, Commit, Finding, Token, Witness
from engram.model.codec import RECORDS, Record, RecordType, index, searchable, type_of
from engram.model.event import Event, Head, intact
from engram.model.filter import Access, Filter, matches, matches_any
from engram.model.memory import Memory
from engram.model.query import (
    FIELD_WEIGHTS,
    SATURATION,
    Backlog,
    Census,
    Hit,
    Page,
    Query,
    Space,
    bm25_rarity,
    check_vectors,
    cosine,
    in_order,
    says_all,
    shares,
)
from engram.model.record import replace
from engram.model.refs import SHORTEST_PREFIX, ambiguous, handle_number, print_handle, read_cursor, write_cursor
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session
from engram.model.text import holds


class _Row(NamedTuple):
    record: Record
    number: int


class RamEngine:
    """Everything in one process's memory, behind one lock."""

    def __init__(self, replica: str = "ram") -> None:
        self._lock = threading.RLock()
        self._rows: dict[RecordType, dict[str, _Row]] = {type: {} for type in RECORDS}
        self._numbers: Counter[RecordType] = Counter()
        self._claims: dict[str, str] = {}
        self._tokens: dict[tuple[str, str, str], tuple[str, int]] = {}
        self._spaces: list[Space] = []  # the active one, and one that is coming
        self._vectors: dict[tuple[str, Space], tuple[str, bytes]] = {}
        self._events: list[Event] = []
        self._head = Head(replica)

    def get(self, type: RecordType, refs: Iterable[str], access: Access) -> dict[str, Record]:
        """See `ports.Engine.get`."""
        with self._lock:
            readable = self._readable(type, access)
            found = {ref: self._resolve(type, ref, readable) for ref in refs}
            return {ref: record for ref, record in found.items() if record is not None}

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
        place = read_cursor(after) if after else None
        with self._lock:
            found = [
                (str(index(record)["created_at"]), record.id, record)
                for record in self._readable(type, access).values()
                if matches_any(record, where)
            ]
        found.sort(reverse=not oldest, key=lambda row: row[:2])
        if place:
            found = [row for row in found if (row[:2] > place if oldest else row[:2] < place)]
        page = found[:limit]
        more = len(found) > limit and bool(page)
        return Page(tuple(row[2] for row in page), write_cursor(*page[-1][:2]) if more else None)

    def search(self, query: Query, access: Access) -> list[Hit]:
        """See `ports.Engine.search`: BM25 over the terms, as FTS5 reckons it, and the cosine."""
        query = query.arrived()
        with self._lock:
            readable = self._readable("memory", access)
            shares, cosines = self._shares(query, readable), self._cosines(query)
        allowed = {
            id: memory
            for id, memory in readable.items()
            if isinstance(memory, Memory) and matches(memory, query.where)
        }
        worded = _best(shares, allowed, query.limit)
        near = _best(cosines, allowed, 0 if query.phrases else query.limit)
        hits = [
            Hit(allowed[id], shares[id] if id in worded else None, cosines.get(id))
            for id in dict.fromkeys(worded + near)
        ]
        return in_order(hits)

    def census(self, terms: Sequence[str], access: Access) -> Census:
        """See `ports.Engine.census`."""
        with self._lock:
            readable = self._readable("memory", access)
            texts = self._texts()
            counted = _census(terms, {id: columns for id, columns in texts.items() if id in readable})
            return counted._replace(total=len(texts))

    def containing(self, piece: str, access: Access, *, limit: int = 8) -> list[str]:
        """See `ports.Engine.containing`."""
        with self._lock:
            readable = self._readable("memory", access)
            carried = (columns for id, columns in self._texts().items() if id in readable)
            terms = {term for columns in carried for column in columns for term in column if holds(term, piece)}
        return sorted(terms, key=lambda term: (len(term), term))[: max(limit, 0)]

    def places(self, access: Access) -> list[Scope]:
        """See `ports.Engine.places`."""
        with self._lock:
            records = [*self._readable("memory", access).values(), *self._readable("session", access).values()]
        return sorted({_scope(record) for record in records}, key=str)

    def commit(self, change: Change, witness: Witness | None = None) -> Commit:
        """See `ports.Engine.commit`; a `witness` is told of it before anything is kept."""
        with self._lock:
            if change.token and (known := self._replay(change.token)):
                there = {id: row.number for id, row in self._rows["memory"].items()}
                return Commit(known, handles_of(change, there), replayed=True)
            self._check(change)
            numbers = self._number(change)
            told, head = sealed(change, self._head)
            done = Commit(told[-1].event, handles_of(change, numbers), traces=0 if change.erase else None)
            if witness:
                witness(done, numbers)
            self._apply(change, numbers)
            for event, _, _, token in told:
                self._events.append(event)
                if token:
                    self._tokens[token.owner, token.operation, token.name] = (token.request, event.seq)
            self._head = head
            return done

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """See `ports.Engine.put_vectors`."""
        for _, _, vectors in rows:
            check_vectors(space, vectors)
        with self._lock:
            if space not in self._spaces:
                if rows and self._spaces:
                    return 0  # the store has gone over to another space in the meantime
                self._spaces = [*self._spaces[:1], space]
            elif not rows and space == self._spaces[0]:
                self._spaces = [space]
            fresh = [row for row in rows if self._imprint(row[0]) == row[1]]
            for id, imprint, vectors in fresh:
                self._vectors[id, space] = (imprint, vectors)
            if len(self._spaces) > 1 and not any(self._without(self._spaces[1])):
                self._spaces = self._spaces[1:]
            self._vectors = {key: kept for key, kept in self._vectors.items() if key[1] in self._spaces}
            return len(fresh)

    def feed(self, ids: Sequence[str], space: Space | None) -> dict[str, tuple[Memory, bytes]]:
        """See `indexes.indexed.Source.feed`."""
        fed: dict[str, tuple[Memory, bytes]] = {}
        with self._lock:
            for id in ids:
                row = self._rows["memory"].get(id)
                if row and isinstance(row.record, Memory):
                    imprint, vectors = self._vectors.get((id, space), ("", b"")) if space else ("", b"")
                    fed[id] = row.record, vectors if imprint == self._imprint(id) else b""
        return fed

    def lacking(self, space: Space, access: Access, *, limit: int = 100) -> list[Memory]:
        """See `ports.Engine.lacking`."""
        with self._lock:
            readable = self._readable("memory", access)
            known = space in self._spaces or not self._spaces
            found = [readable[id] for id in self._without(space) if id in readable and known]
        return [memory for memory in found if isinstance(memory, Memory)][:limit]

    def backlog(self, access: Access) -> Backlog:
        """See `ports.Engine.backlog`."""
        with self._lock:
            readable = self._readable("memory", access)
            spaces = dict(zip(("active", "coming"), self._spaces, strict=False))
            counts = [sum(id in readable for id in self._without(space)) for space in self._spaces] + [0, 0]
            return Backlog(**spaces, lacking=counts[0], remaining=counts[1])

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
        with self._lock:
            if token:
                known = self._replay(token)
                return [known] if known else []
            found = [
                event
                for event in self._events
                if (subject is None or subject in event.subjects)
                and (batch is None or batch == event.batch)
                and ((not after or event.seq < after) if newest else event.seq > after)
            ]
            return found[::-1][:limit] if newest else found[:limit]

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`."""
        del repair  # nothing here is derived
        with self._lock:
            prev, findings = "", []
            for event in self._events:
                mine = event.replica == self._head.replica
                if not intact(event) or (mine and event.prev != prev):
                    findings.append(Finding("history", f"Event {event.id[:8]} does not fit the chain."))
                prev = event.id if mine else prev
            return findings

    def replica(self) -> str:
        """See `ports.Engine.replica`."""
        with self._lock:
            return self._head.replica if self._head.position else ""

    def facts(self) -> dict[str, str]:
        """See `ports.Engine.facts`."""
        return {}

    def tallies(self) -> dict[str, int]:
        """See `ports.Engine.tallies`: nothing here is derived."""
        return {}

    def close(self) -> None:
        """See `ports.Engine.close`."""

    def _readable(self, type: RecordType, access: Access) -> dict[str, Record]:
        if not isinstance(access, Access):
            raise TypeError("A read needs an Access.")
        rows = self._rows[type].items()
        return {
            id: replace(row.record, handle=print_handle(type, row.number))
            for id, row in rows
            if access.allows(row.record.owner, str(index(row.record)["visibility"]), _scope(row.record))
        }

    def _resolve(self, type: RecordType, ref: str, readable: dict[str, Record]) -> Record | None:
        if ref in readable:
            return readable[ref]
        if (number := handle_number(type, ref)) is not None:
            return next((r for id, r in readable.items() if self._rows[type][id].number == number), None)
        if len(ref) < SHORTEST_PREFIX:
            return None
        fits = sorted(id for id in readable if id.startswith(ref))
        if len(fits) > 1:
            raise ambiguous(ref, fits)
        return readable[fits[0]] if fits else None

    def _replay(self, token: Token) -> Event | None:
        known = self._tokens.get((token.owner, token.operation, token.name))
        if known is None:
            return None
        same_request(token, known[0])
        return self._events[known[1] - 1]

    def _check(self, change: Change) -> None:
        for id, revision in change.expects.items():
            rows = [rows[id].record.revision for rows in self._rows.values() if id in rows]
            if (rows[0] if rows else ABSENT) != revision:
                raise moved()
        touched = set(change.claims) | {id for _, id in change.drops} | {record.id for record in change.puts}
        wanted: set[str] = set()
        for id, claims in change.claims.items():
            holders = {self._claims[claim] for claim in claims if claim in self._claims}
            if holders - {id} - touched or wanted.intersection(claims):
                raise taken()
            wanted.update(claims)

    def _number(self, change: Change) -> dict[str, int]:
        """The number of every record put: the one it has, the one it must get, or the next."""
        last, numbers = Counter(self._numbers), dict[str, int]()
        given = {(type, row.number) for type, rows in self._rows.items() for row in rows.values()}
        for record in change.puts:
            type = type_of(record)
            if old := self._rows[type].get(record.id):
                numbers[record.id] = old.number
                continue
            n = numbers[record.id] = change.numbers.get(record.id) or last[type] + 1
            if (type, n) in given:
                raise Moved(f"{print_handle(type, n)} is another record.", "Let it have the next number.")
            given.add((type, n))
            last[type] = max(last[type], n)
        return numbers

    def _apply(self, change: Change, numbers: Mapping[str, int]) -> None:
        gone = {id for _, id in change.drops}
        freed = gone | set(change.claims)
        self._claims = {claim: id for claim, id in self._claims.items() if id not in freed}
        for type, id in change.drops:
            self._rows[type].pop(id)
        for record in change.puts:
            type = type_of(record)
            self._rows[type][record.id] = _Row(record, numbers[record.id])
            self._numbers[type] = max(self._numbers[type], numbers[record.id])
        for type, n in change.past.given.items() if change.past else ():
            self._numbers[type] = max(self._numbers[type], n)
        for id, claims in change.claims.items():
            self._claims |= dict.fromkeys(claims, id)
        self._vectors = {k: v for k, v in self._vectors.items() if self._imprint(k[0]) == v[0]}
        if change.erase:
            self._erase(set(change.erase))

    def _erase(self, ids: set[str]) -> None:
        touched = {event.seq for event in self._events if ids & set(event.subjects)}
        self._events = [e._replace(payload=None) if e.seq in touched else e for e in self._events]
        self._tokens = {k: v for k, v in self._tokens.items() if v[1] not in touched}

    def _imprint(self, id: str) -> str | None:
        row = self._rows["memory"].get(id)
        return row.record.imprint if row and isinstance(row.record, Memory) else None

    def _without(self, space: Space) -> Iterator[str]:
        return (id for id in self._rows["memory"] if (id, space) not in self._vectors)

    def _texts(self) -> dict[str, list[list[str]]]:
        rows = [cast("Memory", row.record) for row in self._rows["memory"].values()]
        return {memory.id: [column.split() for column in searchable(memory)] for memory in rows}

    def _shares(self, query: Query, readable: Collection[str]) -> dict[str, float]:
        groups = groups_of(query)
        if not groups and not query.phrases:
            return {}
        texts = self._texts()
        terms = [term for group in groups for term in group]
        census = _census(terms, texts)
        told = _census(terms, {id: columns for id, columns in texts.items() if id in readable})
        found = {}
        for id, columns in texts.items():
            carried = [any(_count(term, columns) for term in group) for group in groups]
            if not says_all(cast("Memory", self._rows["memory"][id].record), query.phrases):
                continue
            if not groups or (all(carried) if query.every else any(carried)):
                found[id] = columns
        scores = _bm25(groups, found, texts, census)
        if not groups or not query.ranked:
            return dict.fromkeys(scores, 1.0)
        return dict(
            zip(scores, shares(scores.values(), groups, census, told._replace(total=census.total)), strict=True)
        )

    def _cosines(self, query: Query) -> dict[str, float]:
        return {
            id: cosine(query.vector, kept)
            for (id, space), (_, kept) in self._vectors.items()
            if query.vector and space == query.space
        }


def _best(scores: dict[str, float], allowed: Collection[str], limit: int) -> list[str]:
    """The ids with the highest scores, of those that are allowed; ties by id."""
    ranked = sorted((-score, id) for id, score in scores.items() if id in allowed)
    return [id for _, id in ranked[:limit]]


def _scope(record: Record) -> Scope:
    return record.scope if isinstance(record, Memory | Session) else GLOBAL


def _count(term: str, columns: list[list[str]]) -> float:
    """How often a term occurs, each column by its weight; a term that ends in * stands for all that begin so."""
    start = term.removesuffix("*")
    return sum(
        weight * sum(word.startswith(start) if start != term else word == term for word in column)
        for weight, column in zip(FIELD_WEIGHTS, columns, strict=True)
    )


def _census(terms: Sequence[str], texts: dict[str, list[list[str]]]) -> Census:
    carriers = {term: sum(_count(term, columns) > 0 for columns in texts.values()) for term in terms}
    return Census(len(texts), carriers)


def _bm25(
    groups: Sequence[Sequence[str]],
    found: dict[str, list[list[str]]],
    texts: dict[str, list[list[str]]],
    census: Census,
) -> dict[str, float]:
    """Okapi BM25 with b = 0.75 and weighted columns, over documents that match.

    A document is a word longer than its texts: FTS5 indexes its place too.
    """
    average = 1 + sum(sum(map(len, columns)) for columns in texts.values()) / max(len(texts), 1)
    scores = {}
    for id, columns in found.items():
        norm = SATURATION * (0.25 + 0.75 * (1 + sum(map(len, columns))) / average)
        counts = {term: _count(term, columns) for group in groups for term in group}
        scores[id] = sum(
            bm25_rarity(census, (term,)) * count * (1 + SATURATION) / (count + norm)
            for term, count in counts.items()
            if count
        )
    return scores
