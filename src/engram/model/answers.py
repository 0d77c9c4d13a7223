"""What operations answer: one type for each kind of answer, and one renderer for each type.

`at` is the moment an answer was true; standings and ages are meant at it.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from engram.model.change import Finding
from engram.model.event import Event
from engram.model.memory import Memory

NONE: Mapping[str, Any] = MappingProxyType({})


class Remembered(NamedTuple):
    """What became of a text: outcome is new, revised, repeated, held, proposed or restored."""

    at: datetime
    memory: Memory
    outcome: str
    event: int
    conflicts: tuple[Memory, ...] = ()
    why: str = ""  # how it contradicts the first of them
    redacted: tuple[str, ...] = ()
    replayed: bool = False
    hint: str = ""


class Recollection(NamedTuple):
    """One hit: the memory, how it ranks, how likely it is to be about the question, why, and what it costs to read.

    `reasons` holds the parts that add up to the score, then the factors that the record itself brings; `ranks`
    its place by each of the searches.
    """

    memory: Memory
    score: float
    relevance: float
    reasons: Mapping[str, float]
    tokens: int
    ranks: Mapping[str, int] = NONE


class Recalled(NamedTuple):
    """The hits, best first, and how many more matched but were held back, by standing (100 means "or more").

    Where nothing is relevant there are no hits, and `weak` says how many came near.
    """

    at: datetime
    query: str
    hits: tuple[Recollection, ...]
    held_back: Mapping[str, int] = NONE
    weak: int = 0
    collapsed: int = 0  # hits that say the same as a better one
    relaxed: bool = False  # not every word was found together, so any of them counted
    by_meaning: bool = False  # whether meaning was compared too, or words alone
    behind: int = 0  # memories that cannot be found by meaning yet, their vectors being still to come
    time: str = ""  # the words of the question that were read as a time
    hint: str = ""


class Listing(NamedTuple):
    """A page of memories; `next` goes on."""

    at: datetime
    memories: tuple[Memory, ...]
    next: str | None = None


class Shown(NamedTuple):
    """Memories in full."""

    at: datetime
    memories: tuple[Memory, ...]


class Changed(NamedTuple):
    """Memories after something was done to them, and the number of the last event that did it."""

    at: datetime
    action: str
    memories: tuple[Memory, ...]
    event: int
    replayed: bool = False
    replaced: tuple[Memory, ...] = ()  # what a promotion put out of use


class Candidate(NamedTuple):
    """One memory that waits, beside what a reviewer compares it with."""

    memory: Memory
    amends: Memory | None = None
    conflicts: tuple[Memory, ...] = ()


class Waiting(NamedTuple):
    """What waits for review, oldest first."""

    at: datetime
    candidates: tuple[Candidate, ...]
    next: str | None = None


class Chronicle(NamedTuple):
    """History, newest first; `undone` names the events that stand reversed."""

    at: datetime
    events: tuple[Event, ...]
    handles: Mapping[str, str] = NONE
    undone: tuple[str, ...] = ()
    next: int | None = None


class Undone(NamedTuple):
    """The events taken back, newest first, and the memories as they stand now."""

    at: datetime
    events: tuple[Event, ...]
    memories: tuple[Memory, ...]
    gone: tuple[str, ...]  # ids of memories that did not exist before
    event: int


class Receipt(NamedTuple):
    """Proof of an erasure. `traces` counts pieces of the text still found in the store's raw files."""

    at: datetime
    erased: tuple[str, ...]
    event: int
    event_id: str
    traces: int | None
    note: str = "Exports, backups and other copies made earlier are not touched."


class Brief(NamedTuple):
    """A context that fits a budget; `text` is what an agent reads."""

    at: datetime
    text: str
    tokens: int
    budget: int
    included: tuple[Memory, ...] = ()
    left_out: int = 0
    hint: str = ""


class Stats(NamedTuple):
    """Counts over everything the caller may read."""

    at: datetime
    memories: int
    standings: Mapping[str, int]
    kinds: Mapping[str, int]
    scopes: Mapping[str, int]
    tokens: int
    events: int
    store: str


class Report(NamedTuple):
    """What a check found; healthy when there is no error among it."""

    at: datetime
    findings: tuple[Finding, ...]
    facts: Mapping[str, Any] = NONE

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; notes and warnings are not wrong."""
        return all(finding.severity != "error" for finding in self.findings)


class Exported(NamedTuple):
    """How many memories went where, and the checksum of what was written."""

    at: datetime
    path: str
    memories: int
    sha256: str


class Imported(NamedTuple):
    """What an import did, or in a dry run would do."""

    at: datetime
    path: str
    outcomes: Mapping[str, int]
    problems: tuple[str, ...] = ()
    batch: str = ""
    dry_run: bool = False


class KindRow(NamedTuple):
    """One kind as configured."""

    name: str
    tier: int
    decay: str
    recall: str
    about: str


class Kinds(NamedTuple):
    """The table of kinds."""

    at: datetime
    kinds: tuple[KindRow, ...]


class ModelRow(NamedTuple):
    """One embedding model: what it is, and whether it is here."""

    name: str
    state: str  # ready, absent, or what is wrong with its files
    dim: int
    size: int
    licence: str
    default: bool = False


class Models(NamedTuple):
    """The models there are, the one in use, and how far the store's vectors are."""

    at: datetime
    models: tuple[ModelRow, ...]
    embedder: str  # the space that questions are asked in; "" when words alone do
    vectors: str  # the space that the store's vectors are in; "" when there are none
    lacking: int = 0
    hint: str = ""


class Reembedded(NamedTuple):
    """How many memories got vectors, of which model, and how many still lack one."""

    at: datetime
    model: str
    memories: int
    remaining: int
