"""What was recalled on this machine, and how long it took: a private file outside records, history and sync.

It may be cut, lost or deleted at any time: nothing depends on it but counts.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from time import perf_counter

from engram.drafts import private_folder, whole_file

LARGEST = 1024 * 1024
"""Each time the file has grown by so many bytes, single recalls become counts; counts alone may be larger."""

KEPT = 1000
"""Of so many last recalls it is known how long they took."""


class UsageFile:
    """A line for each recall, appended without waiting for the disk; without a path it lives in memory.

    `r` is a recall: seconds since 1970, milliseconds, ids. `u` is what was shown in full: seconds, ids. `c` is a
    count of an id, `m` when something was done, and `s` since when there are counts.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._lines: list[str] = []
        self._known: tuple[tuple[int, int], _Facts] | None = None

    def begin(self) -> Callable[[Sequence[str], datetime], None]:
        """Start the clock; what comes back stops it, and takes down what was recalled."""
        started = perf_counter()

        def done(ids: Sequence[str], at: datetime) -> None:
            took = (perf_counter() - started) * 1000
            self._put(f"r {int(at.timestamp())} {took:.1f} {' '.join(ids)}".rstrip())

        return done

    def note(self, ids: Sequence[str], at: datetime) -> None:
        """Take down that these were shown in full, however long it took."""
        self._put(f"u {int(at.timestamp())} {' '.join(ids)}")

    def mark(self, name: str, at: datetime) -> None:
        """Take down when something was last done, such as a backup."""
        self._put(f"m {name} {int(at.timestamp())}")

    def uses(self) -> Mapping[str, int]:
        """How often each memory was recalled, by id; what never was is absent."""
        return self._facts().uses

    def since(self) -> datetime | None:
        """Since when recalls are counted; None where none was."""
        return self._facts().since

    def took(self) -> Sequence[float]:
        """How many milliseconds the last recalls took, the oldest first."""
        return self._facts().took

    def marks(self) -> Mapping[str, datetime]:
        """When what was marked was last done."""
        return self._facts().marks

    def _put(self, line: str) -> None:
        if not self._path:
            self._lines.append(line)
            return
        with suppress(OSError):  # a count is not worth failing an answer
            file = self._open()
            try:
                added = os.write(file, line.encode() + b"\n")
                size = os.fstat(file).st_size
            finally:
                os.close(file)
            if size // LARGEST > (size - added) // LARGEST:
                self._fold()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError:  # the first time; to look for the folder at each would take longer than the line
            private_folder(os.path.dirname(self._path))
            return os.open(self._path, flags, 0o600)

    def _facts(self) -> "_Facts":
        if not self._path:
            return _Facts(self._lines)
        try:
            facts = os.stat(self._path)
            stamp = (facts.st_mtime_ns, facts.st_size)
            if self._known is None or self._known[0] != stamp:
                self._known = (stamp, _Facts(self._read()))
        except OSError:
            return _Facts([])
        return self._known[1]

    def _read(self) -> list[str]:
        with os.fdopen(
            os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii", errors="replace"
        ) as file:
            return file.read().splitlines()

    def _fold(self) -> None:
        """Write counts in the place of all but the last recalls; one that is noted meanwhile may be lost."""
        lines = self._read()
        recalls = [line for line in lines if line.startswith("r ")]
        early = _Facts([line for line in lines if not line.startswith("r ")] + recalls[:-KEPT])
        kept = [f"c {id} {count}" for id, count in early.uses.items()]
        kept += [f"s {int(early.since.timestamp())}"] if early.since else []
        kept += [f"m {name} {int(at.timestamp())}" for name, at in early.marks.items()]
        with whole_file(self._path) as file:
            file.write("\n".join([*kept, *recalls[-KEPT:], ""]).encode())


class _Facts:
    """What the lines say; one that a crash tore off is passed over."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.uses: dict[str, int] = {}
        self.took: list[float] = []
        self.marks: dict[str, datetime] = {}
        self.since: datetime | None = None
        for line in lines:
            with suppress(ValueError, IndexError, OverflowError, OSError):
                self._take(line.split(" "))

    def _take(self, words: Sequence[str]) -> None:
        if words[0] in ("r", "s", "u"):
            at = datetime.fromtimestamp(int(words[1]), UTC)
            self.since = min(self.since or at, at)
        if words[0] == "r":
            self.took.append(float(words[2]))
        if words[0] in ("r", "u"):
            for id in words[3 if words[0] == "r" else 2 :]:
                self.uses[id] = self.uses.get(id, 0) + 1
        elif words[0] == "c":
            self.uses[words[1]] = self.uses.get(words[1], 0) + int(words[2])
        elif words[0] == "m":
            self.marks[words[1]] = datetime.fromtimestamp(int(words[2]), UTC)
