"""The text of events.jsonl: one line for each commit, from which every record can be rebuilt.

A line has the event (its envelope, and the payload that a purge takes away) and what followed from it: the records
as far as the payload does not tell them, their numbers and claims, and the token that asked for it.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from engram.engines.files.folder import whole_lines
from engram.errors import Corrupt
from engram.model.change import UPGRADE, Change, Past, Token
from engram.model.codec import RECORDS, Document, Record, RecordType, decode, encode, type_of
from engram.model.event import BOOKKEEPING, Edit, Event, Head, Payload
from engram.model.memory import Memory
from engram.model.refs import handle_number, print_handle

SCHEMA = "engram.events.v1"
HEADER = json.dumps({"schema": SCHEMA}).encode() + b"\n"

_print = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Line(NamedTuple):
    """One commit. `after` is JSON: puts, drops, claims, erase, token and home, each only where there is one."""

    event: Event
    after: dict[str, Any]

    def print(self) -> bytes:
        """The line, ended."""
        event = self.event
        payload = None if event.payload is None else json.loads(event.payload.print())
        told = {"id": event.id, "event": event.envelope(), "payload": payload, "after": self.after}
        return _print(told).encode() + b"\n"

    @property
    def token(self) -> Token | None:
        """What asked for it, where that had a name."""
        return Token(*self.after["token"]) if self.after.get("token") else None

    @property
    def memories(self) -> dict[str, Mapping[str, Any]]:
        """What it put of memories, by id; empty for one that it dropped or erased."""
        puts = {id: put for id, put in self.after.get("puts", {}).items() if put["type"] == "memory"}
        drops = [id for type, id in self.after.get("drops", ()) if type == "memory"]
        return {id: {} if put.get("gone") else put for id, put in puts.items()} | {id: {} for id in drops}


def parse(content: bytes) -> Line:
    """Read a line; its number follows from those it stands among.

    Raises:
        ValueError: when it is none.
    """
    told = json.loads(content)
    if not isinstance(told, dict) or not isinstance(told.get("event"), dict):
        raise ValueError("no event")  # noqa: TRY004 - the line is wrong, not the caller
    if not all(_is_put(put) for put in told["after"].get("puts", {}).values()):
        raise ValueError("no record")
    values = dict(told["event"])
    values["at"] = datetime.fromisoformat(values["at"]).replace(tzinfo=UTC)
    values["subjects"], values["reverses"] = tuple(values["subjects"]), tuple(values["reverses"])
    payload = told["payload"]
    if payload is not None:
        payload = Payload(tuple(Edit(*each) for each in payload["edits"]), payload["note"], payload["salt"])
    return Line(Event(id=told["id"], seq=0, **values, payload=payload), told["after"])


def _is_put(put: Mapping[str, Any]) -> bool:
    """Whether this can be what became of a record."""
    known = put["type"] in RECORDS and isinstance(put["n"], int)
    return known and (bool(put.get("gone")) or isinstance(put["set"], dict))


class Journal(NamedTuple):
    """All lines that could be read, and the numbers of those in the file that could not."""

    lines: list[Line]
    torn: list[int]


def read_journal(content: bytes) -> Journal:
    """Read the file; a last line that was never ended counts where it is whole, and else was never committed.

    The lines come as they happened (see `in_order`), each event once: a merge of git puts the lines of one side
    behind those of the other, and which one is behind depends on who merged.

    Raises:
        Corrupt: when its schema is unknown.
    """
    lines: list[Line] = []
    torn: list[int] = []
    for at, raw in enumerate(whole_lines(content).split(b"\n")[:-1], 1):
        if not raw.strip():
            continue
        try:
            if b'"schema"' in raw[:12]:
                _require_schema(json.loads(raw)["schema"])
                continue
            lines.append(parse(raw))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            torn.append(at)
    return Journal(in_order(lines), torn)


def in_order(lines: Iterable[Line]) -> list[Line]:
    """The lines as they happened, numbered: by time and then by replica, as whoever joins replicas orders them.

    What a store writes is later than all it knows, so only the lines of several stores are ever moved. What one of
    them took over from elsewhere happened before and was told there later: it goes with the line it stands behind.
    """
    told: dict[str, Line] = {}
    for line in lines:
        if line.event.id not in told or line.event.payload:  # one side may have purged the words of it
            told[line.event.id] = line
    last = ("", "", "")
    keyed: list[tuple[tuple[str, str, str], Line]] = []
    for line in told.values():
        if line.after.get("home"):
            last = (line.event.time, line.event.replica, line.event.id)
        keyed.append((last, line))
    keyed.sort(key=lambda each: each[0])
    return [line._replace(event=line.event._replace(seq=n)) for n, (_, line) in enumerate(keyed, 1)]


def _require_schema(schema: object) -> None:
    if schema != SCHEMA:
        raise Corrupt(
            f"events.jsonl has schema {schema}; this Engram knows {SCHEMA}. It was left untouched.",
            UPGRADE,
        )


def line_of(
    event: Event, change: Change, numbers: Mapping[str, int], before: Mapping[str, Document], home: str
) -> Line:
    """The line of a commit; `before` has the documents that records had, as far as they are known."""
    edits = _by_record(event)
    after: dict[str, Any] = {
        "puts": {
            record.id: _put(record, numbers[record.id], before.get(record.id), edits.get(record.id, ()))
            for record in change.puts
        },
        "drops": [list(drop) for drop in change.drops],
        "claims": {id: list(claims) for id, claims in change.claims.items()},
        "erase": list(change.erase),
        "token": list(change.token) if change.token else None,
        "home": home,
    }
    return Line(event, {name: value for name, value in after.items() if value})


def lines_of(
    event: Event, change: Change, numbers: Mapping[str, int], before: Mapping[str, Document], home: str
) -> list[Line]:
    """The lines of a commit whose last event this is. What was taken over comes first, and is no word of our own.

    The first line tells what became of the records: where a crash tears off the others, events are missing, which
    can be told again, and no record.
    """
    if not change.past:
        return [line_of(event, change, numbers, before, home)]
    told = [(each, "") for each, _ in change.past.events] + ([(event, home)] if change.draft else [])
    first = line_of(told[0][0], change, numbers, before, told[0][1])
    return [first, *(Line(each, {"home": mine} if mine else {}) for each, mine in told[1:])]


def _put(record: Record, number: int, before: Document | None, edits: Iterable[Edit]) -> dict[str, Any]:
    document = encode(record)
    told = _edited(before or {}, edits)
    names = [n for n in document if n in BOOKKEEPING or n not in told or told[n] != document[n]]
    put: dict[str, Any] = {"type": type_of(record), "n": number, "set": {n: document[n] for n in names}}
    if before is None:
        put["whole"] = True
    if gone := [name for name in told if name not in document]:
        put["unset"] = gone
    return put


def _by_record(event: Event) -> dict[str, list[Edit]]:
    """What an event's payload says, by the record it says it of."""
    edits: dict[str, list[Edit]] = {}
    for edit in event.edits:
        edits.setdefault(edit.id, []).append(edit)
    return edits


