"""mem0ai: `infer=False` on its default vector store (Qdrant in a folder); mode `vector` or `hybrid`."""

import os

os.environ["MEM0_TELEMETRY"] = "False"

from embedder import Embedder
from fastembed import SparseTextEmbedding
from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from serve import Adapter, Item, serve
from stop_words import get_stop_words

USER = "bench"


class Ours(EmbeddingBase):
    """Our embedder as one of mem0's own kind, which is told whether it embeds a query."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__()
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector."""
        if memory_action == "search":
            return self._embedder.query(text).tolist()
        return self._embedder.documents([text])[0].tolist()


class Mem0(Adapter):
    """One user's memories."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - needs no files of its own
        """Qdrant in the folder; a language model is named, because one must be, and never called."""
        self.embedder = Embedder()
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        place = {"collection_name": "bench", "path": os.path.join(folder, "qdrant"), "on_disk": True}
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {**place, "embedding_model_dims": self.embedder.dim},
                },
                "history_db_path": os.path.join(folder, "history.db"),
                "llm": unused,
                "embedder": unused,
            }
        )
        # Its configuration takes embedders by name only. Ours is of its own kind, in its public attribute.
        self._memory.embedding_model = Ours(self.embedder)
        # Its keyword part wants a list of stop words from a hub: `hybrid` gives its encoder one of PyPI instead.
        self._memory.vector_store._bm25_encoder = _bm25(folder) if mode == "hybrid" else False  # noqa: SLF001

    def add(self, items: list[Item]) -> None:
        """One call each: there is none for many that keeps them apart."""
        for item in items:
            metadata = {"item": item["id"], "session": item["session"], "created_at": item["created_at"]}
            self._memory.add(item["text"], user_id=USER, metadata=metadata, infer=False)

    def search(self, query: str, limit: int) -> list[str]:
        """What it finds for the user."""
        found = self._memory.search(query, top_k=limit, filters={"user_id": USER})["results"]
        return [each["metadata"]["item"] for each in found]

    def close(self) -> None:
        """Close both files."""
        self._memory.close()


def _bm25(folder: str) -> object:
    return SparseTextEmbedding("Qdrant/bm25", specific_model_path=folder, stopwords=set(get_stop_words("en")))


if __name__ == "__main__":
    serve(Mem0())
