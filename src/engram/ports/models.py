"""Models as the core asks them: for vectors, for what is worth remembering, and for how two memories compare."""

from collections.abc import Callable, Sequence
from typing import Protocol

from engram.model.extraction import Extraction
from engram.model.judgement import Judgement
from engram.model.query import Space


class Embedder(Protocol):
    """What turns text into vectors. Any string is a valid text; the same one gives the same vector.

    Raises Unavailable, with the next step, when the model or the endpoint cannot be used: never a vector of
    another length, never a silent stand-in.
    """

    space: Space
    latin: bool
    """Whether the model only understands Latin script, so that its scores mean nothing for other scripts."""

    floor: float
    """The cosine at which two texts have nothing in common."""

    local: bool
    """Whether it runs on this machine, so that an answer takes milliseconds once it is loaded."""

    @property
    def lean(self) -> bytes:
        """How far off questions lie from texts: a vector to take away before codes are compared, or nothing."""
        ...

    @property
    def ready(self) -> bool:
        """Whether it answers without loading something first."""
        ...

    def query(self, text: str) -> bytes:
        """The vector of a question: little-endian float32, of unit length."""
        ...

    def begin(self, text: str) -> Callable[[], bytes] | None:
        """Begin the vector of a question beside its asker; what is returned waits for it, and raises as `query`.

        None where nothing was begun, since the asker can do no better than to call `query`.
        """
        ...

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts that may answer one, in order."""
        ...

    def knows(self, word: str) -> bool:
        """Whether it learned this as a word, so that it is none that was mistyped. Nothing is loaded to tell."""
        ...


class Extractor(Protocol):
    """A model that finds what is worth remembering. It never raises, and is given texts without secrets."""

    def cost(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> int:
        """The most tokens that asking would take, by estimate; nothing is sent."""
        ...

    def extract(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> Extraction:
        """Ask about messages, each a role and what it said."""
        ...


class Judge(Protocol):
    """A model that says how two memories bear on one another. It never raises."""

    @property
    def name(self) -> str:
        """Which model it is."""
        ...

    def cost(self, pairs: Sequence[tuple[str, str]]) -> int:
        """The most tokens that asking would take, by estimate; nothing is sent."""
        ...

    def judge(self, pairs: Sequence[tuple[str, str]], budget: int) -> Judgement:
        """Ask about pairs of texts, the newer first, for so many tokens at most."""
        ...
