"""Engram: one caller on one engine, and the list of everything that can be asked."""

from collections.abc import Callable, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from engram.errors import Invalid, Unavailable
from engram.follower import Follower
from engram.model.caller import Caller
from engram.model.change import Finding
from engram.model.memory import NOWHERE, Context
from engram.model.record import replace
from engram.model.scope import Scope
from engram.operations import assets as _assets
from engram.operations import backups as _backups
from engram.operations import capture as _capture
from engram.operations import conflicts as _conflicts
from engram.operations import erasing as _erasing
from engram.operations import evidence as _evidence
from engram.operations import exporting as _exporting
from engram.operations import files as _files
from engram.operations import graph as _graph
from engram.operations import harvest as _harvest
from engram.operations import history as _history
from engram.operations import hygiene as _hygiene
from engram.operations import importing as _importing
from engram.operations import incoming as _incoming
from engram.operations import insights as _insights
from engram.operations import keys as _keys
from engram.operations import memories as _memories
from engram.operations import models as _models
from engram.operations import owners as _owners
from engram.operations import projects as _projects
from engram.operations import recalls as _recalls
from engram.operations import relations as _relations
from engram.operations import remotes as _remotes
from engram.operations import reviews as _reviews
from engram.operations import routing as _routing
from engram.operations import search as _search
from engram.operations import sessions as _sessions
from engram.operations import syncing as _syncing
from engram.operations import trends as _trends
from engram.operations import upkeep as _upkeep
from engram.operations.absent import Nowhere, Unwatched
from engram.operations.base import OPERATIONS, Call, Operation
from engram.operations.scopes import scope_named
from engram.ports import (
    Attaching,
    Clock,
    Embedder,
    Engine,
    Evidence,
    Harvesting,
    KeepsBytes,
    Ledger,
    NewId,
    Noticing,
    Probed,
    Progress,
    Shelf,
    Syncing,
    Usage,
    Vault,
    able,
)
from engram.rules.access import access_of
from engram.rules.assets import found as named_asset
from engram.rules.policy import Policy
from engram.rules.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.model.memory import Asset

P = ParamSpec("P")
R = TypeVar("R")

LONG_AGO = datetime.min.replace(tzinfo=UTC)
"""Placeholder time of the template call; `call()` sets the real one."""


