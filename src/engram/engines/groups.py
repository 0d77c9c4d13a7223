"""The groups of terms that a question asks for, and which are rare enough to search for alone."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engram.model.query import Query

MOST_SCORED = 4000
"""So many matches are scored, more only where the rarest term has more: scoring takes ten times as long as finding.
At 100,000 memories the first ten stay the same in 99 of 100 questions (docs/benchmarks.md)."""

Group = tuple[str, ...]
"""A term and its variants, which count as the term itself."""


def groups_of(query: Query) -> list[Group]:
    """Each term once, with its variants."""
    return [(term, *query.variants.get(term, ())) for term in dict.fromkeys(query.terms)]


class Wanted(NamedTuple):
    """How many matches must be found, and how many may be scored for it."""

    fewest: int
    most: int


def rarest(groups: Sequence[Group], carriers: Mapping[str, float], wanted: Wanted) -> list[Group]:
    """The rarest groups that together have as many carriers as are wanted, and no more than may be scored."""
    counted = sorted((sum(carriers.get(term, 0) for term in group), group) for group in groups)
    out: list[Group] = []
    together = 0.0
    for count, group in counted:
        if together >= wanted.fewest and together + count > wanted.most:
            break
        out.append(group)
        together += count
    return out
