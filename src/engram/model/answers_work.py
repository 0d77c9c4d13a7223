"""What operations about work answer: sessions, captures, relations, projects, evidence, what waits and keys."""

from collections.abc import Mapping
from datetime import datetime

from engram.model.answers import Answer
from engram.model.evidence import Check, Verdict, verdict_of
from engram.model.memory import Memory
from engram.model.record import NONE
from engram.model.relation import Relation
from engram.model.session import Session


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
    replaces: Mapping[str, tuple[str, ...]] = NONE  # by id, the handles of what its approval would put out of use
    hint: str = ""


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
        """What the command ends with: 11 where something is that was not to be. No error has that."""
        return 11 if self.failed else 0


class Cited(Answer):
    """The memories that cite a file, or some of its lines."""

    at: datetime
    file: str
    locator: str
    memories: tuple[Citing, ...]
    hint: str = ""
    marks: Mapping[str, tuple[str, ...]] = NONE  # by id, what was judged about a memory or is suspected of it


class Settled(Answer):
    """What became of memories staged on branches of this repository; `waiting` ones are on open branches."""

    at: datetime
    promoted: tuple[Memory, ...] = ()
    held: tuple[Memory, ...] = ()  # for review
    replaced: tuple[Memory, ...] = ()  # what went out of use with those that are live now, by a verdict
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
    hint: str = ""


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

    `status` is open (a save named it), proposed, judged or ignored; held, where the first waits for review; or
    none, where nothing is known of a pair that was asked for.
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
    org: str
    row: KeyRow
    doubt: str = ""  # why it may open nothing


class Keys(Answer):
    """Keys, the newest first."""

    at: datetime
    keys: tuple[KeyRow, ...]


class Placed(Answer):
    """What moved into a workspace, or would: how many records of each type, and where the memories hold."""

    at: datetime
    workspace: str
    owner: str
    records: Mapping[str, int]
    scopes: Mapping[str, int]
    kept_back: int = 0  # memories whose key or text is there already
    applied: bool = False
    batch: str = ""


class Assigned(Answer):
    """What had no owner, or would get one: how many records of each type, and some of the memories."""

    at: datetime
    to: str
    records: Mapping[str, int]
    memories: tuple[Memory, ...]
    kept_back: int = 0  # memories whose key or text that owner has already
    applied: bool = False
    batch: str = ""
