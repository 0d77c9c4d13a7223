"""Engram's own embedder, which every peer that takes a foreign one is given."""

import hashlib
import os
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from engram.inference import embed

MODEL = "snowflake-arctic-embed-s"
KEPT = "ENGRAM_BENCH_VECTORS"  # the file of vectors, from the driver


class Embedder:
    """The model as Engram runs it; `spent` counts the seconds that queries took.

    While a store is being filled, texts embedded before are not embedded again, by whichever peer it was: filling
    is not measured, and ten peers with ten thousand texts each would do nothing else. Single adds and queries
    always run the model.
    """

    def __init__(self) -> None:
        self._model = embed.load(MODEL)
        self.dim = self._model.space.dim
        self.spent = 0.0
        self.filling = False
        self._kept = sqlite3.connect(os.environ[KEPT], isolation_level=None, check_same_thread=False, timeout=60)
        self._kept.execute("PRAGMA synchronous = OFF")
        self._kept.execute("CREATE TABLE IF NOT EXISTS vector (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def query(self, text: str) -> Any:  # noqa: ANN401 - an array of float32
        """The vector of a question."""
        begun = time.perf_counter()
        vector = np.frombuffer(self._model.query(text), "<f4")
        self.spent += time.perf_counter() - begun
        return vector

    def documents(self, texts: Sequence[str]) -> list[Any]:
        """One vector per text to be kept.

        One at a time: int8 activations are scaled over a whole batch, so a text's vector would depend on its
        neighbours, and peers that batch differently would be compared on different vectors.
        """
        one = self._known if self.filling else self._document
        return [np.frombuffer(one(text), "<f4") for text in texts]

    def _document(self, text: str) -> bytes:
        return self._model.documents([text])[0]

    def _known(self, text: str) -> bytes:
        key = hashlib.sha256(f"{self._model.space.model}\n{text}".encode()).hexdigest()
        row = self._kept.execute("SELECT value FROM vector WHERE key = ?", (key,)).fetchone()
        if row:
            return bytes(row[0])
        vector = self._document(text)
        self._kept.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (key, vector))
        return vector
