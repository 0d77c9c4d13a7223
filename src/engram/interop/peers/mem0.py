"""Memories of mem0: what `get_all` or the platform's export answers as JSON, or the history.db of a local one."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from engram.interop import databases
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers.bundles import Bundle
from engram.interop.peers.reading import Row, kind_of, mapping, told
from engram.interop.streams import as_text, elements

STORE = "mem0"
LISTS = ("", "results", "memories")
HISTORY = frozenset({"memory_id", "old_memory", "new_memory", "event", "is_deleted"})
MARKS = frozenset({"hash", "user_id", "agent_id", "run_id", "metadata", "categories", "created_at"})
"""What stands beside the text of a memory: at least two of these."""

_LATEST = (
    "SELECT h.*, (SELECT min(f.created_at) FROM history f WHERE f.memory_id = h.memory_id) AS begun"
    " FROM history h WHERE h.rowid = (SELECT max(n.rowid) FROM history n WHERE n.memory_id = h.memory_id)"
    " AND coalesce(h.is_deleted, 0) = 0 AND h.event <> 'DELETE' ORDER BY h.rowid"
)


def recognises(source: Source) -> bool:
    """Whether the first element is one of its memories, or the database keeps their history."""
    if databases.tables(source).get("history", frozenset()) >= HISTORY:
        return True
    if source.folder or not source.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return False
    for member, value in elements(as_text(BytesIO(source.head), source.head)):
        if member in LISTS:
            return isinstance(value, dict) and isinstance(value.get("memory"), str) and len(MARKS & set(value)) > 1
    return False


def read(source: Source) -> Iterator[Foreign | Problem]:
    """Every memory, then what a graph of it says."""
    if source.head.startswith(databases.MAGIC):
        yield from _history(source)
        return
    bundle = Bundle(source)
    n = 0
    for found in bundle.elements(bundle.only()):
        if isinstance(found, Problem):
            yield found
            continue
        member, value = found
        n += 1
        if member in LISTS:
            yield from _memory(f"memory {n}", value)
        elif member == "relations":
            yield from _relation(f"relation {n}", value)


def _memory(name: str, value: Any) -> Iterator[Foreign | Problem]:  # noqa: ANN401 - any JSON
    row = Row(mapping(value))
    id, text = row.text("id"), row.text("memory", "content", "text")
    if not (id and text):
        yield Problem(name, "It has no id." if text else "It says nothing.")
        return
    name = _called(id)
    row.get("hash", "score")
    more = Row(mapping(row.get("metadata")))
    category = more.text("category", "type", "kind")
    tags = [*row.words("categories"), *([category] if category else []), *more.words("tags")]
    yield from told(
        name,
        STORE,
        id,
        text,
        word=category or next(iter(tags), ""),
        kind=next((kind for kind in map(kind_of, tags) if kind != "fact"), "fact"),
        tags=tags,
        created=row.time("created_at"),
        updated=row.time("updated_at"),
        valid_until=row.time("expiration_date"),
        origin="said" if row.text("role") == "user" else "inferred",
        context={"agent": row.text("agent_id")},
        dropped=(*row.rest(), *more.rest("metadata.")),
    )


def _called(id: str) -> str:
    """What a memory is told by: its id, by which its owner finds and deletes it."""
    return f"memory {id}"


def _relation(name: str, value: Any) -> Iterator[Foreign | Problem]:  # noqa: ANN401 - any JSON
    """What its graph says of two things, in words: they are no memories that a relation could tie."""
    row = Row(mapping(value))
    parts = [row.text("source"), row.text("relationship", "relation"), row.text("target", "destination")]
    if not all(parts):
        yield Problem(name, "It lacks an end or a type.")
        return
    text = " ".join(part.replace("_", " ") for part in parts)
    yield from told(name, STORE, "\x1f".join(parts), text, tags=[parts[0], parts[2]], dropped=row.rest())


def _history(source: Source) -> Iterator[Foreign | Problem]:
    """What each memory said last, of those that were not deleted."""
    with databases.opened(source) as database:
        databases.require(source.path, database, {"history": sorted(HISTORY)})
        for found in databases.rows(database, _LATEST):
            if isinstance(found, Problem):
                yield found
                continue
            row = Row(found)
            row.get("id", "old_memory", "event", "is_deleted", "created_at")
            yield from told(
                _called(row.text("memory_id")),
                STORE,
                row.text("memory_id"),
                row.text("new_memory"),
                created=row.time("begun"),
                updated=row.time("updated_at"),
                origin="said" if row.text("role") == "user" else "inferred",
                dropped=row.rest(),
            )


FORM = Form(STORE, "a list of memories of mem0 as JSON, or its history.db", recognises, read)
