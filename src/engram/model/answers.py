"""What operations answer: one type for each kind of answer, and one renderer for each type.

`at` is the moment an answer was true; standings and ages are meant at it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

from engram.model.change import Finding
from engram.model.event import Event
from engram.model.evidence import Check, Verdict, verdict_of
from engram.model.memory import Memory
from engram.model.record import Record, replace
from engram.model.relation import Relation
from engram.model.session import Session

NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass_transform(frozen_default=True)
class Answer(Record):
    """What an operation says, or a part of it: named fields, frozen, and as a row of values in their order.

    Lighter to define than a NamedTuple, of which every command would make some forty at its start to use one.
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
    """What became of a text: outcome is new, revised, repeated, held, staged, proposed or restored."""

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


class Listing(Answer):
    """A page of memories; `next` goes on."""

    at: datetime
    memories: tuple[Memory, ...]
    next: str | None = None


class Shown(Answer):
    """Memories in full, what was judged about each (by id), and where asked, what was remembered around it."""

    at: datetime
    memories: tuple[Memory, ...]
    around: "tuple[Timeline, ...]" = ()
    evidence: tuple[tuple[Check, ...], ...] = ()  # for each of them, where one cites something
    marks: Mapping[str, tuple[str, ...]] = NONE


class Changed(Answer):
    """Memories after something was done to them, and the number of the last event that did it."""

    at: datetime
    action: str
    memories: tuple[Memory, ...]
    event: int
    replayed: bool = False
    replaced: tuple[Memory, ...] = ()  # what a promotion put out of use
    evidence: tuple[tuple[Check, ...], ...] = ()  # for each of them, what became of its citations, with differences
    hint: str = ""


class Candidate(Answer):
    """One memory that waits, beside what a reviewer compares it with."""

    memory: Memory
    amends: Memory | None = None
    conflicts: tuple[Memory, ...] = ()


class Waiting(Answer):
    """What waits for review, oldest first."""

    at: datetime
    candidates: tuple[Candidate, ...]
    next: str | None = None


class Route(Answer):
    """Where a memory that waits goes: append (live by itself), queue (a person decides) or skip (left as it is).

    `reason` is one of `rules.routing.REASONS`; `other` is the memory it is about, where it is about one.
    """

    memory: Memory
    action: str
    reason: str
    other: Memory | None = None


class Drift(Answer):
    """A page or agent file that does not say what is remembered, and what changes when it does, as a diff."""

    path: str
    diff: str


class Routed(Answer):
    """Where everything that waits goes, or went: a route each, oldest first, and how many take which.

    `drift` is what pages and agent files do not say yet; applied, what was written into them. `refreshed` names the
    files that were written, `problems` why others were not.
    """

    at: datetime
    routes: tuple[Route, ...]
    applied: bool = False
    counts: Mapping[str, int] = NONE
    drift: tuple[Drift, ...] = ()
    refreshed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    event: int = 0
    hint: str = ""


class Queue(Answer):
    """What waits for a person, oldest first, each with its reason; `total` counts those that are not shown too."""

    at: datetime
    candidates: tuple[Route, ...]
    total: int = 0
    hint: str = ""


class Chronicle(Answer):
    """History, newest first; `undone` names the events that stand reversed."""

    at: datetime
    events: tuple[Event, ...]
    handles: Mapping[str, str] = NONE
    undone: tuple[str, ...] = ()
    next: int | None = None


class Undone(Answer):
    """The events taken back, newest first, and the memories as they stand now."""

    at: datetime
    events: tuple[Event, ...]
    memories: tuple[Memory, ...]
    gone: tuple[str, ...]  # ids of memories that did not exist before
    event: int


