"""Going through history page by page: all of it, what was done to one record, or one batch."""

from collections.abc import Iterator

from engram.model.event import Event
from engram.ports import Engine


def events(
    engine: Engine,
    *,
    subject: str | None = None,
    batch: str | None = None,
    newest: bool = False,
    after: int = 0,
    at_once: int = 100,
) -> Iterator[Event]:
    """Events in commit order or newest first, after a local number (or before it), however many there are.

    `at_once` are read at a time: few where the first ones mostly do.
    """
    while page := engine.events(subject=subject, batch=batch, newest=newest, after=after, limit=at_once):
        yield from page
        if len(page) < at_once:
            return
        after = page[-1].seq
