"""The only place where parts meet: settings, engine, caller, clock and chance become an Engram."""

import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from engram import config
from engram.errors import Invalid
from engram.inference.lazy import Lazy, Loaded
from engram.inference.models import MODELS
from engram.inference.shelf import Shelf
from engram.model.caller import Caller
from engram.model.query import Space
from engram.model.scope import GLOBAL, Scope
from engram.ports import Clock, Embedder, Engine
from engram.projects.detect import project_of
from engram.rules.admission import Policy
from engram.rules.kinds import extended
from engram.service import Engram


def open(
    store: str | os.PathLike[str] = "",
    *,
    caller: Caller | None = None,
    folder: str | os.PathLike[str] = "",
    channel: str = "api",
    lenient: bool = False,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Engram:
    """Open a memory: the configured store, or the one given (a path, `sqlite:PATH` or `ram:`).

    `folder` tells the current project; it is the working directory unless given. `lenient` opens a store
    whose files others may read, so that it can be mended. `clock` tells the time; it is the wall clock unless
    given, and is how old notes get their own dates.

    Raises:
        Invalid, Corrupt, Unavailable: when the settings or the store cannot be used.
    """
    variables = os.environ if environment is None else environment
    place = os.path.abspath(folder) if folder else working_folder()
    settings = config.read(variables, place)
    agent, kinds = settings.get("agent"), settings.get("kinds")
    policy = Policy(
        autopromote=settings.get("autopromote"),
        review_all=settings.get("review_all"),
        kinds=extended(kinds) if kinds else None,
    )
    home = home_scope(settings, variables, place)
    shelf = Shelf(config.data_folder(variables))
    embedder = embedder_of(settings, variables, shelf.folders)
    # Last, so that whatever is wrong with the settings leaves no store behind.
    engine, shown = _engine(os.fspath(store) or settings.get("store"), variables, settings, lenient=lenient)
    return Engram(
        engine,
        caller=caller or Caller(agent=agent, human=not agent),
        clock=clock or now,
        new_id=new_id,
        policy=policy,
        home=home,
        budget=settings.get("budget"),
        store=shown,
        channel=channel,
        embedder=embedder,
        shelf=shelf,
    )


def working_folder() -> str:
    """Where this process stands."""
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed under our feet: no project, and no file of its own
        return "/"


def home_scope(settings: config.Settings, environment: Mapping[str, str], folder: str) -> Scope:
    """Where memories land by default: the project of the folder, else global."""
    project = settings.get("project") or project_of(folder, environment.get("HOME") or "/")
    return Scope("project", project) if project else GLOBAL


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


def _engine(
    name: str, environment: Mapping[str, str], settings: config.Settings, *, lenient: bool
) -> tuple[Engine, str]:
    scheme, colon, rest = name.partition(":")
    if name == "ram:":
        from engram.engines.ram import RamEngine  # noqa: PLC0415 - only the engine in use is loaded

        return RamEngine(new_id()), "ram:"
    if scheme in ("files", "postgres", "postgresql", "qdrant"):
        raise Invalid(
            f"A store of the form {scheme}: is not part of this version yet.",
            "Use a file path, sqlite:PATH or ram: for ENGRAM_STORE.",
        )
    if colon and len(scheme) > 1 and scheme != "sqlite" and scheme.isalnum() and not os.path.exists(name):
        raise Invalid(f"{name!r} is no store.", "Use a file path, sqlite:PATH or ram: for ENGRAM_STORE.")
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
