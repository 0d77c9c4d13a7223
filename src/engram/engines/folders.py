"""Durable, private folders: what is made in them survives a power loss, and nobody else may read it."""

import os
import stat
from contextlib import suppress
from typing import NamedTuple

from engram.drafts import private_folder, sync_folder


class Loose(NamedTuple):
    """Something others may read or write, and the mode it should have."""

    path: str
    mode: int
    wanted: int

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return f"Others may open {self.path} (mode {self.mode:04o})."

    @property
    def command(self) -> str:
        """What mends it, to be copied into a shell."""
        from shlex import quote  # noqa: PLC0415 - start-up

        return f"chmod {self.wanted:o} {quote(self.path)}"


def loosened(path: str, seen: os.stat_result) -> list[Loose]:
    """The one finding about a file or folder that others may open; none where they may not."""
    mode = stat.S_IMODE(seen.st_mode)
    return [Loose(path, mode, 0o700 if stat.S_ISDIR(seen.st_mode) else 0o600)] if mode & 0o077 else []


def make_folder(path: str) -> None:
    """Make a private folder and those it lies in, as far as they are not there, to last.

    Raises:
        FileExistsError: when something else has its name.
        OSError: when it cannot be made.
    """
    for each in private_folder(path):
        with suppress(PermissionError):  # a folder that may be passed and not be looked into
            sync_folder(os.path.dirname(each))
