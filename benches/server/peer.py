"""mcp-memory-service's own storage filled, and its own HTTP server, with our embedder as its model.

Run in its virtualenv by `benches/server/run.py`: `python peer.py fill TEXTS VECTORS`, where TEXTS has a line a text
and VECTORS is a NumPy file of their vectors, then `python peer.py serve PORT`, which says `ready` when it is about
to listen.
"""

import asyncio
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage import sqlite_vec
from mcp_memory_service.utils.hashing import generate_content_hash
from mcp_memory_service.web.app import app

sys.path.insert(0, str(Path(__file__).parents[1] / "peers"))

from embedder import Embedder

BATCH = 1000


class Ours:
    """Our embedder in the shape of the model it expects; what is filled in has its vector already."""

    def __init__(self) -> None:
        self._embedder = Embedder()
        self.known: dict[str, Any] = {}

    def encode(self, texts: list[str], **_: object) -> list[Any]:
        """One vector per text."""
        return [self.known[text] if text in self.known else self._embedder.query(text) for text in texts]


def main() -> None:
    """Fill the store, or serve it."""
    model = Ours()

    async def load(self: Any) -> None:  # noqa: ANN401 - its own class
        self.embedding_model, self.embedding_dimension = model, 384

    sqlite_vec.SqliteVecMemoryStorage._initialize_embedding_model = load  # noqa: SLF001 - it can load only its own
    if sys.argv[1] == "fill":
        texts = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
        asyncio.run(fill(model, zip(texts, np.load(sys.argv[3], mmap_mode="r"), strict=False)))
        return
    print("ready", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)


async def fill(model: Ours, rows: Iterator[tuple[str, Any]]) -> None:
    """Keep every text with its vector, through the storage's own way for many."""
    storage = sqlite_vec.SqliteVecMemoryStorage(os.environ["MCP_MEMORY_SQLITE_PATH"], "engram")
    storage.embedding_dimension = 384
    await storage.initialize()
    while batch := list(itertools.islice(rows, BATCH)):
        model.known = {text: np.asarray(row, np.float32) for text, row in batch}
        await storage.store_batch([Memory(text, generate_content_hash(text)) for text in model.known])
    await storage.close()


if __name__ == "__main__":
    main()
