"""One stretch of an agent's work, grouping the memories it made."""

from datetime import datetime

from engram.errors import Invalid
from engram.model.hashing import sha256
from engram.model.limits import check_owner, check_text, check_time, check_whole
from engram.model.memory import NOWHERE, Context
from engram.model.record import Record
from engram.model.scope import GLOBAL, Scope

MOST_COPIES = 2
"""How often a session can be scrubbed and still be there; after that it is erased."""


def session_id(owner: str, name: str) -> str:
    """The id of an owner's session of this name: two owners may call theirs alike, and neither learns of it."""
    if not owner:
        return name
    return "ses-" + sha256(f"{owner}\x1f{name}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def session_ids(owner: str, name: str) -> tuple[str, ...]:
    """The ids that an owner's session of this name may have: its own, and those of copies that scrubs made of it.

    What was erased stays erased under its id wherever it was heard of, so a clean copy needs another one.
    """
    ids = [session_id(owner, name)]
    for _ in range(MOST_COPIES):
        ids.append("ses-" + sha256(f"scrubbed\x1f{ids[-1]}".encode("utf-8", "surrogatepass")).hexdigest()[:24])
    return tuple(ids)


class Session(Record, kw_only=True):
    """When it began and ended, who worked, and where. Its summary is a memory of kind `summary`."""

    UNCOMPARED = frozenset({"handle"})

    id: str
    name: str = ""  # what the agent calls it; unique for its owner
    scope: Scope = GLOBAL
    agent: str = ""
    context: Context = NOWHERE
    owner: str | None = None
    started_at: datetime
    ended_at: datetime | None = None
    revision: int = 1
    handle: str = ""

    def _check(self) -> None:
        if not self.id:
            raise Invalid("A session needs an id.")
        check_text("name", self.id)
        check_text("name", self.name)
        check_text("name", self.agent)
        check_owner(self.owner)
        check_whole("revision", self.revision, 1)
        check_time("started_at", self.started_at)
        check_time("ended_at", self.ended_at)
        if self.ended_at is not None and self.ended_at < self.started_at:
            raise Invalid("A session cannot end before it began.")
