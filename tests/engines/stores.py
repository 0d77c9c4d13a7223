"""What must be true of a store file after anything: used wherever processes are killed or race."""

import json
import os
import shutil
from collections.abc import Callable
from itertools import count as count_from
from pathlib import Path

import apsw
import yaml

from engines.samples import START, everything
from engram.engines.files.engine import FilesEngine
from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_database import Database
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.model.change import Finding
from engram.model.event import intact
from engram.model.filter import Access
from engram.ports import Engine
from engram.rules.changes import claims_of
from engram.rules.hands import Hands


def open_store(path: Path, replica: str = "parent") -> SqliteEngine:
    return SqliteEngine(path, new_replica=lambda: replica)


def open_files(path: Path, replica: str = "replica", *, cache: Path | None = None, **more: object) -> FilesEngine:
    """A store of plain files, with its index beside it unless told otherwise."""
    ids = count_from(1)
    return FilesEngine(
        path,
        **{
            "cache": cache or path.parent / "cache",
            "open_index": lambda at: SqliteEngine(at, new_replica=lambda: replica, anywhere=True, losable=True),
            "scratch_index": lambda: RamEngine(replica),
            "clock": lambda: START,
            "new_id": lambda: f"{replica}-{next(ids)}",
            "hands": Hands(),
            **more,
        },
    )


def wrong(findings: list[Finding]) -> list[Finding]:
    """What a check found that is more than a note: a repair notes each thing that it did."""
    return [finding for finding in findings if finding.severity != "note"]


def open_any(path: Path, replica: str = "parent", **more: object) -> Engine:
    """A store by its name: a file of SQLite, a folder of plain files, or an org of DATABASE."""
    if path.parts[0] == "org":
        return PostgresEngine(Database(os.environ["DATABASE"]), path.name, new_replica=lambda: replica, sole=True)
    if path.suffix == ".db":
        return SqliteEngine(path, new_replica=lambda: replica, **more)
    return open_files(path, replica, **more)


def raw(path: Path, sql: str) -> list[tuple]:
    """Ask the file itself, past the engine."""
    db = apsw.Connection(str(path))
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def statements(engine: SqliteEngine, act: Callable[[], object]) -> str:
    """What this thread asks SQLite for while it acts."""
    told: list[str] = []
    db = engine._connection()
    db.set_exec_trace(lambda _, sql, __: told.append(sql) or True)
    try:
        act()
    finally:
        db.set_exec_trace(None)
    return "\n".join(told)


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


def assert_files_whole(path: Path, access: Access) -> None:
    """Nothing half: text, index, queue and trail agree, and an index made anew answers the same."""
    engine = open_files(path, "parent")
    try:
        assert engine.check() == []
        records, events = everything(engine, access=access), engine.events(limit=100_000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert all(map(intact, events))
        assert len({record.handle for record in records}) == len(records)
        registry = yaml.safe_load((path / "memory.md").read_text().split("---\n")[1])
        assert {item["id"]: item["fact"] for item in registry["items"]} == {r.handle: r.text for r in records}
        lines = (path / "audit.jsonl").read_text().splitlines() if events else []
        assert list(dict.fromkeys(json.loads(line)["event"] for line in lines)) == [event.id for event in events]
        assert not [each.name for each in path.rglob("*.new")]
        again = open_files(path, "parent", cache=path.parent / "another cache")
        assert everything(again, access=access) == records
        assert [record.handle for record in everything(again, access=access)] == [r.handle for r in records]
        assert again.events(limit=100_000) == events
        again.close()
        shutil.rmtree(path.parent / "another cache")
    finally:
        engine.close()


def assert_any_whole(path: Path, access: Access) -> None:
    """The one or the other, by the name of the store."""
    (assert_whole if path.suffix == ".db" else assert_files_whole)(path, access)
