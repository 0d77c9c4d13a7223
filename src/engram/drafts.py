"""Files that are whole or not there: a draft beside the place takes its name when all of it is on the disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def whole_file(path: str, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of another when the block ends; a failure leaves nothing of it.

    Each writer has a draft of its own: of two at once the last one stays, and nobody reads half of either.

    Raises:
        OSError: when it cannot be written.
    """
    draft = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.new"
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
        with os.fdopen(os.open(draft, flags, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        with suppress(OSError):
            os.unlink(draft)
