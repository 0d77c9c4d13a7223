"""What a model said about pairs of memories, what asking it cost, and what went wrong."""

from typing import NamedTuple

from engram.model.relation import RelationKind


class Judged(NamedTuple):
    """One verdict: the place of its pair in the question, how the newer bears on the older, how surely, and why."""

    pair: int
    kind: RelationKind
    confidence: float
    reason: str = ""


class Judgement(NamedTuple):
    """All that was said about some pairs. `over` says that the model will not be asked again."""

    verdicts: tuple[Judged, ...] = ()
    tokens: int = 0
    problem: str = ""
    hint: str = ""
    over: bool = False
