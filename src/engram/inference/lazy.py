"""An embedder that is loaded when it is first asked: what it is can be told before."""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from engram.errors import Unavailable
from engram.model.query import Space

PATIENCE = 30.0
"""Seconds after a failure in which the next question is answered by words at once."""


class Loaded(Protocol):
    """What a loaded embedder does; see `ports.Embedder`."""

    def query(self, text: str) -> bytes:
        """The vector of a question."""
        ...

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts."""
        ...


class Lazy:
    """Stands for an embedder from the start of a process, and becomes it on first need."""

    def __init__(
        self,
        space: Space,
        *,
        latin: bool,
        floor: float,
        load: Callable[[], Loaded],
        lean: Callable[[], bytes] = bytes,
    ) -> None:
        self.space, self.latin, self.floor = space, latin, floor
        self._load = load
        self._lean = functools.cache(lean)
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._failed: tuple[float, Unavailable] | None = None

    @property
    def lean(self) -> bytes:
        """See `ports.Embedder.lean`."""
        return self._lean()

    @property
    def ready(self) -> bool:
        """Whether it answers without loading something first."""
        return self._loaded is not None

    def query(self, text: str) -> bytes:
        """See `ports.Embedder.query`. What has just failed is not waited for again at once."""
        if self._failed and time.monotonic() - self._failed[0] < PATIENCE:
            raise self._failed[1]
        try:
            vector = self._embedder().query(text)
        except Unavailable as error:
            self._failed = (time.monotonic(), error)
            raise
        self._failed = None
        return vector

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """See `ports.Embedder.documents`."""
        return self._embedder().documents(texts)

    def _embedder(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded
