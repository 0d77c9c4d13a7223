"""Bytes of attachments in this process alone: for tests, and the reference for what a store of bytes does."""

import threading
from collections.abc import Iterator
from datetime import datetime

from engram.errors import NotFound
from engram.model.blob import Blob

BLOCK = 256 * 1024


class RamBlobs:
    """See `ports.Blobs`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], tuple[bytes, Blob]] = {}

    def stage(self, at: datetime) -> "_Stage":
        """See `ports.Blobs.stage`."""
        del at
        return _Stage(self)

    def size(self, owner: str, sha256: str) -> int | None:
        """See `ports.Blobs.size`."""
        with self._lock:
            kept = self._kept.get((owner, sha256))
        return None if kept is None or kept[1].hidden else kept[1].size

    def read(self, owner: str, sha256: str) -> Iterator[bytes]:
        """See `ports.Blobs.read`."""
        with self._lock:
            kept = self._kept.get((owner, sha256))
        if kept is None or kept[1].hidden:
            raise NotFound("These bytes are not here.", "Attach the file again.")
        return iter([kept[0][at : at + BLOCK] for at in range(0, len(kept[0]), BLOCK)])

    def held(self, owner: str) -> list[Blob]:
        """See `ports.Blobs.held`."""
        with self._lock:
            return [blob for (whose, _), (_, blob) in self._kept.items() if whose == owner]

    def hide(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.hide`."""
        self._mark(owner, sha256, hidden=True)

    def show(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.show`."""
        self._mark(owner, sha256, hidden=False)

    def erase(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.erase`."""
        with self._lock:
            kept = self._kept.get((owner, sha256))
            if kept and kept[1].hidden:
                del self._kept[owner, sha256]

    def pass_on(self, owner: str, other: str, sha256: str, at: datetime) -> None:
        """See `ports.Blobs.pass_on`."""
        with self._lock:
            kept = self._kept.get((owner, sha256))
        if kept is not None:
            self.keep(other, sha256, kept[0], at)

    def clear(self, before: datetime) -> None:
        """See `ports.Blobs.clear`: what was staged went with the process."""

    def keep(self, owner: str, sha256: str, content: bytes, at: datetime) -> None:
        """What a stage hands over."""
        with self._lock:
            self._kept[owner, sha256] = (content, Blob(sha256, len(content), at))

    def _mark(self, owner: str, sha256: str, *, hidden: bool) -> None:
        with self._lock:
            if kept := self._kept.get((owner, sha256)):
                self._kept[owner, sha256] = (kept[0], kept[1]._replace(hidden=hidden))


class _Stage:
    """See `ports.Stage`."""

    def __init__(self, blobs: RamBlobs) -> None:
        self._blobs, self._blocks = blobs, list[bytes]()

    def write(self, block: bytes) -> None:
        self._blocks.append(bytes(block))

    def keep(self, owner: str, sha256: str, at: datetime) -> None:
        self._blobs.keep(owner, sha256, b"".join(self._blocks), at)

    def close(self) -> None:
        self._blocks.clear()
