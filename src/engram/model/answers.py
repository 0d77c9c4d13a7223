"""What operations answer: one type for each kind of answer, and one renderer for each type.

`at` is the moment an answer was true; standings and ages are meant at it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, Self, dataclass_transform

from engram.model.event import Event
from engram.model.evidence import Check, Verdict, verdict_of
from engram.model.memory import Memory
from engram.model.record import NONE, Record, replace
from engram.model.session import Session


@dataclass_transform(frozen_default=True)
class Answer(Record):
    """What an operation says, or a part of it: named fields, frozen, and as a row of values in their order.

    Cheaper to define than a NamedTuple: every command defines some forty of these as it starts, and uses one.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._fields = cls.FIELDS

    def __iter__(self) -> Iterator[Any]:
        return (self.__dict__[name] for name in self.FIELDS)

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - a place or a slice, as of a tuple
        return tuple(self)[at]

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self.FIELDS, self, strict=True))

    def _replace(self, **changes: Any) -> Self:  # noqa: ANN401 - any field of the answer
        return replace(self, **changes)


class Rival(Answer):
    """A known memory that a new one may conflict with or supersede: why, how surely, and the pair for `judge`."""

    memory: Memory
    why: str
    score: float
    pair: str


class Remembered(Answer):
    """What became of a text: outcome is new, revised, repeated, held, staged, proposed, restored or unchanged."""

    at: datetime
    memory: Memory
    outcome: str
    event: int
    conflicts: tuple[Memory, ...] = ()
    why: str = ""  # how it contradicts the first of them
    redacted: tuple[str, ...] = ()
    replayed: bool = False
    hint: str = ""
    candidates: tuple[Rival, ...] = ()  # what it may conflict with or supersede; nobody has judged that yet
    changed: tuple[str, ...] = ()  # the fields of a known memory that saying it again has changed
    taken_back: tuple[str, ...] = ()  # proposals of the caller's own to change it whose words it took back


class Recollection(Answer):
    """One hit: the memory, how it ranks, how likely it is to be about the question, why, and what it costs to read.

    `reasons` holds the parts that the score is the sum of, before it is scaled, then the factors that the record
    itself brings; `ranks` its place by each of the searches.
    """

    memory: Memory
    score: float
    relevance: float
    reasons: Mapping[str, float]
    tokens: int
    ranks: Mapping[str, int] = NONE
    evidence: tuple[Check, ...] = ()  # what it cites, held against the working tree
    marks: tuple[str, ...] = ()  # what was judged about it, such as "conflicts with mem-0003"

    @property
    def verdict(self) -> Verdict | None:
        """The worst of what became of its citations; None where it cites nothing."""
        return verdict_of(self.evidence)


class Recalled(Answer):
    """The hits, best first, and how many more matched but were held back, by standing (100 means "or more").

    Where nothing is relevant there are no hits, and `weak` says how many came near. Where no hit clearly answers,
    the answer is `unsure`.
    """

    at: datetime
    query: str
    hits: tuple[Recollection, ...]
    held_back: Mapping[str, int] = NONE
    weak: int = 0
    collapsed: int = 0  # hits that say the same as a better one
    unsure: bool = False
    relaxed: bool = False  # not every word was found together, so any of them counted
    by_meaning: bool = False  # whether meaning was compared too, or words alone
    behind: int = 0  # memories that cannot be found by meaning yet, their vectors being still to come
    time: str = ""  # the words of the question that were read as a time
    hint: str = ""


class Listing(Answer):
    """A page of memories; `next` goes on."""

    at: datetime
    memories: tuple[Memory, ...]
    next: str | None = None
    hint: str = ""


class Shown(Answer):
    """Memories in full, what was judged about each (by id), and where asked, what was remembered around it."""

    at: datetime
    memories: tuple[Memory, ...]
    around: "tuple[Timeline, ...]" = ()
    evidence: tuple[tuple[Check, ...], ...] = ()  # for each of them, where one cites something
    marks: Mapping[str, tuple[str, ...]] = NONE
    handles: Mapping[str, str] = NONE  # by id, of what they would amend or are replaced by
    reasons: Mapping[str, str] = NONE  # by id, why it was rejected or forgotten, as far as the caller is told


class Changed(Answer):
    """Memories after something was done to them, and the number of the last event that did it."""

    at: datetime
    action: str
    memories: tuple[Memory, ...]
    event: int
    replayed: bool = False
    replaced: tuple[Memory, ...] = ()  # what a promotion put out of use
    kept: tuple[Memory, ...] = ()  # what it would have put out of use, and left in use as it was asked to
    merged: tuple[str, ...] = ()  # the handles of what became part of them
    said: str = ""  # what the memory said before, where a merge changed its words
    evidence: tuple[tuple[Check, ...], ...] = ()  # for each of them, what became of its citations, with differences
    hint: str = ""

    @property
    def exit_code(self) -> int:
        """What the command ends with: that of an unconfirmed write where something was shown instead of done."""
        return 6 if self.evidence and not self.event and not self.replayed else 0


class UnderReview(Answer):
    """One memory that waits, beside what a reviewer compares it with.

    Its approval puts out of use what it `replaces`: what it contradicts, and what a verdict says it supersedes.
    What it `spares` is curated: it stays in use, whatever a verdict says. What says nearly the same (`near`), in
    use or waiting too, is looked for where memories were named, for it takes a search each.
    """

    memory: Memory
    amends: Memory | None = None
    conflicts: tuple[Memory, ...] = ()
    evidence: tuple[Check, ...] = ()  # what it cites, held against the working tree
    near: tuple[Memory, ...] = ()
    replaces: tuple[Memory, ...] = ()
    spares: tuple[Memory, ...] = ()


class Waiting(Answer):
    """What waits for review, oldest first."""

    at: datetime
    candidates: tuple[UnderReview, ...]
    next: str | None = None


class Chronicle(Answer):
    """History, newest first; `undone` names the events that stand reversed.

    `final` has the numbers of those that undo would refuse as things stand, `out_of_reach` those that one memory
    cannot go back to, `about` the beginnings of the memories that are still there, `pairs` the two memories of a
    relation, `devices` what other stores are called, and `people` whose they are, by the name that their
    credentials had when they were enrolled.
    """

    at: datetime
    events: tuple[Event, ...]
    handles: Mapping[str, str] = NONE
    undone: tuple[str, ...] = ()
    next: int | None = None
    about: Mapping[str, str] = NONE
    devices: Mapping[str, str] = NONE
    final: tuple[int, ...] = ()
    out_of_reach: tuple[int, ...] = ()
    pairs: Mapping[str, tuple[str, str]] = NONE
    people: Mapping[str, str] = NONE


class Undone(Answer):
    """The events taken back, newest first, and the memories as they stand now."""

    at: datetime
    events: tuple[Event, ...]
    memories: tuple[Memory, ...]
    gone: tuple[str, ...]  # ids of memories that did not exist before
    event: int
    again: str = ""  # the command that does it again


class Timeline(Answer):
    """What was remembered around a memory, oldest first: in its session, or in its scope where it has none."""

    at: datetime
    memory: Memory
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    session: Session | None = None


class Brief(Answer):
    """A context that fits a budget; `text` is what an agent reads."""

    at: datetime
    text: str
    tokens: int
    budget: int
    included: tuple[Memory, ...] = ()
    left_out: int = 0
    hint: str = ""
