"""The file of a backup: a zip of the store's files and a manifest with the hash of each.

It is written beside its name and takes it when it is whole. Reading trusts nothing: only what the manifest names is
unpacked, and only as many bytes as it says.
"""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import IO, TYPE_CHECKING, NamedTuple

from engram.drafts import sync_folder
from engram.errors import Conflict, Corrupt, EngramError, Invalid, Unavailable
from engram.model.hashing import sha256
from engram.model.limits import parse_time, print_time

if TYPE_CHECKING:
    from zipfile import ZipFile

FORMAT = "engram.backup.v1"
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 64 << 20
BLOCK = 1 << 20
_NAME = re.compile(r"(?!.*(?:^|/)\.\.(?:/|$))[^/\\\x00-\x1f][^\\\x00-\x1f]*")

Progress = Callable[[int, int, str], None]


class Packed(NamedTuple):
    """One file of a backup."""

    name: str
    bytes: int
    sha256: str


class Manifest(NamedTuple):
    """What a backup says of itself."""

    created_at: datetime
    version: str
    engine: str
    schema: str
    counts: Mapping[str, int]
    files: tuple[Packed, ...] = ()

    def print(self) -> str:
        """Its JSON."""
        told = {"format": FORMAT, **self._asdict(), "created_at": print_time(self.created_at)}
        return json.dumps({**told, "files": [each._asdict() for each in self.files]}, indent=1, ensure_ascii=False)


def pack(folder: str, target: str, manifest: Manifest, progress: Progress, *, overwrite: bool) -> int:
    """Write what lies in a folder as a backup; returns its size.

    Raises:
        Conflict: when the file is there already, and may not be replaced.
        Unavailable: when it cannot be written. Nothing is left of it then.
    """
    from zipfile import ZIP_DEFLATED, ZipFile  # noqa: PLC0415 - start-up

    draft = f"{target}.{os.getpid()}.new"
    try:
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        with os.fdopen(handle, "w+b") as file:
            with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as archive:
                packed = tuple(_packed(archive, folder, progress))
                archive.writestr(MANIFEST, manifest._replace(files=packed).print())
            file.flush()
            os.fsync(file.fileno())
            size = file.seek(0, os.SEEK_END)
        _name(draft, target, overwrite=overwrite)
        with suppress(PermissionError):  # a folder that may be written and not be looked into
            sync_folder(os.path.dirname(target))
    except OSError as error:
        raise _refused(target, error) from None
    finally:
        with suppress(OSError):
            os.unlink(draft)
    return size


def _name(draft: str, target: str, *, overwrite: bool) -> None:
    """Give a file its name, unless another one has got it meanwhile."""
    if overwrite:
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)
    except FileExistsError:
        raise Conflict(f"{target} is there already.", "Choose another name, or add --overwrite.") from None
    except OSError:  # a file system without hard links
        os.rename(draft, target)


def _packed(archive: "ZipFile", folder: str, progress: Progress) -> Iterator[Packed]:
    names = sorted(
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, inside in os.walk(folder)
        for name in inside
    )
    total = sum(os.path.getsize(os.path.join(folder, name)) for name in names)
    done = 0
    for name in names:
        seal, size = sha256(), 0
        with open(os.path.join(folder, name), "rb") as file, archive.open(name, "w", force_zip64=True) as packed:
            while block := file.read(BLOCK):
                seal.update(block)
                packed.write(block)
                size += len(block)
                progress(done + size, total, "packing")
        done += size
        yield Packed(name, size, seal.hexdigest())


def read_manifest(path: str) -> Manifest:
    """What a backup says of itself.

    Raises:
        Invalid: when there is no such file, or it is no backup.
        Corrupt: when it is damaged, or of a newer form.
    """
    with _opened(path) as archive:
        return _manifest(path, archive)


