"""The SQLite file itself: where it may lie, who may read it, how it is made, and which schema it has."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import apsw

from engram.drafts import sync_folder
from engram.engines.folders import Loose, loosened, make_folder
from engram.engines.sqlite_errors import StrPath, is_full, mapped
from engram.engines.sqlite_log import mark, require_log
from engram.errors import Corrupt, Invalid, Unavailable
from engram.layout import has_lost_its_file, is_plain_files
from engram.model.change import UPGRADE

APPLICATION_ID = 0x456E6772  # "Engr"
MOST_LOG = 8 * 1024 * 1024
"""Bytes that stay of a log which grew while somebody read for long: twice of what it comes to as a rule."""

BUSY_MS = 30_000
BLOCK = 1 << 20
SAFE_SQLITE = (3, 51, 3)
"""The first release without the WAL-reset bug, which could corrupt a store with several writers."""

COLUMNS = {
    "owner": "TEXT",
    "visibility": "TEXT",
    "workspace": "TEXT",
    "scope": "TEXT",
    "place": "TEXT",
    "created_at": "TEXT",
}
MEMORY_COLUMNS = COLUMNS | {
    "updated_at": "TEXT",
    "key": "TEXT",
    "digest": "TEXT",
    "imprint": "TEXT",
    "outline": "TEXT",
    "kind": "TEXT",
    "tags": "TEXT",
    "session": "TEXT",
    "amends": "TEXT",
    "origin": "TEXT",
    "pinned": "INTEGER",
    "importance": "INTEGER",
    "status": "TEXT",
    "held_for": "TEXT",
    "branch": "TEXT",
    "replaced_by": "TEXT",
    "forgotten_at": "TEXT",
    "valid_from": "TEXT",
    "valid_until": "TEXT",
    "stale_at": "TEXT",
}

NETWORK_FILE_SYSTEMS = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "fuse.sshfs",
    "fuse.s3fs",
)


def m0001_records(db: apsw.Connection) -> None:
    """Records with their columns, claims, history and tokens."""
    for table, columns in (("memory", MEMORY_COLUMNS), ("session", COLUMNS), ("relation", COLUMNS)):
        named = ", ".join(f"{name} {kind}" for name, kind in columns.items() if name not in _LATER)
        db.execute(
            f"CREATE TABLE {table} (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
            f" revision INTEGER NOT NULL, doc TEXT NOT NULL, {named})"
        )
        db.execute(f"CREATE INDEX {table}_by_time ON {table} (created_at, id)")
    db.execute("CREATE INDEX memory_by_digest ON memory (digest)")
    for column in ("key", "outline", "amends", "replaced_by"):
        db.execute(f"CREATE INDEX memory_by_{column} ON memory ({column}) WHERE {column} <> ''")
    db.execute("CREATE INDEX memory_waiting ON memory (created_at, id) WHERE status = 'pending'")
    db.execute("CREATE TABLE claim (name TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID")
    db.execute("CREATE INDEX claim_by_id ON claim (id)")
    db.execute(
        "CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, batch TEXT NOT NULL,"
        " envelope TEXT NOT NULL, payload TEXT)"
    )
    db.execute("CREATE TABLE subject (id TEXT, seq INTEGER, PRIMARY KEY (id, seq)) WITHOUT ROWID")
    db.execute(
        "CREATE TABLE token (owner TEXT, operation TEXT, name TEXT, request TEXT NOT NULL, seq INTEGER NOT NULL,"
        " PRIMARY KEY (owner, operation, name)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX token_by_seq ON token (seq)")
    db.execute(
        "CREATE TABLE vector (id TEXT, model TEXT, digest TEXT NOT NULL, vector BLOB NOT NULL,"
        " PRIMARY KEY (id, model)) WITHOUT ROWID"
    )
    db.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID")


def m0002_vectors(db: apsw.Connection) -> None:
    """Places (who may read what, as one number), and vectors with the codes that a scan reads.

    The word index gains the place too. It and the new columns are derived: opening the store fills them.
    """
    for column in _LATER:
        db.execute(f"ALTER TABLE memory ADD COLUMN {column} {MEMORY_COLUMNS[column]}")
    db.execute("ALTER TABLE memory ADD COLUMN p INTEGER")
    db.execute(
        "CREATE TABLE place (p INTEGER PRIMARY KEY, owner TEXT, visibility TEXT, workspace TEXT, scope TEXT,"
        " place TEXT)"
    )
    # An owner may be absent, which is equal to nothing: the index needs a value for it.
    db.execute(
        "CREATE UNIQUE INDEX place_by_name ON place (scope, visibility, coalesce(owner, char(0)), workspace)"
    )
    db.execute("DROP TABLE vector")
    db.execute(
        "CREATE TABLE space (s INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, dim INTEGER NOT NULL,"
        " prefix TEXT NOT NULL, centre BLOB NOT NULL DEFAULT x'', centred INTEGER NOT NULL DEFAULT 0)"
    )
    # A number is never given twice, so that a process that holds codes in memory sees by it what is new and gone.
    db.execute(
        "CREATE TABLE vector (v INTEGER PRIMARY KEY AUTOINCREMENT, s INTEGER NOT NULL, p INTEGER NOT NULL,"
        " n INTEGER NOT NULL, code BLOB NOT NULL, halves BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX vector_codes ON vector (s, p, code, n)")
    db.execute("CREATE INDEX vector_by_memory ON vector (n, s)")
    db.execute("CREATE TABLE lacking (s INTEGER, n INTEGER, PRIMARY KEY (s, n)) WITHOUT ROWID")
    make_words(db)


def m0003_theirs(db: apsw.Connection) -> None:
    """What another store says of a record (`theirs`): a field of documents, and no column."""


def m0004_ends(db: apsw.Connection) -> None:
    """Relations by their ends: every hit of a recall asks which of them touch it."""
    for end in ("from_id", "to_id"):
        db.execute(f"CREATE INDEX relation_{end} ON relation (doc ->> '{end}')")


def m0005_keys(db: apsw.Connection) -> None:
    """API keys of a server, as records like the others."""
    named = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    db.execute(
        "CREATE TABLE apikey (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL,"
        f" doc TEXT NOT NULL, {named})"
    )
    db.execute("CREATE INDEX apikey_by_time ON apikey (created_at, id)")


def m0006_reworded(db: apsw.Connection) -> None:
    """When a memory last got other words (`reworded_at`): a field of documents, and no column."""


def make_words(db: apsw.Connection) -> None:
    """An empty word index, in place of whatever was there; it is derived, so nothing is lost."""
    db.execute("DROP TABLE IF EXISTS words")
    db.execute(
        "CREATE VIRTUAL TABLE words USING fts5(name, summary, tags, text, place, content='', contentless_delete=1,"
        " tokenize=\"unicode61 remove_diacritics 0 tokenchars '_-./:@#+'\")"
    )
    # Counts the carriers of a term without reading a single document.
    db.execute("DROP TABLE IF EXISTS vocabulary")
    db.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row')")


_LATER = ("imprint",)
"""Columns that came after the first schema."""

MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (
    m0001_records,
    m0002_vectors,
    m0003_theirs,
    m0004_ends,
    m0005_keys,
    m0006_reworded,
)
"""Schema n is the first n of these applied in order. A new field of a record is a migration too, if an empty
one: that is how an older Engram knows to leave the store alone."""


def open_file(
    path: StrPath, *, private_folder: bool = False, anywhere: bool = False, lenient: bool = False
) -> None:
    """Make sure `path` is a store of ours that may be used, making a new one where there is none.

    Raises:
        Invalid: when the path is a directory.
        Corrupt: when it is no Engram store, is of a newer schema, or others may read it; or when it is gone and
            its log is not.
        Unavailable: when it cannot be made, or lies on a network file system.
    """
    if not anywhere and (kind := network_file_system(path)):
        raise Unavailable(
            f"The store {path} lies on a network file system ({kind}), where SQLite cannot lock safely.",
            "Move it to a local disk, or set network_store = true to use it from one machine only.",
        )
    try:
        if not os.path.lexists(path):
            create(path)
        found = os.stat(path)
    except OSError as error:
        raise Unavailable(f"The store {path} cannot be reached: {error.strerror}.") from None
    _require_file(path, found)
    _require_ours(path, found)  # first: how private the file of another program is, is no matter of ours
    if not lenient:
        _require_private(path, found, private_folder=private_folder)


def create(path: StrPath) -> None:
    """Make a new, complete store under a name of its own, then give it its name in one step.

    Nobody ever sees a half-made store, and an empty file is therefore always a damaged one.

    Raises:
        Corrupt: when a log of one that is gone lies there: SQLite would take it for that of the new one.
        Unavailable: when the folder cannot be written.
    """
    _require_no_log(path)
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        make_folder(folder)
        _remove(draft)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise Unavailable(
            f"A store cannot be made at {path}: {error.strerror}.",
            "Choose another place with ENGRAM_STORE, or make the folder writable.",
        ) from None
    try:
        with mapped(path):
            db = apsw.Connection(draft)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migrate(db, path)
            db.close()
        _require_no_log(path)  # again: another process may have lost its file meanwhile
        try:
            os.link(draft, path)  # fails where another process was first: then its store is the store
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not os.path.lexists(path):
                os.rename(draft, path)
        sync_folder(folder)
    finally:
        for suffix in ("", "-wal", "-shm"):
            _remove(f"{draft}{suffix}")


def connect(path: StrPath, *, anew: bool = False) -> apsw.Connection:
    """A connection with our settings: durable, patient with other writers, erasing what it frees.

    Where the folder can only be read, or has no room, so can the store. `anew` says that its log was deleted, and
    is made again.

    Raises:
        Unavailable: when there is no file any more, or others have it open without its log.
    """
    mark(path, "")
    with mapped(path):
        if not may_write(path):
            return _read(_connect_to_read(path))
        if not anew:
            require_log(path)
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return _read(db)
        except (apsw.CantOpenError, apsw.IOError, apsw.FullError):
            if anew or not is_full(path):
                raise
            db.close()
            return _read(_connect_to_read(path))


def may_write(path: StrPath) -> bool:
    """Whether something can be put beside a store, as far as rights go."""
    return os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)


def _read(db: apsw.Connection) -> apsw.Connection:
    """Our settings, and the first read: from then on there is a log, which stays while this is open."""
    db.set_busy_timeout(BUSY_MS)
    # Plans that do not depend on the values asked for, so that a statement is planned once and not each time.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    db.execute("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY").fetchall()
    db.execute(f"PRAGMA journal_size_limit = {MOST_LOG}").fetchall()
    schema_of(db)
    return db


def _connect_to_read(path: StrPath) -> apsw.Connection:
    """A connection to a store beside which nothing can be put, so that the log and its index are not made."""
    from urllib.parse import quote  # noqa: PLC0415 - start-up

    real = os.path.realpath(path)
    log = f"{real}-wal"
    if os.path.exists(log) and os.path.getsize(log):  # another one writes: its log is read with it
        return apsw.Connection(real, flags=apsw.SQLITE_OPEN_READONLY)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(real)}?immutable=1", flags=flags)


def migrate(db: apsw.Connection, path: StrPath) -> None:
    """Bring an older schema up to date, one committed step at a time, so that a crash resumes where it stopped.

    Raises:
        Corrupt: when the schema is newer than this program knows; nothing is touched.
    """
    while (version := schema_of(db)) < len(MIGRATIONS):
        db.execute("BEGIN IMMEDIATE")
        try:
            if schema_of(db) == version:  # no other process was faster
                MIGRATIONS[version](db)
                db.execute(f"PRAGMA user_version = {version + 1}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # SQLite itself may have given it up
                db.execute("ROLLBACK")
            raise
    require_known(db, path)


def require_known(db: apsw.Connection, path: StrPath) -> None:
    """Refuse a store that a newer Engram has made, or brought up to date while this one had it open.

    Raises:
        Corrupt: when it is of such a schema.
    """
    if (version := schema_of(db)) > len(MIGRATIONS):
        raise Corrupt(
            f"The store {path} has schema {version}; this Engram knows {len(MIGRATIONS)}. It was left untouched.",
            UPGRADE,
        )


def schema_of(db: apsw.Connection) -> int:
    """The number of migrations the store has had."""
    return int(db.pragma("user_version"))


def network_file_system(path: StrPath) -> str:
    """The kind of network file system the path lies on, or "" for a local one or where it cannot be told."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            mounts = file.read().splitlines()
    except OSError:
        return ""
    return _network_kind(os.path.realpath(path), mounts)


