"""Which engine a store is of, where it lies, and what opens it."""

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, cast

from engram import config
from engram.errors import Invalid, Unavailable
from engram.layout import DATABASE, DATABASE_ENDINGS, is_database, is_plain_files, is_vacant
from engram.model.hashing import sha256
from engram.model.limits import storable
from engram.ports import Embedder, Engine, Ledger, Progress, able
from engram.rules.policy import Policy
from engram.wiring.clock import new_id, now
from engram.wiring.extras import how_to_install
from engram.wiring.places import working_folder

if TYPE_CHECKING:
    from engram.engines.files.index import Index
    from engram.engines.files.joining import Side

POSTGRES = ("postgres", "postgresql")

_STORES = "Use FILE.db, FOLDER (of plain files), sqlite:PATH, files:PATH, postgres://… or ram: for ENGRAM_STORE."


def place_of(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Which engine a store is of, and where it lies: a file is a database, a folder is plain files.

    A folder in which an `engram.db` lies stands for that database, with plain files beside it too.

    Raises:
        Invalid: when no engine of ours knows it.
    """
    name = name or config.default_store(environment)
    scheme, colon, rest = name.partition(":")
    if name == "ram:":
        return "ram", ""
    plain = rest.removeprefix("//") if scheme == "files" and colon else ""
    if plain:
        return "files", _whole_path(plain)
    if scheme in POSTGRES:
        return "postgres", name
    if colon and len(scheme) > 1 and scheme != "sqlite" and scheme.isalnum() and not os.path.exists(name):
        raise Invalid(f"{name!r} is not a store.", _STORES)
    given = rest.removeprefix("//") if scheme == "sqlite" and colon else name
    path = given or os.path.join(config.data_folder(environment), DATABASE)
    inside = os.path.join(path, DATABASE)
    if is_database(os.path.expanduser(inside)):
        return "sqlite", _whole_path(inside)
    if given == name and (_is_there_as_plain_files(name) or _would_be_a_folder(name)):
        return "files", _whole_path(name)
    return "sqlite", _whole_path(path)


def _is_there_as_plain_files(name: str) -> bool:
    """Whether a name leads to a folder that is a store of plain files, or is empty and may become one."""
    folder = os.path.expanduser(name)
    try:
        return is_plain_files(folder) or is_vacant(os.listdir(folder))
    except (OSError, ValueError):  # a file, or nothing that can be looked into: what opens it says so
        return False


def _would_be_a_folder(name: str) -> bool:
    """Whether a name leads to nothing yet and is not that of a database, which has an ending such as .db."""
    ending = os.path.splitext(name)[1].lower()
    return not is_database(os.path.expanduser(name)) and ending not in DATABASE_ENDINGS


def _whole_path(path: str) -> str:
    """The path of a store from the root on.

    Raises:
        Invalid: when it is no Unicode text, or begins in a folder that was removed under our feet.
    """
    if not storable(path):
        raise Invalid(f"The path of the store is not Unicode text: {path!r}.", "Choose another with ENGRAM_STORE.")
    try:
        return os.path.abspath(os.path.expanduser(path))
    except FileNotFoundError:
        raise Invalid(
            f"The store {path} is looked for in the working directory, which is not there any more.",
            "Go to another folder, or give the whole path.",
        ) from None


def is_there() -> bool:
    """Whether the configured store has been made; a server's is taken to be."""
    form, path = place_of(config.read(os.environ, working_folder()).get("store"), os.environ)
    return form != "ram" and is_made(form, path)


def named() -> str:
    """What answers call the configured store, which need not be there."""
    form, path = place_of(config.read(os.environ, working_folder()).get("store"), os.environ)
    return path if form == "sqlite" else f"{form}:{path}"


def is_made(form: str, path: str) -> bool:
    """Whether there is something to open at a place, whatever it is; a server's store is taken to be there."""
    if form == "files":
        return is_plain_files(path) or _is_no_folder(path)
    return form != "sqlite" or is_database(path)


def _is_no_folder(path: str) -> bool:
    return os.path.lexists(path) and not os.path.isdir(path)


def answering(
    name: str, environment: Mapping[str, str], settings: config.Settings, *, given: bool, making: bool
) -> str:
    """The store that answers: the one of this name, which is made where there is none if that is wanted.

    If not, an empty memory answers for the default place, as before first use.

    Raises:
        Unavailable: when it was `given` or set: an empty memory would be no answer to a mistyped path.
    """
    form, path = place_of(name, environment)
    if making or is_made(form, path):
        return name
    if not given and settings.origin("store") == "default":
        return "ram:"
    raise Unavailable(
        f"There is no store at {path}, and none was made.",
        "Look at the path (--store, ENGRAM_STORE, engram config). The first save makes it: engram remember TEXT.",
    )


def engine_of(
    name: str,
    environment: Mapping[str, str],
    settings: config.Settings,
    policy: Policy,
    *,
    lenient: bool,
    later: bool = False,
) -> tuple[Engine, str]:
    """The engine of a store, opened, and what answers call the store; one that is not there may be made `later`.

    Raises:
        Invalid, Corrupt, Unavailable: when it cannot be used.
    """
    form, path = place_of(name, environment)
    if form == "ram":
        from engram.engines.ram import RamEngine  # noqa: PLC0415 - only the engine in use is loaded

        return RamEngine(new_id()), "ram:"
    if sys.platform == "win32":  # neither its modes nor its folders are what a private store rests on
        raise Unavailable("Engram does not run on Windows itself.", "Run it in WSL, the Linux inside Windows.")
    if later and not settings.get("index") and not is_made(form, path):
        return _unmade(form, path, lambda: engine_of(name, environment, settings, policy, lenient=lenient)[0])
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


def _unmade(form: str, path: str, make: Callable[[], Engine]) -> tuple[Engine, str]:
    """What stands for a store that is not there."""
    from engram.wiring.unmade import Unmade  # noqa: PLC0415 - at first use alone

    def is_there() -> bool:
        return is_made(form, path)

    if form == "files":
        from engram.engines.files.engine import FilesEngine  # noqa: PLC0415 - only the engine in use is loaded

        return cast("Engine", Unmade(FilesEngine, make, is_there)), f"files:{path}"
    from engram.engines.sqlite import SqliteEngine  # noqa: PLC0415 - the same

    return cast("Engine", Unmade(SqliteEngine, make, is_there)), path


def _plain_files(
    path: str, environment: Mapping[str, str], settings: config.Settings, policy: Policy, *, lenient: bool
) -> Engine:
    from engram.engines.files.engine import FilesEngine  # noqa: PLC0415 - only the engine in use is loaded
    from engram.rules.hands import Hands  # noqa: PLC0415 - the same

    def lasting(at: str) -> "Index":
        from engram.engines.sqlite import SqliteEngine  # noqa: PLC0415 - the same

        return SqliteEngine(at, new_replica=new_id, anywhere=True, losable=True)

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
        hands=Hands(policy),
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


def _postgres(url: str, org: str) -> tuple[Engine, str]:
    with driver():
        from engram.engines.postgres import PostgresEngine  # noqa: PLC0415 - only the engine in use is loaded
        from engram.engines.postgres_database import Database  # noqa: PLC0415 - the same

    return PostgresEngine(Database(url), org, new_replica=new_id, sole=True), _shown(url, org)


@contextmanager
def _extra(name: str, what: str, *packages: str) -> Iterator[None]:
    """What comes with an extra of ours is imported within: say so where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        raise Unavailable(f"{what} is not installed.", how_to_install(name)) from None


def driver() -> AbstractContextManager[None]:
    """The driver for PostgreSQL is imported within: say so where it is missing."""
    return _extra("postgres", "The driver for PostgreSQL", "psycopg", "psycopg_pool")


def _shown(url: str, org: str) -> str:
    """A database's name for answers: where it is and whose part, without user and password."""
    return f"postgres://{without_credentials(url).partition('://')[2]}#{org}"


def without_credentials(address: str) -> str:
    """An address as anybody may read it: without user, password and options, any of which may be a secret."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    if "@" in rest.partition("/")[0]:  # a user's part ends at the first @ before a path, and may have a ? in it
        rest = rest.partition("@")[2]
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def migrate(
    progress: Progress, environment: Mapping[str, str] | None = None, *, indexes: bool = True
) -> tuple[str, int, int]:
    """Bring the schema of the configured database up to date, and index what has grown large, unless told not to.

    Answers with its name, the steps that took, and the indexes made.

    Raises:
        Invalid: when the configured store is no database: the others migrate by themselves.
        Corrupt, Unavailable: see `postgres_schema.migrate`.
    """
    settings = config.read(os.environ if environment is None else environment, working_folder())
    store = settings.get("store")
    if store.partition(":")[0] not in POSTGRES:
        raise Invalid(
            "The store is not a database: it is brought up to date whenever it is opened.",
            "Name a database: ENGRAM_STORE=postgres://host/name engram migrate.",
        )
    with driver():
        from engram.engines.postgres_nearest import index_vectors  # noqa: PLC0415 - only the engine in use is loaded
        from engram.engines.postgres_schema import migrate  # noqa: PLC0415 - the same

    steps = migrate(store, progress)
    return _shown(store, settings.get("org")), steps, index_vectors(store, progress) if indexes else 0


def indexed(
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
        raise Invalid(f"{address!r} is not an index.", "Use qdrant://HOST, qdrants://HOST or qdrant:FOLDER.")
    from engram.indexes.indexed import Indexed, Source  # noqa: PLC0415 - only where one is configured
    from engram.interop.records_rows import record  # noqa: PLC0415 - the same

    if (source := able(engine, Source)) is None:
        raise Invalid("Plain files have no index beside them.", "Leave ENGRAM_INDEX out, or use another store.")
    with _extra("qdrant", "The client of Qdrant", "qdrant_client"):
        from engram.indexes.qdrant import QdrantIndex, connect  # noqa: PLC0415 - the same

    scheme, _, rest = address.partition(":")
    shown = f"{scheme}:{'//' if rest.startswith('//') else ''}{rest.removeprefix('//').rpartition('@')[2]}"
    client = connect(address, environment.get("ENGRAM_INDEX_KEY", ""))
    index = QdrantIndex(client, settings.get("org"), space, name=shown, record=record)
    return cast("Engine", Indexed(source, index, space))


def beside(store: str) -> str:
    """The folder for the attachments of a store in files."""
    return f"{os.path.realpath(store.removeprefix('files:'))}.assets"


def sync_folder(store: str, environment: Mapping[str, str]) -> tuple[str, Callable[[], Ledger]]:
    """Where a store keeps what it knows of others, "" for nowhere; a database's lies in the data folder."""
    if "://" in store:
        mark = sha256(store.encode()).hexdigest()[:16]
        folder = os.path.join(config.data_folder(environment, needed=False), "sync", mark)
    else:
        folder = "" if store == "ram:" else f"{store.removeprefix('files:')}.sync"

    @functools.cache
    def ledger() -> Ledger:
        from engram.sync.ledger import Ledger  # noqa: PLC0415 - start-up

        return Ledger(folder)

    return folder, ledger
