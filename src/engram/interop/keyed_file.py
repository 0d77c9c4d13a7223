"""Rows of memories by key, as JSON or CSV: read and written.

A row has key, value, summary, category, tags, importance, pinned, expiresAt, source, scope with projectId or
agentId, createdAt and updatedAt, or the same as columns of a database write it: expires_at, project_id. It says
nothing about review: what is there counts.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from engram.errors import EngramError
from engram.interop import theirs
from engram.interop.fields import flag, moment, number, one_line, second, text_of, time_of, words_of
from engram.interop.forms import Foreign, Form, Problem, Source, foreign_id
from engram.interop.keyed_rows import kind_of_category
from engram.interop.streams import print_list, rows
from engram.interop.writing import Stock, Tally, Writer
from engram.model.memory import TALKS, Citation, Context, Memory, Visibility, standing
from engram.model.scope import Scope

NAME = "keyed"
COLUMNS = (
    *("id", "key", "value", "summary", "category", "tags", "importance", "pinned", "expiresAt", "source"),
    *("scope", "projectId", "agentId", "sessionId", "workspaceId", "createdAt", "updatedAt"),
)
CARRIED = frozenset(
    {
        *("key", "summary", "kind", "tags", "importance", "pinned", "valid_until", "source", "scope", "session"),
        *("visibility", "created_at", "citations", "status", "approved_by", "learned_by", "origin", "context.word"),
    }
)
"""Fields of a memory that a row tells, or that follow from its being there."""

SPELT = {
    re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name): name for name in (*COLUMNS, "orgId", "userId")
}
"""Names of columns as databases write them → as they are known."""

LISTS = ("memories", "data", "rows", "items")
LARGEST_CELL = 1024 * 1024


def row_of(memory: Memory) -> dict[str, Any]:
    """A memory as a row."""
    scope = memory.scope
    row: dict[str, Any] = {
        "id": theirs.id_in(NAME, memory) or memory.id,
        "key": memory.key,
        "value": memory.text,
        "summary": memory.summary or None,
        "category": word
        if (word := memory.context.word) and kind_of_category(word) == memory.kind
        else memory.kind,
        "tags": list(memory.tags),
        "importance": memory.importance,
        "pinned": memory.pinned,
        "expiresAt": second(memory.valid_until),
        "source": memory.source,
        "scope": "project" if scope.level == "session" else scope.level,
        "projectId": scope.name if scope.level == "project" else None,
        "agentId": scope.name if scope.level == "agent" else None,
        "sessionId": memory.session or None,
        "createdAt": second(memory.created_at),
        "updatedAt": second(memory.updated_at),
    }
    if scope.workspace:
        row["workspaceId"] = scope.workspace
    if memory.citations:
        row["sources"] = [{"type": one.kind, "id": one.ref} for one in memory.citations]
    return row


def _memory(row: Mapping[str, Any]) -> tuple[Memory, list[str]]:
    key, scope = one_line(text_of(row.get("key")), "key"), _scope(row)
    category = text_of(row.get("category")).strip() or "fact"
    kind = kind_of_category(category)
    id = text_of(row.get("id")) or f"{scope} {text_of(row.get('sessionId'))} {key}"
    created = moment(row.get("createdAt"), row.get("updatedAt"))
    made = Memory(
        id=foreign_id(NAME, id),
        key=key,
        text=text_of(row.get("value")),
        summary=one_line(text_of(row.get("summary")), "summary"),
        kind=kind,
        tags=words_of(row.get("tags")),
        importance=number(row, "importance", 5, 1, 10),
        pinned=flag(row.get("pinned")),
        valid_until=time_of(row.get("expiresAt"), "expiresAt"),
        source=one_line(text_of(row.get("source")), "source") or "manual",
        learned_by="harvest" if row.get("source") == "auto" else "import",  # their agents write "manual" too
        origin="inferred" if row.get("source") == "auto" else "said",
        scope=scope,
        session=text_of(row.get("sessionId")),
        visibility=_seen(scope),
        citations=tuple(_sources(row.get("sources"))),
        context=Context(word="" if category == kind else category),
        status="promoted",
        owner="",
        created_at=created,
        updated_at=moment(row.get("updatedAt"), row.get("createdAt")),
    )
    return theirs.keep(made, NAME, id, row, row_of(made))


def _seen(scope: Scope) -> Visibility:
    """Who sees a row is told by its scope alone."""
    return "private" if scope.level == "global" else "shared"


def _scope(row: Mapping[str, Any]) -> Scope:
    level = text_of(row.get("scope")).strip().lower() or "global"
    workspace = text_of(row.get("workspaceId"))
    for named, key in (("project", "projectId"), ("agent", "agentId")):
        if level == named and (name := text_of(row.get(key)).strip()):
            return Scope(named, name, workspace)
    return Scope(workspace=workspace)


def _sources(said: Any) -> Iterator[Citation]:  # noqa: ANN401 - as it stands there
    for one in said if isinstance(said, list) else ():
        kind, ref = (one.get("type"), one.get("id")) if isinstance(one, dict) else ("message", one)
        if kind in TALKS and ref:
            yield Citation("session" if kind == "session" else "message", text_of(ref))


# reading


def _recognises(source: Source) -> bool:
    head = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] in (b"{", b"["):
        return b'"key"' in head and b'"value"' in head
    first = head.partition(b"\n")[0].decode(errors="replace").strip()
    return {"key", "value"} <= {name.strip().strip('"') for name in first.split(",")}


def _read(source: Source) -> Iterator[Foreign | Problem]:
    is_json = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    try:
        for name, row in rows(source.path, LISTS) if is_json else _csv_rows(source.path):
            yield Problem(name, "It is not a JSON object.") if row is None else _foreign(name, row)
    except EngramError as error:
        yield Problem("the rest", error.message)
    except (csv.Error, UnicodeDecodeError) as error:
        yield Problem("the rest", f"It cannot be read: {error}.")


def _foreign(name: str, said: Mapping[str, Any]) -> Foreign | Problem:
    row = {SPELT.get(column, column): value for column, value in said.items()}
    try:
        memory, dropped = _memory({column: value for column, value in row.items() if column != "embedding"})
    except EngramError as error:
        return Problem(name, error.message)
    gone = [column for column in ("embedding", "assets", "userId", "orgId") if row.get(column)]
    kept = theirs.of(memory).left
    return Foreign(name, memory, tuple({*dropped, *(column for column in gone if column not in kept)}))


def _csv_rows(path: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    csv.field_size_limit(LARGEST_CELL)
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        for row in reader:
            yield f"line {reader.line_num}", _typed({name: value for name, value in row.items() if name and value})


def _typed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of text with the types its columns have."""
    typed: dict[str, Any] = dict.fromkeys(("summary", "expiresAt", "projectId", "agentId", "sessionId")) | dict(row)
    typed["tags"] = list(words_of(row.get("tags", "")))
    typed["pinned"] = flag(row.get("pinned", ""))
    typed["importance"] = number(row, "importance", 5, 1, 10)
    return typed


