"""A small world for tests of the rules: one ram store, several callers, and time and ids that are given."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from engram.engines.blobs_ram import RamBlobs
from engram.engines.ram import RamEngine
from engram.model.caller import REVIEWER, Caller
from engram.model.change import Request
from engram.model.event import Event
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Memory, Standing, standing
from engram.model.scope import GLOBAL, Scope
from engram.ports import Attaching, Embedder, Engine, Shelf
from engram.rules.media import TAKEN
from engram.rules.policy import Policy
from engram.service import Engram

START = datetime(2026, 1, 1, tzinfo=UTC)

PERSON = Caller(owner="alex", actor="alex@example.org")
AGENT = Caller(owner="alex", actor="alex@example.org", agent="codex", human=False)
OTHER = Caller(owner="kim", actor="kim@example.org")
CHECKER = Caller(owner="robin", actor="robin@example.org", roles=frozenset({REVIEWER}))


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **lapse: float) -> None:
        self.now += timedelta(**lapse)


class Ids:
    """Ids that count up, so that they sort by age."""

    def __init__(self, name: str = "test") -> None:
        self.name, self.count = name, 0

    def __call__(self) -> str:
        self.count += 1
        return f"{self.count:08x}-{self.name}"


class World:
    """One store, and everyone who uses it."""

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        home: Scope = GLOBAL,
        name: str = "test",
        engine: Engine | None = None,
        embedder: Embedder | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        self.engine, self.blobs = engine or RamEngine("replica"), RamBlobs()
        self.embedder, self.shelf = embedder, shelf  # without an embedder, words alone are compared
        self.clock, self.new_id = Clock(), Ids(name)
        self.policy, self.home = policy or Policy(), home
        self.person, self.agent = self.as_(PERSON), self.as_(AGENT)
        self.other, self.reviewer = self.as_(OTHER), self.as_(CHECKER)

    def as_(self, caller: Caller, policy: Policy | None = None) -> Engram:
        return Engram(
            self.engine,
            caller=caller,
            clock=self.clock,
            new_id=self.new_id,
            policy=policy or self.policy,
            home=self.home,
            store="ram:",
            embedder=self.embedder,
            shelf=self.shelf,
            attaching=Attaching(lambda: self.blobs, 1 << 20, TAKEN, 7),
        )

    def settle(self) -> None:
        """Wait for whoever makes vectors beside us: several callers share the store here, and none owns it."""
        for thread in threading.enumerate():
            if thread.name == "engram-vectors":
                thread.join(20)

    def close(self) -> None:
        self.settle()
        self.engine.close()

    def everything(self) -> dict[str, Memory]:
        """Every record there is, by id, whoever owns it."""
        owners = {caller.owner for caller in (PERSON, OTHER, CHECKER)}
        found = [
            self.engine.scan("memory", ANYTHING, Access(owner), limit=100_000).records for owner in sorted(owners)
        ]
        return {one.id: one for records in found for one in records if isinstance(one, Memory)}

    def events(self) -> list[Event]:
        return self.engine.events(limit=1_000_000)

    def now(self, ref: str, who: Engram | None = None) -> Memory:
        """A memory as it is now, as the person (or another) reads it."""
        return (who or self.person).get(ref).memories[0]

    def stands(self, ref: str, who: Engram | None = None) -> Standing:
        return standing(self.now(ref, who), self.clock())


def texts(memories: Sequence[Memory]) -> list[str]:
    return sorted(memory.text for memory in memories)


def request(
    caller: Caller = PERSON, *, confirmed: str = "", now: datetime = START, fresh: str = "fresh-id"
) -> Request:
    """What a rule is told beside the memory, for tests that call a rule directly."""
    return Request(caller=caller, now=now, batch="batch", fresh=fresh, salt="salt", confirmed=confirmed)


def memory(id: str = "memory-1", text: str = "We deploy on Fridays", **fields: object) -> Memory:
    """A promoted memory of the person, made at START unless told otherwise."""
    made = fields.pop("created_at", START)
    values = {"owner": PERSON.owner, "status": "promoted", "created_at": made, "updated_at": made} | fields
    return Memory(id=id, text=text, **values)
