"""What operations answer: one type for each kind of answer, and one renderer for each type.

`at` is the moment an answer was true; standings and ages are meant at it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

from engram.model.change import Finding
from engram.model.event import Event
from engram.model.evidence import WORST, Check, Verdict, verdict_of
from engram.model.memory import Asset, Memory
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

    @property
    def exit_code(self) -> int:
        """What the command ends with: that of an unconfirmed write where something was shown instead of done."""
        return 6 if self.evidence and not self.event and not self.replayed else 0


class Candidate(Answer):
    """One memory that waits, beside what a reviewer compares it with.

    What says nearly the same (`near`) is looked for where memories were named, for it takes a search each.
    """

    memory: Memory
    amends: Memory | None = None
    conflicts: tuple[Memory, ...] = ()
    evidence: tuple[Check, ...] = ()  # what it cites, held against the working tree
    near: tuple[Memory, ...] = ()


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
    """History, newest first; `undone` names the events that stand reversed.

    `about` has the beginnings of the memories that are still there, and `devices` what other stores are called.
    """

    at: datetime
    events: tuple[Event, ...]
    handles: Mapping[str, str] = NONE
    undone: tuple[str, ...] = ()
    next: int | None = None
    about: Mapping[str, str] = NONE
    devices: Mapping[str, str] = NONE


class Undone(Answer):
    """The events taken back, newest first, and the memories as they stand now."""

    at: datetime
    events: tuple[Event, ...]
    memories: tuple[Memory, ...]
    gone: tuple[str, ...]  # ids of memories that did not exist before
    event: int
    again: str = ""  # the command that does it again


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

    `tokens` is what asking a model cost; in a dry run, what it would cost at most. `ignored` is the pair that was
    set aside, `event` what takes back all that was done, where it was one step, and `batch` what does in any case.
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
    event: int = 0
    ignored: str = ""
    settled: bool = False  # whether the pairs are those that need no verdict any more


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
    other_names: tuple[str, ...] = ()  # what others call the project that is `scope` here
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
    changed: int = 0  # records that are others than before by a decision
    live: int = 0  # memories that came into use by it
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
    assets: int = 0  # attachments whose bytes went with it
    handles: tuple[str, ...] = ()  # what they were called, where that is known
    note: str = "Exports, backups and other copies made earlier are not touched."


class Insights(Answer):
    """What was noticed about a person: a page, or what fits a question; the first page counts by category."""

    at: datetime
    memories: tuple[Memory, ...]
    next: str | None = None
    categories: Mapping[str, int] = NONE
    hint: str = ""


class AssetRow(Answer):
    """One attachment of a memory; `here` says whether its bytes are in this store."""

    sha256: str
    name: str
    media_type: str
    size: int
    here: bool


class Assets(Answer):
    """What is attached to a memory."""

    at: datetime
    memory: Memory
    assets: tuple[AssetRow, ...]


class Attached(Answer):
    """What became of attaching or detaching: outcome is attached, detached, repeated, held or proposed."""

    at: datetime
    memory: Memory
    asset: Asset
    outcome: str
    event: int
    replayed: bool = False
    hint: str = ""


class Fetched(Answer):
    """Where an attachment was written, with the hash that was checked on the way."""

    at: datetime
    memory: Memory
    asset: Asset
    path: str


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


class HygieneRow(Answer):
    """One thing that ails some memories: what, how many, what to do about it, and the first of them."""

    name: str
    about: str
    count: int
    mend: str = ""
    examples: tuple[str, ...] = ()


class Hygiene(Answer):
    """How clean a store is, this one or another system's (`form`).

    `junk` counts the memories in use that nobody would miss, each once: those that repeat another one or nearly so,
    are a recalled block stored again, or say nothing. `secrets` are the sorts of secrets, each with a count.
    """

    at: datetime
    store: str
    memories: int
    in_use: int
    junk: int
    rows: tuple[HygieneRow, ...] = ()
    secrets: Mapping[str, int] = NONE
    form: str = ""
    problems: tuple[str, ...] = ()

    @property
    def junk_rate(self) -> float:
        """The share of junk among what is in use, from 0 to 1."""
        return self.junk / self.in_use if self.in_use else 0.0


class ScrubRow(Answer):
    """A memory that held secrets of these sorts, and what stands in its place: "" where nothing was left."""

    memory: str
    copy: str
    removed: tuple[str, ...]


class Scrubbed(Answer):
    """What a scrub took out, or in a dry run would take out: the receipt of it.

    `remains` counts memories that were gone already, and of which history still told a secret. `traces` and
    `places` are as in a receipt of `purge`.
    """

    at: datetime
    memories: tuple[ScrubRow, ...]
    removed: Mapping[str, int] = NONE
    remains: int = 0
    dry_run: bool = False
    traces: int = 0
    places: tuple[str, ...] = ()
    note: str = ""


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


class Found(Answer):
    """What a person looked for: hits best first, or without words whatever the filters let through, newest first.

    `tokens` is what reading all hits would cost, `uses` how often each was recalled on this machine.
    """

    at: datetime
    query: str
    hits: tuple[Recollection, ...]
    held_back: Mapping[str, int] = NONE
    weak: int = 0
    collapsed: int = 0
    relaxed: bool = False
    by_meaning: bool = False
    behind: int = 0
    time: str = ""
    tokens: int = 0
    uses: tuple[int, ...] = ()
    next: str | None = None
    hint: str = ""


class CitedFile(Answer):
    """A file that memories cite: which, and how many citations stand how."""

    file: str
    memories: tuple[Memory, ...]
    verdicts: Mapping[str, int]

    @property
    def verdict(self) -> Verdict:
        """The worst of it."""
        return next(verdict for verdict in WORST if verdict in self.verdicts)


class CitedFiles(Answer):
    """Files that memories cite, those in order first that need a look; `next` goes on with older memories."""

    at: datetime
    files: tuple[CitedFile, ...]
    looked_at: int
    next: str | None = None
    hint: str = ""


class Node(Answer):
    """Something a graph shows: a memory with its standing, or a file, a tag or a project by its name."""

    id: str
    kind: str  # memory, file, tag or project
    label: str
    standing: str = ""
    memory: Memory | None = None


class Edge(Answer):
    """How one node of a graph bears on another, by their ids."""

    source: str
    target: str
    kind: str


class Graph(Answer):
    """The answer to one question about how things hang together; `left_out` counts what did not fit."""

    at: datetime
    question: str
    subject: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: int = 0
    hint: str = ""


class Growth(Answer):
    """One day: how many memories were made, and how many there were at its end."""

    day: str
    made: int
    total: int


class Proposer(Answer):
    """What became of what an agent proposed or saved; a person is called `you`."""

    agent: str
    approved: int  # by a person
    rejected: int
    waiting: int
    by_itself: int  # live without anybody's word

    @property
    def acceptance(self) -> float | None:
        """The share of what was decided that was approved; None where nothing was."""
        decided = self.approved + self.rejected
        return self.approved / decided if decided else None


class Trends(Answer):
    """How the memory grows and is used: by day, kind and agent, and how many milliseconds recalls took."""

    at: datetime
    memories: int
    standings: Mapping[str, int]
    kinds: Mapping[str, int]
    growth: tuple[Growth, ...]
    agents: tuple[Proposer, ...]
    latency: Mapping[str, float]
    took: tuple[float, ...]
    unused: int  # live, older than a month, and never recalled here
    repeated: int  # live ones that say what another says, in another place
    done: Mapping[str, datetime] = NONE  # when a backup or an exchange was last made


class Reindexed(Answer):
    """Which index was brought up to date ("" is none), and to which event of how many."""

    at: datetime
    index: str
    upto: int
    events: int
