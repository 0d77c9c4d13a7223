"""What must be true of a store file after anything: used wherever processes are killed or race."""

from pathlib import Path

import apsw

from engines.samples import everything
from engram.engines.sqlite import SqliteEngine
from engram.model.event import intact
from engram.model.filter import Access
from engram.rules.changes import claims_of


def open_store(path: Path, replica: str = "parent") -> SqliteEngine:
    return SqliteEngine(path, new_replica=lambda: replica)


def raw(path: Path, sql: str) -> list[tuple]:
    """Ask the file itself, past the engine."""
    db = apsw.Connection(str(path))
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def count(path: Path, table: str) -> int:
    return raw(path, f"SELECT count(*) FROM {table}")[0][0]


def raw_bytes(path: Path) -> bytes:
    """Every byte that lies beside the store under its name."""
    return b"".join(each.read_bytes() for each in sorted(path.parent.glob(f"{path.name}*")))


def assert_whole(path: Path, access: Access) -> None:
    """Nothing half: file, records, words, claims and events agree with one another."""
    assert raw(path, "PRAGMA integrity_check") == [("ok",)]
    engine = open_store(path)
    try:
        assert engine.check() == []
        records = everything(engine, access=access)
        events = engine.events(limit=100_000)
        assert count(path, "memory") == count(path, "words_docsize") == len(records)
        claims = sorted(name for record in records for name in claims_of(record))
        assert sorted(name for (name,) in raw(path, "SELECT name FROM claim")) == claims
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert all(map(intact, events))
        assert [event.time for event in events] == sorted(event.time for event in events)
        handles = [record.handle for record in records]
        assert len(set(handles)) == len(handles)
    finally:
        engine.close()
