"""What the core asks of the world: an engine, models, evidence, places for bytes and keys, and time and chance."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from engram.model.answers_store import ModelRow
from engram.model.blob import Blob
from engram.model.change import Change, Commit, Drifted, Finding, Token
from engram.model.codec import Document, Record, RecordType
from engram.model.event import Event
from engram.model.evidence import Check, Fate
from engram.model.extraction import Extraction
from engram.model.filter import Access, Filter
from engram.model.judgement import Judgement
from engram.model.memory import Citation, Context, Memory
from engram.model.query import Backlog, Census, Hit, Page, Query, Space
from engram.model.scope import Scope

A = TypeVar("A")

ASSETS = "assets"
"""What the folder of attachments is called in a copy of a store."""

Clock = Callable[[], datetime]
NewId = Callable[[], str]
Progress = Callable[[int, int, str], None]
"""Told how much of how much is done, and of what."""


class Engine(Protocol):
    """Where records rest. Bound to one org; keeps documents and an index, and decides nothing.

    Every read takes an Access and raises TypeError without one. What a caller may not read is absent.
    Engines are safe to use from several threads and, where they keep a file, from several processes.
    """

    def get(self, type: RecordType, refs: Iterable[str], access: Access) -> dict[str, Record]:
        """The readable records by id, by handle (`mem-0001`) or by an unambiguous prefix of an id.

        The answer's keys are the refs as given; what is absent or unreadable is left out. A prefix has at
        least four characters.

        Raises:
            Conflict: when a prefix fits two readable records.
        """
        ...

    def scan(
        self,
        type: RecordType,
        where: Filter,
        access: Access,
        *,
        after: str | None = None,
        limit: int = 100,
        oldest: bool = False,
    ) -> Page:
        """Readable records that match, newest first (or oldest first), by creation and then id.

        `after` is the `next` of an earlier page. Paging neither repeats nor skips a record that stays.

        Raises:
            Invalid: when `after` is no such cursor.
        """
        ...

    def search(self, query: Query, access: Access) -> list[Hit]:
        """Readable memories that match the query, each once, in order (see `model.query.in_order`).

        A committed memory is found by its words at once; by meaning when it has a vector in the query's space.
        A memory with several vectors counts by its nearest. Where a vector is given, every hit that has one tells
        its cosine, those found by words as well: nobody has to ask twice.
        """
        ...

    def census(self, terms: Sequence[str], access: Access) -> Census:
        """How many readable memories carry each of these terms; counts may lag behind a little."""
        ...

    def containing(self, piece: str, access: Access, *, limit: int = 8) -> list[str]:
        """Terms that hold a piece of a word (see `model.text.holds`) and that readable memories carry.

        The shortest first, ties in the order of their letters.
        """
        ...

    def places(self, access: Access) -> list[Scope]:
        """Every scope into which a memory or session was put that may be read, by name; some may be empty now."""
        ...

    def commit(self, change: Change) -> Commit:
        """Apply a Change whole, or leave no trace of it; durable when it returns.

        Raises:
            Conflict: when an expectation does not hold, another record holds a claim, or the token was used
                for another request.
            Unavailable: when the store is locked, full or read-only. Nothing was written.
        """
        ...

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """Keep (memory id, imprint, vectors) in a space; rows whose imprint has moved are dropped.

        `vectors` holds one or more of the space's length, as little-endian float32 of unit length. The first
        space a store meets is the active one at once. No rows at all say that this space is the wanted one: it
        begins, and takes over when no memory lacks a vector in it; or, being the active one, it is rid of another
        that was coming. Rows of a space that is neither are dropped. Leaves no event. Returns how many memories
        got theirs.

        Raises:
            Invalid: when the bytes are no such vectors. Nothing was written.
        """
        ...

    def lacking(self, space: Space, access: Access, *, limit: int = 100) -> list[Memory]:
        """Readable memories without a vector in this space, the oldest first; none if it is not the store's."""
        ...

    def backlog(self, access: Access) -> Backlog:
        """Which spaces there are, and how far behind they are with what may be read."""
        ...

    def events(
        self,
        *,
        after: int = 0,
        subject: str | None = None,
        batch: str | None = None,
        token: Token | None = None,
        newest: bool = False,
        limit: int = 100,
    ) -> list[Event]:
        """History in commit order (or newest first), after a local seq (or before it).

        Raises:
            Conflict: when `token` is known with another request.
        """
        ...

    def replica(self) -> str:
        """Who this store is in histories that several stores share; "" before the first event of its own."""
        ...

    def check(self, *, repair: bool = False) -> list[Finding]:
        """What is wrong with the store; a healthy one answers with nothing.

        `repair` rebuilds what is derived (indexes, orphaned vectors); records only ever change by Changes.
        """
        ...

    def facts(self) -> Mapping[str, str]:
        """What `doctor` says about the store besides findings, such as its schema."""
        ...

    def tallies(self) -> Mapping[str, int]:
        """How many memories each part of the store has: rows, full_text, vectors; in a whole store they are equal.

        Nothing where nothing is derived, or no vector was made.
        """
        ...

    def close(self) -> None:
        """Release what is held. Durability never depends on it."""
        ...


