"""Files that are whole or not there: a draft takes its name when all of it is on the disk; and turns at writing."""

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def whole_file(path: str, mode: int = 0o600, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of another when the block ends; a failure leaves nothing of it.

    Each writer has a draft of its own: of two at once the last one stays, and nobody reads half of either.
    What can be made again need not be `durable`: nobody waits for the disk, and a power cut may leave half of it.
    What is, and the name of it, are on the disk in the end.

    Raises:
        OSError: when it cannot be written.
    """
    draft = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.new"
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
        with os.fdopen(os.open(draft, flags, mode), "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
        if durable:
            with suppress(PermissionError):  # a folder that may be written and not be looked into
                sync_folder(os.path.dirname(path))
    finally:
        with suppress(OSError):
            os.unlink(draft)


def sync_folder(folder: str) -> None:
    """Make the names in a folder last, where its file system can.

    Raises:
        OSError: when the disk fails, or the folder cannot be opened.
    """
    handle = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):  # it cannot, and keeps them by itself
            raise
    finally:
        os.close(handle)


def private_folder(path: str) -> list[str]:
    """Make a folder, and those it lies in as far as they are not there, for the owner's eyes alone.

    Returns those that were not there, the outermost first; another process may have made some of them.

    Raises:
        FileExistsError: when something else has its name.
        OSError: when it cannot be made.
    """
    missing: list[str] = []
    while path and not os.path.isdir(path):
        missing.insert(0, path)
        path = os.path.dirname(path)
    for each in missing:
        try:
            os.mkdir(each, 0o700)
        except FileExistsError:  # by another process, meanwhile
            if not os.path.isdir(each):
                raise
    return missing


@contextmanager
def one_at_a_time(path: str, patience: float) -> Iterator[None]:
    """Hold a lock on a file that is there for nothing else; it ends with this process, however that ends.

    Raises:
        TimeoutError: when another holds it for longer than one has `patience`, in seconds.
        OSError: when the file cannot be had.
    """
    handle = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        until = time.monotonic() + patience
        while not _lock(handle):
            if time.monotonic() >= until:
                raise TimeoutError
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether this process has the lock now."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - Windows alone

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - all others

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


MORE_FILES = "Let it open more (ulimit -n 1024), or end what holds so many."
"""The next step where no more files may be opened."""


def is_out_of_files(error: BaseException | None) -> bool:
    """Whether it comes from the limit on open files, which also keeps modules from being loaded."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        if isinstance(error, ImportError) and os.strerror(errno.EMFILE) in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
