"""The ways to name a record from outside: handles, prefixes and page cursors."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence

from engram.errors import Conflict, Invalid
from engram.model.codec import Record, RecordType, index

SHORTEST_PREFIX = 4
"""Fewer characters of an id are a slip, not a name."""

_PREFIXES: dict[RecordType, str] = {"memory": "mem", "session": "ses", "relation": "rel", "apikey": "key"}


def print_handle(type: RecordType, number: int) -> str:
    """The store-local alias of the n-th record of a type: mem-0001."""
    return f"{_PREFIXES[type]}-{number:04d}"


def is_number(text: str) -> bool:
    """Whether a word from outside is a number, and none too large to look for."""
    return text.isascii() and text.isdigit() and len(text) < 16


def handle_number(type: RecordType, ref: str) -> int | None:
    """The number a handle stands for, or None when it is no handle. `mem-1` and `MEM-0001` are the same."""
    head, dash, digits = ref.lower().partition("-")
    if dash and head == _PREFIXES[type] and is_number(digits):
        return int(digits)
    return None


def ambiguous(ref: str, ids: Sequence[str]) -> Conflict:
    """What is raised where a prefix fits several ids, of which the first four are enough."""
    count = "more than 3" if len(ids) > 3 else len(ids)
    return Conflict(f"{ref} fits {count} ids.", f"Give more of it: {', '.join(ids[:3])}.")


def write_cursor(created_at: str, id: str) -> str:
    """An opaque mark after the record with this creation time and id."""
    return urlsafe_b64encode(json.dumps([created_at, id]).encode()).decode().rstrip("=")


def cursor_of(record: Record) -> str:
    """The mark after a record, as pages have it: they go by creation, and then by id."""
    return write_cursor(str(index(record)["created_at"]), record.id)


def read_cursor(cursor: str) -> tuple[str, str]:
    """What `write_cursor` marked.

    Raises:
        Invalid: when it is no such mark.
    """
    try:
        place = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, Base64Error, RecursionError):
        place = None
    match place:
        case [str(created_at), str(id)]:
            return created_at, id
    raise Invalid("That is not a page cursor.", "Use the `next` value of the page before, or none.")