def _edited(document: Document, edits: Iterable[Edit]) -> Document:
    """A document with some edits made to it."""
    edited = dict(document)
    for edit in edits:
        if edit.new is None:
            edited.pop(edit.field, None)
        else:
            edited[edit.field] = edit.new
    return edited


class Step(NamedTuple):
    """One memory before and after a line, and its handle; of one that was erased only the handle is known."""

    id: str
    handle: str
    before: Memory | None
    after: Memory | None


class State:
    """What all lines together tell: every record, its number and claims, and the tokens that are known."""

    def __init__(self) -> None:
        self.documents: dict[RecordType, dict[str, Document]] = {type: {} for type in RECORDS}
        self.numbers: dict[RecordType, dict[str, int]] = {type: {} for type in RECORDS}
        self.given: dict[RecordType, int] = {}
        self.claims: dict[str, list[str]] = {}
        self._holders: dict[tuple[RecordType, int], str] = {}
        self._erased: dict[str, int] = {}
        self._claimed: dict[str, str] = {}
        self._records: dict[str, Record] = {}  # as far as they were asked for
        self.renumbered = False
        """Whether a record got another number than it had: an older one of another copy has it."""

    @classmethod
    def told_by(cls, lines: Iterable[Line]) -> "State":
        """What these lines tell, one after the other."""
        state = cls()
        for line in lines:
            state.tell(line)
        return state

    def tell(self, line: Line) -> None:
        """Go on by one line. A record whose beginning stood in a torn line stays unknown: the registry has it."""
        for type, id in line.after.get("drops", ()):
            self.documents[type].pop(id, None)
            self._records.pop(id, None)
            self._holders.pop((type, self.numbers[type].pop(id, 0)), None)
            self._release(id)
        edits = _by_record(line.event)
        for id, put in line.after.get("puts", {}).items():
            type = put["type"]
            self.given[type] = max(self.given.get(type, 0), put["n"])
            if put.get("gone"):
                self._erased |= {id: put["n"]} if type == "memory" else {}
                if put.get("held"):
                    self._keep_number(type, id, put["n"])
            elif put.get("whole") or id in self.documents[type]:
                self.documents[type][id] = self.document_after(id, put, edits.get(id, ()))
                self._records.pop(id, None)
                self._number(type, id, put["n"], moved=bool(put.get("moved")))
        claims = line.after.get("claims", {})
        for id in claims:
            self._release(id)
        for id, wanted in claims.items():  # where two copies of a store were joined, the first one holds it
            if not self._knows(id):
                continue
            self.claims[id] = [claim for claim in wanted if self._claimed.setdefault(claim, id) == id]

    def _knows(self, id: str) -> bool:
        return any(id in documents for documents in self.documents.values())

    def _release(self, id: str) -> None:
        for claim in self.claims.pop(id, ()):
            del self._claimed[claim]

    def document_after(self, id: str, put: Mapping[str, Any], edits: Iterable[Edit]) -> Document:
        """What a line made of one record."""
        before = {} if put.get("whole") else self.documents[put["type"]].get(id, {})
        document: Document = _edited(before, edits) | put["set"]
        for name in put.get("unset", ()):
            document.pop(name, None)
        return document

    def _number(self, type: RecordType, id: str, n: int, *, moved: bool) -> None:
        """Where two copies of a store were joined, of two records with one number the newer gets the next."""
        if id in self.numbers[type]:
            if not moved:
                return
            self.renumbered = True
            del self._holders[type, self.numbers[type].pop(id)]
        holder = self._holders.get((type, n))
        if holder and self._made(type, holder) > self._made(type, id):
            self._holders[type, n] = id
            self.numbers[type][id] = n
            self._records.pop(holder, None)
            self.renumbered, id = True, holder
        if holder:
            n = self.given[type] = self.given[type] + 1
        self.numbers[type][id] = n
        self._holders[type, n] = id

    def _keep_number(self, type: RecordType, id: str, n: int) -> None:
        """What was erased keeps the number that it had: whoever had to take another one then does so again."""
        holder = self._holders.get((type, n), id)
        self._holders[type, n] = id
        if holder != id and holder in self.documents[type]:
            self.renumbered = True
            self._records.pop(holder, None)
            given = self.given[type] = self.given[type] + 1
            self.numbers[type][holder] = given
            self._holders[type, given] = holder

    def _made(self, type: RecordType, id: str) -> str:
        """When a record was made; one that was erased is before all others."""
        return str(self.documents[type].get(id, {}).get("created_at", ""))

    def record(self, type: RecordType, id: str) -> Record:
        """A record as it is now, with its handle."""
        if id not in self._records:
            handle = print_handle(type, self.numbers[type][id])
            self._records[id] = decode(type, self.documents[type][id]).known_as(handle)
        return self._records[id]

    def erased(self, id: str, handle: str) -> bool:
        """Whether a memory of this id, or of this handle, was purged."""
        return id in self._erased or handle_number("memory", handle) in self._erased.values()

    def memories(self) -> list[Memory]:
        """Every memory, by number."""
        ids = sorted(self.documents["memory"], key=self.numbers["memory"].__getitem__)
        return [record for id in ids if isinstance(record := self.record("memory", id), Memory)]

    def memory(self, id: str) -> Memory | None:
        """One memory, if there is one."""
        record = self.record("memory", id) if id in self.documents["memory"] else None
        return record if isinstance(record, Memory) else None

    def steps(self, line: Line) -> list[Step]:
        """Tell a line, and answer what it did to memories."""
        ids = [
            id for id, put in line.after.get("puts", {}).items() if put["type"] == "memory" and not put.get("gone")
        ]
        ids += [id for type, id in line.after.get("drops", ()) if type == "memory"]
        ids += [id for id in line.after.get("erase", ()) if id not in ids]  # gone before, and now erased
        before, numbers = {id: self.memory(id) for id in ids}, self._erased | self.numbers["memory"]
        self.tell(line)
        numbers |= self.numbers["memory"]
        return [
            Step(id, print_handle("memory", numbers[id]), before[id], self.memory(id))
            for id in ids
            if id in numbers
        ]

    def whole(self, lines: Iterable[Line], head: Head | None) -> Change:
        """Everything as one Change, for an index that knows nothing yet."""
        lines = list(lines)
        types = tuple(RECORDS)
        puts = [self.record(type, id) for type in types for id in self.documents[type]]
        return Change(
            draft=None,  # nothing is sealed: the past is taken over
            puts=tuple(puts),
            expects={record.id: 0 for record in puts},
            claims={id: tuple(claims) for id, claims in self.claims.items()},
            numbers={id: n for type in types for id, n in self.numbers[type].items()},
            past=Past(tuple((line.event, line.token) for line in lines), head, dict(self.given)),
        )

    def one(self, line: Line, head: Head | None) -> Change:
        """Tell a line, and answer with it as a Change, for an index that knows all before it."""
        self.tell(line)
        puts = {id: put["type"] for id, put in line.after.get("puts", {}).items() if self._knows(id)}
        return Change(
            draft=None,
            puts=tuple(self.record(type, id) for id, type in puts.items()),
            drops=tuple((type, id) for type, id in line.after.get("drops", ())),
            claims={id: tuple(self.claims[id]) for id in line.after.get("claims", {}) if id in self.claims},
            erase=tuple(line.after.get("erase", ())),
            numbers={id: self.numbers[type][id] for id, type in puts.items()},
            past=Past(((line.event, line.token),), head, dict(self.given)),
        )


