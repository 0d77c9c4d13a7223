"""What can still be read in a damaged store file: its tables row by row, and past them the raw bytes.

The file is only read: its copy is opened, for even reading a log may write.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from engram.model.codec import RECORDS, Document, RecordType
from engram.model.event import Edit

MARK = b'{"'
LARGEST = 1 << 20
"""No document is longer than this many bytes."""

TRIES = 2_000
"""So many rows in a row may be unreadable before a table is given up."""

SIGNS: dict[RecordType, frozenset[str]] = {
    "memory": frozenset({"id", "text", "owner", "created_at", "updated_at"}),
    "session": frozenset({"id", "owner", "started_at"}),
    "relation": frozenset({"id", "from_id", "to_id"}),
}
"""What a document of each type has: by this it is known in raw bytes."""


def salvage(path: str) -> Iterator[tuple[RecordType, Document]]:
    """Every record that can be read, each once, the newest form of it.

    Raises:
        OSError: when the file itself cannot be read.
    """
    found: dict[tuple[RecordType, str], Document] = {}
    with TemporaryDirectory(prefix="engram-") as folder:
        copy = os.path.join(folder, "store.db")
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        for type, document in _told(copy):
            found[type, document["id"]] = document
    raw = [document for suffix in ("", "-wal") for document in _carved(f"{path}{suffix}")]
    for type, document in (*_newest(raw), *_told_by_history(raw)):
        found.setdefault((type, document["id"]), document)
    for (type, _), document in found.items():
        yield type, document


def _told(copy: str) -> Iterator[tuple[RecordType, Document]]:
    """What SQLite itself can still read."""
    with suppress(apsw.Error):
        db = apsw.Connection(copy)
        try:
            for type in RECORDS:
                if type in SIGNS:
                    yield from ((type, each) for each in _rows(db, type))
        finally:
            with suppress(apsw.Error):
                db.close()


def _rows(db: apsw.Connection, table: str) -> Iterator[Document]:
    """The documents of a table, in order; a row that cannot be read is passed over."""
    last, missed = 0, 0
    while missed < TRIES:
        try:
            for n, doc in db.execute(f"SELECT n, doc FROM {table} WHERE n > ? ORDER BY n", (last,)):
                last, missed = n, 0
                if (document := _document(doc)) is not None:
                    yield document
        except (apsw.Error, UnicodeDecodeError):
            last, missed = last + 1, missed + 1
        else:
            return


def _document(doc: object) -> Document | None:
    with suppress(ValueError, TypeError, RecursionError):
        kept = json.loads(doc)  # type: ignore[arg-type] # what is no text is refused here
        if isinstance(kept, dict) and isinstance(kept.get("id"), str):
            return kept
    return None


def _carved(path: str) -> Iterator[dict[str, Any]]:
    """Every object of JSON that stands whole in the raw bytes of a file, in their order."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return
    decode, at = json.JSONDecoder().raw_decode, content.find(MARK)
    while at >= 0:
        with suppress(ValueError, RecursionError):
            document, _ = decode(content[at : at + LARGEST].decode("utf-8", "replace"))
            if isinstance(document, dict):
                yield document
        at = content.find(MARK, at + 1)


def _newest(raw: Iterable[Document]) -> Iterator[tuple[RecordType, Document]]:
    """The records among some objects, each in the form of its highest revision."""
    newest: dict[tuple[RecordType, str], Document] = {}
    for document in raw:
        for type, signs in SIGNS.items():
            if signs <= document.keys() and isinstance(document["id"], str):
                known = newest.get((type, document["id"]))
                if known is None or _revision(document) >= _revision(known):
                    newest[type, document["id"]] = document
    for (type, _), document in newest.items():
        yield type, document


def _told_by_history(raw: Iterable[Document]) -> Iterator[tuple[RecordType, Document]]:
    """Memories that only what events did still tells of, as far as their beginning is among it."""
    made: dict[str, Document] = {}
    for document in raw:
        for edit in document["edits"] if isinstance(document.get("edits"), list) else ():
            if isinstance(edit, list) and len(edit) == len(Edit._fields) and edit[0] == "memory":
                _, id, field, _, new = edit
                made.setdefault(str(id), {"revision": 1})[str(field)] = new
    for document in made.values():
        document.setdefault("updated_at", document.get("created_at"))
        if document.keys() >= SIGNS["memory"] and document["id"]:
            yield "memory", {name: value for name, value in document.items() if value is not None}


def _revision(document: Document) -> int:
    revision = document.get("revision", 0)
    return revision if isinstance(revision, int) else 0
