"""Reading a working tree, and never anything outside it: paths are checked before a file is opened."""

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from engram.errors import Invalid
from engram.model.hashing import sha256

if TYPE_CHECKING:
    from hashlib import sha1
else:
    try:
        from _sha1 import sha1  # without loading OpenSSL, as in model.hashing
    except ImportError:  # another Python
        from hashlib import sha1

LARGEST = 8 * 1024 * 1024
"""Bytes of a file that is still looked at."""

SNIFFED = 8000
"""Bytes in which a NUL means that a file is binary: what git goes by."""


class Outside(Exception):
    """A path that leads out of the working tree; it is never opened. `why` is for a person."""

    def __init__(self, why: str, *, elsewhere: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.elsewhere = elsewhere  # it is another repository's, and may well be right there


class Stamp(NamedTuple):
    """What tells without reading that a file is the one that was read before."""

    modified: int
    changed: int
    size: int
    inode: int


class Content(NamedTuple):
    """A file as it was read: its blob hash as git has it with plain line ends, and its text; None when binary."""

    blob: str
    text: str | None


def place(root: str, ref: str) -> str:
    """The real path of a file of this working tree, existing or not.

    Raises:
        Outside: when it is absolute, climbs out, goes through a link that leads out, lies in the git folder, or in
            a repository of its own.
    """
    parts = ref.replace("\\", "/").split("/") if os.sep == "\\" else ref.split("/")
    if os.path.isabs(ref) or "\0" in ref:
        raise Outside(f"{ref} is not a path within the repository")
    if ".." in parts:
        raise Outside(f"{ref} leads out of the repository")
    if any(part.lower() == ".git" for part in parts):
        raise Outside(f"{ref} lies in the folder of git itself")
    real_root = os.path.realpath(root)
    path = os.path.realpath(os.path.join(real_root, *parts))
    below = os.path.relpath(path, real_root)
    if below == os.pardir or below.startswith(os.pardir + os.sep):
        raise Outside(f"{ref} is a link that leads out of the repository")
    if any(part.lower() == ".git" for part in below.split(os.sep)):
        raise Outside(f"{ref} is a link into the folder of git itself")
    above = os.path.dirname(path)
    while len(above) > len(real_root):
        if os.path.lexists(os.path.join(above, ".git")):
            raise Outside(
                f"{ref} belongs to another repository, {os.path.relpath(above, real_root)}", elsewhere=True
            )
        above = os.path.dirname(above)
    return path


def within(root: str, folder: str, said: str) -> str:
    """A path as it is written from the root, of one given from a folder in it, or from the root, or absolute.

    Raises:
        Invalid: when it leads out of the repository.
    """
    real_root = os.path.realpath(root)
    given = os.path.join(os.path.realpath(folder), os.path.expanduser(said))
    first = os.path.normpath(given)
    if not os.path.isabs(said) and not os.path.lexists(first) and os.path.lexists(os.path.join(real_root, said)):
        first = os.path.normpath(os.path.join(real_root, said))
    ref = os.path.relpath(
        os.path.join(os.path.realpath(os.path.dirname(first)), os.path.basename(first)), real_root
    )
    if ref == os.pardir or ref.startswith(os.pardir + os.sep):
        raise Invalid(f"{said} lies outside the repository {real_root}.", "Cite a file of this repository.")
    return ref.replace(os.sep, "/")


def stamp(path: str) -> Stamp | None:
    """What a file looks like from outside; None where there is no plain file."""
    try:
        seen = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return (
        Stamp(seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino) if stat.S_ISREG(seen.st_mode) else None
    )


def read(path: str, *, long: bool = False) -> Content | None:
    """A file's hash and text; None where there is no plain file, or it is too large or not to be read.

    `long` hashes are those of a repository that names its objects by SHA-256.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            seen = os.fstat(file.fileno())
            if not stat.S_ISREG(seen.st_mode) or seen.st_size > LARGEST:
                return None
            data = file.read(LARGEST + 1)
    except (OSError, ValueError):
        return None
    return content(data, long=long) if len(data) <= LARGEST else None


def content(data: bytes, *, long: bool = False) -> Content:
    """Bytes as a Content."""
    if b"\0" in data[:SNIFFED]:
        return Content(blob_of(data, long=long), None)
    plain = data.replace(b"\r\n", b"\n")
    return Content(blob_of(plain, long=long), decoded(plain))


def blob_of(data: bytes, *, long: bool) -> str:
    """The name that git gives these bytes."""
    framed = b"blob %d\0" % len(data) + data
    return sha256(framed).hexdigest() if long else sha1(framed).hexdigest()  # noqa: S324 - git's own name


def decoded(data: bytes) -> str:
    """Bytes as text: UTF-8 where they are, else as Latin-1, which every byte is."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return data.decode("latin-1")
