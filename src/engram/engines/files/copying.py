"""Copies of a store of plain files: made under its lock, counted, and put in the place of another."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress

from engram.drafts import sync_folder
from engram.engines.files import history
from engram.engines.files.folder import AUDIT, DONE, EVENTS, LOG, QUEUE, REGISTRY, SNAPSHOTS, Folder
from engram.engines.folders import make_folder
from engram.errors import EngramError
from engram.layout import LOCK
from engram.model.codec import RecordType
from engram.ports import Progress

STORE = "store"
"""What the folder of the store is called in a copy."""

OURS = frozenset({REGISTRY, LOG, AUDIT, EVENTS, LOCK, QUEUE, SNAPSHOTS})
COUNTED: Mapping[str, RecordType] = {"memories": "memory", "sessions": "session", "relations": "relation"}


def copy(folder: Folder, into: str, progress: Progress) -> Mapping[str, int]:
    """Copy a store into a folder, as a store that is yet to begin a chain of its own; called under its lock.

    Raises:
        Corrupt: when a file of it is a link, or its schema unknown.
        Unavailable: when it cannot be read, or the copy not be written.
    """
    copied = Folder(os.path.join(into, STORE))
    copied.make()
    names: list[tuple[str, ...]] = [(name,) for name in (REGISTRY, LOG, AUDIT, EVENTS)]
    names += [(place, name) for place in (QUEUE, DONE, SNAPSHOTS) for name in folder.names(place)]
    for n, parts in enumerate(names, 1):
        if not os.path.isdir(folder.at(*parts)) and (content := folder.read(*parts)) is not None:
            copied.write(_parted(content) if parts == (EVENTS,) else content, *parts, durable=False)
        progress(n, len(names), "copying")
    return tally(copied.path)


def _parted(content: bytes) -> bytes:
    """The lines of history, written by this store still, but in no folder there is: the copy goes on by itself."""
    return b"".join(_moved_out(line) for line in content.splitlines(keepends=True))


def _moved_out(line: bytes) -> bytes:
    try:
        told = json.loads(line)
        if "home" not in told["after"]:
            return line
        told["after"]["home"] = "elsewhere"
    except (ValueError, KeyError, TypeError):
        return line
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def tally(path: str) -> dict[str, int]:
    """How many records of each type, and how many events, the history of a store tells of.

    Raises:
        Corrupt: when its schema is unknown.
    """
    journal = history.read_journal(Folder(path).read(EVENTS) or b"")
    state = history.State.told_by(journal.lines)
    found = {name: len(state.documents[type]) for name, type in COUNTED.items()}
    return {**found, "events": len(journal.lines)}


def holds_anything(path: str) -> bool:
    """Whether there is something at a path that a person may miss: anything but an empty store of ours."""
    if not os.path.lexists(path):
        return False
    if not os.path.isdir(path) or set(os.listdir(path)) - OURS:
        return True
    try:
        registry = Folder(path).read(REGISTRY)
        return any(tally(path).values()) or (registry is not None and b"\nitems: []\n" not in registry)
    except EngramError:
        return True


def put(folder: str, path: str, aside: str) -> None:
    """Put the store of a copy at a path; what is there gets the name `aside`, unless that is empty.

    At every moment the old store is whole under one of the two names.

    Raises:
        Unavailable: when another one writes in the old one.
        OSError: when the folder around cannot be written.
    """
    path = os.path.realpath(path)
    make_folder(os.path.dirname(path))
    empty = f"{path}.{os.urandom(4).hex()}.empty"
    if os.path.isdir(path):
        with Folder(path).locked():
            os.rename(path, aside or empty)
            os.rename(os.path.join(folder, STORE), path)
    else:
        if os.path.lexists(path):
            os.rename(path, aside)
        os.rename(os.path.join(folder, STORE), path)
    sync_folder(os.path.dirname(path))
    if not aside:
        _remove(empty)


def _remove(path: str) -> None:
    """Take an empty store away."""
    import shutil  # noqa: PLC0415 - start-up

    with suppress(FileNotFoundError):
        shutil.rmtree(path)
