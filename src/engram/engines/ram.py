"""Records in a dict: the reference engine, for tests and for what need not last."""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from engram.errors import Conflict, Moved
from engram.model.change import ABSENT, Change, Commit, Finding, Token
from engram.model.codec import RECORDS, Record, RecordType, index, searchable, type_of
from engram.model.event import Event, Head, intact, seal
from engram.model.filter import Access, Filter, matches, matches_any
from engram.model.memory import Memory
from engram.model.query import FIELD_WEIGHTS, Hit, Page, Query
from engram.model.record import replace
from engram.model.refs import SHORTEST_PREFIX, handle_number, print_handle, read_cursor, write_cursor
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope


class _Row(NamedTuple):
    record: Record
    number: int


class RamEngine:
    """Everything in one process's memory, behind one lock."""

    features = frozenset({"text"})

    def __init__(self, replica: str = "ram") -> None:
        self._lock = threading.RLock()
        self._rows: dict[RecordType, dict[str, _Row]] = {type: {} for type in RECORDS}
        self._numbers: Counter[RecordType] = Counter()
        self._claims: dict[str, str] = {}
        self._tokens: dict[tuple[str, str, str], tuple[str, int]] = {}
        self._vectors: dict[tuple[str, str], tuple[str, bytes]] = {}
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
        """See `ports.Engine.search`: BM25 over the terms, as FTS5 reckons it."""
        if not query.terms:
            return []
        with self._lock:
            memories = [cast("Memory", row.record) for row in self._rows["memory"].values()]
            readable = self._readable("memory", access)
            texts = {memory.id: [column.split() for column in searchable(memory)] for memory in memories}
        scores = _bm25(tuple(dict.fromkeys(query.terms)), texts, every=query.every)
        hits = [
            Hit(memory, score)
            for id, score in scores.items()
            if isinstance(memory := readable.get(id), Memory) and matches(memory, query.where)
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))[: query.limit]

    def commit(self, change: Change) -> Commit:
        """See `ports.Engine.commit`."""
        with self._lock:
            if change.token and (known := self._replay(change.token)):
                return Commit(known, self._handles(change), replayed=True)
            self._check(change)
            event, head, *_ = seal(change.draft, self._head)
            self._apply(change)
            self._events.append(event)
            self._head = head
            if change.token:
                token = change.token
                self._tokens[token.owner, token.operation, token.name] = (token.request, event.seq)
            return Commit(event, self._handles(change), traces=0 if change.erase else None)

    def put_vectors(self, model: str, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """See `ports.Engine.put_vectors`."""
        with self._lock:
            fresh = [row for row in rows if self._digest(row[0]) == row[1]]
            for id, digest, vector in fresh:
                self._vectors[id, model] = (digest, vector)
            return len(fresh)

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
                if not intact(event) or event.prev != prev:
                    findings.append(Finding("history", f"Event {event.id[:8]} does not fit the chain."))
                prev = event.id
            return findings

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
            raise Conflict(f"{ref} fits {len(fits)} memories.", "Give more of the id: " + ", ".join(fits[:3]) + ".")
        return readable[fits[0]] if fits else None

    def _replay(self, token: Token) -> Event | None:
        known = self._tokens.get((token.owner, token.operation, token.name))
        if known is None:
            return None
        if known[0] != token.request:
            raise Conflict(
                "That token was used for another request.",
                "Use a new token for a new request.",
            )
        return self._events[known[1] - 1]

    def _check(self, change: Change) -> None:
        for id, revision in change.expects.items():
            rows = [rows[id].record.revision for rows in self._rows.values() if id in rows]
            if (rows[0] if rows else ABSENT) != revision:
                raise Moved("It changed in the meantime.", "Read it again, and repeat what you asked for.")
        touched = set(change.claims) | {id for _, id in change.drops} | {record.id for record in change.puts}
        taken: set[str] = set()
        for id, claims in change.claims.items():
            holders = {self._claims[claim] for claim in claims if claim in self._claims}
            if holders - {id} - touched or taken.intersection(claims):
                raise Moved("Another memory holds this place.", "Read it again, and repeat what you asked for.")
            taken.update(claims)

    def _apply(self, change: Change) -> None:
        gone = {id for _, id in change.drops}
        moved = gone | set(change.claims)
        self._claims = {claim: id for claim, id in self._claims.items() if id not in moved}
        for type, id in change.drops:
            self._rows[type].pop(id)
        for record in change.puts:
            type = type_of(record)
            old = self._rows[type].get(record.id)
            if old is None:
                self._numbers[type] += 1
            self._rows[type][record.id] = _Row(record, old.number if old else self._numbers[type])
        for id, claims in change.claims.items():
            self._claims |= dict.fromkeys(claims, id)
        self._vectors = {k: v for k, v in self._vectors.items() if self._digest(k[0]) == v[0]}
        if change.erase:
            self._erase(set(change.erase))

    def _erase(self, ids: set[str]) -> None:
        touched = {event.seq for event in self._events if ids & set(event.subjects)}
        self._events = [e._replace(payload=None) if e.seq in touched else e for e in self._events]
        self._tokens = {k: v for k, v in self._tokens.items() if v[1] not in touched}

    def _digest(self, id: str) -> str | None:
        row = self._rows["memory"].get(id)
        return row.record.digest if row and isinstance(row.record, Memory) else None

    def _handles(self, change: Change) -> dict[str, str]:
        rows = self._rows["memory"]
        return {r.id: print_handle("memory", rows[r.id].number) for r in change.puts if r.id in rows}


def _scope(record: Record) -> Scope:
    return GLOBAL if isinstance(record, Relation) else record.scope


def _bm25(terms: tuple[str, ...], texts: dict[str, list[list[str]]], *, every: bool) -> dict[str, float]:
    """Okapi BM25 with k1 = 1.2 and b = 0.75 and weighted columns, over documents that match."""
    frequencies = {id: [Counter(column) for column in columns] for id, columns in texts.items()}
    total = len(texts)
    average = sum(sum(map(len, columns)) for columns in texts.values()) / max(total, 1) or 1.0
    scores: dict[str, float] = {}
    rarity = {}
    for term in terms:
        holders = sum(any(term in column for column in columns) for columns in frequencies.values())
        rarity[term] = max(math.log((total - holders + 0.5) / (holders + 0.5)), 1e-6)
    for id, columns in frequencies.items():
        found = [term for term in terms if any(term in column for column in columns)]
        if not found or (every and len(found) < len(set(terms))):
            continue
        length = sum(map(len, texts[id]))
        scores[id] = sum(
            rarity[term] * (weight * 2.2) / (weight + 1.2 * (0.25 + 0.75 * length / average))
            for term in found
            for weight in [sum(w * c[term] for w, c in zip(FIELD_WEIGHTS, columns, strict=True))]
        )
    return scores
