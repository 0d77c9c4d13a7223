"""What another store says of a record and has no place here, kept beside it so that it can be given back.

It is found by writing: whatever the record, written in the form it came from, would not say again is kept as JSON
in `theirs`, with the form, the id it has there and the revision it had here. What has a place here counts only
until the record is changed here; the rest is given back as it came.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from engram.model.limits import LIMITS, size
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.relation import Relation
from engram.model.session import Session

R = TypeVar("R", Memory, Session, Relation)

Row = dict[str, Any]

MOST = LIMITS["context"]


class Theirs(NamedTuple):
    """What is kept of another store's record."""

    form: str = ""
    id: str = ""
    revision: int = 1
    left: Mapping[str, Any] = MappingProxyType({})


def of(record: Memory | Session | Relation) -> Theirs:
    """What is kept with a record; nothing where it was never another store's."""
    text = record.theirs if isinstance(record, Relation) else record.context.theirs
    try:
        form, id, revision, left = json.loads(text) if text else ("", "", 1, {})
    except (ValueError, TypeError):  # it was redacted
        return Theirs()
    return Theirs(form, id, revision, left)


def id_in(form: str, record: Memory | Session | Relation) -> str:
    """The id a record has in a store of this form, or "" when it has none there yet."""
    kept = of(record)
    return kept.id if kept.form == form else ""


def keep(record: R, form: str, id: str, row: Mapping[str, Any], written: Mapping[str, Any]) -> tuple[R, list[str]]:
    """The record with what `written` does not say of `row`, and the names of what was too much to keep."""
    left = {name: value for name, value in row.items() if name not in written or written[name] != value}
    left |= {name: None for name in written if name not in row and written[name] not in (None, "", [], {})}
    dropped: list[str] = []
    while size(text := _print(Theirs(form, id, record.revision, left))) > MOST:
        if not left:
            return record, [*dropped, "id"]
        largest = max(left, key=lambda name: size(json.dumps(left[name], ensure_ascii=False)))
        dropped.append(largest)
        del left[largest]
    return _with(record, text), dropped


def restore(form: str, record: Memory | Session | Relation, row: Row) -> Row:
    """The row with what was kept for this form."""
    kept = of(record)
    if kept.form != form:
        return row
    left = {name: value for name, value in kept.left.items() if name not in row or kept.revision == record.revision}
    return row | left


def _with(record: R, text: str) -> R:
    if isinstance(record, Relation):
        return replace(record, theirs=text)
    return replace(record, context=replace(record.context, theirs=text))


def _print(theirs: Theirs) -> str:
    return json.dumps([*theirs[:3], dict(theirs.left)], ensure_ascii=False, separators=(",", ":"))
