"""What `engram setup` wrote and what was there before: backups, a manifest, and writes that are never half done."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from errno import EACCES
from typing import Any, NamedTuple

from engram.drafts import one_at_a_time
from engram.errors import Conflict, Corrupt, Invalid, Unavailable

MANIFEST = "manifest.json"
LARGEST = 64 * 1024 * 1024

LONGEST_WAIT = 10.0
"""Seconds to wait for another set-up that writes: none waits for a person while it holds the journal."""


class Record(NamedTuple):
    """A file that was written: for whom, the SHA-256 of its bytes before (None: it was not there) and after."""

    agents: tuple[str, ...]
    before: str | None
    after: str


class Journal:
    """The manifest and the backups in a private folder. Backups are named by their digest, so one is never changed.

    Several set-ups may run at once. What is noted is put beside what the others have noted since, and a backup goes
    only with the record it belongs to.

    Raises:
        Corrupt: when the manifest cannot be read.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._held = False
        self.records: dict[str, Record] = {}
        self._made: list[str] = []
        self._read()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other set-ups out, with the records as they are now.

        Raises:
            Unavailable: when another one does not let go.
        """
        if self._held:
            yield
            return
        _make_folders(os.path.dirname(self._folder))
        with _locked(f"{self._folder}.lock"):
            self._read()
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def kept(self, before: bytes | None, agents: tuple[str, ...], after: str) -> Record:
        """A record of a file, with the bytes it had in the backup."""
        if before is None:
            return Record(agents, None, after)
        name = digest(before)
        if not os.path.exists(self._backup(name)):
            write_plain(self._backup(name), before, 0o600)
        return Record(agents, name, after)

    def backup(self, record: Record) -> bytes | None:
        """The bytes a file had before; None if it was not there.

        Raises:
            Corrupt: when the backup is gone or was changed.
        """
        if record.before is None:
            return None
        data = read_plain(self._backup(record.before))
        if data is None or digest(data) != record.before:
            raise Corrupt("The backup of it is gone or was changed.", "Take out our parts by hand.")
        return data

    def keep(self, records: Mapping[str, Record | None], made: Sequence[str] = ()) -> None:
        """Note records, and the folders made for them; forget those that are None, and what nobody needs then."""
        if not made and all(self.records.get(path) == record for path, record in records.items()):
            return
        with self.held():
            gone = {old.before for path in records if (old := self.records.get(path))}
            after = {**self.records, **records}
            self.records = {path: record for path, record in after.items() if record is not None}
            self._made += [folder for folder in made if folder not in self._made]
            self._clear_folders()
            self._write()
            for name in gone - {record.before for record in self.records.values()} - {None}:
                with suppress(FileNotFoundError):
                    os.unlink(self._backup(str(name)))
            if not self.records:
                os.unlink(os.path.join(self._folder, MANIFEST))
                _remove_folder(self._folder)

    def _clear_folders(self) -> None:
        """Remove the folders that were made for files which are gone, unless others use them."""
        for folder in sorted(self._made, key=len, reverse=True):
            if any(path.startswith(folder + os.sep) for path in self.records):
                continue
            self._made.remove(folder)
            _remove_folder(folder)

    def _write(self) -> None:
        import json  # noqa: PLC0415 - set-up alone

        rows = {path: record._asdict() for path, record in self.records.items()}
        text = json.dumps({"version": 1, "files": rows, "folders": self._made}, indent=2, ensure_ascii=False)
        write_plain(os.path.join(self._folder, MANIFEST), text.encode() + b"\n", 0o600)

    def _backup(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.bak")

    def _read(self) -> None:
        path = os.path.join(self._folder, MANIFEST)
        if (data := read_plain(path)) is None:
            self.records, self._made = {}, []
            return
        import json  # noqa: PLC0415 - set-up alone

        try:
            told = json.loads(data)
            self.records = {path: _record(row) for path, row in told["files"].items()}
            self._made = [str(folder) for folder in told["folders"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Corrupt(f"{path} cannot be understood.", "Move it away; what is set up stays as it is.") from None


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes."""
    from hashlib import sha256  # noqa: PLC0415 - set-up alone

    return sha256(data).hexdigest()


def read_plain(path: str, below: str = "") -> bytes | None:
    """The bytes of a plain file; None if there is none.

    Raises:
        Conflict: when it, or a folder on the way to it below `below`, is a link, or when it is no file.
        Unavailable: when it cannot be read or may not be written.
        Invalid: when it is too large to be settings.
    """
    if link := _link(path, below):
        raise Conflict(
            f"{link} is a symbolic link.", "Set it up by hand where the link leads, or replace the link."
        )
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise Conflict("It is not a plain file.", "Move it away, and try again.")
        if not found.st_mode & stat.S_IRUSR:  # root could, and should not
            raise PermissionError(EACCES, "its mode forbids it")
        if found.st_size > LARGEST:
            raise Invalid(f"It has more than {LARGEST:,} bytes.")
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"It cannot be read: {error.strerror}.", "Look at its owner and mode.") from None
    if not os.access(path, os.W_OK) or not found.st_mode & stat.S_IWUSR:
        raise Unavailable("It is read-only.", "Allow yourself to write it, and try again.")
    return data


def write_plain(path: str, data: bytes, mode: int) -> list[str]:
    """Write a file whole or not at all: beside, to the disk, then in its place; returns the folders it made.

    A file that is there keeps its mode.

    Raises:
        OSError: when that is not possible; nothing was changed then.
    """
    made = _make_folders(os.path.dirname(path))
    if os.path.exists(path):
        mode = stat.S_IMODE(os.lstat(path).st_mode)
    beside = f"{path}.engram-{os.getpid()}-{os.urandom(4).hex()}"  # a killed process may have had this number
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.chmod(beside, mode)
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError:
        if os.path.lexists(beside):
            os.unlink(beside)
        raise
    _settle(os.path.dirname(path))
    return made


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold the lock of a journal.

    Raises:
        Unavailable: when another process holds it for long.
    """
    with ExitStack() as held:
        try:
            held.enter_context(one_at_a_time(path, LONGEST_WAIT))
        except TimeoutError:
            raise Unavailable("Another engram setup is writing.", "Wait for it, and run this again.") from None
        yield


def _make_folders(folder: str) -> list[str]:
    """Make a folder and what is missing above it, private; returns those that were made, the outermost first."""
    if os.path.isdir(folder):
        return []
    made = _make_folders(os.path.dirname(folder))
    os.mkdir(folder, 0o700)
    return [*made, folder]


def _remove_folder(folder: str) -> None:
    """Remove a folder, unless somebody else has something in it."""
    with suppress(OSError):
        os.rmdir(folder)


def _settle(folder: str) -> None:
    """Let the new name of a file reach the disk too."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _link(path: str, below: str) -> str:
    """The first link on the way from a folder down to a file, the file included; "" if there is none."""
    found = path if os.path.islink(path) else ""
    place = os.path.dirname(path)
    while below and place.startswith(below + os.sep):
        found = place if os.path.islink(place) else found
        place = os.path.dirname(place)
    return found


def _record(row: dict[str, Any]) -> Record:
    return Record(
        tuple(map(str, row["agents"])),
        None if row["before"] is None else str(row["before"]),
        str(row["after"]),
    )