def able(one: object, ability: Callable[..., A]) -> A | None:
    """An engine, or what it stands on, as something that can do more; None where it cannot.

    The abilities are the protocols below: what not every engine has, asked for where it is of use.
    """
    names = (name for name in (*vars(ability), *ability.__annotations__) if not name.startswith("_"))
    return cast("A", one) if all(hasattr(one, name) for name in names) else None


class Copies(Protocol):
    """An engine that can copy itself while others write; one that keeps no file cannot."""

    form: str
    """Which engine can open the copy."""

    def copy_to(self, folder: str, progress: Progress) -> Mapping[str, int]:
        """Put a copy of the store, as it is at one moment, into an empty folder; it is a replica of its own.

        Returns how many memories, sessions, relations and events it has.

        Raises:
            Corrupt, Unavailable: when it cannot be read, or the copy not be written.
        """
        ...


class CopiesBytes(Protocol):
    """A place of attachments that can be copied with its store."""

    def copy_to(self, folder: str, progress: Progress) -> None:
        """Copy all that is kept into a folder; what is on its way, or going, stays behind.

        Raises:
            OSError: when it cannot be written.
        """
        ...


class Paged(Protocol):
    """An engine that keeps pages for people beside its records; one without has none to bring up to date."""

    def pages(self, *, write: bool = False) -> list[Drifted]:
        """The pages that do not say what the records say; `write` makes them, and keeps what they said aside.

        Raises:
            Corrupt, Unavailable: when the texts cannot be read, or the page not be written.
        """
        ...


class Noticing(Protocol):
    """An engine to which something may happen that whoever asks should know of: people edit its texts."""

    def notices(self) -> Sequence[Finding]:
        """What there is to say besides answers: each happening once, what is wrong for as long as it is."""
        ...


class Probed(Protocol):
    """An engine on a server that may be gone."""

    def probe(self) -> None:
        """Look whether it answers, without waiting long.

        Raises:
            Unavailable: when it does not.
        """
        ...


class ManyOrgs(Protocol):
    """An engine on a database that many orgs share."""

    def of(self, org: str) -> Engine:
        """The same database for another org."""
        ...

    def unbound(self) -> str:
        """The user of the database, where its own walls between orgs do not hold that one; "" where they do."""
        ...


class KeepsBytes(Protocol):
    """An engine that keeps the bytes of attachments itself."""

    def blobs(self) -> "Blobs":
        """Where they rest, of its org."""
        ...


class Followed(Protocol):
    """An engine with an index beside it that follows its history."""

    index_name: str
    """How the index is called in answers."""

    def reindex(self, *, fresh: bool = False) -> Iterator[tuple[int, int]]:
        """Take over what is missing, a batch at a time, and tell each time how far of how far that is.

        It goes on where it was stopped; `fresh` forgets what is there and begins anew.

        Raises:
            Unavailable: when the index does not answer.
        """
        ...

    def degraded(self) -> str:
        """Why the engine answers alone at present; empty when it does not."""
        ...


class Vault(Protocol):
    """What opens copies of stores, whichever engine they are of, and puts one in the place of the store."""

    place: str
    """Where the store lies, or would."""

    def version(self) -> str:
        """The release of Engram that copies."""
        ...

    def check(self, form: str, folder: str) -> tuple[Mapping[str, int], Sequence[Finding]]:
        """Open a copy; how many records it has, and what is wrong with it.

        Raises:
            Invalid: when no engine knows this form.
            Corrupt, Unavailable: when it cannot be opened.
        """
        ...

    def salvage(self, now: datetime) -> Iterator[tuple[RecordType, Document]]:
        """Every record that can still be read where the store lies, damaged or not; nothing there is written.

        Raises:
            Invalid: when it is kept nowhere.
            Unavailable: when it cannot be read at all.
        """
        ...

    def put(self, form: str, folder: str, aside: str) -> str:
        """Put a copy in the place of the store; returns where the one that was there has gone, if anywhere.

        An empty store gives way. One that holds anything is kept under its name and `aside`.

        Raises:
            Invalid: when the store is of another form.
            Conflict: when it holds anything and `aside` is empty.
            Unavailable: when it is in use, or its folder cannot be written.
        """
        ...