# writing


def _lines(stock: Stock, tally: Tally) -> Iterator[str]:
    if stock.path.lower().endswith(".csv"):
        yield from _csv(stock, tally)
    else:
        yield from print_list("[", (row for row in _rows(stock, tally)), "]\n")


def _rows(stock: Stock, tally: Tally) -> Iterator[dict[str, Any]]:
    """The rows of what counts now, or did until it expired: a row has no way to say that it waits or is gone."""
    for memory in stock.memories():
        if not _is_there(memory, stock.now):
            tally.lost(f"{standing(memory, stock.now)} memories")
            continue
        tally.took(memory, CARRIED, NAME)
        tally.lost(*_cut(memory))
        yield theirs.restore(NAME, memory, row_of(memory))
    tally.lost(*("relations" for _ in stock.relations()), *("sessions" for _ in stock.sessions()))


def _cut(memory: Memory) -> Iterator[str]:
    """The fields of which a row tells a part only."""
    if memory.scope.run or memory.scope.level == "session":
        yield "scope"
    if memory.visibility != _seen(memory.scope):
        yield "visibility"
    if any(one != Citation(one.kind, one.ref) or one.kind not in TALKS for one in memory.citations):
        yield "citations"


def _is_there(memory: Memory, now: datetime) -> bool:
    return standing(memory, now) in ("live", "stale", "expired", "scheduled")


def _csv(stock: Stock, tally: Tally) -> Iterator[str]:
    pieces: list[str] = []
    columns = [*COLUMNS, "sources"]
    writer = csv.DictWriter(_Pieces(pieces), columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in _rows(stock, tally):
        writer.writerow({name: _cell(row.get(name)) for name in columns})
        yield "".join(pieces)
        pieces.clear()
    yield "".join(pieces)


def _cell(value: Any) -> Any:  # noqa: ANN401 - as JSON has it
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


class _Pieces:
    """What a csv writer writes to: a list of texts."""

    def __init__(self, pieces: list[str]) -> None:
        self.write = pieces.append


FORM = Form(NAME, "Rows of memories by key, as JSON or CSV.", _recognises, _read)
WRITER = Writer(NAME, "Rows by key, as JSON, or as CSV where the file is called so.", lines=_lines)
