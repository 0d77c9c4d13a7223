"""Folders whose names last: what was made in them is there after a loss of power too."""

import os
from contextlib import suppress


def make_folder(path: str) -> None:
    """Make a private folder and those it lies in, as far as they are not there.

    Raises:
        FileExistsError: when something else has its name.
        OSError: when it cannot be made.
    """
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        try:
            os.mkdir(each, 0o700)
        except FileExistsError:  # by another process, meanwhile
            if not os.path.isdir(each):
                raise
        with suppress(PermissionError):  # a folder that may be passed and not be looked into
            sync_folder(os.path.dirname(each))


def sync_folder(folder: str) -> None:
    """Make the names in a folder last."""
    handle = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
