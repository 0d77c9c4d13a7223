"""The derived index: an engine in the cache folder that answers the reads, and may be deleted at any time."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from engram.drafts import private_folder, whole_file
from engram.engines.files.folder import TEXTS, Folder, Print, Stamp
from engram.engines.files.problem import Problem
from engram.errors import Corrupt, EngramError, Invalid
from engram.model.change import Change, Commit, Finding, Witness
from engram.model.hashing import sha256
from engram.ports import Engine


class Index(Engine, Protocol):
    """The engine that serves as index: whoever writes the texts is the witness of its commits."""

    def commit(self, change: Change, witness: Witness | None = None) -> Commit:
        """See `ports.Engine.commit`; a `witness` is told of it before anything is kept."""
        ...


class Shelf:
    """The index of one store, and the mark that says of which state of the texts it was made.

    Where the cache folder cannot be written, the index is made by `scratch` and lives as long as the process.
    """

    def __init__(
        self, cache: str, folder: Folder, *, open_at: Callable[[str], Index], scratch: Callable[[], Index]
    ) -> None:
        # A copied or moved store is another one: it must not meet the index of the first.
        name = sha256(f"{folder.path}\0{os.stat(folder.path).st_ino}".encode()).hexdigest()[:32]
        self.path = os.path.join(cache, f"{name}.db")
        self._mark = os.path.join(cache, f"{name}.mark")
        self._folder, self._open_at, self._scratch = folder, open_at, scratch
        self._lasting = True
        self.seen: Print | None = None
        """The state of the texts that the index is known to be made of."""
        self.problem: Problem | None = None
        """What was wrong with the texts in that state."""
        self.notices: list[Finding] = []
        """What happened on the way and is not told yet."""
        self.index = self._open()
        self._number = self._file_number()

    def is_up_to_date(self) -> bool:
        """Whether the index was made of the texts as they are now, by this process or another."""
        if self._file_number() != self._number:  # it was deleted, or another process put a new one in its place
            self.index, self.seen = self._open(), None
            self._number = self._file_number()
        found = self._folder.fingerprint()
        if found == self.seen:
            return True
        mark = self._read_mark()
        if found[0] is None or mark is None or mark[0] != found or mark[1] != self._number:
            return False
        self.seen, self.problem = found, mark[2]
        return True

    def stamp(self, name: str, stamp: Stamp) -> None:
        """What we wrote ourselves is seen; what somebody writes a moment later is not."""
        seen = list(self.seen or (None,) * len(TEXTS))
        seen[TEXTS.index(name)] = stamp
        self.seen = tuple(seen)

    def mark(self) -> None:
        """Say that the index is up to date with the texts as seen. Only a saving: else they are read again."""
        if not self._lasting or self.seen is None:
            return
        told: dict[str, Any] = {"print": self.seen, "index": self._file_number(), "problem": self.problem}
        with suppress(OSError), whole_file(self._mark, durable=False) as file:
            file.write(json.dumps(told).encode())

    def renew(self) -> None:
        """An empty index in place of the old one, which a thread may still be reading."""
        self.index = self._new()
        self._number = self._file_number()

    def make_do(self) -> None:
        """An empty index that lives as long as the process, where the cache folder can no longer be written."""
        self._lasting = False
        self.renew()

    def _open(self) -> Index:
        """The index as it stands, or an empty one; a damaged one is only replaced under the store's lock."""
        with suppress(OSError, EngramError):
            private_folder(os.path.dirname(self.path))
            try:
                return self._open_at(self.path)
            except (Corrupt, Invalid):
                with self._folder.locked():
                    return self._mended()
        self._lasting = False
        return self._scratch()

    def _mended(self) -> Index:
        try:
            return self._open_at(self.path)  # another process may have been faster
        except (Corrupt, Invalid):
            return self._new()

    def _new(self) -> Index:
        if not self._lasting:
            return self._scratch()
        for path in (self._mark, self.path, f"{self.path}-wal", f"{self.path}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path)
        return self._open_at(self.path)

    def _file_number(self) -> int:
        """Another process may have put a new index in the place of ours: then it is another file."""
        try:
            return os.stat(self.path).st_ino if self._lasting else 0
        except OSError:
            return -1

    def _read_mark(self) -> tuple[Print, int, Problem | None] | None:
        """Which state of the texts which index was made of, and what was wrong with them."""
        try:
            with open(self._mark, encoding="utf-8") as file:
                kept = json.load(file)
            stamps = tuple(tuple(each) if each else None for each in kept["print"])
            return stamps, kept["index"], Problem(*kept["problem"]) if kept["problem"] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
