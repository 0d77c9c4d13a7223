"""What every operation is built on: the Call it gets, and the decorator that makes a function an operation."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast, overload

from engram.errors import Conflict, Forbidden, Invalid, Moved, NotFound, Unavailable
from engram.model.caller import Caller
from engram.model.change import Change, Commit, Request, Token
from engram.model.codec import Record, RecordType
from engram.model.event import Event, canonical
from engram.model.filter import Access, Filter
from engram.model.hashing import sha256
from engram.model.limits import AGO, AHEAD, at_moment, check_text
from engram.model.memory import NOWHERE, Context, Memory
from engram.model.query import Page
from engram.model.refs import cursor_of
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import Session
from engram.operations.absent import Nowhere, Unwatched
from engram.ports import (
    Attaching,
    Blobs,
    Embedder,
    Engine,
    Evidence,
    Harvesting,
    NewId,
    Progress,
    Shelf,
    Syncing,
    Usage,
    Vault,
)
from engram.recall import history
from engram.rules.access import require_writing
from engram.rules.policy import Policy

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

MOST_AT_ONCE = 10_000
"""How many things one call may name: each of them becomes a part of what a database is asked."""

MOST_KINDS = 1_000
"""How many kinds one call may ask for."""

PAGE = 500
LEAST_SIFTED = 100
"""How many records are read at a time at least, where only some of them are kept."""

PLACED: tuple[RecordType, ...] = ("memory", "session")
"""The types of record that stand in a workspace."""

TRIES = 40
"""How often a decision is made again when others were faster."""


def no_progress(done: int, total: int, what: str) -> None:
    """The progress of work that nobody watches."""


class PageOfMemories(NamedTuple):
    """A Page that has memories alone."""

    records: tuple[Memory, ...]
    next: str | None = None


class Call(NamedTuple):
    """One operation being carried out: who asks, on which engine, at which moment."""

    engine: Engine
    caller: Caller
    access: Access
    now: datetime
    new_id: NewId
    policy: Policy
    at_home: Callable[[], Scope]  # tells where a memory lands when no scope is given
    budget: int  # tokens of a context, when none is given
    store: str  # how the store is called in answers
    channel: str  # how this surface's confirmations are recorded
    embedder: Embedder | None = None  # what finds by meaning; None when words alone do
    shelf: Shelf | None = None  # where models are kept
    progress: Progress = no_progress  # who is told how far long work has come
    context: Context = NOWHERE  # where what is remembered was made
    harvesting: Harvesting = Harvesting()  # what a harvest asks of the world
    vault: Vault | None = None  # what opens copies of stores, and puts them in place
    at_desk: Callable[[], Evidence] = Nowhere  # gives what looks at citations, when it is first needed
    sync: Syncing | None = None  # what an exchange with other stores asks of the world
    usage: Usage = Unwatched()  # who counts what is recalled
    attaching: Attaching | None = None  # what attachments ask of the world
    token: Token | None = None

    def used(self, ids: Iterable[str]) -> None:
        """Count that these memories were shown in full."""
        self.usage.note(tuple(ids), self.now)

    @property
    def home(self) -> Scope:
        """Where a memory lands when no scope is given; worked out only where it is needed.

        Raises:
            Conflict: when the folder may be several projects.
        """
        return self.at_home()

    @property
    def evidence(self) -> Evidence:
        """What holds citations against the world; loaded only where something is cited."""
        return self.at_desk()

    @property
    def blobs(self) -> Blobs:
        """Where the bytes of attachments rest.

        Raises:
            Unavailable: when this memory was made without.
        """
        if self.attaching is None:
            raise Unavailable("This memory has no place for attachments.", "Use engram.open().")
        return self.attaching.blobs()

    @property
    def syncing(self) -> Syncing:
        """What an exchange needs.

        Raises:
            Unavailable: when this memory was made without.
        """
        if self.sync is None:
            raise Unavailable("This memory cannot sync: it has no place for keys.", "Use engram.open().")
        return self.sync

    def access_to(self, type: RecordType) -> Access:
        """What the caller may read of a type: only memories and sessions are in a workspace."""
        return self.access if type in PLACED else self.access._replace(workspace=None)

    def request(self, *, confirm: bool = False, batch: str = "") -> Request:
        """What a rule needs to know of this call, with fresh ids.

        Raises:
            Forbidden: when an agent would confirm: only a person can.
        """
        if confirm and not self.caller.human:
            raise Forbidden("Only a person may confirm.", "Leave --confirm out: a person decides in engram review.")
        return Request(
            caller=self.caller,
            now=self.now,
            batch=batch or self.new_id(),
            fresh=self.new_id(),
            salt=self.new_id(),
            confirmed=self.channel if confirm else "",
        )

    def memory(self, ref: str) -> Memory:
        """The readable memory that goes by this id, handle or prefix.

        Raises:
            NotFound: when there is none.
            Conflict: when a prefix fits several.
        """
        found = self.engine.get("memory", [ref.strip()], self.access)
        for memory in found.values():
            if isinstance(memory, Memory):
                return memory
        raise NotFound(f"There is no memory {ref!r}.", "See what there is: engram list, or engram recall WORDS.")

    def memories(self, ids: Iterable[str]) -> dict[str, Memory]:
        """The readable ones of some memories, by what each was asked for: an id, a handle or a prefix."""
        return cast("dict[str, Memory]", self.engine.get("memory", ids, self.access))

    def sessions(self, ids: Iterable[str]) -> dict[str, Session]:
        """The readable ones of some sessions, by their whole ids: see `exactly`."""
        return cast("dict[str, Session]", self.exactly("session", ids))

    def relations(self, ids: Iterable[str]) -> dict[str, Relation]:
        """The readable ones of some relations, by their ids."""
        return cast("dict[str, Relation]", self.engine.get("relation", ids, self.access_to("relation")))

    def page(
        self, where: Filter, *, limit: int, after: str | None = None, oldest: bool = False
    ) -> "PageOfMemories":
        """A page of the readable memories that match, newest first or oldest first."""
        page = self.engine.scan("memory", where, self.access, after=after, limit=limit, oldest=oldest)
        return PageOfMemories(cast("tuple[Memory, ...]", page.records), page.next)

    def exactly(self, type: RecordType, ids: Iterable[str]) -> dict[str, Record]:
        """The readable records that have exactly these ids, which come from records or events: nobody typed them.

        Agents name sessions, so that one session's whole id may be the beginning of another's.
        """
        if type != "session":
            return self.engine.get(type, ids, self.access_to(type))
        where = Filter(ids=tuple(ids))
        return {one.id: one for page in pages(self, type, where) for one in page} if where.ids else {}

    @overload
    def decide_and_commit(self, decide: Callable[[], tuple[Change, T]], tries: int = TRIES) -> tuple[Commit, T]: ...

    @overload
    def decide_and_commit(
        self, decide: Callable[[], tuple[Change | None, T]], tries: int = TRIES
    ) -> tuple[Commit | None, T]: ...

    def decide_and_commit(
        self, decide: Callable[[], tuple[Change | None, T]], tries: int = TRIES
    ) -> tuple[Commit | None, T]:
        """Decide and commit; where somebody else was faster, look again and decide again.

        Where nothing is to change, nothing is committed.

        Raises:
            Conflict: what the rule says, or when others were faster every time.
        """
        while True:
            change, decision = decide()
            if change is None:
                return None, decision
            try:
                return self.engine.commit(change._replace(token=self.token) if self.token else change), decision
            except Moved:
                tries -= 1
                if not tries:
                    raise

    def part(self, number: int) -> "Call":
        """The same call for one of several commits: each has a token of its own, and is made once."""
        if self.token is None:
            return self
        name = sha256(f"{self.token.name}\x1f{number}".encode()).hexdigest()
        return self._replace(token=self.token._replace(name=name))

    def replayed(self) -> Event | None:
        """The event of the first request with this token, if there was one.

        Raises:
            Conflict: when the token was used for another request.
        """
        events = self.engine.events(token=self.token) if self.token else []
        return events[0] if events else None


def no_longer_there() -> Conflict:
    """What a retry is told where what its request made is gone."""
    return Conflict("What that request made is no longer there: it was undone or purged.", "Use a new token.")


def newest(call: Call, subject: str | None = None) -> Iterator[Event]:
    """All of history, or that of one record, newest first, page by page."""
    return history.events(call.engine, subject=subject, newest=True, at_once=50)


def last_event(call: Call) -> int:
    """The number of the last event in the store, whoever may read it; 0 before the first."""
    return next((event.seq for event in call.engine.events(newest=True, limit=1)), 0)


def elsewhere(call: Call, ids: Iterable[str]) -> set[str]:
    """Those of some memories that lie in another workspace than the one the caller stands in."""
    if call.access.workspace is None:
        return set()
    found = call._replace(access=call.access._replace(workspace=None)).memories(ids)
    return {id for id, one in found.items() if one.scope.workspace != call.access.workspace}


def every(call: Call, where: Filter) -> Iterator[Memory]:
    """Every readable memory that matches, oldest first, page by page."""
    return cast("Iterator[Memory]", chain.from_iterable(pages(call, "memory", where)))


def pages(
    call: Call, type: RecordType, where: Filter, access: Access | None = None, *, oldest: bool = True
) -> Iterator[tuple[Record, ...]]:
    """Every record of a type that matches and may be read, by the caller or by another `access`, in pages."""
    allowed, after = access or call.access_to(type), None
    while True:
        page = call.engine.scan(type, where, allowed, after=after, limit=PAGE, oldest=oldest)
        yield tuple(page.records)
        if (after := page.next) is None:
            return


def sifted(
    call: Call,
    type: RecordType,
    where: Filter,
    keep: Callable[[Record], bool],
    *,
    after: str | None,
    limit: int,
    oldest: bool = False,
) -> Page:
    """A page of readable records that match `where` and satisfy `keep`; scans on until the page is full."""
    found: list[Record] = []
    access, step = call.access_to(type), max(limit, LEAST_SIFTED)
    while len(found) < limit:
        page = call.engine.scan(type, where, access, after=after, limit=step, oldest=oldest)
        found += filter(keep, page.records)
        if (after := page.next) is None:
            break
    if len(found) > limit:
        after = cursor_of(found[limit - 1])
    return Page(tuple(found[:limit]), after)


class Operation(NamedTuple):
    """A typed function with what surfaces need to know about it."""

    name: str
    function: Callable[..., Any]
    route: str
    writes: bool  # always, or by some of its parameters
    destructive: bool
    human: bool
    examples: tuple[str, ...]
    local: bool = False  # about files of the machine it runs on: for its commands, never for whoever asks from afar
    said: str = ""
    adds: bool = False  # may be the first to keep something: it makes the store where there is none

    @property
    def group(self) -> str:
        """The module it stands in, such as memories, recalls or sessions."""
        return self.function.__module__.rpartition(".")[2]

    @property
    def command(self) -> str:
        """How it is said on a command line: `session begin`."""
        return self.said or self.name.replace("_", " ")

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]


OPERATIONS: dict[str, Operation] = {}
"""Every operation by name, in the order of definition; filled as the modules are imported."""


def operation(
    route: str,
    *examples: str,
    name: str = "",
    said: str = "",
    writes: bool | tuple[str, ...] = False,
    adds: bool = False,
    destructive: bool = False,
    human: bool = False,
    local: bool = False,
) -> Callable[[Callable[Concatenate[Call, P], R]], Callable[Concatenate[Call, P], R]]:
    """Mark a function as an operation. Its signature and these flags are the whole interface, for every surface.

    Terminal-only behaviour is in `MANNERS` in `surfaces/cli.py`.

    `writes` is True, or the parameters that make it write; without them, read-only callers may call it.
    A `token` parameter makes the operation idempotent: the function sees it as `call.token`.
    """

    def mark(function: Callable[Concatenate[Call, P], R]) -> Callable[Concatenate[Call, P], R]:
        called, moments = name or function.__name__, _moments(function)

        @functools.wraps(function)
        def run(call: Call, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if human and not call.caller.human:
                raise Forbidden(f"Only a person may run {OPERATIONS[called].command}.", "Ask the person to do it.")
            if writes is True or (writes and any(kwargs.get(one) for one in writes)):
                require_writing(call.caller)
            token = kwargs.get("token")
            if token:
                call = call._replace(token=_token(call, called, function, args, kwargs))
            for one in moments.keys() & kwargs.keys():  # after the token: a retry of `7d` is the same request
                if (said := kwargs[one]) is not None:
                    kwargs[one] = at_moment(one, cast("datetime | str", said), moments[one], call.now)
            try:
                return function(call, *args, **kwargs)
            except Conflict:
                if call.replayed() is None:
                    raise
                return function(call, *args, **kwargs)  # a twin of this request was faster: its answer is ours

        OPERATIONS[called] = Operation(
            called, run, route, bool(writes), destructive, human, examples, local, said, adds
        )
        return run

    return mark


def _moments(function: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """The parameters of a function that take a span instead of a time, each with the marks of its type."""
    marked = {name: getattr(hint, "__metadata__", ())[1:] for name, hint in function.__annotations__.items()}
    return {name: marks for name, marks in marked.items() if AGO in marks or AHEAD in marks}


def _token(
    call: Call, called: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Token:
    check_text("token", str(kwargs["token"]))
    names = function.__code__.co_varnames[1:]  # after the call itself
    said = {**dict(zip(names, args, strict=False)), **kwargs}
    asked = {name: _plain(value) for name, value in said.items() if name not in ("token", "confirm")}
    request = canonical([kwargs["token"], {name: value for name, value in asked.items() if value}])
    # The name itself is hashed too: a client's string may be anything, and nobody needs to read it here. The same
    # request in another workspace is another one.
    place = f"\x1f{call.caller.workspace}" if call.caller.workspace else ""
    name = sha256(f"{kwargs['token']}{place}".encode()).hexdigest()
    return Token(call.caller.owner, called, name, sha256(request.encode()).hexdigest())


def _plain(value: object) -> object:
    """One form for what means the same: a list and a tuple, unsaid and empty."""
    return [str(each) for each in value] if isinstance(value, list | tuple) else str(value or "")


def require_between(name: str, value: int, least: int, most: int) -> None:
    """Check that a count lies within its bounds.

    Raises:
        Invalid: when it does not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        shown = f"{value:,}" if isinstance(value, int) else repr(value)
        raise Invalid(f"{name} is {shown}.", f"Give a number from {least:,} to {most:,}.")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn an OSError raised in the block into Unavailable naming `path`.

    Raises:
        Unavailable: when the block raises one.
    """
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from None


def each(refs: str | Iterable[str], most: int = MOST_AT_ONCE) -> list[str]:
    """One ref or several, as a list without repetition.

    Raises:
        Invalid: when one of them is no text, or when there are more than a store is to be asked for at once.
    """
    if refs is None or not isinstance(refs, str | Iterable):
        raise Invalid(f"{refs!r} is not text.", "Give text, or several texts.")
    if wrong := [one for one in ([refs] if isinstance(refs, str) else refs) if not isinstance(one, str)]:
        raise Invalid(f"{wrong[0]!r} is not text.", "Give text, or several texts.")
    found = [refs] if isinstance(refs, str) else list(dict.fromkeys(refs))
    if len(found) > most:
        raise Invalid(f"{len(found):,} are too many at once: {most:,} is the most.", "Ask for fewer at a time.")
    return found