def _network_kind(real: str, mounts: list[str]) -> str:
    longest, kind = "", ""
    for line in mounts:
        left, _, right = line.partition(" - ")
        mount = left.split(" ")[4].replace("\\040", " ")
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(longest):
            longest, kind = mount, right.split(" ")[0]
    return kind if kind in NETWORK_FILE_SYSTEMS else ""


def _require_file(path: StrPath, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        if is_plain_files(os.fspath(path)):
            raise Invalid(
                f"{path} is a store of plain files.",
                f"Open it as one: files:{path}",
            )
        raise Invalid(
            f"{path} is a directory.",
            f"Give the path of a file, such as {path}/engram.db; or keep plain files in it: files:{path}",
        )
    if not stat.S_ISREG(found.st_mode):
        raise Invalid(f"{path} is not a regular file.", "Give the path of a file.")


def _require_no_log(path: StrPath) -> None:
    if has_lost_its_file(os.fspath(path)):
        raise Corrupt(
            f"The store {path} is gone, and its log {path}-wal is still there. Nothing was touched.",
            "Put the very file back that was there: the two belong together. Or save what the log holds (engram"
            " rescue FILE), move the log away, and take that in (engram import FILE --trust).",
        )


def _require_private(path: StrPath, found: os.stat_result, *, private_folder: bool) -> None:
    for loose in loose_modes(path, found, private_folder=private_folder):
        raise Corrupt(loose.sentence, f"Make it private: {loose.command}  (or run `engram doctor --fix`)")


def loose_modes(path: StrPath, found: os.stat_result, *, private_folder: bool) -> list[Loose]:
    """What others may read or write: the file, and its folder where that is the store's own."""
    folder = os.path.dirname(os.fspath(path))
    of_folder = loosened(folder, os.stat(folder)) if private_folder else []
    return [*loosened(os.fspath(path), found), *of_folder]


def _require_ours(path: StrPath, found: os.stat_result) -> None:
    if found.st_size == 0:
        raise Corrupt(
            f"The store {path} is an empty file; a store is never empty. It was left untouched.",
            "Restore a backup, or try: engram rescue FILE. To start again, move it away, and its -wal with it.",
        )
    head = b"".join(raw_bytes(path, most=100))
    if not head.startswith(b"SQLite format 3\x00") or len(head) < 100:
        raise Corrupt(
            f"{path} is not an Engram store (not an SQLite file). It was left untouched.",
            "Point ENGRAM_STORE elsewhere. If it was yours, restore a backup, or try: engram rescue FILE.",
        )
    if int.from_bytes(head[68:72]) != APPLICATION_ID:
        raise Corrupt(
            f"{path} is another program's database. It was left untouched.",
            "Point ENGRAM_STORE at a file of its own.",
        )


def raw_bytes(path: StrPath, *, most: int | None = None) -> Iterator[bytes]:
    """The bytes of a store's file, read through SQLite's own file layer.

    An ordinary open and close would drop the locks this process holds on the file through SQLite.

    Raises:
        Unavailable: when the file cannot be read.
    """
    flags = [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0]
    try:
        file = apsw.VFSFile("", os.path.realpath(path), flags)
    except (apsw.CantOpenError, apsw.PermissionsError, apsw.IOError) as error:
        raise Unavailable(f"The store {path} cannot be read: {error}.", "Check who owns the file.") from None
    try:
        size = min(file.xFileSize(), most if most is not None else 1 << 62)
        for start in range(0, size, BLOCK):
            yield file.xRead(min(BLOCK, size - start), start)
    finally:
        file.xClose()


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
