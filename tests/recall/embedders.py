"""What tests of recall embed with: the real default model, and one whose meanings a test writes down."""

import math
import struct
from collections.abc import Callable, Mapping, Sequence

import pytest

from engram import config
from engram.errors import Unavailable
from engram.inference.models import DEFAULT, MODELS, locate
from engram.model.query import Space
from engram.ports import Embedder
from engram.wiring.embedders import embedder_of


def real(name: str = DEFAULT) -> Embedder:
    """A model of ours as `engram.open()` wires it; a process loads its files once."""
    try:
        locate(MODELS[name])
    except Unavailable as error:
        pytest.skip(f"{error.message} Run: python tools/models.py {name}")
    embedder = embedder_of(config.read({"ENGRAM_EMBEDDER": name}, "/"), {}, ())
    assert embedder is not None
    return embedder


class Concepts:
    """An embedder for which a text means what its words stand for: each word has an axis, synonyms share one.

    A word that is not written down means nothing, so that unrelated texts have a cosine of 0, the floor.
    """

    latin = False
    lean = b""
    floor = 0.0
    local = True

    def __init__(self, meanings: Mapping[str, int], *, model: str = "concepts", dim: int = 8) -> None:
        self.space = Space(model, dim)
        self.meanings = dict(meanings)
        self.ready = False
        self.broken = ""  # why it cannot be used, once it cannot
        self.asked: list[str] = []
        self.embedded: list[str] = []

    def query(self, text: str) -> bytes:
        self.asked.append(text)
        return self._vector(text)

    def begin(self, text: str) -> Callable[[], bytes] | None:  # noqa: ARG002 - nothing is begun
        return None

    def knows(self, word: str) -> bool:
        return word in self.meanings

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        if self.broken:
            raise Unavailable(self.broken, "Mend it.")
        self.ready = True
        axes = [0.0] * self.space.dim
        for word in text.casefold().replace("?", " ").replace(".", " ").replace("\n", " ").split():
            if word in self.meanings:
                axes[self.meanings[word]] += 1.0
        if not any(axes):
            axes[-1] = 1.0  # the axis of what means nothing here
        length = math.hypot(*axes)
        return struct.pack(f"<{self.space.dim}f", *(each / length for each in axes))
