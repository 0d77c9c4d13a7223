"""What can still be read in a damaged store file: its tables row by row, and past them the raw bytes.

The file is only read: its copy is opened, for even reading a log may write.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from engram.engines.salvage import SIGNS, TRIES, newest, parsed, purged, told_by_history
from engram.model.codec import RECORDS, Document, RecordType

MARK = b'{"'
SMALL, LARGEST = 1 << 12, 1 << 20
"""So many bytes are looked at first, for most documents are short; and no document is longer than so many."""

CHANGES, COUNTED = 24, 92
"""Where the header of a file counts its changes, and where it has the count for which its length was told."""

CUT = 16
"""An error within so many letters of the end may come from where the look ended, and not from what is there."""


def salvage(path: str) -> Iterator[tuple[RecordType, Document]]:
    """Every record that can be read, each once, the newest form of it.

    What was purged may still lie in the raw bytes, as in a log that another process was reading: it stays there.

    Raises:
        OSError: when the file itself cannot be read.
    """
    found: dict[tuple[RecordType, str], Document] = {}
    gone = set[str]()
    with TemporaryDirectory(prefix="engram-") as folder:
        copy = os.path.join(folder, "store.db")
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        _measured(copy)
        for type, document in _readable(copy):
            if type is None:
                gone |= purged([document])
            elif isinstance(document.get("id"), str):
                found[type, document["id"]] = document
    raw = [document for suffix in ("", "-wal") for document in _carved(f"{path}{suffix}")]
    gone |= purged(raw)
    for type, document in (*newest(raw), *told_by_history(raw)):
        if document["id"] not in gone:
            found.setdefault((type, document["id"]), document)
    for (type, _), document in found.items():
        yield type, document


def _measured(copy: str) -> None:
    """Let a file be as long as it is: SQLite reads nothing at all of one that is shorter than its header tells.

    The header tells a length for one count of changes; where that is no longer the file's, SQLite measures.
    """
    with suppress(OSError), open(copy, "r+b") as file:
        file.seek(CHANGES)
        other = bytes(~each & 0xFF for each in file.read(4))
        file.seek(COUNTED)
        file.write(other)


def _readable(copy: str) -> Iterator[tuple[RecordType | None, Document]]:
    """What SQLite itself can still read: the records by their type, and the envelopes of history by none."""
    with suppress(apsw.Error):
        db = apsw.Connection(copy)
        try:
            for type in RECORDS:
                if type in SIGNS:
                    yield from ((type, each) for each in _rows(db, type, "n", "doc"))
            yield from ((None, each) for each in _rows(db, "event", "seq", "envelope"))
        finally:
            with suppress(apsw.Error):
                db.close()


def _rows(db: apsw.Connection, table: str, number: str, column: str) -> Iterator[Document]:
    """The documents of a table, in order; a row that cannot be read is passed over."""
    last, missed = 0, 0
    while missed < TRIES:
        try:
            asked = f"SELECT {number}, {column} FROM {table} WHERE {number} > ? ORDER BY {number}"
            for n, text in db.execute(asked, (last,)):
                last, missed = n, 0
                if document := parsed(text):
                    yield document
        except (apsw.Error, UnicodeDecodeError):
            last, missed = last + 1, missed + 1
        else:
            return


def _carved(path: str) -> Iterator[dict[str, Any]]:
    """Every object of JSON that stands whole in the raw bytes of a file, in their order."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return
    at = content.find(MARK)
    while at >= 0:
        with suppress(ValueError, RecursionError):
            document = _object_at(content, at)
            if isinstance(document, dict):
                yield document
        at = content.find(MARK, at + 1)


def _object_at(content: bytes, at: int) -> Any:  # noqa: ANN401 - any JSON
    """What is written in JSON at a place; where a short look does not reach its end, a longer one is taken.

    Raises:
        ValueError: when it is none.
    """
    size = SMALL
    while True:
        text = content[at : at + size].decode("utf-8", "replace")
        try:
            return _scan(text)[0]
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated") or error.pos > len(text) - CUT
            if not cut or size >= LARGEST or at + size >= len(content):
                raise
        size = min(size << 4, LARGEST)


_scan = json.JSONDecoder().raw_decode
