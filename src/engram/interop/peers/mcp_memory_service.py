"""The SQLite store of mcp-memory-service, and the JSON file its `export` writes.

What was deleted there is not read. Beliefs come as memories of their own; entities that a graph only names do not.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engram.interop import databases
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers.bundles import Bundle
from engram.interop.peers.reading import WAITING, Row, mapping, parsed, tied, told

if TYPE_CHECKING:
    from sqlite3 import Connection

STORE = "mcp-memory-service"
COLUMNS = frozenset({"content_hash", "content", "tags", "memory_type", "metadata", "created_at"})
INTERNAL = ("id", "created_at_iso", "updated_at_iso", "version", "last_accessed", "embedding_pending", "deleted_at")
SYMMETRIC = "('related', 'contradicts')"
"""Kinds of edges that it keeps both ways."""


def recognises(source: Source) -> bool:
    """Whether the database has its table, or the file says that its exporter wrote it."""
    if databases.tables(source).get("memories", frozenset()) >= COLUMNS:
        return True
    head = source.head.lstrip()
    return head.startswith(b"{") and b'"export_metadata"' in head[:2000] and b'"exporter_version"' in head[:4000]


def read(source: Source) -> Iterator[Foreign | Problem]:
    """Every memory, then the beliefs and what ties memories."""
    if not source.head.startswith(databases.MAGIC):
        yield from _exported(source)
        return
    with databases.opened(source) as database:
        databases.require(source.path, database, {"memories": sorted(COLUMNS)})
        tables = databases.tables_of(database)
        yield from _memories(database, tables["memories"])
        if "beliefs" in tables:
            yield from _beliefs(database)
        if "memory_graph" in tables:
            yield from _graph(database, tables)
        yield from _superseded(database, tables["memories"])


def _memories(database: "Connection", columns: frozenset[str]) -> Iterator[Foreign | Problem]:
    kept = "WHERE deleted_at IS NULL" if "deleted_at" in columns else ""
    for found in databases.rows(database, f"SELECT * FROM memories {kept} ORDER BY id"):
        if isinstance(found, Problem):
            yield found
        else:
            yield from _memory(f"memory {found['id']}", found)


def _superseded(database: "Connection", columns: frozenset[str]) -> Iterator[Foreign | Problem]:
    """Which memory took the place of which, of those that are there."""
    if not {"superseded_by", "deleted_at"} <= columns:
        return
    sql = (
        "SELECT o.id, o.content_hash AS old, n.content_hash AS new, o.updated_at AS at FROM memories o"
        " JOIN memories n ON n.content_hash = o.superseded_by AND n.deleted_at IS NULL WHERE o.deleted_at IS NULL"
    )
    for found in databases.rows(database, sql):
        if isinstance(found, Problem):
            yield found
        else:
            ends = (found["new"], found["old"])
            at = Row(found).time("at")
            yield tied(f"memory {found['id']}", STORE, ends, "supersedes", at=at, status="judged")


def _memory(name: str, found: Mapping[str, Any]) -> Iterator[Foreign | Problem]:
    row = Row(found)
    created = row.time("created_at", "created_at_iso")
    updated = row.time("updated_at", "updated_at_iso")
    row.get(*INTERNAL)
    hash, word = row.text("content_hash"), row.text("memory_type")
    more = Row(mapping(row.get("metadata")))
    row.get("superseded_by")
    confidence = row.number("confidence")
    sure: dict[str, Any] = {"confidence": confidence} if confidence is not None and 0 <= confidence < 1 else {}
    if not hash:
        yield Problem(name, "It has no hash.")
        return
    store = row.text("store")
    yield from told(
        name,
        STORE,
        hash,
        row.text("content"),
        word=word,
        tags=row.words("tags") or more.words("tags"),
        created=created,
        updated=updated,
        dropped=(*(("store",) if store not in ("", "default") else ()), *row.rest(), *more.rest("metadata.")),
        **sure,
    )


def _beliefs(database: "Connection") -> Iterator[Foreign | Problem]:
    for found in databases.rows(database, "SELECT * FROM beliefs WHERE status <> 'superseded' ORDER BY id"):
        if isinstance(found, Problem):
            yield found
            continue
        row = Row(found)
        name = f"belief {row.get('id')}"
        row.get("belief_hash", "derived_from", "contradicted_by", "metadata")
        yield from told(
            name,
            STORE,
            f"belief\x1f{found['belief_hash']}",
            row.text("content"),
            word="belief",
            **({} if row.text("status") == "active" else WAITING),
            confidence=min(max(row.number("confidence") or 0.0, 0.0), 1.0),
            created=row.time("created_at"),
            updated=row.time("updated_at"),
            dropped=row.rest(),
        )


def _graph(database: "Connection", tables: databases.Tables) -> Iterator[Foreign | Problem]:
    """The edges between memories that are there; those kept both ways once."""
    alive = "deleted_at IS NULL" if "deleted_at" in tables["memories"] else "1"
    there = f"EXISTS (SELECT 1 FROM memories WHERE {alive} AND content_hash ="
    back = "r.source_hash = g.target_hash AND r.target_hash = g.source_hash AND g.source_hash > g.target_hash"
    sql = f"SELECT g.* FROM memory_graph g WHERE {there} g.source_hash) AND {there} g.target_hash)"
    if "relationship_type" in tables["memory_graph"]:
        back += f" AND r.relationship_type = g.relationship_type AND g.relationship_type IN {SYMMETRIC}"
    sql += f" AND NOT EXISTS (SELECT 1 FROM memory_graph r WHERE {back}) ORDER BY g.rowid"
    for n, found in enumerate(databases.rows(database, sql), 1):
        if isinstance(found, Problem):
            yield found
            continue
        row = Row(found)
        ends = (row.text("source_hash"), row.text("target_hash"))
        how = parsed(row.get("connection_types"), [])
        yield tied(
            f"edge {n}",
            STORE,
            ends,
            row.text("relationship_type") or "related",
            at=row.time("created_at"),
            confidence=min(max(row.number("similarity") or 0.0, 0.0), 1.0),
            evidence=", ".join(map(str, how)) if isinstance(how, list) else "",
            dropped=tuple(name for name in row.rest() if mapping(found.get(name)) or name != "metadata"),
        )


def _exported(source: Source) -> Iterator[Foreign | Problem]:
    bundle, n = Bundle(source), 0
    for found in bundle.elements(bundle.only()):
        if isinstance(found, Problem):
            yield found
        elif found[0] == "memories":
            n += 1
            row = mapping(found[1])
            yield from _memory(f"memory {n}", {name: row[name] for name in row if name != "export_source"})


FORM = Form(STORE, "the SQLite store of mcp-memory-service, or its JSON export", recognises, read, placed=False)
