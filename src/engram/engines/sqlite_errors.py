"""What SQLite raises, in our words: a table, read once at the edge."""

import os
from json import JSONDecodeError
from typing import NamedTuple

import apsw

from engram.drafts import MORE_FILES, is_out_of_files
from engram.engines.holders import held_by
from engram.errors import Corrupt, EngramError, Invalid, Unavailable
from engram.model.change import LEFT

StrPath = str | os.PathLike[str]

LONGEST_PATH = 440
"""Bytes of a path that SQLite surely opens: it takes 511, and what it makes beside the store is called longer."""

LEAST_ROOM = 64 * 1024
"""Bytes that a store needs beside it while it is open."""

AGAIN = "Try again; nothing was written."


class _Mapping(NamedTuple):
    """Some errors, which one of ours they are, and what is said of them, with `{path}` and `{error}` filled in."""

    errors: tuple[type[BaseException], ...]
    ours: type[EngramError]
    message: str
    hint: str


_MAPPINGS = (
    _Mapping((UnicodeEncodeError,), Invalid, "That is not Unicode text.", "Give it in UTF-8."),
    _Mapping(
        (apsw.SQLError,),
        Corrupt,
        "The store {path} lacks a part it should have: {error}.",
        "Run `engram doctor --fix`; restore a backup or an export if that does not help.",
    ),
    _Mapping(
        (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError, JSONDecodeError),
        Corrupt,
        "The store {path} is damaged: {error}. It was left untouched.",
        f"Copy it away. {LEFT}",
    ),
    _Mapping(
        (apsw.BusyError, apsw.LockedError), Unavailable, "The store {path} is locked by another process.", AGAIN
    ),
    _Mapping(
        (apsw.ConnectionClosedError, apsw.ThreadingViolationError),
        Unavailable,
        "The store {path} was closed while it was used.",
        AGAIN,
    ),
    _Mapping(
        (apsw.FullError,),
        Unavailable,
        "The disk of {path} is full. Nothing was written.",
        "Free some space and try again.",
    ),
    _Mapping(
        (apsw.ReadOnlyError,),
        Unavailable,
        "The store {path} can only be read here. Nothing was written.",
        "Reading goes on. To write, check the permissions of the file and its folder.",
    ),
    _Mapping(
        (apsw.PermissionsError, apsw.CantOpenError, apsw.AuthError),
        Unavailable,
        "The store {path} cannot be written: {error}.",
        "Check the permissions of the file and its folder.",
    ),
    _Mapping(
        (apsw.IOError,),
        Unavailable,
        "The disk failed while using {path}: {error}. Nothing was written.",
        "Check the disk and its free space, then run `engram doctor`.",
    ),
)


_OF_DAMAGE = ("no such", "unrecognized option", "vtable constructor failed", "parse error in")
"""Words of errors in statements that only a damaged schema brings about."""


class mapped:  # noqa: N801 - used like a function; a class because it is on the path of every read and save
    """Give what SQLite raises the name of one of our errors, once, at the edge.

    Raises:
        Corrupt: for a damaged file or one that is no database.
        Unavailable: for a store that is locked, full, read-only or out of reach.
    """

    def __init__(self, path: StrPath) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None and (named := _named(error, self._path)):
            raise named from error


def _named(error: BaseException, path: StrPath) -> EngramError | None:
    """One of our errors for one of SQLite's; None for whatever is no concern of the store."""
    told = next((each for each in _MAPPINGS if isinstance(error, each.errors)), None)
    if told is None or (isinstance(error, apsw.SQLError) and not any(word in str(error) for word in _OF_DAMAGE)):
        return None  # a bug of ours, not damage
    message, hint = told.message.format(path=path, error=error), told.hint
    if isinstance(error, apsw.CantOpenError) and len(os.fsencode(path)) > LONGEST_PATH:
        hint = "SQLite opens no path of more than 511 bytes: choose a shorter one with ENGRAM_STORE."
    if isinstance(error, apsw.CantOpenError | apsw.IOError) and (limit := _limit_met()):
        message, hint = f"The store {path} cannot be used: {limit}. Nothing was written.", MORE_FILES
    elif isinstance(error, _NO_ROOM) and is_full(path):
        message, hint = f"The disk of {path} is full. Nothing was written.", "Free some space and try again."
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        message += held_by(path)
    if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC:
        # A sync that failed says nothing about the bytes: whoever opens the store next may find them whole.
        message = message.replace("Nothing was written.", "What was being written may be there after all, or not.")
    return told.ours(message, hint)


_NO_ROOM = (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError)
"""What SQLite says where it cannot make what it needs beside a file."""


def is_full(path: StrPath) -> bool:
    """Whether there is no room beside a store: no bytes, or no more files."""
    try:
        room = os.statvfs(os.path.dirname(os.path.realpath(path)))
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < LEAST_ROOM or (room.f_files > 0 and room.f_favail == 0)


def _limit_met() -> str:
    """What the system says where this process may open no more files, which SQLite does not tell; else ""."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return os.strerror(error.errno or 0) if is_out_of_files(error) else ""
    return ""
