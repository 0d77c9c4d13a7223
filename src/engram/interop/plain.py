"""A plain list of memories, as JSON or a JSON object a line: each has a text, and whatever else is known of it.

It is what somebody writes who has notes in a script or a table of their own. The names are those of our own fields;
what has no place here is named.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engram.errors import EngramError
from engram.interop.fields import flag, moment, number, one_line, text_of, time_of, words_of
from engram.interop.forms import Foreign, Form, Problem, Source, foreign_id
from engram.interop.streams import rows
from engram.model.memory import Memory
from engram.model.scope import GLOBAL, Scope

NAME = "plain"
FIELDS = frozenset(
    {
        *("text", "kind", "summary", "key", "tags", "importance", "pinned", "scope", "source"),
        *("created_at", "updated_at", "valid_until"),
    }
)
"""What a row may say."""

LISTS = ("memories",)


def _recognises(source: Source) -> bool:
    """Whether the first object of a file, or of the list it is, has a text."""
    head = source.head.decode(errors="replace").removeprefix("\ufeff").lstrip()
    if head.startswith("["):
        head = head[1:].lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and isinstance(first.get("text"), str)


def _read(source: Source) -> Iterator[Foreign | Problem]:
    try:
        for name, row in rows(source.path, LISTS):
            yield Problem(name, "It is not a JSON object.") if row is None else _foreign(name, row)
    except EngramError as error:
        yield Problem("the rest", error.message)


def _foreign(name: str, row: Mapping[str, Any]) -> Foreign | Problem:
    try:
        return Foreign(name, _memory(row), tuple(sorted(row.keys() - FIELDS)))
    except EngramError as error:
        return Problem(name, error.message)


def _memory(row: Mapping[str, Any]) -> Memory:
    text, key, where = text_of(row.get("text")), one_line(text_of(row.get("key")), "key"), text_of(row.get("scope"))
    scope = Scope.parse(where) if where else GLOBAL
    return Memory(
        id=foreign_id(NAME, f"{scope} {key or text}"),
        key=key,
        text=text,
        summary=one_line(text_of(row.get("summary")), "summary"),
        kind=text_of(row.get("kind")).strip() or "fact",
        tags=words_of(row.get("tags")),
        importance=number(row, "importance", 5, 1, 10),
        pinned=flag(row.get("pinned")),
        scope=scope,
        source=one_line(text_of(row.get("source")), "source"),
        origin="said",
        confidence=1.0,
        learned_by="import",
        valid_until=time_of(row.get("valid_until"), "valid_until"),
        owner="",
        created_at=moment(row.get("created_at"), row.get("updated_at")),
        updated_at=moment(row.get("updated_at"), row.get("created_at")),
    )


FORM = Form(NAME, "A list of memories as JSON, or one a line: each has a text.", _recognises, _read)
