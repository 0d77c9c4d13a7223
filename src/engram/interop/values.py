"""What profiles share: answers that are JSON, and lists that keep a part of what is listed."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from engram.interop.tools import Answer, Asks
from engram.model.answers import Listing
from engram.model.limits import print_time
from engram.model.memory import Memory
from engram.model.refs import write_cursor

PAGE, MOST = 200, 1000
"""How many memories are read at a time where only some of them are kept: usually, and where many are wanted."""

EVERYTHING = 1_000_000
"""A limit for those who want all there is."""


def as_json(data: Mapping[str, Any]) -> Answer:
    """The same data twice: as text for a model, and as structure for a client."""
    return Answer(json.dumps(data, ensure_ascii=False), data)


def quiet(asks: Asks) -> frozenset[str]:
    """The kinds that come only when they are asked for by name: other lists and searches leave them out."""
    return frozenset(row.name for row in asks.ask("kinds").kinds if row.recall != "always")


def loud(asks: Asks) -> Callable[[Memory], bool]:
    """Whether a memory is of a kind that comes by itself."""
    hidden = quiet(asks)
    return lambda memory: memory.kind not in hidden


def kept(
    asks: Asks,
    keep: Callable[[Memory], bool],
    *,
    limit: int,
    after: str | None = None,
    **where: Any,  # noqa: ANN401 - clauses of the list operation
) -> Listing:
    """A page of those listed memories that are kept, newest first; `next` goes on after the last of them."""
    found: list[Memory] = []
    while True:
        page = asks.ask("list", limit=min(max(limit, PAGE), MOST), after=after or None, **where)
        for memory in filter(keep, page.memories):
            if len(found) == limit:
                last = found[-1]
                return Listing(page.at, tuple(found), write_cursor(print_time(last.created_at), last.id))
            found.append(memory)
        if (after := page.next) is None:
            return Listing(page.at, tuple(found))
