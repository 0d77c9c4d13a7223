"""The forms in which other stores keep their memories: what lies at a path is looked at, and read as it is.

A form is a module of FORMS with a `FORM`. Its reader goes through a store once, from beginning to end, keeps
no more than one thing in hand, and says what it cannot read instead of stopping.
"""

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from shlex import quote
from typing import NamedTuple, Protocol
from uuid import UUID, uuid5

from engram.errors import EngramError, Invalid
from engram.interop.peers import PEERS
from engram.model.codec import Traveller
from engram.model.memory import Memory

HEAD = 64 * 1024
"""How many bytes of a file are looked at to tell its form."""

MOST_NAMES = 1000
"""How many entries of a folder or a zip are looked at."""

MOST_READ_WHOLE = 16 * 1024 * 1024
"""Bytes of a file of no form that are read to say where its JSON is broken."""

UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of what has none in its store: whoever takes it in puts the moment of doing so."""

FORMS: tuple[str, ...] = (
    "engram.interop.jsonl",
    "engram.interop.memory_v1_folder",
    "engram.interop.observations_file",
    *PEERS,
    "engram.interop.records_file",
    "engram.interop.keyed_file",
    "engram.interop.plain",
    "engram.interop.markdown",
)
"""The modules that each have a `FORM`, the more particular first; imported when a path is looked at."""

_FOREIGN = UUID("6f1d3c52-6f0c-5b1e-9a57-0f6d0e8f4a11")


class Foreign(NamedTuple):
    """One thing of another store, in our words.

    Its id is a `foreign_id`, its owner is empty, and its status as far as theirs tells: pending when it does not.
    """

    name: str
    """How a person finds it there: "line 12", "observation 7"."""
    record: Traveller
    dropped: tuple[str, ...] = ()
    """The names of their fields that have no place here."""
    ours: tuple[str, ...] = ()
    """The ids in it that are ids of Engram, where it was written by Engram: its own, or the two that it relates."""
    ends: tuple[str, str] = ("", "")
    """What the two ends of a relation are called there."""


class Problem(NamedTuple):
    """Something that could not be read; the rest goes on."""

    name: str
    message: str


BY_NAME = "Name it with --form if it is one of them."
OWN = (
    "Use it as it is: --store {0}. To take in what it holds: engram export FILE --store {0}, and import that file."
)

_OUR_MARK = b"Engr"
"""What the header of a SQLite store of ours has at byte 68, where SQLite lets a program say whose a file is."""

_BEGINS_AS_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*[{\"])")


class Hands(Protocol):
    """How to read an item that a person may have edited.

    The read-only subset of `ports.Hands`, which interop may not import.
    """

    def as_told(self, memory: Memory, status: str, now: datetime) -> Memory:
        """The memory of an item with the status that stands there."""
        ...

    def held(self, memory: Memory, reason: str | None) -> Memory:
        """A memory that waits, held for the reason that its envelope gives; None where it has none."""
        ...


class _AsItStands:
    """No rules: an item means what it says."""

    def as_told(self, memory: Memory, _status: str, _now: datetime) -> Memory:
        return memory

    def held(self, memory: Memory, _reason: str | None) -> Memory:
        return memory


class Source(NamedTuple):
    """What lies at a path, looked at once."""

    path: str
    folder: bool
    head: bytes
    """The first 64 KiB; empty for a folder."""
    names: tuple[str, ...]
    """The entries of a folder, or of a zip: at most a thousand."""

    hands: Hands = _AsItStands()
    """What an item of memory.v1 means, and why it waits: rules, which whoever reads its items brings."""


class Form(NamedTuple):
    """A form that can be told by looking, and read."""

    name: str
    about: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterator[Foreign | Problem]]
    placed: bool = True
    """Whether its records say where they hold; else they hold where they are taken in."""

    ages: bool = False
    """Whether its records say how long they hold and when they were checked; else they age from the import on."""


def foreign_id(store: str, their_id: str) -> str:
    """The id under which a thing of another store is known here: the same whenever it is read again.

    Its own may hold what is no text.
    """
    text = their_id.encode("utf-8", "backslashreplace").decode("utf-8")
    return str(uuid5(_FOREIGN, f"{store}\x1f{text}"))


def look(path: str) -> Source:
    """What lies at a path.

    Raises:
        Invalid: when nothing is there, or it cannot be read.
    """
    if "://" in path:  # the address of a server: a form knows it by that
        return Source(path, folder=False, head=b"", names=())
    try:
        if os.path.isdir(path):
            with os.scandir(path) as entries:
                names = sorted(entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False))
            return Source(path, folder=True, head=b"", names=tuple(names))
        if not os.path.isfile(path):
            what = "is not a file" if os.path.lexists(path) else "is not there"
            raise Invalid(f"{path} {what}.", "Check the path: give a file or a folder of another store.")
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", "Check the path and who may read it.") from None
    return Source(path, folder=False, head=head, names=_zipped(path) if head.startswith(b"PK\x03\x04") else ())


def known_forms() -> dict[str, Form]:
    """Every form by its name, in the order in which they are tried."""
    forms = [import_module(module).FORM for module in FORMS]
    return {form.name: form for form in forms}


def recognise(
    path: str, name: str = "", *, way: str = BY_NAME, own: str = OWN, called: str = ""
) -> tuple[Source, Form]:
    """What lies at a path, and the form it has: by looking, unless the form is named.

    `way` is what to do about one that nobody can tell, `own` about a store of ours, and `called` what a person
    calls it, if not by its path.

    Raises:
        Invalid: when nothing is there, or it is of no form that is known here.
    """
    source, forms = look(path), known_forms()
    listed = f"Known are: {', '.join(forms)}."
    if name and name not in forms:
        raise Invalid(f"There is no form {name!r}.", listed)
    if name:
        return source, forms[name]
    for form in forms.values():
        if form.recognises(source):
            return source, form
    if _is_backup(source):
        raise Invalid(
            f"{called or path} is a backup of a whole store, not a file of memories.",
            f"Put it back in the store's place: engram backup restore {path}.",
        )
    if source.head.startswith(b"SQLite format 3\x00") and source.head[68:72] == _OUR_MARK:
        raise Invalid(f"{called or path} is a store of Engram's own.", own.format(quote(path)))
    if broken := _broken_json(source):
        raise Invalid(f"{called or path} is broken JSON: {broken}.", "Mend it there, or get the file anew.")
    raise Invalid(f"{called or path} is of no form that is known here.", f"{listed} {way}")


def _broken_json(source: Source) -> str:
    """Where a file that begins as JSON is broken, and how; "" for what is none, and for several in a row."""
    if not _BEGINS_AS_JSON.match(source.head):
        return ""
    import json  # noqa: PLC0415 - hardly ever needed

    with open(source.path, "rb") as file:
        raw = file.read(MOST_READ_WHOLE + 1)
    try:
        if len(raw) <= MOST_READ_WHOLE:
            json.loads(raw, strict=False)
    except json.JSONDecodeError as error:
        in_a_row = error.msg == "Extra data" and error.lineno > 1
        return "" if in_a_row else f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError):  # what is no text, or has a number of too many digits
        return ""
    return ""


def _is_backup(source: Source) -> bool:
    from engram.interop.backup_file import MANIFEST, read_manifest  # noqa: PLC0415 - hardly ever one

    try:
        return MANIFEST in source.names and bool(read_manifest(source.path))
    except EngramError:
        return False


def _zipped(path: str) -> tuple[str, ...]:
    from zipfile import BadZipFile, ZipFile  # noqa: PLC0415 - few sources are archives

    try:
        with ZipFile(path) as archive:
            return tuple(archive.namelist()[:MOST_NAMES])
    except (BadZipFile, NotImplementedError, ValueError):  # the second: a compression zipfile does not know
        return ()