def _manifest(path: str, archive: "ZipFile") -> Manifest:
    if MANIFEST not in archive.namelist():
        raise Invalid(f"{path} is not a backup.", "Give a file made by `engram backup create`.")
    if archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
        raise Corrupt(f"The manifest of {path} is too large.")
    told = json.loads(archive.read(MANIFEST))
    if told.get("format") != FORMAT:
        raise Corrupt(f"{path} has the form {told.get('format')}; this Engram knows {FORMAT}.", "Upgrade Engram.")
    files = tuple(Packed(str(each["name"]), int(each["bytes"]), str(each["sha256"])) for each in told["files"])
    for each in files:
        if not _NAME.fullmatch(each.name):
            raise Corrupt(f"{path} names a file {each.name!r}, which is none of a store.")
    counts = {str(name): int(count) for name, count in told["counts"].items()}
    made = parse_time("created_at", told["created_at"])
    return Manifest(made, str(told["version"]), str(told["engine"]), str(told["schema"]), counts, files)


def unpack(path: str, folder: str, progress: Progress) -> Manifest:
    """Unpack a backup into a folder, each file checked against its hash.

    Raises:
        Invalid: when there is no such file, or it is no backup.
        Corrupt: when a file is missing or is not what it was.
        Unavailable: when the folder cannot be written.
    """
    with _opened(path) as archive:
        manifest = _manifest(path, archive)
        done, total = 0, sum(each.bytes for each in manifest.files)
        for each in manifest.files:
            target = _within(folder, each.name)
            handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as file, archive.open(each.name) as packed:
                for size in _unpacked(path, each, packed, file):
                    progress(done + size, total, "unpacking")
                file.flush()
                os.fsync(file.fileno())
            done += each.bytes
        for place, _, _ in os.walk(folder):
            sync_folder(place)
        return manifest


def _within(folder: str, name: str) -> str:
    """Where a file goes; each folder above it is made, and private."""
    *above, last = name.split("/")
    for part in above:
        folder = os.path.join(folder, part)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
    return os.path.join(folder, last)


def _unpacked(path: str, each: Packed, packed: IO[bytes], file: IO[bytes]) -> Iterator[int]:
    """Unpack a file, and tell after each block how much of it is done."""
    seal, size = sha256(), 0
    while size <= each.bytes and (block := packed.read(min(BLOCK, each.bytes - size + 1))):
        seal.update(block)
        file.write(block)
        size += len(block)
        yield size
    if size != each.bytes or seal.hexdigest() != each.sha256:
        raise Corrupt(f"{each.name} in {path} is not what it was.", "Use another backup.")


@contextmanager
def _opened(path: str) -> Iterator["ZipFile"]:
    from zipfile import BadZipFile, ZipFile  # noqa: PLC0415 - start-up
    from zlib import error as unpacking  # noqa: PLC0415 - start-up

    try:
        with ZipFile(path) as archive:
            yield archive
    except (FileNotFoundError, IsADirectoryError):
        raise Invalid(f"{path} is not a file.", "Give a file made by `engram backup create`.") from None
    except (
        BadZipFile,
        unpacking,
        EOFError,
        NotImplementedError,  # a compression zipfile does not know
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ) as error:
        if isinstance(error, EngramError):
            raise
        with open(path, "rb") as file:
            begins = file.read(4)
        if begins != b"PK\x03\x04":
            raise Invalid(f"{path} is not a backup.", "Give a file made by `engram backup create`.") from None
        raise Corrupt(f"{path} is damaged: {error}.", "Use another backup.") from None
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: str, error: OSError) -> Unavailable:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "Free some space, or choose another place." if full else "Check the path and who may use it."
    return Unavailable(f"{path} cannot be used: {error.strerror or error}.", hint)


@contextmanager
def staging(path: str) -> Iterator[str]:
    """A private folder beside a path, gone afterwards; what a crash left of earlier ones is taken away first.

    Raises:
        Unavailable: when it cannot be made.
    """
    around, name = os.path.split(os.path.abspath(path))
    folder = os.path.join(around, f".{name}.{os.getpid()}.parts")
    try:
        os.makedirs(around, exist_ok=True, mode=0o700)
        _sweep(around, name)
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise _refused(around, error) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(around: str, name: str) -> None:
    left = re.compile(rf"\.{re.escape(name)}\.(\d+)\.parts|{re.escape(name)}\.(\d+)\.new")
    for each in os.listdir(around):
        found = left.fullmatch(each)
        if found and not _runs(int(found[1] or found[2])):
            whole = os.path.join(around, each)
            if os.path.isdir(whole) and not os.path.islink(whole):
                shutil.rmtree(whole, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(whole)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return pid != os.getpid()
