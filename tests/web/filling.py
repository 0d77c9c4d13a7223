"""A store of many memories, made as fast as an engine takes them: whole batches in one Change, and no vectors."""

import itertools
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engram.engines.sqlite import SqliteEngine
from engram.model.caller import Caller
from engram.model.change import Request
from engram.model.memory import Memory
from engram.model.scope import Scope
from engram.rules.changes import Step, compose
from engram.wiring.clock import new_id

BATCH = 50
NEWEST = datetime(2026, 11, 1, tzinfo=UTC)
WORDS = (
    "cache", "queue", "router", "ledger", "beacon", "harbour", "anchor", "signal", "mirror", "window", "garden",
    "engine", "valley", "bridge", "lantern", "copper", "silver", "amber", "violet", "crimson", "quiet", "rapid",
)  # fmt: skip


def fill(path: Path, count: int, waiting: int) -> None:
    """Put so many memories into a new store, the last of which wait for review."""
    engine = SqliteEngine(path, new_replica=new_id)
    db = engine._connection()
    db.execute("PRAGMA synchronous = OFF").fetchall()  # what a crash breaks here is only made anew
    several = iter(_memories(count, waiting))
    while batch := list(itertools.islice(several, BATCH)):
        request = Request(caller=Caller(), now=NEWEST, batch=new_id(), fresh=new_id(), salt=new_id())
        engine.commit(compose("import", request, [Step(None, memory) for memory in batch]))
    engine.close()


def _memories(count: int, waiting: int) -> Iterator[Memory]:
    chance = random.Random(9)
    for at in range(count):
        made = NEWEST - timedelta(days=100) * (1 - at / count)
        words = " ".join(chance.choices(WORDS, k=5))
        waits = at >= count - waiting
        yield Memory(
            id=new_id(),
            text=f"The {words} is number {at}",
            scope=Scope("project", f"p{at % 40}"),
            kind="rule" if waits else "decision",
            tags=(WORDS[at % len(WORDS)],),
            session=f"session-{at // 50}",
            origin="said",
            owner="",
            status="pending" if waits else "promoted",
            held_for="curated_kind" if waits else "",
            tier=3 if waits else 1,
            created_at=made,
            updated_at=made,
        )
