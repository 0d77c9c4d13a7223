"""The forms in which memories are given out: what there is to write, what was written, and what had no place.

A writer is a module of WRITERS with a `WRITER`. It makes one text, or the files of a folder, piece by piece.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from importlib import import_module
from typing import NamedTuple

from engram.errors import Invalid
from engram.interop import theirs
from engram.model.memory import Memory
from engram.model.relation import Relation
from engram.model.session import Session

WRITERS = {
    "jsonl": "engram.interop.jsonl",
    "records": "engram.interop.records_file",
    "memory-v1": "engram.interop.memory_v1_folder",
    "observations": "engram.interop.observations_export",
    "observations-0.1.0": "engram.interop.observations_export:OLDER_WRITER",
    "observations-chunks": "engram.interop.observations_chunks",
    "keyed": "engram.interop.keyed_file",
    "obsidian": "engram.interop.obsidian_folder",
}
"""The form → the module that writes it, imported when asked for, and its name there where that is not WRITER."""

COUNTED = ("id", "owner", "revision", "handle", "text", "updated_at", "tier", "apart")
"""Fields of a memory that no form is expected to carry: ours alone, or carried by all."""


PROVENANCE = ("source", "origin", "learned_by", "actor")
"""Fields that a record of another store gets when it is taken in, and that its own form need not say."""


class Stock(NamedTuple):
    """What is to be written, the oldest first; it can be gone through as often as needed."""

    memories: Callable[[], Iterator[Memory]]
    sessions: Callable[[], Iterator[Session]]
    relations: Callable[[], Iterator[Relation]]
    find: Callable[[Sequence[str]], dict[str, Memory]]
    now: datetime
    path: str = ""
    """Where it is written to: its ending may choose between two ways of writing one form."""


class Tally:
    """What was written, and which of our fields had no place: how often each."""

    def __init__(self) -> None:
        self.memories = self.sessions = self.relations = 0
        self.dropped: Counter[str] = Counter()
        self.problems: list[str] = []

    def counted(self, memory: Memory) -> None:
        """Count a memory; a text has no place for the bytes of its attachments, which a backup has."""
        self.memories += 1
        if memory.assets:
            self.dropped["attached files"] += len(memory.assets)

    def took(self, memory: Memory, carried: Collection[str], form: str) -> None:
        """Count a memory, and what it says that a form with these fields does not."""
        self.counted(memory)
        if theirs.of(memory).form == form:
            carried = {*carried, *PROVENANCE}
        for name, default in memory.DEFAULTS.items():
            if name not in (*carried, *COUNTED, "context") and memory.__dict__[name] != default:
                self.dropped[name] += 1
        for name, value in memory.context.__dict__.items():
            if value and name != "theirs" and not {"context", f"context.{name}"} & {*carried}:
                self.dropped[f"context.{name}"] += 1

    def lost(self, *names: str) -> None:
        """Count what has no place, by name."""
        self.dropped.update(names)


class File(NamedTuple):
    """A file of a folder: its path in it, and what it holds in pieces: text, or bytes where it is packed."""

    path: str
    content: Iterable[str | bytes]


class Folder(NamedTuple):
    """The folder that is written to: what a file of it says now, or None where there is none."""

    read: Callable[[str], str | None]
    overwrite: bool


class Writer(NamedTuple):
    """A form that can be written: as `lines`, the pieces of one text, or as the `files` of a folder."""

    name: str
    about: str
    lines: Callable[[Stock, Tally], Iterator[str]] | None = None
    files: Callable[[Stock, Tally, Folder], Iterator[File]] | None = None
    shared: bool = False
    """Whether the folder may hold files of others, which are left as they are."""


def writer(name: str) -> Writer:
    """The writer of a form.

    Raises:
        Invalid: when there is none.
    """
    if name not in WRITERS:
        raise Invalid(f"There is no form {name!r} to export.", f"Use one of: {', '.join(WRITERS)}.")
    module, _, called = WRITERS[name].partition(":")
    made: Writer = getattr(import_module(module), called or "WRITER")
    return made
