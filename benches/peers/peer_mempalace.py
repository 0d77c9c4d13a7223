"""MemPalace: drawers in its default backend (Chroma); mode `vector` (BM25 re-ranks, its default) or `union`."""

import hashlib
import os

from embedder import Embedder
from mempalace import embedding
from mempalace.config import MempalaceConfig
from mempalace.palace import get_collection
from mempalace.searcher import search_memories
from serve import Adapter, Item, serve

# It takes no embedder, but an endpoint. This one is never called: what would call it is replaced in its cache.
ADDRESS, NAME = "http://127.0.0.1:9", "engram"
CONFIGURATION = {
    "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
    "MEMPALACE_EMBEDDING_API_URL": ADDRESS,
    "MEMPALACE_EMBEDDING_API_MODEL": NAME,
}


class Ours(embedding.OpenAICompatEmbeddingFunction):  # type: ignore[misc] # the peer is untyped here
    """Our embedder in place of the endpoint: a call over HTTP would cost the peer time that is not its own."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(ADDRESS, NAME)
        self._embedder = embedder

    def __call__(self, input: list[str]) -> list[list[float]]:
        """Documents."""
        return [vector.tolist() for vector in self._embedder.documents(input)]

    def embed_query(self, input: list[str]) -> list[list[float]]:
        """Queries."""
        return [self._embedder.query(text).tolist() for text in input]


class MemPalace(Adapter):
    """One wing of one palace, searched as its tool `mempalace_search` does."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - needs no files of its own
        """An empty palace."""
        self.embedder = Embedder()
        os.environ.update(CONFIGURATION, MEMPALACE_CONFIG_DIR=folder)
        key = ("openai-compat", ADDRESS, NAME, hashlib.sha256(b"").hexdigest()[:16])
        embedding._EF_CACHE[key] = ours = Ours(self.embedder)  # noqa: SLF001 - its only way in without HTTP
        if embedding.get_embedding_function() is not ours:
            raise RuntimeError("MemPalace did not take the embedder")
        self._mode, self._palace = mode, os.path.join(folder, "palace")
        self._drawers = get_collection(self._palace, create=True)
        self._size, self._split = MempalaceConfig().chunk_size, False

    def add(self, items: list[Item]) -> None:
        """Drawers as its tool `mempalace_add_drawer` makes them: a long text in several, under one parent."""
        ids, texts, about = [], [], []
        for item in items:
            text, size = item["text"], self._size
            parts = [text[at : at + size] for at in range(0, len(text), size)]
            self._split = self._split or len(parts) > 1
            for number, part in enumerate(parts):
                ids.append(f"{item['id']}_chunk_{number:06d}")
                texts.append(part)
                # Each item is a source of its own: of one source and one chunk number, `union` keeps one drawer.
                about.append(
                    {
                        "wing": "bench",
                        "room": item["session"],
                        "source_file": item["id"],
                        "filed_at": item["created_at"],
                        "chunk_index": number,
                        "parent_drawer_id": item["id"],
                    }
                )
        self._drawers.upsert(ids=ids, documents=texts, metadatas=about)

    def search(self, query: str, limit: int) -> list[str]:
        """The parents, each once; more is asked for where one parent can take several places."""
        ask = limit * 3 if self._split else limit
        language = "en" if self._mode == "union" else None  # stop words are off by default
        answer = search_memories(query, self._palace, n_results=ask, candidate_strategy=self._mode, lang=language)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return list(dict.fromkeys(each["drawer_id"] for each in answer["results"]))[:limit]


if __name__ == "__main__":
    serve(MemPalace())
