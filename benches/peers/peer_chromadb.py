"""chromadb: a persistent collection, HNSW over cosine, our embedder as its embedding function."""

from typing import Any

import chromadb
from chromadb import Documents, EmbeddingFunction, Embeddings
from embedder import Embedder
from serve import Adapter, Item, serve


class Ours(EmbeddingFunction[Documents]):
    """Our embedder behind Chroma's own hook, which asks for queries and documents apart."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, input: Documents) -> Embeddings:
        """Documents."""
        return self._embedder.documents(input)

    def embed_query(self, input: Documents) -> Embeddings:
        """Queries."""
        return [self._embedder.query(text) for text in input]

    @staticmethod
    def name() -> str:
        """The name Chroma records in the collection."""
        return "engram"

    def get_config(self) -> dict[str, Any]:
        """Nothing to record."""
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> "Ours":
        """Never asked for: the collection is opened with the function given."""
        raise NotImplementedError(config)


class Chroma(Adapter):
    """One collection of one persistent client."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - one mode
        """A client in the folder, and an empty collection."""
        self.embedder = Embedder()
        self._collection = chromadb.PersistentClient(folder).create_collection(
            "bench", embedding_function=Ours(self.embedder), configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, items: list[Item]) -> None:
        """One call for all."""
        self._collection.add(
            ids=[item["id"] for item in items],
            documents=[item["text"] for item in items],
            metadatas=[{"session": item["session"], "created_at": item["created_at"]} for item in items],
        )

    def search(self, query: str, limit: int) -> list[str]:
        """The nearest, with their texts, as by default."""
        return self._collection.query(query_texts=[query], n_results=limit)["ids"][0]


if __name__ == "__main__":
    serve(Chroma())
