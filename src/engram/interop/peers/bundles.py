"""Data exports: the files in a zip, in a folder, or a single one, opened by name and never unpacked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from engram.errors import Invalid
from engram.interop.forms import HEAD, Problem, Source
from engram.interop.streams import Broken, as_text, elements

if TYPE_CHECKING:
    from zipfile import ZipFile

MOST_BYTES = 32 << 30
"""What one file of an archive may hold when it is unpacked."""

MOST_FILES = 10_000
TELLING = (".json", ".html")
FOLDERS = ("projects", "memories")
STEEPEST = 400
"""How many times larger than packed a file may be: text is packed to a tenth, a bomb to a thousandth."""


class Bundle:
    """The files of an export that may say something, by their name within it; those in its folders have their path.

    An export may hold thousands of pictures: they are passed over.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.zipped = not source.folder and source.head.startswith(b"PK\x03\x04")

    def names(self) -> tuple[str, ...]:
        """The names of its files; those in folders with a slash."""
        if not (self.zipped or self._source.folder):
            return (os.path.basename(self._source.path),)
        found = self._zipped() if self.zipped else self._listed(self._source.path)
        return tuple(name for name, _ in zip(found, range(MOST_FILES), strict=False))

    def only(self) -> str:
        """The name of the one file that a form of a single file is in.

        Raises:
            Invalid: when there is none.
        """
        if names := self.names():
            return names[0]
        raise Invalid(f"{self._source.path} holds no file that could be read.", "Give the file itself.")

    def _zipped(self) -> Iterator[str]:
        from zipfile import BadZipFile, ZipFile  # noqa: PLC0415 - start-up

        try:
            with ZipFile(self._source.path) as archive:
                yield from (name for name in archive.namelist() if name.endswith(TELLING))
        except (BadZipFile, OSError, ValueError, NotImplementedError):  # the last: a compression nobody knows
            return

    def _listed(self, folder: str, within: str = "") -> Iterator[str]:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_file(follow_symlinks=False) and entry.name.endswith(TELLING):
                    yield f"{within}{entry.name}"
                elif not within and entry.name in FOLDERS and entry.is_dir(follow_symlinks=False):
                    yield from self._listed(entry.path, f"{entry.name}/")

    def head(self, name: str) -> bytes:
        """The beginning of a file; nothing when it cannot be read."""
        try:
            with self._opened(name) as file:
                return file.read(HEAD)
        except (OSError, ValueError, RuntimeError, NotImplementedError):
            return b""

    def elements(self, name: str) -> Iterator[tuple[str, Any] | Problem]:
        """The elements of a JSON file, one by one, each with the name of the member it is of."""
        try:
            with self._opened(name) as file, as_text(file, self.head(name)) as text:
                for n, (member, value) in enumerate(elements(text), 1):
                    if isinstance(value, Broken):
                        yield Problem(f"{name}, element {n}", value.message)
                    else:
                        yield member, value
        except (OSError, ValueError, RuntimeError, NotImplementedError, EOFError) as error:
            yield Problem(name, f"It cannot be read: {error}.")

    @contextmanager
    def _opened(self, name: str) -> Iterator[BinaryIO]:
        if not self.zipped:
            path = os.path.join(self._source.path, *name.split("/")) if self._source.folder else self._source.path
            with open(path, "rb") as file:
                yield file
            return
        from zipfile import BadZipFile, ZipFile  # noqa: PLC0415 - start-up
        from zlib import error as unpacking  # noqa: PLC0415 - start-up

        try:
            with ZipFile(self._source.path) as archive:
                _require_sound(archive, name)
                with archive.open(name) as file:
                    yield file  # type: ignore[misc] # a reader of bytes
        except (BadZipFile, KeyError, unpacking) as error:
            raise ValueError(str(error)) from None


def _require_sound(archive: "ZipFile", name: str) -> None:
    entry = archive.getinfo(name)
    steep = entry.file_size > STEEPEST * max(entry.compress_size, 1) and entry.file_size > HEAD
    if steep or entry.file_size > MOST_BYTES:
        raise ValueError(f"it would unpack to {entry.file_size:,} bytes")


def base(name: str) -> str:
    """The last part of a name, where an archive has all its files in one folder."""
    return name.rpartition("/")[2]
