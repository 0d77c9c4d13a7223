"""Stores of observations: a database of any release, its JSON export, and the chunks it keeps in a repository."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from engram.errors import Corrupt, EngramError, Invalid
from engram.interop import observations_rows as rows
from engram.interop.databases import columns, copied, is_database, require, tables
from engram.interop.fields import text_of
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.observations_rows import NAME, ROWID
from engram.interop.streams import Unpacking, pieces
from engram.model.codec import Traveller

if TYPE_CHECKING:
    from sqlite3 import Connection

VERSIONS = ("", "0.1.0", "0.2.0")
MANIFESTS = (1, 2)
LARGEST_MANIFEST = 64 * 1024 * 1024
NEEDED = {"sessions": ("id",), "observations": ("title", "content", "type", "created_at")}
Row = Mapping[str, Any]
Things = Iterator[Foreign | Problem]


def _recognises(source: Source) -> bool:
    if source.folder:
        return _manifest_path(source) != ""
    if is_database(source):
        found = tables(source).keys()
        return {"sessions", "observations"} <= found and "sdk_sessions" not in found
    head = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"{") and b'"sessions"' in head and b'"version"' in head.partition(b'"sessions"')[0]


def _read(source: Source) -> Things:
    if source.folder:
        return _chunks(_manifest_path(source))
    return _database(source.path) if is_database(source) else _export(source.path)


def _made(
    name: str, row: Row, make: Callable[[Row], tuple[Any, list[str]]], more: tuple[str, ...] = ()
) -> Foreign | Problem:
    """What a row stands for, or why it stands for nothing."""
    try:
        record, dropped = make(row)
    except EngramError as error:
        return Problem(name, error.message)
    except (ValueError, TypeError) as error:
        return Problem(name, f"It makes no sense: {error}.")
    text = row.get("content")
    if isinstance(text, str) and text.endswith("... [truncated]"):
        more = (*more, "content beyond its limit")
    ends = (text_of(row.get("source_id")), text_of(row.get("target_id")))
    return Foreign(name, cast("Traveller", record), (*dropped, *more), ends=ends)


def _session(row: Row, more: tuple[str, ...] = ()) -> Things:
    """A session, and what was said at its end."""
    name = f"session {row.get('id')}"
    yield _made(name, row, rows.session, more)
    with suppress(EngramError):
        if said := rows.closing(row):
            yield Foreign(f"summary of {name}", said)


# a database


def _database(path: str) -> Things:
    """Every row of a private copy; branches on the columns that are there.

    Raises:
        Invalid: when it is of another schema.
    """
    with copied(path) as database:
        require(path, database, NEEDED)
        tombs = "prompt_tombstones"
        left = (tombs,) if columns(database, tombs) and _any(database, tombs) else ()
        for row in _rows(database, "SELECT * FROM sessions ORDER BY rowid"):
            yield from _session(row, left)
            left = ()
        yield from _observations(database)
        yield from _prompts(database)
        if columns(database, "memory_relations"):
            for row in _rows(database, "SELECT * FROM memory_relations ORDER BY rowid"):
                yield _made(f"relation {rows.identity(row)}", _linked(database, row), rows.relation)


def _observations(database: "Connection") -> Things:
    versions = "0"
    if "observation_id" in columns(database, "observation_versions"):
        versions = "(SELECT count(*) FROM observation_versions WHERE observation_id = o.id)"
    owner = "s.project" if "project" in columns(database, "sessions") else "NULL"
    sql = (
        f"SELECT o.rowid AS {ROWID}, o.*, {versions} AS _versions, {owner} AS _owner"
        " FROM observations o LEFT JOIN sessions s ON s.id = o.session_id ORDER BY o.rowid"
    )
    for row in _rows(database, sql):
        more = ("observation_versions",) if row.pop("_versions") else ()
        project = _owner(row)
        yield _made(f"observation {row.get('id')}", row, lambda row: rows.observation(row, project), more)  # noqa: B023 - called at once


def _prompts(database: "Connection") -> Things:
    if not columns(database, "user_prompts"):
        return
    owner = "s.project" if "project" in columns(database, "sessions") else "NULL"
    sql = (
        f"SELECT p.rowid AS {ROWID}, p.*, {owner} AS _owner"
        " FROM user_prompts p LEFT JOIN sessions s ON s.id = p.session_id ORDER BY p.rowid"
    )
    for row in _rows(database, sql):
        project = _owner(row)
        yield _made(f"prompt {row.get('id')}", row, lambda row: rows.prompt(row, project))  # noqa: B023 - called at once


def _owner(row: dict[str, Any]) -> str:
    owner = row.pop("_owner")
    return owner.decode("utf-8", "replace") if isinstance(owner, bytes) else str(owner or "")


def _linked(database: "Connection", row: dict[str, Any]) -> dict[str, Any]:
    """A relation that names another one by the id that travels, as exports do."""
    number = row.pop("superseded_by_relation_id", None)
    row.pop("id", None)
    if number is not None:
        found = database.execute("SELECT sync_id FROM memory_relations WHERE id = ?", (number,)).fetchone()
        row["superseded_by_relation_sync_id"] = found[0] if found else None
    return row


def _any(database: "Connection", table: str) -> bool:
    return database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None


def _rows(database: "Connection", sql: str) -> Iterator[dict[str, Any]]:
    cursor = database.execute(sql)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


# an export


def _export(path: str) -> Things:
    """Every row of an export; what has no place is told with the last of them."""
    left: list[str] = []
    last: Foreign | Problem | None = None
    for thing in _export_rows(path, left):
        if last is not None:
            yield last
        last = thing
    if last is not None:
        yield last._replace(dropped=(*last.dropped, *left)) if isinstance(last, Foreign) else last


def _export_rows(path: str, left: list[str]) -> Things:
    """Every row of an export, and then, going through it again, its relations."""
    owners: dict[str, str] = {}
    related = False
    try:
        with open(path, "rb") as file:
            for way, row in pieces(file):
                if way == ("version",) and row not in VERSIONS:
                    raise Invalid(f"This export has version {row}; {', '.join(VERSIONS[1:])} are known.", "")
                related = related or way == ("relations",)
                if way == ("prompt_tombstones",) and not left:
                    left.append("prompt_tombstones")
                yield from _row(way, row, owners)
        if related:
            with open(path, "rb") as file:
                for way, row in pieces(file):
                    if way == ("relations",) and isinstance(row, dict):
                        yield _made(f"relation {rows.identity(row)}", _unnumbered(row), rows.relation)
    except Corrupt as error:
        yield Problem("the rest", error.message)


def _row(way: tuple[str, ...], row: Any, owners: dict[str, str]) -> Things:  # noqa: ANN401 - any JSON value
    if not isinstance(row, dict):
        if way in (("sessions",), ("observations",), ("prompts",)):
            yield Problem(f"one of the {way[0]}", "It is not a JSON object.")
        return
    owner = owners.get(str(row.get("session_id")), "")
    match way:
        case ("sessions",):
            owners[str(row.get("id"))] = str(row.get("project") or "")
            yield from _session(row)
        case ("observations",):
            yield _made(f"observation {row.get('id')}", row, lambda row: rows.observation(row, owner))
        case ("prompts",):
            yield _made(f"prompt {row.get('id')}", row, lambda row: rows.prompt(row, owner))


def _unnumbered(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("id", "superseded_by_relation_id")}


# chunks in a repository


def _manifest_path(source: Source) -> str:
    for folder in (source.path, os.path.join(source.path, ".engram")):
        path = os.path.join(folder, "manifest.json")
        if os.path.isfile(path) and os.path.isdir(os.path.join(folder, "chunks")):
            return path
    return ""


class _Entry(NamedTuple):
    """A row of a chunk: what it is, and whether it says that it is gone."""

    kind: str
    row: dict[str, Any]
    gone: bool

    @property
    def key(self) -> str:
        """What names it in every chunk."""
        id = self.row.get("id") if self.kind == "session" else rows.identity(self.row)
        return f"{self.kind} {id}"


def _chunks(manifest: str) -> Things:
    """What all chunks say in the end: of what several of them have, the last word."""
    folder = os.path.join(os.path.dirname(manifest), "chunks")
    whole: list[str] = []
    for name in _listed(manifest):
        try:
            _require_whole(folder, name)
            whole.append(name)
        except EngramError as error:
            yield Problem(f"chunk {name}", error.message)
    last: dict[str, int] = {}
    gone: dict[str, tuple[bool, Any]] = {}
    owners: dict[str, str] = {}
    for number, entry in enumerate(_entries(folder, whole)):
        if entry.kind == "session":
            owners.setdefault(str(entry.row.get("id")), str(entry.row.get("project") or ""))
        if entry.gone:
            gone[entry.key] = bool(entry.row.get("hard_delete")), entry.row.get("deleted_at")
        elif entry.kind != "session" or entry.key not in last:
            gone.pop(entry.key, None)
            last[entry.key] = number
    for relations in (False, True):
        for number, entry in enumerate(_entries(folder, whole)):
            if (entry.kind == "relation") == relations and last.get(entry.key) == number:
                owner = owners.get(str(entry.row.get("session_id")), "")
                yield from _last_word(entry, gone.get(entry.key), owner)


def _last_word(entry: _Entry, gone: tuple[bool, Any] | None, owner: str) -> Things:
    """What stands at last: an observation that was deleted is forgotten, unless it was erased."""
    if entry.kind == "session":
        yield from _session(entry.row)
    elif gone is None:
        yield _made(entry.key, entry.row, lambda row: MAKERS[entry.kind](row, owner))
    elif entry.kind == "observation" and not gone[0]:
        deleted = {**entry.row, "deleted_at": gone[1] or entry.row.get("updated_at")}
        yield _made(entry.key, deleted, lambda row: rows.observation(row, owner))


MAKERS: Mapping[str, Callable[[Row, str], tuple[Any, list[str]]]] = {
    "observation": rows.observation,
    "prompt": rows.prompt,
    "relation": lambda row, _: rows.relation(_unnumbered(dict(row))),
}
"""What is made of a row of each kind; what names no project is of its session's."""

