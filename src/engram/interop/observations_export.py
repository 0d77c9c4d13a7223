"""The JSON export of a store of observations, written from memories, sessions and relations.

Version 0.2.0 is what later releases read; 0.1.0, of the first one, has neither ids that travel nor relations.
"""

import json
from collections.abc import Iterator
from typing import Any

from engram.interop import observations_rows as rows
from engram.interop import theirs
from engram.interop.fields import second
from engram.interop.observations_rows import NAME, Row
from engram.interop.streams import print_list
from engram.interop.writing import Stock, Tally, Writer
from engram.model.memory import Memory
from engram.model.refs import handle_number
from engram.model.relation import Relation

VERSION, OLDER = "0.2.0", "0.1.0"
CARRIED = frozenset(
    {
        *("key", "summary", "kind", "scope", "visibility", "session", "pinned", "decay", "forgotten_at"),
        *(
            "seen",
            "created_at",
            "status",
            "approved_by",
            "replaced_by",
            "context.tool",
            "context.word",
            "context.project",
        ),
    }
)

FIRST = frozenset(
    {
        *("id", "session_id", "project", "directory", "started_at", "ended_at", "summary", "type", "title"),
        *("content", "tool_name", "scope", "topic_key", "revision_count", "duplicate_count", "last_seen_at"),
        *("created_at", "updated_at", "deleted_at"),
    }
)
"""The columns of the first release."""


def _later(stock: Stock, tally: Tally) -> Iterator[str]:
    head = json.dumps({"version": VERSION, "exported_at": second(stock.now)})[:-1]
    yield from print_list(f'{head}, "sessions": [', sessions(stock, tally), "],\n")
    yield from print_list('"observations": [', observations(stock, tally), "],\n")
    yield from print_list('"prompts": [', prompts(stock, tally), "],\n")
    yield from print_list('"relations": [', relations(stock, tally), '],\n"prompt_tombstones": []}\n')


def _first(stock: Stock, tally: Tally) -> Iterator[str]:
    """What the first release knew: of what was replaced it could only say that it counts, so it is left out."""

    def counts(memory: Memory) -> bool:
        return not memory.replaced_by

    tally.lost(*("relations" for _ in stock.relations()))
    tally.lost(*("replaced memories" for one in stock.memories() if not counts(one)))
    kept = stock._replace(memories=lambda: filter(counts, stock.memories()))
    head = json.dumps({"version": OLDER, "exported_at": second(stock.now)})[:-1]
    written = {"sessions": sessions, "observations": observations, "prompts": prompts}
    for n, (name, told) in enumerate(written.items()):
        begin = f'{head}, "{name}": [' if not n else f'"{name}": ['
        end = "],\n" if n < len(written) - 1 else "]}\n"
        yield from print_list(begin, _of_the_first(told(kept, tally), tally), end)


def _of_the_first(rows: Iterator[Row], tally: Tally) -> Iterator[Row]:
    """The rows with the columns that were there from the beginning; what else they say is named."""
    for row in rows:
        tally.lost(*(name for name, value in row.items() if name not in FIRST and value and name != "sync_id"))
        yield {name: value for name, value in row.items() if name in FIRST}


def sessions(stock: Stock, tally: Tally) -> Iterator[Row]:
    """Every session, and one for each name by which memories go without one: an observation cannot be without."""
    known: set[str] = set()
    for session in stock.sessions():
        tally.sessions += 1
        row = _plain(theirs.restore(NAME, session, rows.session_row(session)))
        known.add(row["id"])
        said = stock.find([rows.summary_id(row["id"])])
        for memory in said.values():
            row["summary"] = memory.text
        yield row
    for memory in stock.memories():
        row = rows.observation_row(memory)
        if _can_be_told(memory) and not _closes(memory) and row["session_id"] not in known:
            known.add(row["session_id"])
            began = row["created_at"]
            yield {"id": row["session_id"], "project": row.get("project", ""), "directory": "", "started_at": began}


def observations(stock: Stock, tally: Tally) -> Iterator[Row]:
    """Everything that counts, or did until it was forgotten."""
    for memory in stock.memories():
        if not _can_be_told(memory):
            tally.lost(f"{memory.status} memories")
        elif _closes(memory):
            tally.took(memory, CARRIED, NAME)
        elif memory.kind != "prompt":
            tally.took(memory, CARRIED, NAME)
            yield _numbered(memory, rows.observation_row(memory))


def prompts(stock: Stock, tally: Tally) -> Iterator[Row]:
    """What people asked for."""
    for memory in stock.memories():
        if _can_be_told(memory) and memory.kind == "prompt" and memory.forgotten_at is None:
            tally.took(memory, CARRIED, NAME)
            yield _numbered(memory, rows.prompt_row(memory))


def relations(stock: Stock, tally: Tally) -> Iterator[Row]:
    """Every verdict; and one for what was replaced without any, since nothing else would say so."""
    said: set[str] = set()
    for relation in stock.relations():
        if relation.kind == "supersedes":
            said.add(relation.to_id)
        ends = stock.find([relation.from_id, relation.to_id])
        if any(not _can_be_told(one) for one in ends.values()):
            tally.lost("relations")
            continue
        tally.relations += 1
        names = {id: rows.observation_row(one)["sync_id"] for id, one in ends.items()}
        yield _plain(theirs.restore(NAME, relation, rows.relation_row(relation, names)))
    for memory in stock.memories():
        if _can_be_told(memory) and memory.replaced_by and memory.id not in said:
            for new in filter(_can_be_told, stock.find([memory.replaced_by]).values()):
                tally.relations += 1
                yield _superseding(new, memory)


def _superseding(new: Memory, old: Memory) -> Row:
    verdict = Relation(
        id=f"{new.id}~{old.id}",
        from_id=new.id,
        to_id=old.id,
        kind="supersedes",
        status="judged",
        confidence=1.0,
        created_at=old.updated_at,
        updated_at=old.updated_at,
    )
    names = {one.id: rows.observation_row(one)["sync_id"] for one in (new, old)}
    return rows.relation_row(verdict, names)


def _can_be_told(memory: Memory) -> bool:
    """Whether it can be told: that something waits, or was rejected, has no word there."""
    return memory.status == "promoted"


def _closes(memory: Memory) -> bool:
    return memory.kind == "summary" and memory.id == rows.summary_id(memory.session)


def _numbered(memory: Memory, row: Row) -> Row:
    """The row with the id it came with, or a number; and never without the id that travels."""
    number = handle_number("memory", memory.handle) or 0
    restored = theirs.restore(NAME, memory, row)
    return _plain({"id": number, **restored, "sync_id": restored.get("sync_id") or row["sync_id"]})


def _plain(row: dict[str, Any]) -> Row:
    return {name: value for name, value in row.items() if value is not None}


WRITER = Writer(NAME, "The JSON export of a store of observations.", lines=_later)
OLDER_WRITER = Writer(f"{NAME}-{OLDER}", "The JSON export of its first release, without relations.", lines=_first)
