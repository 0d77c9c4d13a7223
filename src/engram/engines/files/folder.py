"""The folder of a store: who may read it, how its files are read and written whole, and its one lock."""

import errno
import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from engram.drafts import MORE_FILES, is_out_of_files, sync_folder
from engram.engines.folders import Loose, loosened, make_folder
from engram.engines.holders import held_by
from engram.errors import Corrupt, Invalid, Unavailable
from engram.layout import DRAFT, LOCK, PLAIN_FILES, is_vacant
from engram.model.change import MOVED_AWAY

REGISTRY, LOG, EVENTS, AUDIT = PLAIN_FILES
QUEUE, DONE, SNAPSHOTS = "queue", os.path.join("queue", "_done"), ".bak"
TEXTS = (REGISTRY, LOG, EVENTS)
"""What the index is made of: when none of these moved, it is up to date."""

PATIENCE = 30.0
"""Seconds to wait for another process that writes."""

Stamp = tuple[int, int, int]
"""File number, size and time: by these a change of a file is seen."""

Print = tuple[Stamp | None, ...]
"""The stamp of each of TEXTS; None where there is none."""


class Folder:
    """One store's folder. Nothing is read or written through a symbolic link in it."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._guard = threading.RLock()
        self._depth = 0
        self._lock = -1

    def make(self) -> None:
        """Make sure there is a folder. One of ours that nobody uses yet becomes private.

        Raises:
            Invalid: when something else has its name.
            Unavailable: when it cannot be made.
        """
        try:
            make_folder(self.path)
            if is_vacant(self.names("")):
                self._become_private()
        except FileExistsError:
            raise Invalid(f"{self.path} is not a folder.", "Give the path of a folder: files:PATH.") from None
        except OSError as error:
            raise Unavailable(f"A store cannot be made at {self.path}: {error.strerror}.") from None

    def _become_private(self) -> None:
        """Close an empty folder that others may only look into; one that anybody may write to stays as it is."""
        mode = stat.S_IMODE(os.stat(self.path).st_mode)
        if mode & 0o077 and not mode & (stat.S_IWOTH | stat.S_ISVTX):
            with suppress(PermissionError):  # somebody else's: it is refused for its mode
                os.chmod(self.path, 0o700)

    def at(self, *names: str) -> str:
        """The path of something in it."""
        return os.path.join(self.path, *names)

    # who may read it

    def loose(self) -> list[Loose]:
        """What others may read or write: the folder's own mode first, then every folder and file of ours in it."""
        return [each for path, seen in self._seen() for each in loosened(path, seen)]

    def is_anothers(self) -> bool:
        """Whether it holds other things, and nothing of a store."""
        names = self.names("")
        return not is_vacant(names) and not {*PLAIN_FILES, QUEUE, SNAPSHOTS} & set(names)

    def links(self) -> list[str]:
        """Names of ours that are symbolic links."""
        return [name for name in (*TEXTS, AUDIT, LOCK, QUEUE, DONE, SNAPSHOTS) if os.path.islink(self.at(name))]

    def _seen(self) -> Iterator[tuple[str, os.stat_result]]:
        """Everything of ours and its mode. Links are left out: one that would be followed is refused by name."""
        for path in (self.path, *map(self.at, (*TEXTS, AUDIT, LOCK, QUEUE, DONE, SNAPSHOTS))):
            with suppress(FileNotFoundError):
                seen = os.lstat(path)
                if not stat.S_ISLNK(seen.st_mode):
                    yield path, seen
        for name in (QUEUE, DONE, SNAPSHOTS):
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.at(name)) as found:
                for each in sorted(found, key=lambda one: one.name):
                    with suppress(FileNotFoundError):  # decided about meanwhile
                        if each.is_file(follow_symlinks=False):
                            yield each.path, each.stat(follow_symlinks=False)

    # reading and writing

    def fingerprint(self) -> Print:
        """By what a change of the texts is seen."""
        return tuple(self.stamp(name) for name in TEXTS)

    def stamp(self, name: str) -> Stamp | None:
        """By what a change of one file is seen; None where there is none."""
        try:
            return _stamp(os.lstat(f"{self.path}/{name}"))
        except OSError:
            return None

    def read(self, *names: str) -> bytes | None:
        """The content of a file, or None where there is none.

        Raises:
            Corrupt: when it is a symbolic link.
            Unavailable: when it cannot be read.
        """
        try:
            handle = os.open(self.at(*names), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused(self.at(*names), error) from None

    def names(self, folder: str) -> list[str]:
        """What lies in one of its folders, sorted."""
        try:
            return sorted(os.listdir(self.at(folder)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def write(self, content: bytes, *names: str, durable: bool = True) -> Stamp:
        """Put a file in place whole: nobody ever sees half of it, and a crash leaves the old or the new one.

        Raises:
            Unavailable: when it cannot be kept. The old one stays.
        """
        path = self.at(*names)
        folder, name = os.path.split(path)
        if folder != self.path:
            self._own_folder(folder)
        draft = os.path.join(folder, f".{name}.{os.getpid()}.{threading.get_ident()}{DRAFT}")
        try:
            handle = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                stamp = _stamp(os.fstat(file.fileno()))
            os.replace(draft, path)
            if durable:
                sync_folder(folder)
        except OSError as error:
            with suppress(OSError):
                os.unlink(draft)
            raise self._refused(path, error) from None
        return stamp

    def append(self, content: bytes, name: str, *, durable: bool = True) -> Stamp:
        """Add lines to the end of a file; a last line that was not ended is ended if whole, and taken away if torn.

        Raises:
            Unavailable: when it cannot be kept. The file is as before.
        """
        path, size = self.at(name), 0
        new = not os.path.lexists(path)
        try:
            handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "r+b", buffering=0) as file:
                size, tail = _last_line(file.fileno())
                if ended := whole_lines(tail):  # an editor took its end away
                    size, content = size + len(tail), ended[len(tail) :] + content
                file.truncate(size)
                try:
                    file.seek(size)
                    _write_all(file.fileno(), content)
                    if durable:
                        os.fsync(file.fileno())
                except OSError:
                    file.truncate(size)
                    raise
                stamp = _stamp(os.fstat(file.fileno()))
            if new and durable:
                sync_folder(self.path)
        except OSError as error:
            raise self._refused(path, error) from None
        return stamp

    def cut(self, size: int, name: str) -> None:
        """Take away what stands behind so many bytes of a file.

        Raises:
            Unavailable: when it cannot be.
        """
        try:
            handle = os.open(self.at(name), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "r+b", buffering=0) as file:
                file.truncate(size)
                with suppress(OSError):  # it is away, even where a loss of power may bring it back
                    os.fsync(file.fileno())
        except OSError as error:
            raise self._refused(self.at(name), error) from None

    def remove(self, *names: str) -> None:
        """Take a file away, if it is there.

        Raises:
            Unavailable: when it cannot be.
        """
        try:
            os.unlink(self.at(*names))
        except (FileNotFoundError, IsADirectoryError):
            return
        except OSError as error:
            raise self._refused(self.at(*names), error) from None

    def put_aside(self, *names: str) -> str:
        """Move a file among the snapshots, under a name that nothing there has; answers with that name.

        Raises:
            Unavailable: when it cannot be moved.
        """
        self._own_folder(self.at(SNAPSHOTS))
        stem, ending = os.path.splitext(names[-1])
        name, n = names[-1], 1
        while os.path.lexists(self.at(SNAPSHOTS, name)):
            n += 1
            name = f"{stem} ({n}){ending}"
        try:
            os.chmod(self.at(*names), 0o600)
            os.replace(self.at(*names), self.at(SNAPSHOTS, name))
        except OSError as error:
            raise self._refused(self.at(*names), error) from None
        return name

    def sweep(self) -> None:
        """Take away what a crash left before it got its name; under the lock, nothing else can be."""
        for place in ("", QUEUE, DONE, SNAPSHOTS):
            for name in self.names(place):
                if name.startswith(".") and name.endswith(DRAFT):
                    self.remove(place, name)

    def keep_aside(self, name: str, *where: str) -> None:
        """A second name for a file as it is now: it is replaced whole, so the old content stays under that name.

        Whoever else may open the file (a person or git wrote it) may not open what is kept of it.
        """
        self._own_folder(self.at(*where[:-1]))
        target = self.at(*where)
        try:
            os.link(self.at(name), target, follow_symlinks=False)
        except (FileExistsError, FileNotFoundError):
            return
        except OSError:  # a file system without second names
            self.write(self.read(name) or b"", *where, durable=False)
        with suppress(OSError):
            os.chmod(target, 0o600)

    def _own_folder(self, folder: str) -> None:
        if os.path.islink(folder):
            raise Corrupt(f"{folder} is a symbolic link.", "Replace it by a folder of its own.")
        try:
            make_folder(folder)
        except OSError as error:
            raise self._refused(folder, error) from None

    def _refused(self, path: str, error: OSError) -> Corrupt | Unavailable:
        if os.path.islink(path):
            return Corrupt(f"{path} is a symbolic link.", "Replace it by the file itself.")
        if isinstance(error, FileNotFoundError) and not os.path.isdir(self.path):
            return self._gone()
        if isinstance(error, IsADirectoryError):
            return Corrupt(f"{path} is a folder.", "Move it away: a file belongs there.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) and not os.access(self.path, os.W_OK):
            return Unavailable(
                f"The store {self.path} can only be read here. Nothing was written.",
                "Reading goes on. To write, check the permissions of the folder.",
            )
        return Unavailable(
            f"{path} cannot be used: {error.strerror}. Nothing was written.",
            MORE_FILES
            if is_out_of_files(error)
            else "Check the disk's free space and the permissions of the folder.",
        )

    def _gone(self) -> Unavailable:
        return Unavailable(
            f"The store {self.path} is not there any more. Nothing was written.",
            MOVED_AWAY,
        )

    def require_there(self) -> None:
        """Refuse to answer for a folder that was moved or deleted.

        Raises:
            Unavailable: when it was.
        """
        if not os.path.isdir(self.path):
            raise self._gone()

    def require_writable(self) -> None:
        """Refuse to write where only some of the files could be.

        Raises:
            Unavailable: when nothing can be put into the folder.
        """
        self.require_there()
        if not os.access(self.path, os.W_OK):
            raise self._refused(self.path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    # the lock

    @contextmanager
    def locked(self, patience: float = PATIENCE) -> Iterator[None]:
        """Be the only one who writes: no other thread, and no other process.

        In a folder that can only be read nobody writes by this, and nobody else does meanwhile.

        Raises:
            Unavailable: when another one holds the store for too long.
        """
        if not self._guard.acquire(timeout=patience):
            raise _busy(self.path)
        try:
            if self._depth == 0:
                self._lock = self._take(patience)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    os.close(self._lock)
        finally:
            self._guard.release()

    def _take(self, patience: float) -> int:
        until = time.monotonic() + patience
        while True:
            handle, kept = self._lock_file(), False
            try:
                _wait_for(handle, until)
                kept = self._is_in_place(handle)  # a restore may have put another folder in its place meanwhile
            except BlockingIOError:
                raise _busy(self.path) from None
            except OSError as error:
                raise self._refused(self.at(LOCK), error) from None
            finally:
                if not kept:
                    os.close(handle)
            if kept:
                return handle

    def _is_in_place(self, handle: int) -> bool:
        """Whether a lock is still that of the folder which has our name."""
        mine = os.fstat(handle)
        for path in (self.at(LOCK), self.path):
            with suppress(FileNotFoundError):
                if os.path.samestat(mine, os.lstat(path)):
                    return True
        return False

    def _lock_file(self) -> int:
        flags = os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            try:
                return os.open(self.at(LOCK), os.O_CREAT | os.O_RDWR | flags, 0o600)
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                    raise
            try:
                return os.open(self.at(LOCK), os.O_RDONLY | flags)
            except FileNotFoundError:  # nobody ever wrote here
                return os.open(self.path, os.O_RDONLY | flags)
        except OSError as error:
            raise self._refused(self.at(LOCK), error) from None


def _wait_for(handle: int, until: float) -> None:
    """Take a lock.

    Raises:
        BlockingIOError: when another one holds it for too long.
        OSError: when there are no locks here.
    """
    import fcntl  # noqa: PLC0415 - start-up: a read of a store that did not move takes no lock

    pause = 0.0005
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def _stamp(told: os.stat_result) -> Stamp:
    return told.st_ino, told.st_size, told.st_mtime_ns


def _busy(path: str) -> Unavailable:
    told = f"The store {path} is locked by another process.{held_by(os.path.join(path, LOCK))}"
    return Unavailable(told, "Try again; nothing was written.")


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def _last_line(handle: int) -> tuple[int, bytes]:
    """Where a last line that was never ended begins, and what there is of it."""
    at, tail = os.fstat(handle).st_size, b""
    while at > 0:
        start = max(0, at - 4096)
        tail = os.pread(handle, at - start, start) + tail
        found = tail.rfind(b"\n")
        if found >= 0:
            return start + found + 1, tail[found + 1 :]
        at = start
    return 0, tail


def whole_lines(content: bytes) -> bytes:
    """Lines of JSON, each ended: a last one that was not is ended where it is a whole object, and else left out."""
    end = content.rfind(b"\n") + 1
    try:
        whole = isinstance(json.loads(content[end:]), dict)
    except (ValueError, RecursionError):
        whole = False
    return content + b"\n" if whole else content[:end]
