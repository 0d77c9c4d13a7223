"""What a look around answers: what was found, cited files, graphs and trends."""

from collections.abc import Mapping
from datetime import datetime

from engram.model.answers import Answer, Recollection
from engram.model.evidence import WORST, Verdict
from engram.model.memory import Memory
from engram.model.record import NONE


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
    unsure: bool = False
    relaxed: bool = False
    by_meaning: bool = False
    behind: int = 0
    time: str = ""
    tokens: int = 0
    uses: tuple[int, ...] = ()
    next: str | None = None
    hint: str = ""


class CitedFile(Answer):
    """A file of a repository that memories cite, how many citations stand how, and each memory's worst.

    The memories come in the order of that, those first that need a look; `evidence` has a verdict for each.
    """

    file: str
    memories: tuple[Memory, ...]
    verdicts: Mapping[str, int]
    repo: str = ""  # whose file it is: a repository, or the project whose memories cite it; may be unknown
    evidence: tuple[str, ...] = ()

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
    verdict: str = ""  # what became of what it cites, where the question is about that


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
