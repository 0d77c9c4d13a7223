"""A question to an engine, and the candidates and pages it answers with."""

from typing import NamedTuple

from engram.model.codec import Record
from engram.model.filter import ANYTHING, Filter
from engram.model.memory import Memory

FIELD_WEIGHTS = (4.0, 3.0, 2.0, 1.0)
"""How much a word counts in key and kind, summary, tags, text."""


class Query(NamedTuple):
    """Candidates that carry the terms, all of them or any, among what the filter lets through."""

    terms: tuple[str, ...]
    every: bool = True
    where: Filter = ANYTHING
    limit: int = 50


class Hit(NamedTuple):
    """One candidate. Scores descend within one answer and mean nothing between answers."""

    memory: Memory
    score: float


class Page(NamedTuple):
    """Some records in order, and where to go on; `next` is None on the last page."""

    records: tuple[Record, ...]
    next: str | None = None
