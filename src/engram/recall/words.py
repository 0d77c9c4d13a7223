"""Memories that contain all of these words, in some form or inside a longer word; nothing is weighed."""

import functools
from collections.abc import Iterator
from itertools import islice

from engram.model.filter import Access, Filter
from engram.model.limits import print_time
from engram.model.memory import Memory
from engram.model.query import Page, Query
from engram.model.refs import cursor_of, read_cursor
from engram.model.text import STOP_WORDS, cjk, query_terms
from engram.ports import Engine
from engram.recall.lexical import MOST_TERMS, MOST_UNKNOWN, asked_terms, otherwise, quoted

MOST = 2000
"""Beyond so many, the best by their words."""

SHORTEST_PIECE = 2
"""Whoever looks for a word, and not for an answer, may know two letters of it."""


def saying(
    engine: Engine, words: str, where: Filter, access: Access, *, after: str | None = None, limit: int = 100
) -> Page:
    """A page of those that say all of these words, newest first, as `ports.Engine.scan` pages.

    A word that nobody wrote stands for those it may be a slip or a beginning of, else for those it is a piece of:
    as a whole, also where it has parts, since a piece of `deploy-day` may end in the middle of one.

    Raises:
        Invalid: when the cursor is none.
    """
    found = sorted(_who_say(engine, words, where, access), key=_place, reverse=True)
    if after:
        last = read_cursor(after)
        found = [memory for memory in found if _place(memory) < last]
    page = tuple(found[:limit])
    return Page(page, cursor_of(page[-1]) if page and len(found) > limit else None)


def _who_say(engine: Engine, words: str, where: Filter, access: Access) -> Iterator[Memory]:
    terms = asked_terms(words)[:MOST_TERMS]
    count = functools.partial(engine.census, access=access)
    known = count(terms).carriers
    unknown = [term for term in terms if not known.get(term)][:MOST_UNKNOWN]
    variants = {term: otherwise(count, term, begun=True) or _around(engine, term, access) for term in unknown}
    for whole, parts in _torn(words, {term for term in terms if not (known.get(term) or variants.get(term))}):
        if around := _around(engine, whole, access):
            terms = [term for term in terms if term not in parts]
            variants = {term: found for term, found in variants.items() if term not in parts} | {whole: around}
    query = Query(tuple(terms), variants=variants, phrases=quoted(words), where=where, limit=MOST)
    return (hit.memory for hit in engine.search(query, access))


def _torn(words: str, lost: set[str]) -> list[tuple[str, list[str]]]:
    """The words with parts of which one was found nowhere: each whole, and its parts."""
    each = filter(None, map(query_terms, words.split())) if lost else ()
    torn = ((whole, parts) for whole, *parts in each if parts and lost & {whole, *parts})
    return [*islice(torn, MOST_UNKNOWN)]


def _around(engine: Engine, piece: str, access: Access) -> tuple[str, ...]:
    """The words that a piece stands in; a small word is none."""
    if len(piece) < SHORTEST_PIECE or piece in STOP_WORDS or cjk().search(piece):
        return ()
    return tuple(engine.containing(piece, access))


def _place(memory: Memory) -> tuple[str, str]:
    """What a list is in order of, and what its cursors mark."""
    return print_time(memory.created_at), memory.id
