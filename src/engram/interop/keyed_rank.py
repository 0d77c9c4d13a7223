"""How closely a row of the `keyed` profile matches a query: cover density, as `ts_rank_cd` of PostgreSQL.

It is a pure function of texts, so that rows come in the same order whichever engine keeps them.
"""

from collections.abc import Sequence

from engram.model.memory import Memory
from engram.model.text import query_terms, terms

WEIGHT = 0.1
"""What an occurrence weighs in a text whose parts are not set above one another."""

FARTHEST = 16_383
"""Words beyond this place are not looked at: PostgreSQL keeps no places beyond it."""

MOST_ASKED = 32


def density(query: str, memory: Memory) -> float:
    """The cover density of a query's words in key, summary, value, category and tags; 0 if one is missing."""
    said = " ".join((memory.key, memory.summary, memory.text, memory.context.word or memory.kind, *memory.tags))
    return cover_density(asked_words(query), said.split())


def asked_words(query: str) -> list[frozenset[str]]:
    """The words of a query, each as the terms that stand for it; small words only if there is nothing else."""
    telling = {*query_terms(query)}
    each = [frozenset(query_terms(word)) & telling for word in query.split()]
    return list(dict.fromkeys(word for word in each if word))[:MOST_ASKED]


def cover_density(asked: Sequence[frozenset[str]], words: Sequence[str]) -> float:
    """The sum over all shortest stretches that hold every word asked for: the fewer others between, the more.

    A stretch counts its weight divided by one more than the words in it that were not asked for.
    """
    found = [(at, held) for at, word in enumerate(words[:FARTHEST]) if (held := _held(asked, word))]
    total, begin = 0.0, 0
    while (end := _end(found, begin, len(asked))) is not None:
        first = _begin(found, end, len(asked))
        between = (found[end][0] - found[first][0]) - (end - first)
        total += WEIGHT / (1 + between)
        begin = first + 1
    return total


def _held(asked: Sequence[frozenset[str]], word: str) -> frozenset[int]:
    """Which of the words asked for a word stands for."""
    carried = frozenset(terms(word))
    return frozenset(at for at, each in enumerate(asked) if each <= carried)


def _end(found: Sequence[tuple[int, frozenset[int]]], begin: int, count: int) -> int | None:
    """Where everything asked for has been met, going on from here."""
    met: set[int] = set()
    for at in range(begin, len(found)):
        met |= found[at][1]
        if len(met) == count:
            return at
    return None


def _begin(found: Sequence[tuple[int, frozenset[int]]], end: int, count: int) -> int:
    """Where everything asked for has been met, going back from there."""
    met: set[int] = set()
    for at in range(end, -1, -1):
        met |= found[at][1]
        if len(met) == count:
            return at
    raise AssertionError("what was met on the way there is met on the way back")