SINGULAR = {"sessions": "session", "observations": "observation", "prompts": "prompt"}


def _entries(folder: str, names: list[str]) -> Iterator[_Entry]:
    """The rows of chunks, in order."""
    for name in names:
        with _opened(folder, name) as file:
            for way, row in pieces(cast("IO[bytes]", Unpacking(file))):
                if isinstance(row, dict) and way and way[0] in SINGULAR:
                    yield _Entry(SINGULAR[way[0]], row, gone=False)
                elif isinstance(row, dict) and way == ("mutations",) and (entry := _mutation(row)):
                    yield entry


def _mutation(row: dict[str, Any]) -> _Entry | None:
    said = row.get("payload")
    try:
        payload = json.loads(said) if isinstance(said, str) else said
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict) or row.get("entity") not in (*SINGULAR.values(), "relation"):
        return None
    gone = row.get("op") == "delete" or bool(payload.pop("deleted", False))
    return _Entry(row["entity"], payload, gone)


def _listed(manifest: str) -> list[str]:
    with open(manifest, "rb") as file:
        try:
            said = json.loads(file.read(LARGEST_MANIFEST))
        except (ValueError, RecursionError):
            raise Corrupt(f"{manifest} is not JSON.", "Get a complete copy of it.") from None
    if not isinstance(said, dict) or said.get("version") not in MANIFESTS:
        version = said.get("version") if isinstance(said, dict) else None
        raise Invalid(f"{manifest} has version {version}; 1 and 2 are known.", "Upgrade Engram.")
    chunks = said.get("chunks")
    return [str(each.get("id")) for each in chunks if isinstance(each, dict)] if isinstance(chunks, list) else []


def _opened(folder: str, name: str) -> IO[bytes]:
    import gzip  # noqa: PLC0415 - only for chunks

    if os.path.basename(name) != name or not name.isprintable() or not name:
        raise Invalid(f"{name!r} is not the name of a chunk.", "")
    return cast("IO[bytes]", gzip.open(os.path.join(folder, f"{name}.jsonl.gz"), "rb"))


def _require_whole(folder: str, name: str) -> None:
    """A chunk is named by what it holds.

    Raises:
        Corrupt: when it is missing, damaged, or says something else than its name.
    """
    seal = hashlib.sha256()
    try:
        with _opened(folder, name) as file:
            unpacked = Unpacking(file)
            while piece := unpacked.read():
                seal.update(piece)
    except FileNotFoundError:
        raise Corrupt("It is missing.", "Fetch it with git.") from None
    except OSError as error:
        raise Corrupt(f"It cannot be read: {error.strerror}.", "Fetch it with git.") from None
    if not seal.hexdigest().startswith(name):
        raise Corrupt("It was changed: it does not hold what its name says.", "Fetch it with git.")


FORM = Form(NAME, "A store of observations: engram.db, its JSON export, or its chunks.", _recognises, _read)
