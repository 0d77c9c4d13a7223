"""langgraph: its store with an index, our embedder as its embeddings; mode `sqlite` or `memory`."""

import os
from contextlib import ExitStack

from embedder import Embedder
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from serve import Adapter, Item, serve

NAMESPACE = ("bench",)
FIELDS = ("text", "session", "created_at")


class Ours(Embeddings):
    """Our embedder behind the hook of langchain.

    It asks for queries and documents apart, but the SqliteStore asks for its queries as documents: while a search
    runs, they are taken for what they are.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.asking = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Documents."""
        if self.asking:
            return [self.embed_query(text) for text in texts]
        return [vector.tolist() for vector in self._embedder.documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        """A query."""
        return self._embedder.query(text).tolist()


class Langgraph(Adapter):
    """One namespace of one store."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - needs no files of its own
        """A file in the folder, or nothing but memory."""
        self.embedder = Embedder()
        self._ours = Ours(self.embedder)
        index = {"dims": self.embedder.dim, "embed": self._ours, "fields": ["text"]}
        self._open = ExitStack()
        if mode == "memory":
            self._store = InMemoryStore(index=index)
        else:
            file = os.path.join(folder, "store.db")
            self._store = self._open.enter_context(SqliteStore.from_conn_string(file, index=index))
            self._store.setup()

    def add(self, items: list[Item]) -> None:
        """One put each, handed over together."""
        # Named once more, because the SqliteStore does not heed `fields` of its index and would embed all of them.
        puts = [
            PutOp(NAMESPACE, item["id"], {name: item[name] for name in FIELDS}, index=["text"]) for item in items
        ]
        self._store.batch(puts)

    def search(self, query: str, limit: int) -> list[str]:
        """The nearest in the namespace."""
        self._ours.asking = True
        try:
            return [found.key for found in self._store.search(NAMESPACE, query=query, limit=limit)]
        finally:
            self._ours.asking = False

    def close(self) -> None:
        """Close the file."""
        self._open.close()


if __name__ == "__main__":
    serve(Langgraph())
