"""How often a PostgreSQL engine waits for its database: round trips, which are the same on every machine."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """What tells how often the driver has waited for an answer since this began.

    In a pipeline it waits when it fetches what was asked. Outside of one it waits wherever a statement is carried
    out; a commit of a transaction that has ended already sends nothing, and counts for nothing.
    """
    told = 0
    plain, piped = psycopg.Connection.wait, psycopg.Pipeline._fetch_gen

    def wait(self: psycopg.Connection, gen: Generator[Any, Any, Any], *args: object, **kwargs: object) -> object:
        return plain(self, gen if self._pipeline else asked(gen), *args, **kwargs)

    def asked(gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        nonlocal told
        try:
            state = next(gen)
        except StopIteration as ended:
            return ended.value
        told += 1
        while True:
            ready = yield state
            try:
                state = gen.send(ready)
            except StopIteration as ended:
                return ended.value

    def fetch(self: psycopg.Pipeline, *, flush: bool) -> object:
        nonlocal told
        told += bool(self.result_queue)
        return piped(self, flush=flush)

    psycopg.Connection.wait, psycopg.Pipeline._fetch_gen = wait, fetch
    try:
        yield lambda: told
    finally:
        psycopg.Connection.wait, psycopg.Pipeline._fetch_gen = plain, piped
