"""The only place where parts meet: settings, engine, caller, clock and chance become an Engram."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram import config
from engram.errors import Invalid
from engram.inference.lazy import Asked, Lazy, Loaded
from engram.inference.models import MODELS
from engram.inference.shelf import Shelf
from engram.interop.cursors import CursorFile
from engram.model.caller import Caller
from engram.model.filter import Filter
from engram.model.memory import NOWHERE, Context
from engram.model.query import Space
from engram.model.scope import GLOBAL, Scope
from engram.ports import Clock, Embedder, Engine, Harvesting
from engram.projects.detect import project_of
from engram.projects.names import Names
from engram.rules.access import access_of
from engram.rules.admission import Policy
from engram.rules.kinds import extended
from engram.service import Engram

if TYPE_CHECKING:
    from engram.engines.files.index import Index


def open(
    store: str | os.PathLike[str] = "",
    *,
    caller: Caller | None = None,
    folder: str | os.PathLike[str] = "",
    home: Scope | None = None,
    channel: str = "api",
    agent: str = "",
    lenient: bool = False,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Engram:
    """Open a memory: the configured store, or the one given (a path, `sqlite:PATH`, `files:PATH` or `ram:`).

    `folder` tells the current project; it is the working directory unless given. `home` is where memories land
    when no folder shall tell it. `lenient` opens a store
    whose files others may read, so that it can be mended. `agent` is who speaks where no setting names an agent:
    without either, a person does. `clock` tells the time; it is the wall clock unless
    given, and is how old notes get their own dates.

    Raises:
        Invalid, Corrupt, Unavailable: when the settings or the store cannot be used.
    """
    variables = os.environ if environment is None else environment
    place = os.path.abspath(folder) if folder else working_folder()
    settings = config.read(variables, place)
    agent, kinds = settings.get("agent") or agent, settings.get("kinds")
    policy = Policy(
        autopromote=settings.get("autopromote"),
        review_all=settings.get("review_all"),
        kinds=extended(kinds) if kinds else None,
    )
    shelf = Shelf(config.data_folder(variables))
    embedder = embedder_of(settings, variables, shelf.folders)
    # Last, so that whatever is wrong with the settings leaves no store behind.
    engine, shown = _engine(os.fspath(store) or settings.get("store"), variables, settings, lenient=lenient)
    speaker = caller or Caller(agent=agent, human=not agent)
    return Engram(
        engine,
        caller=speaker,
        clock=clock or now,
        new_id=new_id,
        policy=policy,
        home=home or (lambda: home_scope(settings, variables, place, lambda name: _holds(engine, speaker, name))),
        budget=settings.get("budget"),
        store=shown,
        channel=channel,
        embedder=embedder,
        shelf=shelf,
        context=Context(agent=agent) if agent else NOWHERE,
        harvesting=_harvesting(settings, variables),
    )


def _harvesting(settings: config.Settings, environment: Mapping[str, str]) -> Harvesting:
    """What a harvest needs: how far it came, the configured model, and which project a talk took place in."""

    def place(folder: str) -> Scope:
        if folder and not os.path.isdir(folder):  # it is gone; what it was called is still told
            return Scope("project", os.path.basename(folder)) if os.path.basename(folder) else GLOBAL
        return home_scope(settings, environment, folder or working_folder())

    url, model = settings.get("extractor_url"), settings.get("extractor_model")
    return Harvesting(
        cursors=CursorFile(os.path.join(config.data_folder(environment), "harvest.jsonl")),
        extractor=Asked(url, model, environment.get("ENGRAM_EXTRACTOR_KEY", "")) if url and model else None,
        place=place,
    )


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

    return Lazy(Space(f"endpoint/{model}", dim, prefix), latin=False, floor=0.2, load=load)


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


_STORES = "Use a file path, sqlite:PATH, files:FOLDER or ram: for ENGRAM_STORE."


def _plain_files(path: str, environment: Mapping[str, str], settings: config.Settings, *, lenient: bool) -> Engine:
    from engram.engines.files.engine import FilesEngine  # noqa: PLC0415 - only the engine in use is loaded
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
        snapshots=settings.get("snapshots"),
        lenient=lenient,
    )


def _engine(
    name: str, environment: Mapping[str, str], settings: config.Settings, *, lenient: bool
) -> tuple[Engine, str]:
    scheme, colon, rest = name.partition(":")
    if name == "ram:":
        from engram.engines.ram import RamEngine  # noqa: PLC0415 - only the engine in use is loaded

        return RamEngine(new_id()), "ram:"
    plain = rest.removeprefix("//") if scheme == "files" and colon else ""
    if plain or os.path.exists(os.path.join(os.path.expanduser(name), "memory.md")):
        path = os.path.abspath(os.path.expanduser(plain or name))
        return _plain_files(path, environment, settings, lenient=lenient), f"files:{path}"
    if scheme in ("postgres", "postgresql", "qdrant"):
        raise Invalid(
            f"A store of the form {scheme}: is not part of this version yet.",
            _STORES,
        )
    if colon and len(scheme) > 1 and scheme != "sqlite" and scheme.isalnum() and not os.path.exists(name):
        raise Invalid(f"{name!r} is no store.", _STORES)
    from engram.engines.sqlite import SqliteEngine  # noqa: PLC0415 - only the engine in use is loaded

    given = rest.removeprefix("//") if scheme == "sqlite" and colon else name
    path = os.path.abspath(os.path.expanduser(given or os.path.join(config.data_folder(environment), "engram.db")))
    engine = SqliteEngine(
        path,
        new_replica=new_id,
        private_folder=not given,
        anywhere=settings.get("network_store"),
        lenient=lenient,
    )
    return engine, path
