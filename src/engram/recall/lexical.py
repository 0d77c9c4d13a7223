"""Candidates by words: memories with all the words of a question, else with any of them."""

from typing import NamedTuple

from engram.model.filter import Access, Filter
from engram.model.query import Hit, Query
from engram.model.text import query_terms
from engram.ports import Engine

MOST_TERMS = 32
"""A question longer than this is cut to its first distinct words: the rest adds cost, not answers."""


class Candidates(NamedTuple):
    """What was found, and whether all of the words had to be given up for any of them."""

    hits: list[Hit]
    terms: tuple[str, ...]
    relaxed: bool = False


def gather(engine: Engine, question: str, where: Filter, access: Access, limit: int) -> Candidates:
    """Memories that carry the question's words, best first."""
    terms = tuple(query_terms(question)[:MOST_TERMS])
    if not terms:
        return Candidates([], terms)
    strict = engine.search(Query(terms=terms, where=where, limit=limit), access)
    if len(strict) >= min(limit, 3) or len(terms) == 1:
        return Candidates(strict, terms)
    loose = engine.search(Query(terms=terms, every=False, where=where, limit=limit), access)
    found = {hit.memory.id for hit in strict}
    return Candidates(strict + [hit for hit in loose if hit.memory.id not in found], terms, relaxed=not strict)
