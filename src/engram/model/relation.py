"""How one memory bears on another, and who judged it."""

from datetime import datetime
from typing import Literal, get_args

from engram.errors import Invalid
from engram.model.limits import LIMITS, check_choice, check_owner, check_text, check_time, check_whole
from engram.model.memory import check_unit
from engram.model.record import Record

RelationKind = Literal["related", "compatible", "scoped", "conflicts", "supersedes", "unrelated"]
RelationStatus = Literal["proposed", "judged", "ignored"]


def judging(pair: str) -> str:
    """How a verdict on a pair is given: the command with every word that may follow."""
    return f"engram judge {pair} supersedes (or conflicts, compatible, scoped, related, unrelated)"


class Relation(Record, kw_only=True):
    """A directed verdict between two memories, with its reason and evidence."""

    UNCOMPARED = frozenset({"handle"})

    id: str
    from_id: str
    to_id: str
    kind: RelationKind
    status: RelationStatus = "proposed"
    reason: str = ""
    evidence: str = ""
    confidence: float = 0.6
    owner: str | None = None
    actor: str = ""
    approved_by: str = ""  # the person whose verdict it is; empty while only agents spoke
    model: str = ""
    session: str = ""
    theirs: str = ""  # what the store it was taken from says of it beside (see `interop.theirs`)
    created_at: datetime
    updated_at: datetime
    revision: int = 1
    handle: str = ""

    def _check(self) -> None:
        for name in ("id", "from_id", "to_id"):
            check_text(name, getattr(self, name), limit=LIMITS["key"])
        if not (self.id and self.from_id and self.to_id):
            raise Invalid("A relation needs an id and two memories.")
        if self.from_id == self.to_id:
            raise Invalid("A memory cannot be related to itself.")
        check_choice("relation kind", self.kind, get_args(RelationKind))
        check_choice("relation status", self.status, get_args(RelationStatus))
        check_text("reason", self.reason, lines=True)
        check_text("excerpt", self.evidence, lines=True)
        check_text("context", self.theirs)
        for name in ("actor", "approved_by", "model", "session"):
            check_text(name, getattr(self, name), limit=LIMITS["name"])
        check_owner(self.owner)
        check_unit("confidence", self.confidence)
        check_whole("revision", self.revision, 1)
        check_time("created_at", self.created_at)
        check_time("updated_at", self.updated_at)
