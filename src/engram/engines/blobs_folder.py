"""Bytes of attachments in a private folder beside a store: a file each, named by its hash, whole or absent."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import IO

from engram.drafts import MORE_FILES, is_out_of_files, private_folder, sync_folder, whole_file
from engram.errors import Corrupt, NotFound, Unavailable
from engram.model.blob import Blob
from engram.model.hashing import sha256 as seal
from engram.ports import Progress

BLOCK = 256 * 1024
STAGED = "staged"
HIDDEN = ".gone"
HASH = 64


class FolderBlobs:
    """See `ports.Blobs`. The folder is made when something is first attached."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def stage(self, at: datetime) -> "_Stage":
        """See `ports.Blobs.stage`."""
        del at  # the file has its own
        with _in_our_words(self._folder):
            place = self._made(STAGED)
            path = os.path.join(place, f"{os.getpid()}-{os.urandom(8).hex()}")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            return _Stage(self, path, os.fdopen(os.open(path, flags, 0o600), "w+b"))

    def size(self, owner: str, sha256: str) -> int | None:
        """See `ports.Blobs.size`."""
        try:
            found = os.lstat(self.path(owner, sha256))
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def read(self, owner: str, sha256: str) -> Iterator[bytes]:
        """See `ports.Blobs.read`."""
        try:
            handle = os.open(self.path(owner, sha256), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise NotFound("These bytes are not here.", "Attach the file again.") from None
            raise Unavailable(f"The attachment cannot be read: {error.strerror}.", "Check its folder.") from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise NotFound("These bytes are not here.", "Attach the file again.")
        return _blocks(os.fdopen(handle, "rb"))

    def held(self, owner: str) -> list[Blob]:
        """See `ports.Blobs.held`."""
        found = []
        for place, _, names in os.walk(os.path.join(self._folder, _mark(owner))):
            for name in (each for each in names if len(each.removesuffix(HIDDEN)) == HASH):
                with suppress(FileNotFoundError):
                    told = os.lstat(os.path.join(place, name))
                    at = datetime.fromtimestamp(told.st_mtime, UTC)
                    found.append(Blob(name[:HASH], told.st_size, at, name.endswith(HIDDEN)))
        return found

    def hide(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.hide`."""
        path = self.path(owner, sha256)
        with _in_our_words(path), suppress(FileNotFoundError):
            os.rename(path, path + HIDDEN)

    def show(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.show`."""
        path = self.path(owner, sha256)
        with _in_our_words(path), suppress(FileNotFoundError):
            os.rename(path + HIDDEN, path)  # the same bytes, if it is there again

    def erase(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.erase`."""
        path = self.path(owner, sha256)
        with _in_our_words(path), suppress(FileNotFoundError):
            os.unlink(path + HIDDEN)
            sync_folder(os.path.dirname(path))

    def pass_on(self, owner: str, other: str, sha256: str, at: datetime) -> None:
        """See `ports.Blobs.pass_on`."""
        if self.size(owner, sha256) is not None:
            self.link(self.path(owner, sha256), other, sha256, at)

    def clear(self, before: datetime) -> None:
        """See `ports.Blobs.clear`."""
        place = os.path.join(self._folder, STAGED)
        with suppress(FileNotFoundError):
            for name in os.listdir(place):
                path = os.path.join(place, name)
                with suppress(OSError):
                    if os.lstat(path).st_mtime < before.timestamp():
                        os.unlink(path)

    def path(self, owner: str, sha256: str) -> str:
        """Where an owner's bytes lie."""
        return os.path.join(self._folder, _mark(owner), sha256[:2], sha256)

    def link(self, source: str, owner: str, sha256: str, at: datetime, *, over: bool = False) -> None:
        """Give a whole file its name; what has it already is only touched, or with `over` gives way to it.

        Raises:
            Unavailable: when it cannot be done.
        """
        target = self.path(owner, sha256)
        moment = at.timestamp()
        with _in_our_words(target):
            place = self._made(_mark(owner), sha256[:2])
            try:
                os.link(source, target, follow_symlinks=False)
            except FileExistsError:
                if over:
                    _copy(source, target)
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV):
                    raise
                _copy(source, target)  # a file system without a second name for a file
            os.utime(target, (moment, moment), follow_symlinks=False)
            sync_folder(place)

    def copy_to(self, folder: str, progress: Progress) -> None:
        """See `ports.CopiesBytes.copy_to`; the folder is of this form."""
        for done, (mark, sha256, path) in enumerate(list(_kept(self._folder))):
            target = os.path.join(folder, mark, sha256[:2], sha256)
            private_folder(os.path.dirname(target))
            with suppress(FileNotFoundError):  # it was purged meanwhile
                _copy(path, target, durable=False)
            progress(done + 1, done + 1, "attachments")

    def take_in(self, folder: str) -> None:
        """Add what lies in a folder of this form; what is here stays.

        Raises:
            OSError: when it cannot be written.
        """
        for mark, sha256, path in _kept(folder):
            target = os.path.join(self._made(mark, sha256[:2]), sha256)
            if not os.path.lexists(target):
                _copy(path, target)

    def _made(self, *parts: str) -> str:
        """A private folder below ours, made where it is not there yet; no link leads out of it."""
        place = self._folder
        for part in ("", *parts):
            place = os.path.join(place, part) if part else place
            try:
                os.mkdir(place, 0o700)
            except FileExistsError:
                if os.path.islink(place) and part:
                    raise Corrupt(f"{place} is a link, and leads elsewhere.", "Take the link away.") from None
            else:
                sync_folder(os.path.dirname(place))
        return place


class _Stage:
    """See `ports.Stage`."""

    def __init__(self, blobs: FolderBlobs, path: str, file: IO[bytes]) -> None:
        self._blobs, self._path, self._file = blobs, path, file

    def write(self, block: bytes) -> None:
        with _in_our_words(self._path):
            self._file.write(block)

    def keep(self, owner: str, sha256: str, at: datetime) -> None:
        with _in_our_words(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
        self._blobs.link(self._path, owner, sha256, at, over=True)  # what lies there may be damaged

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            os.unlink(self._path)


def _mark(owner: str) -> str:
    """What an owner's folder is called: no name of a provider's reaches the disk."""
    return seal(owner.encode()).hexdigest()[:32]


def _kept(folder: str) -> Iterator[tuple[str, str, str]]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each != STAGED)
        for name in sorted(names):
            mark = os.path.basename(os.path.dirname(place))
            if len(name) == HASH and len(mark) == HASH // 2:
                yield mark, name, os.path.join(place, name)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := _block(file):
            yield block


def _block(file: IO[bytes]) -> bytes:
    try:
        return file.read(BLOCK)
    except OSError as error:
        raise Unavailable(f"The attachment cannot be read: {error.strerror}.", "Check the disk.") from None


def _copy(source: str, target: str, *, durable: bool = True) -> None:
    """A copy that takes its name when it is whole."""
    with open(source, "rb") as whole, whole_file(target, durable=durable) as file:
        while block := whole.read(BLOCK):
            file.write(block)


@contextmanager
def _in_our_words(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "Free some space, then try again." if full else "Check who may write there."
        hint = MORE_FILES if is_out_of_files(error) else hint
        raise Unavailable(f"{path} cannot be written: {error.strerror}.", hint) from None