class Shelf(Protocol):
    """The models this machine has or can get."""

    def models(self) -> Sequence[ModelRow]:
        """Every model there is, and whether it is here."""
        ...

    def install(self, name: str, progress: Progress) -> str:
        """Get a model from its publisher; returns where it lies now.

        Raises:
            Invalid: when there is none of that name.
            Unavailable: when it cannot be had, or what came is not that model. Nothing is kept then.
        """
        ...


class Usage(Protocol):
    """What was recalled on this machine, and how long it took: counts beside the store, that may be lost."""

    def begin(self) -> Callable[[Sequence[str], datetime], None]:
        """Start the clock; what comes back stops it, and takes down which memories were recalled when."""
        ...

    def note(self, ids: Sequence[str], at: datetime) -> None:
        """Take down that these were shown in full, however long it took."""
        ...

    def mark(self, name: str, at: datetime) -> None:
        """Take down when something was last done, such as a backup."""
        ...

    def uses(self) -> Mapping[str, int]:
        """How often each memory was recalled, by id; what never was is absent."""
        ...

    def since(self) -> datetime | None:
        """Since when recalls are counted; None where none was."""
        ...

    def took(self) -> Sequence[float]:
        """How many milliseconds the last recalls took, the oldest first."""
        ...

    def marks(self) -> Mapping[str, datetime]:
        """When what was marked was last done."""
        ...


class Embedder(Protocol):
    """What turns text into vectors. Any string is a valid text; the same one gives the same vector.

    Raises Unavailable, with the next step, when the model or the endpoint cannot be used: never a vector of
    another length, never a silent stand-in.
    """

    space: Space
    latin: bool
    """Whether the model only understands Latin script, so that its scores mean nothing for other scripts."""

    floor: float
    """The cosine at which two texts have nothing in common."""

    local: bool
    """Whether it runs on this machine, so that an answer takes milliseconds once it is loaded."""

    @property
    def lean(self) -> bytes:
        """How far off questions lie from texts: a vector to take away before codes are compared, or nothing."""
        ...

    @property
    def ready(self) -> bool:
        """Whether it answers without loading something first."""
        ...

    def query(self, text: str) -> bytes:
        """The vector of a question: little-endian float32, of unit length."""
        ...

    def begin(self, text: str) -> Callable[[], bytes] | None:
        """Begin the vector of a question beside its asker; what is returned waits for it, and raises as `query`.

        None where nothing was begun, since the asker can do no better than to call `query`.
        """
        ...

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts that may answer one, in order."""
        ...


class Cursors(Protocol):
    """How far each conversation was read, by name: the stamp it had, and a mark of where to go on."""

    def get(self, name: str) -> tuple[str, str] | None:
        """The stamp and the mark; None when nothing is known."""
        ...

    def put(self, name: str, stamp: str, mark: str) -> None:
        """Keep them.

        Raises:
            Unavailable: when they cannot be kept. The same is read again then, and known again.
        """
        ...


class Extractor(Protocol):
    """A model that finds what is worth remembering. It never raises, and is given texts without secrets."""

    def cost(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> int:
        """The most tokens that asking would take, by estimate; nothing is sent."""
        ...

    def extract(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> Extraction:
        """Ask about messages, each a role and what it said."""
        ...


class Evidence(Protocol):
    """Citations against the world. Reading never changes anything, neither there nor in a memory."""

    def made_in(self) -> Context:
        """Where something is made here: repository, branch and commit, as far as there are such."""
        ...

    def named(self, said: str) -> tuple[str, str]:
        """The ref and the locator of a file as a person names it from here, with lines or without.

        Raises:
            Invalid: when it leads out of the working tree.
        """
        ...

    def filled(self, citation: Citation, now: datetime) -> tuple[Citation, str]:
        """A citation with pin and excerpt, and a warning or ""; as it is, where they cannot be had.

        Raises:
            Invalid: when the file is not there, outside or binary, or has no such lines.
        """
        ...

    def repinned(self, citation: Citation, check: Check) -> Citation:
        """The citation of what is there now.

        Raises:
            Conflict: when nothing is.
        """
        ...

    def check(
        self, memories: Sequence[Memory], home: Scope | None, *, diffs: bool = False
    ) -> dict[str, tuple[Check, ...]]:
        """A verdict for each citation, by the memory's id; `home` is the project that is in reach."""
        ...

    def astray(self, refs: Iterable[str]) -> frozenset[str]:
        """Those of these cited files that are not there any more under their names."""
        ...

    def touched(self, revision: str) -> frozenset[str]:
        """The files that changed since a revision.

        Raises:
            Conflict, Invalid, Unavailable: when that cannot be told.
        """
        ...

    def settled(self, memories: Sequence[Memory]) -> dict[str, Fate]:
        """What became of the branches these were staged on, as far as they are of this repository."""
        ...


