"""Records, Changes and requests for engine tests: time and ids come from here, never from a clock or dice."""

import struct
from datetime import UTC, datetime, timedelta

from engram.model.caller import Caller
from engram.model.change import Change, Commit, Request, Token
from engram.model.codec import Record, RecordType, type_of
from engram.model.event import Draft, Payload, edits_between
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.outline import outline
from engram.model.query import Space
from engram.model.relation import Relation
from engram.model.session import Session
from engram.model.text import digest
from engram.ports import Engine
from engram.rules import lifecycle
from engram.rules.access import access_of
from engram.rules.admission import Admission, Known, admit
from engram.rules.policy import Policy
from engram.rules.proposals import Proposal, prepare

START = datetime(2026, 1, 1, tzinfo=UTC)
MINE = Access("")
"""What the local caller may read."""


def later(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def memory(id: str, text: str = "We deploy on Fridays", **fields: object) -> Memory:
    """A promoted memory of the local owner, made at START unless told otherwise."""
    made = fields.pop("created_at", START)
    values = {"owner": "", "status": "promoted", "created_at": made, "updated_at": made} | fields
    return Memory(id=id, text=text, **values)


def session(id: str, **fields: object) -> Session:
    return Session(**({"id": id, "owner": "", "started_at": START} | fields))


def relation(id: str, **fields: object) -> Relation:
    ends = {"from_id": "id-1", "to_id": "id-2", "kind": "related"}
    return Relation(**({"id": id, "owner": "", "created_at": START, "updated_at": START} | ends | fields))


def change(
    *puts: Record,
    drops: tuple[tuple[RecordType, str], ...] = (),
    expects: dict[str, int] | None = None,
    claims: dict[str, tuple[str, ...]] | None = None,
    erase: tuple[str, ...] = (),
    token: Token | None = None,
    at: datetime = START,
    batch: str = "batch",
    action: str = "remember",
    was: Record | None = None,
    note: dict[str, str] | None = None,
) -> Change:
    """A Change made by hand; each record put is expected to be one revision behind.

    History tells each as if it were new, or against what it was: what goes back to a default is only told then.
    """
    edits = tuple(edit for record in puts for edit in edits_between(was, record))
    subjects = tuple(record.id for record in puts) + tuple(id for _, id in drops)
    draft = Draft(
        action=action,
        actor="tester",
        at=at,
        subjects=subjects,
        batch=batch,
        payload=Payload(() if erase else edits, note or {}, f"salt of {batch}"),
    )
    expected = {record.id: record.revision - 1 for record in puts}
    return Change(
        draft=draft,
        puts=puts,
        drops=drops,
        expects=expected if expects is None else expects,
        claims=claims or {},
        erase=erase,
        token=token,
    )


def purge(record: Record, **fields: object) -> Change:
    """A Change that erases one record by hand."""
    gone = {record.id: record.revision}
    return change(drops=((type_of(record), record.id),), expects=gone, erase=(record.id,), action="purge", **fields)


def ids(records: tuple[Record, ...]) -> list[str]:
    return [record.id for record in records]


def everything(engine: Engine, type: RecordType = "memory", access: Access = MINE) -> tuple[Record, ...]:
    return engine.scan(type, Filter(), access, limit=100_000).records


PERSON = Caller()
"""Somebody at this machine, with authentication off."""


class Story:
    """One caller who writes through the real rules, with time and ids that count up."""

    def __init__(self, engine: Engine, *, caller: Caller = PERSON, name: str = "story", start: int = 0) -> None:
        self.engine = engine
        self.caller = caller
        self.access = access_of(caller)
        self._name = name
        self._count = start

    def request(self, *, confirmed: str = "") -> Request:
        self._count += 1
        n = self._count
        return Request(
            caller=self.caller,
            now=later(n),
            batch=f"{self._name}-batch-{n:05d}",
            fresh=f"{self._name}-{n:08d}",
            salt=f"salt-{n}",
            confirmed=confirmed,
        )

    def admission(self, request: Request, text: str, policy: Policy | None = None, **said: object) -> Admission:
        """What the rules make of a text, given what the engine knows. Nothing is committed."""
        policy = policy or Policy()
        proposal = prepare(Proposal(text=text, **said), request, policy)
        here = {"owner": self.caller.owner, "scopes": (proposal.scope,)}
        live = {"standings": ("live",), "now": request.now}
        keyed = self._all(Filter(**here, key=proposal.key)) if proposal.key else ()
        outlined = outline(proposal.text)
        known = Known(
            keyed=keyed[0] if keyed else None,
            twins=self._all(Filter(**here, digest=digest(proposal.text))),
            rivals=self._all(Filter(**here, outline=outlined, **live)) if outlined else (),
        )
        return admit(proposal, known, policy, request)

    def remember(self, text: str, *, confirmed: str = "", token: Token | None = None, **said: object) -> Memory:
        admission = self.admission(self.request(confirmed=confirmed), text, **said)
        self.engine.commit(admission.change._replace(token=token))
        return self.read(admission.memory.id)

    def forget(self, memory: Memory) -> Commit:
        return self.engine.commit(lifecycle.forget(memory, self.request()))

    def restore(self, memory: Memory) -> Commit:
        return self.engine.commit(lifecycle.restore(memory, self.request()))

    def promote(self, memory: Memory, amended: Memory | None = None) -> Commit:
        return self.engine.commit(lifecycle.promote(memory, self.request(confirmed="flag"), amended=amended)[0])

    def reject(self, memory: Memory) -> Commit:
        return self.engine.commit(lifecycle.reject(memory, self.request()))

    def purge(self, memory: Memory) -> Commit:
        return self.engine.commit(lifecycle.purge_all([memory], self.request(confirmed="flag")))

    def read(self, id: str) -> Memory:
        record = self.engine.get("memory", [id], self.access)[id]
        assert isinstance(record, Memory)
        return record

    def _all(self, where: Filter) -> tuple[Memory, ...]:
        return self.engine.scan("memory", where, self.access, limit=1000).records


SPACE = Space("compass", 4)


def vector(*numbers: float) -> bytes:
    """Numbers as an embedder gives them."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


EAST, NORTH, WEST = (vector(*way) for way in ((1, 0, 0, 0), (0, 1, 0, 0), (-1, 0, 0, 0)))
"""Three vectors of one space: the first two have nothing in common, the last is the opposite of the first."""

UP, DOWN = vector(0.5, 0.5, 0.5, 0.5), vector(-0.5, 0.5, -0.5, 0.5)
"""Two more, at an angle to those. Every engine can keep these five to the last bit, however it keeps vectors."""


def rows(*embedded: tuple[Memory, bytes]) -> list[tuple[str, str, bytes]]:
    """What `put_vectors` takes: these memories as they are now, each with its vectors."""
    return [(memory.id, memory.imprint, vectors) for memory, vectors in embedded]
