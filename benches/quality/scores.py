"""Three different numbers are called "R@5" in this field; here each has its own name.

recall@k is the share of the gold ids among the first k, any@k whether at least one is there, all@k whether all are.
MRR is the mean of one through the place of the first gold id, nought where it was not found.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Pair(NamedTuple):
    """What was found, best first, and what should have been."""

    found: Sequence[str]
    gold: frozenset[str]


def score(pair: Pair, measure: str) -> float:
    """One measure of one answer, from 0 to 1."""
    if measure == "mrr":
        places = (place for place, id in enumerate(pair.found, 1) if id in pair.gold)
        return 1 / next(places, float("inf"))
    name, k = re.fullmatch(r"(recall|any|all)@(\d+)", measure).groups()  # type: ignore[union-attr]
    there = len(pair.gold.intersection(pair.found[: int(k)]))
    return {"recall": there / len(pair.gold), "any": float(there > 0), "all": float(there == len(pair.gold))}[name]


def mean(pairs: Iterable[Pair], *measures: str) -> dict[str, float]:
    """Each measure over all answers; nought for none."""
    pairs = list(pairs)
    return {
        measure: round(sum(score(pair, measure) for pair in pairs) / max(len(pairs), 1), 4) for measure in measures
    }


def share(flags: Iterable[bool]) -> float:
    """How many of them hold, from 0 to 1."""
    flags = list(flags)
    return round(sum(flags) / max(len(flags), 1), 4)
