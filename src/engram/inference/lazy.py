"""Models that are loaded when they are first asked: what they are can be told before."""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from engram.errors import Unavailable
from engram.inference.ahead import ahead
from engram.model.extraction import Extraction
from engram.model.judgement import Judgement
from engram.model.query import Space

if TYPE_CHECKING:
    from engram.inference.extract import ChatExtractor
    from engram.inference.judge import ChatJudge

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

    def knows(self, word: str) -> bool:
        """Whether this is a word."""
        ...


class LazyEmbedder:
    """Stands for an embedder from the start of a process, and becomes it on first need."""

    def __init__(
        self,
        space: Space,
        *,
        latin: bool,
        floor: float,
        load: Callable[[], Loaded],
        lean: Callable[[], bytes] = bytes,
        local: bool = True,
    ) -> None:
        self.space, self.latin, self.floor, self.local = space, latin, floor, local
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
            raise self._failed[1].with_traceback(None)  # each raise would add to it, and keep what was asked
        try:
            vector = self._embedder().query(text)
        except Unavailable as error:
            self._failed = (time.monotonic(), error)
            raise
        self._failed = None
        return vector

    def begin(self, text: str) -> Callable[[], bytes] | None:
        """See `ports.Embedder.begin`. What is still to be loaded is loaded by whoever asks for the vector."""
        return ahead(functools.partial(self.query, text)) if self.ready else None

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """See `ports.Embedder.documents`."""
        return self._embedder().documents(texts)

    def knows(self, word: str) -> bool:
        """See `ports.Embedder.knows`."""
        return self._loaded is not None and self._loaded.knows(word)

    def _embedder(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


class LazyExtractor:
    """A model behind an address that finds what is worth remembering; loaded when it is first asked.

    `bounds` are those of `Chat`: `timeout` and `most_tokens`.
    """

    def __init__(self, url: str, model: str, key: str, **bounds: int) -> None:
        self._url, self._model, self._key, self._bounds = url, model, key, bounds
        self._loaded: ChatExtractor | None = None

    def cost(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> int:
        """See `ports.Extractor.cost`."""
        return self._extractor().cost(messages, kinds)

    def extract(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> Extraction:
        """See `ports.Extractor.extract`."""
        return self._extractor().extract(messages, kinds)

    def _extractor(self) -> "ChatExtractor":
        if self._loaded is None:
            from engram.inference.extract import ChatExtractor  # noqa: PLC0415 - http and ssl, on first need

            self._loaded = ChatExtractor(self._url, self._model, key=self._key, **self._bounds)
        return self._loaded


class LazyJudge:
    """A model behind an address that judges pairs of memories; loaded when it is first asked.

    `bounds` are those of `Chat`.
    """

    def __init__(self, url: str, model: str, key: str, **bounds: int) -> None:
        self._url, self.name, self._key, self._bounds = url, model, key, bounds
        self._loaded: ChatJudge | None = None

    def cost(self, pairs: Sequence[tuple[str, str]]) -> int:
        """See `ports.Judge.cost`."""
        return self._judge().cost(pairs)

    def judge(self, pairs: Sequence[tuple[str, str]], budget: int) -> Judgement:
        """See `ports.Judge.judge`."""
        return self._judge().judge(pairs, budget)

    def _judge(self) -> "ChatJudge":
        if self._loaded is None:
            from engram.inference.judge import ChatJudge  # noqa: PLC0415 - http and ssl, on first need

            self._loaded = ChatJudge(self._url, self.name, key=self._key, **self._bounds)
        return self._loaded