class _Bound(Generic[P, R]):
    """Descriptor exposing an operation as a method: a fresh Call per invocation, the operation's own signature."""

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
        folder: str = "",
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
        self.caller = caller
        self.folder = folder  # in which it was opened; "" for clients elsewhere
        self._clock, self._view = clock, view
        self._follower = Follower(engine, embedder)
        self._asking = Call(  # the template of every call; `call()` sets caller, access and time
            engine=engine,
            caller=caller,
            access=access_of(caller),
            now=LONG_AGO,
            new_id=new_id,
            policy=policy,
            at_home=cache(home) if callable(home) else lambda: home,
            budget=budget,
            store=store,
            channel=channel,
            embedder=embedder,
            shelf=shelf,
            context=context,
            harvesting=harvesting or Harvesting(),
            vault=vault,
            at_desk=cache(evidence),
            sync=syncing,
            usage=usage or Unwatched(),
            attaching=attaching,
        )

    remember = _Bound(_memories.remember)
    get = _Bound(_memories.get)
    list = _Bound(_memories.list_memories)
    revise = _Bound(_memories.revise)
    verify = _Bound(_memories.verify)
    forget = _Bound(_memories.forget)
    restore = _Bound(_memories.restore)
    purge = _Bound(_erasing.purge)
    attach = _Bound(_assets.attach)
    assets = _Bound(_assets.assets)
    fetch = _Bound(_assets.fetch)
    detach = _Bound(_assets.detach)
    recall = _Bound(_recalls.recall)
    context = _Bound(_recalls.context)
    search = _Bound(_search.search)
    evidence = _Bound(_evidence.evidence)
    cited = _Bound(_evidence.cited)
    settle = _Bound(_evidence.settle)
    files = _Bound(_files.files)
    insights_save = _Bound(_insights.insights_save)
    insights_list = _Bound(_insights.insights_list)
    insights_purge = _Bound(_insights.insights_purge)
    session_begin = _Bound(_sessions.session_begin)
    session_end = _Bound(_sessions.session_end)
    session_list = _Bound(_sessions.session_list)
    timeline = _Bound(_sessions.timeline)
    capture = _Bound(_capture.capture)
    suggest_key = _Bound(_capture.suggest_key)
    harvest = _Bound(_harvest.harvest)
    relate = _Bound(_relations.relate)
    judge = _Bound(_relations.judge)
    related = _Bound(_relations.related)
    conflicts = _Bound(_conflicts.conflicts)
    graph = _Bound(_graph.graph)
    projects_list = _Bound(_projects.projects_list)
    projects_merge = _Bound(_projects.projects_merge)
    projects_rename = _Bound(_projects.projects_rename)
    reembed = _Bound(_models.reembed)
    reindex = _Bound(_models.reindex)
    models = _Bound(_models.models)
    review = _Bound(_reviews.review)
    promote = _Bound(_reviews.promote)
    reject = _Bound(_reviews.reject)
    queue = _Bound(_routing.queue)
    sync = _Bound(_routing.sync)
    sync_git = _Bound(_syncing.sync_git)
    replicas = _Bound(_syncing.replicas)
    replicas_accept = _Bound(_syncing.replicas_accept)
    replicas_drop = _Bound(_syncing.replicas_drop)
    remote_add = _Bound(_remotes.remote_add)
    remote_list = _Bound(_remotes.remote_list)
    remote_enrol = _Bound(_remotes.remote_enrol)
    remote_unenrol = _Bound(_remotes.remote_unenrol)
    remote_remove = _Bound(_remotes.remote_remove)
    remote_push = _Bound(_remotes.remote_push)
    remote_pull = _Bound(_remotes.remote_pull)
    remote_status = _Bound(_remotes.remote_status)
    history = _Bound(_history.history)
    undo = _Bound(_history.undo)
    stats = _Bound(_upkeep.stats)
    trends = _Bound(_trends.trends)
    doctor = _Bound(_upkeep.doctor)
    kinds = _Bound(_upkeep.kinds)
    hygiene = _Bound(_hygiene.hygiene)
    scrub = _Bound(_hygiene.scrub)
    export = _Bound(_exporting.export)
    import_ = _Bound(_importing.import_memories)
    backup_create = _Bound(_backups.backup_create)
    rescue = _Bound(_backups.rescue)
    backup_verify = _Bound(_backups.backup_verify)
    backup_restore = _Bound(_backups.backup_restore)
    keys_create = _Bound(_keys.keys_create)
    keys_list = _Bound(_keys.keys_list)
    keys_revoke = _Bound(_keys.keys_revoke)
    owners_assign = _Bound(_owners.owners_assign)
    workspaces_assign = _Bound(_owners.workspaces_assign)

    @property
    def engine(self) -> Engine:
        """Where everything rests."""
        return self._asking.engine

    @property
    def store(self) -> str:
        """How the store is called in answers."""
        return self._asking.store

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
        return self._asking.home

    def places(self) -> Sequence[Scope]:
        """Every scope into which something was put that the caller may read; some may be empty now."""
        return self.engine.places(access_of(self.caller))

    @property
    def view(self) -> str:
        """The branch it is looked from, by repository and name; "" on the default branch and outside of git."""
        return self.caller.view or self._view()

    def _speaker(self) -> Caller:
        """Who asks, by a name that history may keep, and where they stand."""
        caller, view = self.caller, self.view
        if view != caller.view:
            caller = caller._replace(view=view)
        return caller._replace(agent=redact(caller.agent).text) if caller.agent else caller

    def call(self) -> Call:
        """The context for one operation: this caller at the current time.

        Operations receive it as their first argument.

        Raises:
            Unavailable: after close().
        """
        if self._follower.stopped:
            raise Unavailable("This memory was closed.", "Open it again with engram.open().")
        return self._asking._replace(caller=self._speaker(), access=access_of(self.caller), now=self._clock())

    def receive(self, memory: str) -> _incoming.Incoming:
        """Begin to take in an attachment block by block, for `attach`; close what comes back in any case.

        Raises:
            NotFound, Forbidden: when there is no such memory, or it is not the caller's to write to.
            Unavailable: when there is no room.
        """
        return _incoming.receive(self.call(), memory)

    def read_asset(self, memory: str, asset: str) -> "tuple[Asset, Iterator[bytes]]":
        """An attachment and its bytes, block by block; the last block comes only when all of them are right.

        Raises:
            NotFound: when there is no such memory or attachment, or its bytes are not here.
        """
        call = self.call()
        one = call.memory(memory)
        found = named_asset(one, asset)
        return found, _incoming.outgoing(call, one, found)

    def says(self, hint: str, asked: str = "") -> str:
        """The hint unchanged (CLI form). Other surfaces reword it for the operation `asked`."""
        del asked
        return hint

    def notices(self) -> tuple[Finding, ...]:
        """What the store has to say besides answers: each happening once, what is wrong for as long as it is."""
        noticing = able(self.engine, Noticing)
        return tuple(noticing.notices()) if noticing else ()

    def probe(self) -> None:
        """Look whether the store answers, without waiting long.

        Raises:
            Unavailable: when it does not.
        """
        if probed := able(self.engine, Probed):
            probed.probe()
        else:
            self.engine.events(limit=1)

    def follow(self) -> None:
        """Let vectors follow what was saved, beside the caller: see `Follower`."""
        self._follower.nudge(access_of(self.caller))

    def preloading_when_idle(self) -> "Engram":
        """The same memory, which from now on loads the model by itself in a quiet moment: for servers."""
        self._follower.lasts = True
        self.follow()
        return self

    def _with(self, **parts: Any) -> "Engram":  # noqa: ANN401 - parts of a Call, by their names
        """The same memory, of whose calls some parts are others."""
        other = copy(self)
        other._asking = self._asking._replace(**parts)
        return other

    def watched_by(self, progress: Progress) -> "Engram":
        """The same memory, telling somebody how far long work has come."""
        return self._with(progress=progress)

    def not_counting_use(self) -> "Engram":
        """The same memory for somebody who looks around: what is found then counts as no use of it."""
        return self._with(usage=Unwatched(self._asking.usage))

    def standing_in(self, scope: str | Scope) -> "Engram":
        """The same memory for somebody who stands in another project, which may be told by its short name.

        Raises:
            Invalid, Conflict: when the scope's name is none, or may mean several projects.
        """
        return self._at_home_in(scope_named(self.call(), scope))

    def _at_home_in(self, home: Scope) -> "Engram":
        return self._with(at_home=lambda: home)

    def made_in(self, context: Context) -> "Engram":
        """The same memory; what is remembered through it was made in this context."""
        said = {name: value for name, value in context.__dict__.items() if value}
        return self._with(context=replace(self._asking.context, **said))

    def for_person(self, channel: str) -> "Engram":
        """The same memory for the person at the other end of a client, who was asked there and answered."""
        other = self.confirming_by(channel)
        if self.caller.alone:  # nobody is there to be asked
            return other
        by_nobody = replace(self._asking.context, agent="")
        other = other._with(context=NOWHERE if by_nobody == NOWHERE else by_nobody)
        other.caller = self.caller._replace(human=True, agent="")
        return other

    def on_engine(
        self, engine: Engine, store: str, folder: str, ledger: Callable[[], Ledger], usage: Usage
    ) -> "Engram":
        """The same settings on another engine, such as that of another org.

        What it knows of others lies apart, and so does what was recalled there.
        """
        here = self._asking
        sync = here.sync and here.sync._replace(folder=folder, ledger=ledger)
        keeps = able(engine, KeepsBytes)
        attaching = here.attaching._replace(blobs=keeps.blobs) if here.attaching and keeps else here.attaching
        other = self._with(engine=engine, store=store, usage=usage, sync=sync, attaching=attaching)
        other._follower = Follower(engine, here.embedder, lasts=self._follower.lasts)
        return other

    def speaking_for(self, caller: Caller, channel: str) -> "Engram":
        """The same org's memory for another caller; what it saves lands in the workspace it stands in."""
        other = self.confirming_by(channel)
        if caller.agent:
            other = other.made_in(Context(agent=caller.agent))
        if caller.workspace is not None:
            other = other._at_home_in(replace(self.home, workspace=caller.workspace))
        other.caller = caller
        return other

    def in_working_tree(self, evidence: Callable[[], Evidence], view: Callable[[], str]) -> "Engram":
        """The same memory for somebody who sits in a working tree: what is cited there, and the branch it is on."""
        other = self._with(at_desk=cache(evidence))
        other._view = view
        return other

    def for_agent(self, name: str) -> "Engram":
        """The same memory for an agent of this name."""
        other = self.made_in(Context(agent=name))
        other.caller = self.caller._replace(human=False, agent=name)
        return other

    def confirming_by(self, channel: str) -> "Engram":
        """The same memory, with confirmations recorded as given through another channel."""
        return self._with(channel=channel)

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