class Citing(Answer):
    """A memory, and what became of what it cites."""

    memory: Memory
    evidence: tuple[Check, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The worst of it."""
        return verdict_of(self.evidence)


class Evidenced(Answer):
    """What a project's memories cite, held against the working tree: those in order first that need a look.

    `counts` are of citations; `failed` are the verdicts that were not to be, and were.
    """

    at: datetime
    memories: tuple[Citing, ...]
    counts: Mapping[str, int] = NONE
    failed: tuple[str, ...] = ()
    since: str = ""
    hint: str = ""

    @property
    def exit_code(self) -> int:
        """What the command ends with: 10 where something is that was not to be."""
        return 10 if self.failed else 0


class Cited(Answer):
    """The memories that cite a file, or some of its lines."""

    at: datetime
    file: str
    locator: str
    memories: tuple[Citing, ...]


class Settled(Answer):
    """What became of memories staged on branches of this repository; `waiting` ones are on open branches."""

    at: datetime
    promoted: tuple[Memory, ...] = ()
    held: tuple[Memory, ...] = ()  # for review
    waiting: int = 0
    elsewhere: int = 0  # staged in other repositories
    dry_run: bool = False
    event: int = 0
    hint: str = ""


class Began(Answer):
    """A session that is under way; `resumed` when it was known before."""

    at: datetime
    session: Session
    resumed: bool = False
    hint: str = ""


class Ended(Answer):
    """A session that is over, if one was under way, and the memory that sums it up, where something was said."""

    at: datetime
    session: Session | None = None
    summary: Memory | None = None
    event: int = 0
    hint: str = ""


class SessionList(Answer):
    """A page of sessions, newest first; `next` goes on."""

    at: datetime
    sessions: tuple[Session, ...]
    next: str | None = None


class Timeline(Answer):
    """What was remembered around a memory, oldest first: in its session, or in its scope where it has none."""

    at: datetime
    memory: Memory
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    session: Session | None = None


class Captured(Answer):
    """What a text said was learned: how many items, those that are new, and how many were known."""

    at: datetime
    extracted: int
    memories: tuple[Memory, ...]
    repeated: int = 0
    problems: tuple[str, ...] = ()


class Suggested(Answer):
    """A key for a topic that goes on, and the memory that holds it already, if one does."""

    at: datetime
    key: str
    held_by: Memory | None = None


class Related(Answer):
    """A verdict about two memories: the first bears on the second as the relation says."""

    at: datetime
    relation: Relation
    memories: tuple[Memory, ...]
    event: int
    hint: str = ""


class Relative(Answer):
    """A memory that has to do with another, and by which edges."""

    memory: Memory
    edges: tuple[str, ...]


class Relatives(Answer):
    """What has to do with a memory, nearest first."""

    at: datetime
    memory: Memory
    relatives: tuple[Relative, ...]
    truncated: bool = False


class Pair(Answer):
    """Two memories that may not both hold, and how the first bears on the second.

    `status` is open (a save named it), proposed, judged or ignored; or held, where the first waits for review.
    `pair` is how `judge` and `conflicts --ignore` take it.
    """

    first: Memory
    second: Memory
    kind: str
    status: str
    why: str
    confidence: float
    pair: str
    model: str = ""


class Conflicts(Answer):
    """Pairs that may not both hold; `next` goes on with the list, and `rest` with a scan that was not through.

    `tokens` is what asking a model cost; in a dry run, what it would cost at most.
    """

    at: datetime
    pairs: tuple[Pair, ...]
    next: str | None = None
    scanned: int = 0
    proposed: int = 0
    asked: int = 0
    tokens: int = 0
    problems: tuple[str, ...] = ()
    dry_run: bool = False
    batch: str = ""
    rest: str = ""


class Project(Answer):
    """One project: how much is in it that the caller may read, and when something last changed there."""

    name: str
    alias: str
    memories: int
    sessions: int
    latest: datetime | None = None


class Projects(Answer):
    """Every project that holds something, the latest first; `current` is the one the caller stands in, or ""."""

    at: datetime
    projects: tuple[Project, ...]
    current: str = ""


class Merged(Answer):
    """What bringing projects together did, or would do."""

    at: datetime
    action: str  # merge or rename
    sources: tuple[str, ...]
    into: str
    memories: int
    sessions: int
    repeated: int = 0  # the same text on both sides: told once from now on, the other forgotten
    replaced: int = 0  # the same key on both sides: the last word stays in use
    held: int = 0  # rejected on one side: waits for review
    curated: int = 0  # approved ones among them, which need --confirm
    left: int = 0  # shared by others: they stay where they are
    applied: bool = False
    event: int = 0
    hint: str = ""


class Synced(Answer):
    """What an exchange with a place did, or in a dry run would do.

    `waiting` says what cannot be taken in yet and why, `problems` what was skipped, `stayed` how many memories stay
    home by what keeps them, and `strangers` which replicas nobody has accepted yet.
    """

    at: datetime
    place: str
    scope: str
    wrote: int  # chunks; in a dry run, events
    sent: int  # events; in a dry run, memories that nobody was told of yet
    read: int
    applied: int
    erased: int = 0
    waiting: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    stayed: Mapping[str, int] = NONE
    private: bool = False
    everywhere: bool = False
    strangers: tuple[str, ...] = ()
    dry_run: bool = False
    hint: str = ""


class ReplicaRow(Answer):
    """One store that takes part in an exchange, by the fingerprint of its key."""

    replica: str
    device: str
    state: str  # this, own, accepted, unknown or dropped
    fingerprint: str


class ReplicaList(Answer):
    """The stores this one has met, itself first."""

    at: datetime
    replicas: tuple[ReplicaRow, ...]
    changed: int = 0  # records that were made anew by a decision
    hint: str = ""


class RemoteRow(Answer):
    """One server that chunks go to and come from, and the scopes that were enrolled."""

    name: str
    url: str
    scopes: tuple[str, ...]
    unsent: int = 0
    hint: str = ""


class RemoteList(Answer):
    """The servers this store exchanges chunks with."""

    at: datetime
    remotes: tuple[RemoteRow, ...]
    hint: str = ""


class Receipt(Answer):
    """Proof of an erasure. `traces` counts pieces of the text still found in the store's raw files.

    `places` says where they are, and names what could not be looked into.
    """

    at: datetime
    erased: tuple[str, ...]
    event: int
    event_id: str
    traces: int | None
    places: tuple[str, ...] = ()
    note: str = "Exports, backups and other copies made earlier are not touched."


class Brief(Answer):
    """A context that fits a budget; `text` is what an agent reads."""

    at: datetime
    text: str
    tokens: int
    budget: int
    included: tuple[Memory, ...] = ()
    left_out: int = 0
    hint: str = ""


class Stats(Answer):
    """Counts over everything the caller may read."""

    at: datetime
    memories: int
    standings: Mapping[str, int]
    kinds: Mapping[str, int]
    scopes: Mapping[str, int]
    tokens: int
    events: int
    store: str


class Report(Answer):
    """What a check found; healthy when there is no error among it."""

    at: datetime
    findings: tuple[Finding, ...]
    facts: Mapping[str, Any] = NONE

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; notes and warnings are not wrong."""
        return all(finding.severity != "error" for finding in self.findings)


class Exported(Answer):
    """How many memories went where, in which form, and the checksum of what was written.

    `dropped` names the fields of ours that the form has no place for, and how many memories say something there.
    """

    at: datetime
    path: str
    memories: int
    sha256: str
    form: str = "jsonl"
    sessions: int = 0
    relations: int = 0
    dropped: Mapping[str, int] = NONE
    problems: tuple[str, ...] = ()


class BackedUp(Answer):
    """Where a backup lies, how large it is, and how much of what it holds."""

    at: datetime
    path: str
    bytes: int
    engine: str
    counts: Mapping[str, int]


class BackupReport(Answer):
    """What a backup is, and what is wrong with it; `healthy` says that nothing is."""

    at: datetime
    path: str
    made_at: datetime
    version: str
    engine: str
    counts: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether it can be restored as it was."""
        return not any(finding.severity == "error" for finding in self.findings)


class BackupRestored(Answer):
    """Which store a backup became, of which moment, and where the one that was there has gone."""

    at: datetime
    path: str
    made_at: datetime
    store: str
    counts: Mapping[str, int]
    kept: str = ""


class Preview(Answer):
    """What a dry run found in a file: what it says, of which kind, and what would become of it."""

    text: str
    kind: str
    outcome: str


class Imported(Answer):
    """What an import did, or in a dry run would do; `preview` shows the first memories one by one.

    `dropped` names fields of theirs that have no place here, `redacted` what was taken out, and `faults` the
    problems by what is wrong; each with a count.
    """

    at: datetime
    path: str
    outcomes: Mapping[str, int]
    problems: tuple[str, ...] = ()
    batch: str = ""
    dry_run: bool = False
    preview: tuple[Preview, ...] = ()
    form: str = ""
    kinds: Mapping[str, int] = NONE
    scopes: Mapping[str, int] = NONE
    sessions: int = 0
    relations: int = 0
    dropped: Mapping[str, int] = NONE
    redacted: Mapping[str, int] = NONE
    faults: Mapping[str, int] = NONE


class Harvested(Answer):
    """What became of transcripts: how many were read, what was proposed, what was known, and what was passed over.

    `tokens` is the size of what was read by rules, or what asking a model cost; in a dry run, what it would cost at
    most. In a dry run `proposed` holds what would be proposed by rules.
    """

    at: datetime
    files: int
    turns: int
    proposed: tuple[Memory, ...]
    repeated: int
    skipped: Mapping[str, int]
    problems: tuple[str, ...]
    tokens: int
    dry_run: bool
    batch: str


class KindRow(Answer):
    """One kind as configured."""

    name: str
    tier: int
    decay: str
    recall: str
    about: str


class Kinds(Answer):
    """The table of kinds."""

    at: datetime
    kinds: tuple[KindRow, ...]


class ModelRow(Answer):
    """One embedding model: what it is, and whether it is here."""

    name: str
    state: str  # ready, absent, or what is wrong with its files
    dim: int
    size: int
    licence: str
    default: bool = False


class Models(Answer):
    """The models there are, the one in use, and how far the store's vectors are."""

    at: datetime
    models: tuple[ModelRow, ...]
    embedder: str  # the space that questions are asked in; "" when words alone do
    vectors: str  # the space that the store's vectors are in; "" when there are none
    lacking: int = 0
    hint: str = ""


class Reembedded(Answer):
    """How many memories got vectors, of which model, and how many still lack one."""

    at: datetime
    model: str
    memories: int
    remaining: int


class KeyRow(Answer):
    """One API key, as far as anyone is told about it."""

    handle: str
    name: str
    can: tuple[str, ...]
    owner: str
    workspace: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class Minted(Answer):
    """A new key, this once, and what is kept of it."""

    at: datetime
    key: str
    row: KeyRow


class Keys(Answer):
    """Keys, the newest first."""

    at: datetime
    keys: tuple[KeyRow, ...]


class Assigned(Answer):
    """What had no owner, or would get one: how many records of each type, and some of the memories."""

    at: datetime
    to: str
    records: Mapping[str, int]
    memories: tuple[Memory, ...]
    kept_back: int = 0  # memories whose key or text that owner has already
    applied: bool = False
    batch: str = ""
