"""Engram: one caller on one engine, and the list of everything that can be asked."""

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from engram.errors import Invalid, Unavailable
from engram.model.caller import Caller
from engram.model.change import Finding
from engram.model.filter import Access
from engram.model.memory import NOWHERE, Context
from engram.model.record import replace
from engram.model.scope import Scope
from engram.operations import assets as attachments
from engram.operations import backups as copying
from engram.operations import capture as capturing
from engram.operations import conflicts as disputes
from engram.operations import (
    erasing,
    exporting,
    importing,
    keys,
    memories,
    models,
    owners,
    projects,
    recalls,
    relations,
    reviews,
    routing,
    sessions,
    upkeep,
)
from engram.operations import evidence as citing
from engram.operations import files as citations
from engram.operations import graph as graphs
from engram.operations import harvest as harvests
from engram.operations import history as chronicle
from engram.operations import hygiene as cleaning
from engram.operations import incoming as passing
from engram.operations import insights as noticing
from engram.operations import remotes as remoting
from engram.operations import search as searching
from engram.operations import syncing as exchanges
from engram.operations import trends as tendencies
from engram.operations.absent import Nowhere, Unwatched
from engram.operations.base import OPERATIONS, Call, Operation, ignore
from engram.operations.scopes import scope_named
from engram.ports import (
    Attaching,
    Clock,
    Embedder,
    Engine,
    Evidence,
    Harvesting,
    Ledger,
    NewId,
    Progress,
    Shelf,
    Syncing,
    Usage,
    Vault,
)
from engram.recall.meaning import catch_up
from engram.rules.access import access_of
from engram.rules.assets import found as named_asset
from engram.rules.proposals import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event, Thread

    from engram.model.memory import Asset

P = ParamSpec("P")
R = TypeVar("R")

FEW = 2
"""So many memories get their vectors at a time while others are served: a close waits for no more."""

QUIET = 3.0
"""So many seconds without a request are a quiet moment, in which a server may load the model."""

MOST_WAITING = 64
"""The vectors of so many callers' memories wait for a quiet moment; those of others for their next request."""


class _Bound(Generic[P, R]):
    """An operation as a method: the call is made when it is asked, the signature stays the operation's."""

    def __init__(self, function: Callable[Concatenate[Call, P], R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, engram: "Engram", owner: type["Engram"]) -> Callable[P, R]:
        function = self._function

        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            answer = function(engram.call(), *args, **kwargs)
            engram.follow()
            return answer

        ask.__doc__ = self.__doc__
        return ask


class Follower:
    """Gives memories their vectors beside the caller, in a thread that lives while some lack one.

    Where the model is loaded it begins at once. Where it is not, a process that `lasts` loads it when nobody has
    asked for anything for a moment; any other never does, for nobody may wait for it.
    """

    def __init__(self, engine: Engine, embedder: Embedder | None, *, lasts: bool = False) -> None:
        self._engine, self._embedder = engine, embedder
        self._thread: Thread | None = None
        self._stopping: Event | None = None
        self._starting = allocate_lock()
        self._waiting: dict[Access, None] = {}  # whose memories are looked at, the latest last
        self._touched = 0.0
        self.lasts = lasts
        self.stopped = False

    def nudge(self, access: Access) -> None:
        """Begin, where something that may be read lacks a vector, now or in a quiet moment: saving never waits."""
        embedder = self._embedder
        if embedder is None or self.stopped or not (embedder.ready or self.lasts):
            return
        # What was asked for is done by now, and must not look refused because of what comes beside it.
        with suppress(Exception), self._starting:
            self._touched = monotonic()
            running = self._thread is not None and self._thread.is_alive()
            if embedder.ready and (running or not self._wanting(embedder, access)):
                return
            self._waiting.pop(access, None)
            self._waiting[access] = None
            if len(self._waiting) > MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]
            if not running:
                self._start(embedder)

    def _wanting(self, embedder: Embedder, access: Access) -> bool:
        """Whether there is something to do: some lack one, or none has one yet."""
        backlog = self._engine.backlog(access)
        return backlog.active is None or (backlog.active == embedder.space and bool(backlog.lacking))

    def _start(self, embedder: Embedder) -> None:
        import atexit  # noqa: PLC0415 - start-up; whoever gets here has long paid for it
        from threading import Event, Thread  # noqa: PLC0415 - the same

        # A process that ends without close() must not be torn down while the model runs in a thread.
        atexit.register(self.stop)
        self._stopping = Event()
        self._thread = Thread(target=self._run, args=(embedder, self._stopping), name="engram-vectors", daemon=True)
        self._thread.start()

    def _run(self, embedder: Embedder, stopping: "Event") -> None:
        # Whatever fails here is tried again at the next occasion, and is nobody's question to answer.
        with suppress(Exception):
            while not embedder.ready and (rest := self._touched + QUIET - monotonic()) > 0:
                stopping.wait(rest)
                if self.stopped:
                    return
            while self._waiting:
                access, _ = self._waiting.popitem()
                while not self.stopped and self._wanting(embedder, access):
                    if not catch_up(self._engine, embedder, access, most=FEW):
                        break

    def stop(self) -> None:
        """Let it finish the few it is at, and begin no more."""
        self.stopped = True
        if self._thread is not None:
            import atexit  # noqa: PLC0415 - where there is a thread, it is loaded

            if self._stopping is not None:
                self._stopping.set()
            self._thread.join()
            atexit.unregister(self.stop)