def without(lines: Iterable[Line], ids: set[str]) -> list[Line]:
    """The lines with every word about some records taken out; who stays is told in full where a payload went."""
    lines = list(lines)
    state, told, at_last = State(), [], State.told_by(lines).numbers
    for line in lines:
        after, event, edits = dict(line.after), line.event, _by_record(line.event)
        touched = bool(ids & set(event.subjects))
        puts = {}
        for id, put in after.get("puts", {}).items():
            if id in ids and not put.get("gone"):
                number = at_last[put["type"]].get(id)
                puts[id] = {"type": put["type"], "n": number or put["n"], "gone": True}
                puts[id] |= {"held": True} if number else {}
            elif touched and not put.get("gone"):
                whole = state.document_after(id, put, edits.get(id, ()))
                kept = {name: put[name] for name in ("type", "n", "moved") if name in put}
                puts[id] = {**kept, "set": whole, "whole": True}
            else:
                puts[id] = put
        state.tell(line)
        after["claims"] = {id: claims for id, claims in after.get("claims", {}).items() if id not in ids}
        after["puts"] = puts
        if touched:
            after.pop("token", None)
            event = event._replace(payload=None)
        told.append(Line(event, {name: value for name, value in after.items() if value}))
    return told


def numbers_of(ids: Iterable[str], lines: Iterable[Line]) -> dict[str, int]:
    """The numbers that memories had, of those that are gone as well."""
    wanted, found, lines = set(ids), dict[str, int](), list(lines)
    for line in lines:
        for id, put in line.after.get("puts", {}).items():
            if id in wanted and put["type"] == "memory":
                found[id] = put["n"]
    at_last = State.told_by(lines).numbers["memory"]  # two copies that were joined may have given one number twice
    return {id: at_last.get(id, n) for id, n in found.items()}


def head_of(lines: Iterable[Line], home: str) -> Head | None:
    """The end of the chain that this folder itself wrote, or None where it wrote none."""
    mine = [line.event for line in lines if line.after.get("home") == home]
    return Head(mine[-1].replica, mine[-1].position, mine[-1].id) if mine else None
