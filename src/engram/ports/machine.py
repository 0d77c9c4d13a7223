"""What the core asks of the machine beside the store: time, models, counts, cursors, the working tree and keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from engram.model.answers_store import ModelRow
from engram.model.evidence import Check, Fate
from engram.model.memory import Citation, Context, Memory
from engram.model.scope import Scope
from engram.ports.models import Extractor, Judge

Clock = Callable[[], datetime]
NewId = Callable[[], str]
Progress = Callable[[int, int, str], None]
"""Told how much of how much is done, and of what."""


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
    """What was recalled on this machine, and how long it took: counts beside the store, which may be lost."""

    def begin(self) -> Callable[[Sequence[str], datetime], None]:
        """Start timing a recall; call the result with the recalled ids and the time, to record all three."""
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


class Forgetful:
    """Cursors that are not kept: everything is read each time."""

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
        """The citation of what is there now; as it was, where nothing is."""
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
    root: Callable[[str], str]  # the root of the repository whose project a folder belongs to
    device: str = ""
    folder: str = ""  # where what comes and goes is kept meanwhile; "" keeps nothing
    here: str = "."  # the folder this process works in
    secret: Callable[[str, str], str] = lambda *_: ""  # the token for a remote, by its name and address
