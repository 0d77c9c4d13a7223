"""The only place where parts meet: settings, engine, caller, clock and chance become an Engram."""

import functools
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from engram import config
from engram.errors import Conflict, Invalid, Unavailable
from engram.inference.lazy import Asked, Judging, Lazy, Loaded
from engram.inference.models import MODELS
from engram.inference.shelf import Shelf
from engram.interop.cursors import CursorFile
from engram.model.caller import Caller
from engram.model.change import Finding
from engram.model.filter import Filter
from engram.model.memory import NOWHERE, Context, Visibility
from engram.model.query import Space
from engram.model.scope import GLOBAL, Scope
from engram.operations.keys import opened, spelled
from engram.ports import (
    ASSETS,
    Attaching,
    Blobs,
    Clock,
    Embedder,
    Engine,
    Evidence,
    Harvesting,
    Ledger,
    Nowhere,
    Progress,
    Syncing,
    Usage,
)
from engram.projects.detect import Whereabouts, project_of, root_of, tip_of
from engram.projects.names import Names
from engram.rules.access import access_of
from engram.rules.admission import Policy
from engram.rules.kinds import extended
from engram.rules.media import TAKEN
from engram.service import Engram
from engram.usage import UsageFile

if TYPE_CHECKING:
    from engram.engines.files.index import Index
    from engram.engines.files.joining import Side
    from engram.model.codec import Document, RecordType


