"""One question, answered: gather, weigh, collapse what says the same, cut, and say what was held back."""

from collections.abc import Sequence
from datetime import datetime

from engram.model.answers import Recalled, Recollection
from engram.model.filter import Access, Filter
from engram.model.memory import Standing, standing
from engram.model.query import Query
from engram.ports import Engine
from engram.recall.lexical import gather
from engram.recall.weigh import weigh

CANDIDATES = 50
MOST_COUNTED = 100
HELD_BACK: tuple[Standing, ...] = ("pending", "stale", "expired", "scheduled", "replaced", "staged")


def recall(engine: Engine, question: str, where: Filter, access: Access, *, now: datetime, limit: int) -> Recalled:
    """The live, readable memories that answer a question.

    `where` carries scope and kinds; standing is set here, so that no path recalls what is not live.
    """
    live = where._replace(standings=("live",), now=now)
    found = gather(engine, question, live, access, max(limit, CANDIDATES))
    hits = _collapse(weigh(found.hits, question, now))[:limit]
    hint = ""
    if not found.terms:
        hint = "There is no word to look for in that question."
    elif not hits:
        hint = "Nothing is known about that here. Try other words, or --everywhere."
    return Recalled(
        at=now,
        query=question,
        hits=tuple(hits),
        held_back=_held_back(engine, found.terms, where, access, now),
        relaxed=found.relaxed,
        hint=hint,
    )


def _collapse(hits: Sequence[Recollection]) -> list[Recollection]:
    """The best of those that say the same in different scopes."""
    best: dict[str, Recollection] = {}
    for hit in hits:
        best.setdefault(hit.memory.digest, hit)
    return list(best.values())


def _held_back(
    engine: Engine, terms: tuple[str, ...], where: Filter, access: Access, now: datetime
) -> dict[str, int]:
    """How many matches were left out, by standing: only what this caller may read, waiting ones only its own."""
    if not terms:
        return {}
    left = Query(terms=terms, where=where._replace(standings=HELD_BACK, now=now), limit=MOST_COUNTED)
    counts: dict[str, int] = {}
    for hit in engine.search(left, access):
        stands = standing(hit.memory, now, where.view)
        if stands in ("pending", "staged") and hit.memory.owner != access.owner:
            continue
        counts[stands] = counts.get(stands, 0) + 1
    return counts