class Judge(Protocol):
    """A model that says how two memories bear on one another. It never raises."""

    @property
    def name(self) -> str:
        """Which model it is."""
        ...

    def cost(self, pairs: Sequence[tuple[str, str]]) -> int:
        """The most tokens that asking would take, by estimate; nothing is sent."""
        ...

    def judge(self, pairs: Sequence[tuple[str, str]], budget: int) -> Judgement:
        """Ask about pairs of texts, the newer first, for so many tokens at most."""
        ...


class Forgetful:
    """Cursors that are kept nowhere: everything is read each time."""

    def get(self, name: str) -> None:
        """Nothing is known."""

    def put(self, name: str, stamp: str, mark: str) -> None:
        """Nothing is kept."""


class Harvesting(NamedTuple):
    """What a harvest and a look for conflicts ask of the world beside the engine."""

    cursors: Cursors = Forgetful()
    extractor: Extractor | None = None
    judge: Judge | None = None
    place: Callable[[str], Scope] | None = None  # which project a folder is


class Stage(Protocol):
    """Bytes on their way in: nobody sees them until they are kept, and what is not kept goes with the stage."""

    def write(self, block: bytes) -> None:
        """Take in some more.

        Raises:
            Unavailable: when there is no room, or the store does not answer.
        """
        ...

    def keep(self, owner: str, sha256: str, at: datetime) -> None:
        """Give what was written its name, whole and durable; the same bytes again only renew the moment.

        Raises:
            Unavailable: when it cannot be kept.
        """
        ...

    def close(self) -> None:
        """Let go of it; what was kept stays."""
        ...


class Blobs(Protocol):
    """Where the bytes of attachments rest, by owner and hash. Bound to one org; decides nothing about who reads.

    What one owner keeps is of no use to another: a hash that somebody knows is no key to the bytes.
    """

    def stage(self, at: datetime) -> Stage:
        """Begin to take in bytes.

        Raises:
            Unavailable: when there is no room for any.
        """
        ...

    def size(self, owner: str, sha256: str) -> int | None:
        """How many bytes there are under this name; None when it is not here."""
        ...

    def read(self, owner: str, sha256: str) -> Iterator[bytes]:
        """The bytes, block by block; that there are any is known when this returns.

        Raises:
            NotFound: when there are none under this name.
        """
        ...

    def held(self, owner: str) -> list[Blob]:
        """All that is here of an owner, what is hidden included."""
        ...

    def hide(self, owner: str, sha256: str) -> None:
        """Take it out of sight, so that it can still be shown again."""
        ...

    def show(self, owner: str, sha256: str) -> None:
        """Bring back what was hidden."""
        ...

    def erase(self, owner: str, sha256: str) -> None:
        """Take away for good what was hidden."""
        ...

    def pass_on(self, owner: str, other: str, sha256: str, at: datetime) -> None:
        """Keep for another owner, too, what this one has, if it has it."""
        ...

    def clear(self, before: datetime) -> None:
        """Take away what was staged before that moment by a process that is no more."""
        ...


class Attaching(NamedTuple):
    """What attachments ask of the world beside the engine, and what of them is let in."""

    blobs: Callable[[], Blobs]
    most_bytes: int
    types: tuple[str, ...]
    days: int  # how long the bytes of what was detached are kept for an undo


class SigningKey(Protocol):
    """What a store signs its chunks with."""

    public: str

    def sign(self, content: bytes) -> str:
        """The signature, in hexadecimal."""
        ...


class Ledger(Protocol):
    """What a store remembers of its exchanges with others."""

    @property
    def key(self) -> SigningKey:
        """The key this store signs with; made on first use."""
        ...

    def part(self, name: str) -> dict[str, Any]:
        """The facts about one thing, to be changed in place. They are JSON."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """One exchange at a time; what was learnt is kept in the end.

        Raises:
            Unavailable: when another process is at it.
        """
        ...

    def keep(self) -> None:
        """Write the facts down at once."""
        ...


class Syncing(NamedTuple):
    """What an exchange with other stores asks of the world beside the engine."""

    ledger: Callable[[], Ledger]
    place: Callable[[str], Scope]  # which project a folder is
    root: Callable[[str], str]  # the root of the repository that a folder is in
    device: str = ""
    folder: str = ""  # where what comes and goes is kept meanwhile; "" keeps nothing
    here: str = "."  # the folder this process works in
    secret: Callable[[str, str], str] = lambda *_: ""  # the token for a remote, by its name and address