class Engram:
    """A memory as one caller sees it. Safe to use from several threads; use `with` or close it when done."""

    def __init__(
        self,
        engine: Engine,
        *,
        caller: Caller,
        clock: Clock,
        new_id: NewId,
        policy: Policy,
        home: Scope | Callable[[], Scope],
        budget: int = 1500,
        store: str = "",
        channel: str = "api",
        embedder: Embedder | None = None,
        shelf: Shelf | None = None,
        context: Context = NOWHERE,
        harvesting: Harvesting | None = None,
        vault: Vault | None = None,
        evidence: Callable[[], Evidence] = Nowhere,
        view: Callable[[], str] = str,
        syncing: Syncing | None = None,
        usage: Usage | None = None,
        attaching: Attaching | None = None,
    ) -> None:
        self.engine = engine
        self.caller = caller
        self._home = home
        self.store = store
        self._clock, self._new_id, self._policy = clock, new_id, policy
        self._budget, self._channel = budget, channel
        self._embedder, self._shelf = embedder, shelf
        self._context, self._harvesting = context, harvesting or Harvesting()
        self._vault = vault
        self._evidence: Evidence | Callable[[], Evidence] = evidence
        self._view = view
        self._syncing = syncing
        self._usage: Usage = usage or Unwatched()
        self._attaching = attaching
        self._progress: Progress = ignore
        self._follower = Follower(engine, embedder)

    remember = _Bound(memories.remember)
    get = _Bound(memories.get)
    list = _Bound(memories.list_memories)
    revise = _Bound(memories.revise)
    verify = _Bound(memories.verify)
    forget = _Bound(memories.forget)
    restore = _Bound(memories.restore)
    purge = _Bound(erasing.purge)
    attach = _Bound(attachments.attach)
    assets = _Bound(attachments.assets)
    fetch = _Bound(attachments.fetch)
    detach = _Bound(attachments.detach)
    recall = _Bound(recalls.recall)
    context = _Bound(recalls.context)
    search = _Bound(searching.search)
    evidence = _Bound(citing.evidence)
    cited = _Bound(citing.cited)
    settle = _Bound(citing.settle)
    files = _Bound(citations.files)
    insights_save = _Bound(noticing.insights_save)
    insights_list = _Bound(noticing.insights_list)
    insights_purge = _Bound(noticing.insights_purge)
    session_begin = _Bound(sessions.session_begin)
    session_end = _Bound(sessions.session_end)
    session_list = _Bound(sessions.session_list)
    timeline = _Bound(sessions.timeline)
    capture = _Bound(capturing.capture)
    suggest_key = _Bound(capturing.suggest_key)
    harvest = _Bound(harvests.harvest)
    relate = _Bound(relations.relate)
    judge = _Bound(relations.judge)
    related = _Bound(relations.related)
    conflicts = _Bound(disputes.conflicts)
    graph = _Bound(graphs.graph)
    projects_list = _Bound(projects.projects_list)
    projects_merge = _Bound(projects.projects_merge)
    projects_rename = _Bound(projects.projects_rename)
    reembed = _Bound(models.reembed)
    reindex = _Bound(models.reindex)
    models = _Bound(models.models)
    review = _Bound(reviews.review)
    promote = _Bound(reviews.promote)
    reject = _Bound(reviews.reject)
    queue = _Bound(routing.queue)
    sync = _Bound(routing.sync)
    sync_git = _Bound(exchanges.sync_git)
    replicas = _Bound(exchanges.replicas)
    replicas_accept = _Bound(exchanges.replicas_accept)
    replicas_drop = _Bound(exchanges.replicas_drop)
    remote_add = _Bound(remoting.remote_add)
    remote_list = _Bound(remoting.remote_list)
    remote_enrol = _Bound(remoting.remote_enrol)
    remote_push = _Bound(remoting.remote_push)
    remote_pull = _Bound(remoting.remote_pull)
    remote_status = _Bound(remoting.remote_status)
    history = _Bound(chronicle.history)
    undo = _Bound(chronicle.undo)
    stats = _Bound(upkeep.stats)
    trends = _Bound(tendencies.trends)
    doctor = _Bound(upkeep.doctor)
    kinds = _Bound(upkeep.kinds)
    hygiene = _Bound(cleaning.hygiene)
    scrub = _Bound(cleaning.scrub)
    export = _Bound(exporting.export)
    import_ = _Bound(importing.import_memories)
    backup_create = _Bound(copying.backup_create)
    rescue = _Bound(copying.rescue)
    backup_verify = _Bound(copying.backup_verify)
    backup_restore = _Bound(copying.backup_restore)
    keys_create = _Bound(keys.keys_create)
    keys_list = _Bound(keys.keys_list)
    keys_revoke = _Bound(keys.keys_revoke)
    owners_assign = _Bound(owners.owners_assign)
    workspaces_assign = _Bound(owners.workspaces_assign)

    @property
    def now(self) -> datetime:
        """The moment it is, by the clock that dates what is remembered."""
        return self._clock()

    @property
    def home(self) -> Scope:
        """Where a memory lands when no scope is given; which project the folder is, is looked up only then.

        Raises:
            Conflict: when it may be several.
        """
        if not isinstance(self._home, Scope):
            self._home = self._home()
        return self._home

    def places(self) -> Sequence[Scope]:
        """Every scope into which something was put that the caller may read; some may be empty now."""
        return self.engine.places(access_of(self.caller))

    def desk(self) -> Evidence:
        """What holds citations against the world, made when it is first needed."""
        if callable(self._evidence):
            self._evidence = self._evidence()
        return self._evidence

    def call(self) -> Call:
        """One asking: this caller, now.

        Raises:
            Unavailable: after close().
        """
        if self._follower.stopped:
            raise Unavailable("This memory was closed.", "Open it again with engram.open().")
        return Call(
            engine=self.engine,
            caller=self.caller if self.caller.view else self.caller._replace(view=self._view()),
            access=access_of(self.caller),
            now=self._clock(),
            new_id=self._new_id,
            policy=self._policy,
            at_home=lambda: self.home,
            budget=self._budget,
            store=self.store,
            channel=self._channel,
            embedder=self._embedder,
            shelf=self._shelf,
            progress=self._progress,
            context=self._context,
            harvesting=self._harvesting,
            vault=self._vault,
            at_desk=self.desk,
            sync=self._syncing,
            usage=self._usage,
            attaching=self._attaching,
        )

    def receive(self, memory: str) -> passing.Incoming:
        """Begin to take in an attachment block by block, for `attach`; close what comes back in any case.

        Raises:
            NotFound, Forbidden: when there is no such memory, or it is not the caller's to write to.
            Unavailable: when there is no room.
        """
        return passing.receive(self.call(), memory)

    def read_asset(self, memory: str, asset: str) -> "tuple[Asset, Iterator[bytes]]":
        """An attachment and its bytes, block by block; the last block comes only when all of them are right.

        Raises:
            NotFound: when there is no such memory or attachment, or its bytes are not here.
        """
        call = self.call()
        one = call.memory(memory)
        found = named_asset(one, asset)
        return found, passing.outgoing(call, one, found)

    def says(self, hint: str, asked: str = "") -> str:
        """A hint as it is written: for who types commands, whatever was `asked`."""
        del asked
        return hint

    def notices(self) -> tuple[Finding, ...]:
        """What the store has to say besides answers: each happening once, what is wrong for as long as it is."""
        return tuple(getattr(self.engine, "notices", tuple)())

    def probe(self) -> None:
        """Look whether the store answers, without waiting long.

        Raises:
            Unavailable: when it does not.
        """
        getattr(self.engine, "probe", lambda: self.engine.events(limit=1))()

    def follow(self) -> None:
        """Let vectors follow what was saved, beside the caller: see `Follower`."""
        self._follower.nudge(access_of(self.caller))

    def stay(self) -> "Engram":
        """The same memory, which from now on loads the model by itself in a quiet moment: for servers."""
        self._follower.lasts = True
        self.follow()
        return self

    def watched_by(self, progress: Progress) -> "Engram":
        """The same memory, telling somebody how far long work has come."""
        other = copy(self)
        other._progress = progress  # noqa: SLF001 - a copy of our own
        return other

    def looking(self) -> "Engram":
        """The same memory for somebody who looks around: what is found then counts as no use of it."""
        other = copy(self)
        other._usage = Unwatched(self._usage)  # noqa: SLF001 - a copy of our own
        return other

    def standing_in(self, scope: str | Scope) -> "Engram":
        """The same memory for somebody who stands in another project, which may be told by its short name.

        Raises:
            Invalid, Conflict: when the scope's name is none, or may mean several projects.
        """
        other = copy(self)
        other._home = scope_named(self.call(), scope)  # noqa: SLF001 - a copy of our own
        return other

    def made_in(self, context: Context) -> "Engram":
        """The same memory; what is remembered through it was made in this context."""
        other = copy(self)
        said = {name: value for name, value in context.__dict__.items() if value}
        other._context = replace(self._context, **said)  # noqa: SLF001 - a copy of our own
        return other

    def for_person(self, channel: str) -> "Engram":
        """The same memory for the person at the other end of a client, who was asked there and answered."""
        other = self.confirming_by(channel)
        if not self.caller.alone:  # nobody is there to be asked
            other.caller = self.caller._replace(human=True, agent="")
        return other

    def resting_in(self, engine: Engine, store: str, folder: str, ledger: Callable[[], Ledger]) -> "Engram":
        """The same settings on another engine, such as that of another org; what it knows of others lies apart."""
        other = copy(self)
        other.engine, other.store = engine, store
        other._syncing = self._syncing and self._syncing._replace(folder=folder, ledger=ledger)  # noqa: SLF001 - the same
        if self._attaching and (blobs := getattr(engine, "blobs", None)):
            other._attaching = self._attaching._replace(blobs=blobs)  # noqa: SLF001 - a copy of our own
        other._follower = Follower(engine, self._embedder, lasts=self._follower.lasts)  # noqa: SLF001 - a copy of our own
        return other

    def speaking_for(self, caller: Caller, channel: str) -> "Engram":
        """The same org's memory for another caller; what it saves lands in the workspace it stands in."""
        other = self.made_in(Context(agent=caller.agent)) if caller.agent else self.confirming_by(channel)
        other._channel, other.caller = channel, caller  # noqa: SLF001 - a copy of our own
        if caller.workspace is not None:
            other._home = replace(self.home, workspace=caller.workspace)  # noqa: SLF001 - the same
        return other

    def looking_from(self, evidence: Callable[[], Evidence]) -> "Engram":
        """The same memory, with citations held against what somebody sees from where they sit."""
        other = copy(self)
        other._evidence = evidence  # noqa: SLF001 - a copy of our own
        return other

    def for_agent(self, name: str) -> "Engram":
        """The same memory for an agent of this name."""
        other = self.made_in(Context(agent=name))
        other.caller = self.caller._replace(human=False, agent=name)
        return other

    def confirming_by(self, channel: str) -> "Engram":
        """The same memory, with confirmations recorded as given through another channel."""
        other = copy(self)
        other._channel = channel  # noqa: SLF001 - a copy of our own
        return other

    def ask(self, name: str, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - surfaces go by name
        """Carry out an operation by its name.

        Raises:
            Invalid: when there is none of that name.
        """
        if name not in OPERATIONS:
            raise Invalid(f"There is no operation {name!r}.", "Use one of: " + ", ".join(OPERATIONS) + ".")
        answer = OPERATIONS[name].function(self.call(), *args, **kwargs)
        self.follow()
        return answer

    def close(self) -> None:
        """Let go of the store. Nothing that was acknowledged depends on it."""
        self._follower.stop()
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def listed() -> list[Operation]:
    """Every operation in the order a newcomer meets them: that of the methods above."""
    order = list(vars(Engram))
    return sorted(
        OPERATIONS.values(), key=lambda each: order.index({"import": "import_"}.get(each.name, each.name))
    )


__all__ = ["OPERATIONS", "Engram", "Operation", "listed"]