def open(
    store: str | os.PathLike[str] = "",
    *,
    caller: Caller | None = None,
    folder: str | os.PathLike[str] = "",
    home: Scope | None = None,
    channel: str = "api",
    agent: str = "",
    lenient: bool = False,
    apart: bool = False,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Engram:
    """Open a memory: the configured store, or the one given.

    A store is a path, `sqlite:PATH`, `files:PATH`, `postgres://…` or `ram:`. `folder` tells the current project; it
    is the working directory unless given. `home` is where memories land when no folder shall tell it. `lenient`
    opens what others may read, so that it can be mended; `apart` opens none. `agent` is who speaks where no setting
    names one: without either, a person does. `clock` is the wall clock unless given; old notes get dates by it.

    Raises:
        Invalid, Corrupt, Unavailable: when the settings or the store cannot be used.
    """
    variables = os.environ if environment is None else environment
    place = os.path.abspath(folder) if folder else working_folder()
    settings = config.read(variables, place)
    agent = settings.get("agent") or agent
    policy, shelf = _policy(settings), Shelf(config.data_folder(variables))
    embedder = embedder_of(settings, variables, shelf.folders)
    # Last, so that whatever is wrong with the settings leaves no store behind.
    name = os.fspath(store) or settings.get("store")
    engine, shown = _engine("ram:" if apart else name, variables, settings, policy, lenient=lenient)
    engine = _indexed(engine, settings, variables, embedder)
    vault = _Vault(_place(name, variables), variables, settings, policy)
    speaker = caller or Caller(org=settings.get("org"), agent=agent, human=not agent)
    # Whom no folder tells where he is has no working tree either: a server for clients elsewhere.
    around = None if home else Whereabouts(place, settings.get("default_branch"))
    taken = functools.partial(_holds, engine, speaker)
    return Engram(
        engine,
        caller=speaker,
        clock=clock or now,
        new_id=new_id,
        policy=policy,
        home=home or (lambda: home_scope(settings, variables, place, taken)),
        budget=settings.get("budget"),
        store=vault.shown if apart else shown,
        channel=channel,
        embedder=embedder,
        shelf=shelf,
        context=Context(agent=agent) if agent else NOWHERE,
        harvesting=_harvesting(settings, variables),
        vault=vault,
        evidence=_evidence(around, place, variables),
        view=around.view if around else str,
        syncing=_syncing(settings, variables, shown, place, taken),
        usage=_usage(variables, shown),
        attaching=_attaching(settings, engine, shown),
    )


def _usage(environment: Mapping[str, str], store: str) -> Usage:
    """Who counts what is recalled of a store, in a private file of the cache; or in memory, where the store is."""
    if store == "ram:":
        return UsageFile()
    name = "".join(each if each.isalnum() else "-" for each in store)[-120:]
    return UsageFile(os.path.join(config.cache_folder(environment), "used", f"{name}.used"))


def _policy(settings: config.Settings) -> Policy:
    """What configuration lets admission decide by."""
    kinds = settings.get("kinds")
    return Policy(
        autopromote=settings.get("autopromote"),
        review_all=settings.get("review_all"),
        kinds=extended(kinds) if kinds else None,
        staging=settings.get("staging"),
        visibility=visibility_of(settings),
        insights=settings.get("insights"),
    )


def _evidence(around: Whereabouts | None, folder: str, environment: Mapping[str, str]) -> Callable[[], Evidence]:
    """What looks at citations from a folder; loaded on first need, for most questions cite nothing."""

    def desk() -> Evidence:
        if around is None:
            return Nowhere()
        from engram.evidence.desk import Desk  # noqa: PLC0415 - start-up

        return Desk(folder, around.look, tip_of, config.cache_folder(environment))

    return desk


def desk_at(folder: str = "") -> Callable[[], Evidence]:
    """What looks at citations for a person who sits at this machine: from the working directory unless given."""
    place = os.path.abspath(folder) if folder else working_folder()
    around = Whereabouts(place, config.read(os.environ, place).get("default_branch"))
    return _evidence(around, place, os.environ)


def seat_of(engram: Engram) -> Scope:
    """Where the person at this machine's page stands: the project of the working directory.

    Where the server was told a project, or the folder is none or may be several, it is where the server stands.
    """
    if engram.home != GLOBAL:
        return engram.home
    place = working_folder()
    try:
        return home_scope(
            config.read(os.environ, place),
            os.environ,
            place,
            functools.partial(_holds, engram.engine, engram.caller),
        )
    except Conflict:
        return GLOBAL


def visibility_of(settings: config.Settings) -> Visibility:
    """Who may see a new memory of a project, unless said.

    Raises:
        Invalid: when it is neither private nor shared.
    """
    said = settings.get("visibility")
    if said == "shared":
        return "shared"
    if said == "private":
        return "private"
    raise Invalid(f"visibility cannot be {said!r}.", "It is private or shared.")


class Orgs:
    """The memories of every org that a server serves, each opened when it is first asked for.

    A database holds any number of orgs; every other store holds the configured one alone.
    """

    def __init__(self, store: str, *, home: Scope, environment: Mapping[str, str] | None = None) -> None:
        """Open the configured org's.

        Raises:
            Invalid, Corrupt, Unavailable: when the settings or the store cannot be used.
        """
        self._environment = os.environ if environment is None else environment
        settings = config.read(self._environment, working_folder())
        self.org = str(settings.get("org"))
        self._lock = threading.Lock()
        self._first = open(store, home=home, caller=Caller(org=self.org), channel="http", environment=environment)
        self._known = {self.org: self._first}

    def serves(self, org: str) -> bool:
        """Whether there is a place for this org here."""
        return org == self.org or hasattr(self._first.engine, "of")

    def engram(self, org: str) -> Engram:
        """The memory of an org, for nobody in particular: ask it to speak for a caller.

        Raises:
            Invalid: when it is not served here.
        """
        with self._lock:
            if org not in self._known:
                if not self.serves(org):
                    raise Invalid("This org is not served here.", "Serve a database for several: postgres://….")
                engine = self._first.engine.of(org)  # type: ignore[attr-defined] # a database's, by the line above
                shown = f"{self._first.store.rpartition('#')[0]}#{org}"
                self._known[org] = self._first.resting_in(engine, shown, *_sync_folder(shown, self._environment))
            return self._known[org]

    def opened_by(self, key: str) -> Caller | None:
        """Who an API key speaks for now; None where it opens nothing."""
        try:
            org = spelled(key)[0]
        except ValueError:
            return None
        return opened(self.engram(org).engine, key, now()) if self.serves(org) else None

    def check(self) -> None:
        """Look whether the store answers.

        Raises:
            Unavailable: when it does not.
        """
        self._first.engine.events(limit=1)

    def close(self) -> None:
        """Let go of all of them."""
        for one in list(self._known.values())[::-1]:
            one.close()


def _harvesting(settings: config.Settings, environment: Mapping[str, str]) -> Harvesting:
    """What a harvest needs: how far it came, the configured model, and which project a talk took place in."""

    def place(folder: str) -> Scope:
        if folder and not os.path.isdir(folder):  # it is gone; what it was called is still told
            return Scope("project", os.path.basename(folder)) if os.path.basename(folder) else GLOBAL
        return home_scope(settings, environment, folder or working_folder())

    url, model = settings.get("extractor_url"), settings.get("extractor_model")
    key, patience = environment.get("ENGRAM_EXTRACTOR_KEY", ""), max(settings.get("extractor_timeout"), 1)
    most = settings.get("extractor_budget")
    return Harvesting(
        cursors=CursorFile(os.path.join(config.data_folder(environment), "harvest.jsonl")),
        extractor=Asked(url, model, key, timeout=patience, most_tokens=most) if url and model else None,
        judge=Judging(url, model, key, timeout=patience) if url and model else None,
        place=place,
    )


def _attaching(settings: config.Settings, engine: Engine, store: str) -> Attaching:
    """What attachments need: in the database itself, in a folder beside the store, or in this process."""

    @functools.cache
    def blobs() -> Blobs:
        if store == "ram:":
            from engram.engines.blobs_ram import RamBlobs  # noqa: PLC0415 - start-up

            return RamBlobs()
        from engram.engines.blobs_folder import FolderBlobs  # noqa: PLC0415 - start-up

        return FolderBlobs(beside(store))

    own: Callable[[], Blobs] = getattr(engine, "blobs", blobs)
    types = tuple(settings.get("asset_types")) or TAKEN
    return Attaching(own, settings.get("asset_bytes"), types, settings.get("asset_days"))


def beside(store: str) -> str:
    """The folder for the attachments of a store in files."""
    return f"{os.path.realpath(store.removeprefix('files:'))}.assets"


def _syncing(
    settings: config.Settings, environment: Mapping[str, str], store: str, here: str, taken: Callable[[str], bool]
) -> Syncing:
    """What an exchange needs: keys and what is known of others, in a folder beside the store."""
    folder, ledger = _sync_folder(store, environment)

    def secret(remote: str) -> str:
        name = f"ENGRAM_REMOTE_TOKEN_{remote.upper().replace('-', '_')}"
        return environment.get(name, "") or config.secret_of(environment, remote)

    return Syncing(
        ledger=ledger,
        place=lambda folder: home_scope(settings, environment, folder, taken),
        root=lambda folder: root_of(folder, environment.get("HOME") or "/"),
        device=os.uname().nodename,
        folder=folder,
        here=here,
        secret=secret,
    )


def _sync_folder(store: str, environment: Mapping[str, str]) -> tuple[str, Callable[[], Ledger]]:
    """Where a store keeps what it knows of others, "" for nowhere; a database's lies in the data folder."""
    if "://" in store:
        from engram.model.hashing import sha256  # noqa: PLC0415 - start-up

        mark = sha256(store.encode()).hexdigest()[:16]
        folder = os.path.join(config.data_folder(environment), "sync", mark)
    else:
        folder = "" if store == "ram:" else f"{store.removeprefix('files:')}.sync"

    @functools.cache
    def ledger() -> Ledger:
        from engram.sync.ledger import Ledger  # noqa: PLC0415 - start-up

        return Ledger(folder)

    return folder, ledger


def working_folder() -> str:
    """Where this process stands."""
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed under our feet: no project, and no file of its own
        return "/"


def home_scope(
    settings: config.Settings,
    environment: Mapping[str, str],
    folder: str,
    taken: Callable[[str], bool] | None = None,
) -> Scope:
    """Where memories land by default: the project of the folder, else global.

    `taken` says whether the store holds something of a project already: a checkout that came with such a name of
    its own does not get it, until a person has accepted it (see `projects.names`).

    Raises:
        Conflict: when the folder may be several projects, or takes the name of another.
    """
    names = Names(config.data_folder(environment), taken)
    project = settings.get("project") or project_of(folder, environment.get("HOME") or "/", names)
    return Scope("project", project) if project else GLOBAL


def _holds(engine: Engine, caller: Caller, project: str) -> bool:
    """Whether there is anything of a project that this caller may read."""
    where, access = Filter(within=Scope("project", project)), access_of(caller)
    return any(engine.scan(type, where, access, limit=1).records for type in ("memory", "session"))


def embedder_of(
    settings: config.Settings, environment: Mapping[str, str], folders: Sequence[str]
) -> Embedder | None:
    """What finds by meaning, as configured: a model of ours, an endpoint, or nothing. Nothing is loaded yet.

    Raises:
        Invalid: when there is no such model, or the endpoint lacks a setting.
    """
    name = settings.get("embedder")
    if name == "none":
        return None
    if name == "endpoint":
        return _endpoint(settings, environment)
    if name not in MODELS:
        raise Invalid(
            f"There is no embedding model {name!r}.",
            "Set embedder to one of: " + ", ".join(MODELS) + ", endpoint, none.",
        )
    model = MODELS[name]

    def load() -> Loaded:
        from engram.inference.embed import load  # noqa: PLC0415 - numpy and onnxruntime, on first need

        return load(name, folders)

    def lean() -> bytes:
        from engram.inference.leans import lean_of  # noqa: PLC0415 - needed beside a vector, never before

        return lean_of(name)

    return Lazy(Space(model.id, model.dim), latin=model.latin, floor=model.floor, load=load, lean=lean)


def _endpoint(settings: config.Settings, environment: Mapping[str, str]) -> Embedder:
    wanted = ("embedder_url", "embedder_model", "embedder_dim")
    if missing := [name for name in wanted if not settings.get(name)]:
        raise Invalid(f"An endpoint needs {', '.join(missing)}.", "Set it in engram.toml; see docs/models.md.")
    url, model, dim = (settings.get(name) for name in wanted)
    prefix = settings.get("embedder_document")

    def load() -> Loaded:
        from engram.inference.endpoint import Endpoint  # noqa: PLC0415 - http and ssl, on first need

        return Endpoint(
            url,
            model,
            dim,
            query_instruction=settings.get("embedder_query"),
            key=environment.get("ENGRAM_EMBEDDER_KEY", ""),
        )

    return Lazy(Space(f"endpoint/{model}", dim, prefix), latin=False, floor=0.2, load=load, local=False)


def now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A UUID of version 7: the time in milliseconds, then chance; so ids sort by age."""
    stamp = time.time_ns() // 1_000_000
    value = (stamp << 80) | int.from_bytes(os.urandom(10))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


POSTGRES = ("postgres", "postgresql")

_STORES = "Use a file path, sqlite:PATH, files:FOLDER, postgres://… or ram: for ENGRAM_STORE."


def migrate(progress: Progress, environment: Mapping[str, str] | None = None) -> tuple[str, int, int]:
    """Bring the schema of the configured database up to date, and index what has grown large.

    Answers with its name, the steps that took, and the indexes made.

    Raises:
        Invalid: when the configured store is no database: the others migrate by themselves.
        Corrupt, Unavailable: see `postgres_schema.migrate`.
    """
    settings = config.read(os.environ if environment is None else environment, working_folder())
    store = settings.get("store")
    if store.partition(":")[0] not in POSTGRES:
        raise Invalid(
            "The store is no database: it is brought up to date whenever it is opened.",
            "Name a database: ENGRAM_STORE=postgres://host/name engram migrate.",
        )
    with _driver():
        from engram.engines.postgres_nearest import index_vectors  # noqa: PLC0415 - only the engine in use is loaded
        from engram.engines.postgres_schema import migrate  # noqa: PLC0415 - the same

    steps = migrate(store, progress)
    return _shown(store, settings.get("org")), steps, index_vectors(store, progress)


def _postgres(url: str, org: str) -> tuple[Engine, str]:
    with _driver():
        from engram.engines.postgres import PostgresEngine  # noqa: PLC0415 - only the engine in use is loaded
        from engram.engines.postgres_database import Database  # noqa: PLC0415 - the same

    return PostgresEngine(Database(url), org, new_replica=new_id, sole=True), _shown(url, org)


def _indexed(
    engine: Engine, settings: config.Settings, environment: Mapping[str, str], embedder: Embedder | None
) -> Engine:
    """An engine with the configured index beside it, if there is one.

    Raises:
        Invalid: when the address is none, or the store cannot feed an index.
        Unavailable: when the client is not installed, or the folder is in use.
    """
    address, space = settings.get("index"), embedder.space if embedder else None
    if not address:
        return engine
    if address.partition(":")[0] not in ("qdrant", "qdrants") or not address.partition(":")[2].strip("/"):
        raise Invalid(f"{address!r} is no index.", "Use qdrant://HOST, qdrants://HOST or qdrant:FOLDER.")
    if not hasattr(engine, "feed"):
        raise Invalid("Plain files have no index beside them.", "Leave ENGRAM_INDEX out, or use another store.")
    try:
        from engram.indexes.indexed import Indexed  # noqa: PLC0415 - only where one is configured
        from engram.indexes.qdrant import QdrantIndex, connect  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "qdrant_client":
            raise
        raise Unavailable(
            "The client of Qdrant is not installed.", "Install it: pip install 'engram[qdrant]'."
        ) from None
    from engram.interop.records_rows import record  # noqa: PLC0415 - the same

    scheme, _, rest = address.partition(":")
    shown = f"{scheme}:{'//' if rest.startswith('//') else ''}{rest.removeprefix('//').rpartition('@')[2]}"
    client = connect(address, environment.get("ENGRAM_INDEX_KEY", ""))
    index = QdrantIndex(client, settings.get("org"), space, name=shown, record=record)
    return cast("Engine", Indexed(cast("Any", engine), index, space))


@contextmanager
def _driver() -> Iterator[None]:
    """PostgreSQL's driver comes with an extra: say so where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool"):
            raise
        raise Unavailable(
            "The driver for PostgreSQL is not installed.", "Install it: pip install 'engram[postgres]'."
        ) from None


def _shown(url: str, org: str) -> str:
    """A database's name for answers: where it is and whose part, without user and password."""
    place = url.partition("://")[2].rpartition("@")[2].partition("?")[0]
    return f"postgres://{place}#{org}"


def _plain_files(
    path: str, environment: Mapping[str, str], settings: config.Settings, policy: Policy, *, lenient: bool
) -> Engine:
    from engram.engines.files.engine import FilesEngine  # noqa: PLC0415 - only the engine in use is loaded
    from engram.rules.admission import scrubbed  # noqa: PLC0415 - the same
    from engram.rules.changes import claims_of  # noqa: PLC0415 - the same

    def lasting(at: str) -> "Index":
        from engram.engines.sqlite import SqliteEngine  # noqa: PLC0415 - the same

        return SqliteEngine(at, new_replica=new_id, anywhere=True)

    def scratch() -> "Index":
        from engram.engines.ram import RamEngine  # noqa: PLC0415 - where the cache cannot be written

        return RamEngine(new_id())

    return FilesEngine(
        path,
        cache=config.cache_folder(environment),
        open_index=lasting,
        scratch_index=scratch,
        clock=now,
        new_id=new_id,
        claims_of=claims_of,
        scrub=scrubbed,
        kind_of=lambda name: policy.kind(name)[1:3],
        merged=lambda: _merged(path),
        snapshots=settings.get("snapshots"),
        lenient=lenient,
    )


def _merged(path: str) -> "Sequence[Side]":
    """The other sides of the merge that a folder of plain files stands on, where git knows of one."""
    from engram.engines.files.folder import EVENTS, REGISTRY  # noqa: PLC0415 - only a check of plain files asks
    from engram.engines.files.joining import Side  # noqa: PLC0415 - the same
    from engram.evidence.git import merged_into  # noqa: PLC0415 - the same

    return [Side(*each) for each in merged_into(path, (EVENTS, REGISTRY))]


def _place(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Which engine a store is of, and where it lies.

    Raises:
        Invalid: when no engine of ours knows it.
    """
    scheme, colon, rest = name.partition(":")
    if name == "ram:":
        return "ram", ""
    plain = rest.removeprefix("//") if scheme == "files" and colon else ""
    if plain or os.path.exists(os.path.join(os.path.expanduser(name), "memory.md")):
        return "files", os.path.abspath(os.path.expanduser(plain or name))
    if scheme in POSTGRES:
        return "postgres", name
    if colon and len(scheme) > 1 and scheme != "sqlite" and scheme.isalnum() and not os.path.exists(name):
        raise Invalid(f"{name!r} is no store.", _STORES)
    given = rest.removeprefix("//") if scheme == "sqlite" and colon else name
    path = given or os.path.join(config.data_folder(environment), "engram.db")
    return "sqlite", os.path.abspath(os.path.expanduser(path))


def is_there() -> bool:
    """Whether the configured store has been made; a server's is taken to be."""
    form, path = _place(config.read(os.environ, working_folder()).get("store"), os.environ)
    return os.path.exists(path) if form in ("sqlite", "files") else form != "ram"


def _unused(path: str) -> str:
    """A path at which there is nothing: this one, or the first of those that follow it."""
    return next(each for n in itertools.count(1) if not os.path.lexists(each := path if n == 1 else f"{path}-{n}"))


class _Vault:
    """See `ports.Vault`."""

    def __init__(
        self, place: tuple[str, str], environment: Mapping[str, str], settings: config.Settings, policy: Policy
    ) -> None:
        self._form, path = place
        in_files = self._form in ("sqlite", "files")
        self.place = os.path.realpath(path) if in_files else ""  # a link to a store stays one
        self.shown = path if self._form == "sqlite" else f"{self._form}:{path}" if in_files else f"{self._form}:"
        self._environment, self._settings, self._policy = environment, settings, policy

    def version(self) -> str:
        from engram import __version__  # noqa: PLC0415 - it imports us

        return __version__

    def check(self, form: str, folder: str) -> tuple[Mapping[str, int], Sequence[Finding]]:
        if form == "sqlite":
            from engram.engines import sqlite_copy  # noqa: PLC0415 - only the engine in use is loaded

            path = os.path.join(folder, sqlite_copy.NAME)
            counts: Mapping[str, int] = sqlite_copy.tally(path)
            engine, _ = _engine(f"sqlite:{path}", self._environment, self._settings, self._policy, lenient=True)
        elif form == "files":
            from engram.engines.files import copying  # noqa: PLC0415 - the same

            path = os.path.join(folder, copying.STORE)
            counts = copying.tally(path)
            cache = {**self._environment, "XDG_CACHE_HOME": os.path.join(folder, "cache")}
            engine, _ = _engine(f"files:{path}", cache, self._settings, self._policy, lenient=True)
        else:
            raise Invalid(f"A copy of the form {form!r} is not known here.", "Upgrade Engram.")
        try:
            return counts, engine.check()
        finally:
            engine.close()

    def salvage(self, now: datetime) -> "Iterator[tuple[RecordType, Document]]":
        try:
            if self._form == "sqlite":
                from engram.engines import sqlite_rescue  # noqa: PLC0415 - as above

                yield from sqlite_rescue.salvage(self.place)
            elif self._form == "files":
                from engram.engines.files import rescue  # noqa: PLC0415 - as above

                yield from rescue.salvage(self.place, now)
            else:
                told = "This store lies in no file of this machine."
                raise Invalid(told, "Use engram export, or the tools of its database.")
        except OSError as error:
            raise Unavailable(f"{self.shown} cannot be read: {error.strerror}.", "Check its permissions.") from None

    def put(self, form: str, folder: str, aside: str) -> str:
        from engram.engines import sqlite_copy  # noqa: PLC0415 - as above
        from engram.engines.files import copying  # noqa: PLC0415 - as above

        if form != self._form:
            raise Invalid(
                f"This is the backup of a store of the form {form}; {self.shown} is of the form {self._form}.",
                f"Restore it to a place of its own, --store {form}:PATH; export there and import here moves it on.",
            )
        engine = sqlite_copy if form == "sqlite" else copying
        there = engine.holds_anything(self.place)
        if there and not aside:
            raise Conflict(
                f"The store {self.shown} holds something.",
                "Add --overwrite to keep it aside and put this in its place.",
            )
        kept = _unused(f"{self.place}{aside}") if there else ""
        try:
            self._put_assets(os.path.join(folder, ASSETS), kept)
            engine.put(folder, self.place, kept)
        except OSError as error:
            raise Unavailable(f"{self.place} cannot be written: {error.strerror}.", "Check its folder.") from None
        return kept

    def _put_assets(self, folder: str, kept: str) -> None:
        """Attachments are added before the store that names them, and those of the old one stay with it, too."""
        from engram.engines.blobs_folder import FolderBlobs  # noqa: PLC0415 - start-up

        if kept and os.path.isdir(beside(self.place)):
            FolderBlobs(beside(kept)).take_in(beside(self.place))
        if os.path.isdir(folder):
            FolderBlobs(beside(self.place)).take_in(folder)


def _engine(
    name: str, environment: Mapping[str, str], settings: config.Settings, policy: Policy, *, lenient: bool
) -> tuple[Engine, str]:
    form, path = _place(name, environment)
    if form == "ram":
        from engram.engines.ram import RamEngine  # noqa: PLC0415 - only the engine in use is loaded

        return RamEngine(new_id()), "ram:"
    if form == "files":
        return _plain_files(path, environment, settings, policy, lenient=lenient), f"files:{path}"
    if form == "postgres":
        return _postgres(path, settings.get("org"))
    from engram.engines.sqlite import SqliteEngine  # noqa: PLC0415 - only the engine in use is loaded

    engine = SqliteEngine(
        path,
        new_replica=new_id,
        private_folder=name in ("", "sqlite:", "sqlite://"),
        anywhere=settings.get("network_store"),
        lenient=lenient,
    )
    return engine, path
