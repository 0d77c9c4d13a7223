"""How much a candidate counts: its words, and what its record says about its worth; every factor is told."""

from collections.abc import Sequence
from datetime import datetime

from engram.model.answers import Recollection
from engram.model.memory import Memory
from engram.model.query import Hit
from engram.model.text import query_terms, terms, tokens

PINNED = 1.15
VERIFIED = 1.05
PER_IMPORTANCE = 0.02
"""One step of importance above or below the middle (5) is worth two per cent."""


def weigh(hits: Sequence[Hit], question: str, now: datetime) -> list[Recollection]:
    """The candidates with their final score between 0 and 1, best first, ties by id.

    A score is the share of the question's words a memory carries, tempered by its rank among the candidates
    and multiplied by its priors, so that it means the same in every answer.
    """
    asked = query_terms(question)
    best = max((hit.score for hit in hits), default=1.0) or 1.0
    weighed = [_recollection(hit, asked, best, now) for hit in hits]
    return sorted(weighed, key=lambda one: (-one.score, one.memory.id))


def _recollection(hit: Hit, asked: Sequence[str], best: float, now: datetime) -> Recollection:
    memory = hit.memory
    held = {*terms(f"{memory.key} {memory.kind} {memory.summary}"), *terms(memory.text)}
    held.update(term for tag in memory.tags for term in terms(tag))
    reasons = {
        "words": round(sum(term in held for term in asked) / max(len(asked), 1), 3),
        "rank": round(max(hit.score, 0.0) / best, 3),
        **priors(memory, now),
    }
    score = (0.6 * reasons["words"] + 0.4 * reasons["rank"]) * _product(reasons)
    return Recollection(memory, round(min(score, 1.0), 4), reasons, tokens(memory.summary or memory.text))


def priors(memory: Memory, now: datetime) -> dict[str, float]:
    """What the record itself adds or takes, whatever the question: only factors that are not one."""
    factors = {
        "pinned": PINNED if memory.pinned else 1.0,
        "verified": VERIFIED if memory.verified_at else 1.0,
        "importance": 1 + PER_IMPORTANCE * (memory.importance - 5),
        "confidence": round(0.8 + 0.2 * memory.effective_confidence(now), 3),
    }
    return {name: factor for name, factor in factors.items() if factor != 1.0}


def _product(reasons: dict[str, float]) -> float:
    product = 1.0
    for name, factor in reasons.items():
        if name not in ("words", "rank"):
            product *= factor
    return product
