"""Places for the bytes of attachments, and how bytes get there."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

from engram.model.blob import Blob
from engram.ports.machine import Progress

ASSETS = "assets"
"""What the folder of attachments is called in a copy of a store."""


class Stage(Protocol):
    """Bytes on their way in: nobody sees them until they are kept, and what is not kept goes with the stage."""

    def write(self, block: bytes) -> None:
        """Take in some more.

        Raises:
            Unavailable: when there is no room, or the store does not answer.
        """
        ...

    def keep(self, owner: str, sha256: str, at: datetime) -> None:
        """Give what was written its name, whole and durable; the same bytes again only renew the moment.

        Raises:
            Unavailable: when it cannot be kept.
        """
        ...

    def close(self) -> None:
        """Let go of it; what was kept stays."""
        ...


class Blobs(Protocol):
    """Where the bytes of attachments rest, by owner and hash. Bound to one org; decides nothing about who reads.

    What one owner keeps is of no use to another: a hash that somebody knows is no key to the bytes.
    """

    def stage(self, at: datetime) -> Stage:
        """Begin to take in bytes.

        Raises:
            Unavailable: when there is no room for any.
        """
        ...

    def size(self, owner: str, sha256: str) -> int | None:
        """How many bytes there are under this name; None when it is not here."""
        ...

    def read(self, owner: str, sha256: str) -> Iterator[bytes]:
        """The bytes, block by block; that there are any is known when this returns.

        Raises:
            NotFound: when there are none under this name.
        """
        ...

    def held(self, owner: str) -> list[Blob]:
        """All that is here of an owner, what is hidden included."""
        ...

    def hide(self, owner: str, sha256: str) -> None:
        """Take it out of sight, so that it can still be shown again."""
        ...

    def show(self, owner: str, sha256: str) -> None:
        """Bring back what was hidden."""
        ...

    def erase(self, owner: str, sha256: str) -> None:
        """Take away for good what was hidden."""
        ...

    def pass_on(self, owner: str, other: str, sha256: str, at: datetime) -> None:
        """Keep for another owner, too, what this one has, if it has it."""
        ...

    def clear(self, before: datetime) -> None:
        """Take away what was staged before that moment by a process that is no more."""
        ...


class CopiesBytes(Protocol):
    """A place of attachments that can be copied with its store."""

    def copy_to(self, folder: str, progress: Progress) -> None:
        """Copy all that is kept into a folder; what is on its way, or going, stays behind.

        Raises:
            OSError: when it cannot be written.
        """
        ...


class Attaching(NamedTuple):
    """What attachments ask of the world beside the engine, and what of them is let in."""

    blobs: Callable[[], Blobs]
    most_bytes: int
    types: tuple[str, ...]
    days: int  # how long the bytes of what was detached are kept for an undo
