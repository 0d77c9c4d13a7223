"""mcp-memory-service: its SQLite storage, our embedder as its model; mode `semantic` (its default) or `hybrid`."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from embedder import Embedder
from mcp_memory_service.health.integrity import IntegrityMonitor
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from serve import Adapter, Item, serve


class Ours:
    """Our embedder in the shape of the model it expects, which is not told what it embeds: the adapter says it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.asking = False

    def encode(self, texts: list[str], **_: object) -> list[Any]:
        """One vector per text."""
        return [self._embedder.query(text) for text in texts] if self.asking else self._embedder.documents(texts)


class Storage(SqliteVecMemoryStorage):
    """Its own storage, but for where the model comes from: it can load only its own or ask an endpoint."""

    def __init__(self, path: str, embedder: Embedder) -> None:
        super().__init__(path, "engram")
        self.given = Ours(embedder)
        self.embedding_dimension = embedder.dim
        self.enable_cache = False  # so that a question asked twice is embedded twice, as everywhere else

    async def _initialize_embedding_model(self) -> None:
        self.embedding_model = self.given


class Service(Adapter):
    """One database, searched as its tool `memory_search` does."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - needs no files of its own
        """An empty database."""
        self.embedder = Embedder()
        self._mode = mode
        self._loop = asyncio.new_event_loop()
        self._path = os.path.join(folder, "memory.db")
        self._storage = Storage(self._path, self.embedder)
        self._run(self._storage.initialize())

    def add(self, items: list[Item]) -> None:
        """One store, or one batch; what resembles something of the last day is kept too."""
        memories = [_memory(item) for item in items]
        if len(memories) == 1:
            done = [self._run(self._storage.store(memories[0], skip_semantic_dedup=True))]
        else:
            done = self._run(self._storage.store_batch(memories))
        for kept, why in done:
            if not kept:
                raise RuntimeError(why)

    def search(self, query: str, limit: int) -> list[str]:
        """In the mode the store was opened for."""
        self._storage.given.asking = True
        try:
            answer = self._run(self._storage.search_memories(query=query, mode=self._mode, limit=limit))
        finally:
            self._storage.given.asking = False
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return [each["content_hash"] for each in answer["memories"]]

    def everything(self) -> list[str]:
        """Every content."""
        return [each.content for each in self._run(self._storage.get_all_memories())]

    def check(self) -> str:
        """What its monitor of integrity finds, which its server runs every half an hour."""
        healthy, why = self._run(IntegrityMonitor(self._path).check_integrity())
        return "" if healthy else str(why)

    def close(self) -> None:
        """Close the database."""
        self._run(self._storage.close())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever the peer answers
        return self._loop.run_until_complete(work)


def _memory(item: Item) -> Memory:
    # The hash is the caller's to choose. Ours is the id, so that two turns of the same words are both kept.
    return Memory(
        content=item["text"], content_hash=item["id"], tags=[item["session"]], created_at_iso=item["created_at"]
    )


if __name__ == "__main__":
    serve(Service())
