"""Warm recall of other memories on the same texts and questions, with the same embedder; each in its process."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import stores
import texts
from clock import middle, tail, times
from driver import Failed, Item, Peer, peers

import engram
from common import Bar

OURS = "Engram"
QUESTIONS, FIRST, LIMIT = 200, 20, 10


class Row(NamedTuple):
    """One system at one size; wall milliseconds, because others are processes of their own. 0: it failed."""

    name: str
    version: str
    does: str
    size: int
    median: float
    tail: float
    embedding: float
    ours: float  # what Engram took for the same questions, asked by turns
    note: str


def compare(size: int) -> Iterator[Row]:
    """Everyone that installs here, each by turns with ourselves; and ourselves over all of them."""
    store = stores.store(size, "one")
    items: list[Item] = [
        {"id": str(at), "text": text, "session": "", "created_at": stores.NEWEST.isoformat()}
        for at, text in enumerate(texts.texts(size))
    ]
    with engram.open(store.path, folder="/", environment={}) as memory:
        ours = Ours(memory)
        for peer in peers():
            yield _beside(peer, items, ours)
        yield ours.row(size)


class Ours:
    """Engram's own recall, timed, with the embedding alone beside it."""

    def __init__(self, memory: engram.Engram) -> None:
        self._recall = partial(memory.recall, limit=LIMIT)
        embedder = memory.call().embedder
        assert embedder is not None
        self._embed = embedder.query
        self.recalls, self._embeddings = times(), times()
        for question in texts.questions(QUESTIONS + FIRST)[:FIRST]:
            self._recall(question)

    def ask(self, question: str) -> float:
        """The milliseconds of one recall."""
        self._embeddings.take(self._embed, question)
        self.recalls.take(self._recall, question)
        return self.recalls.wall[-1]

    def row(self, size: int) -> Row:
        """All that was asked."""
        wall, embedding = self.recalls.wall, middle(self._embeddings.wall)
        note = "also: live only, near duplicates collapsed, relevance, reasons"
        return Row(OURS, "", "hybrid", size, middle(wall), tail(wall), embedding, middle(wall), note)


def _beside(peer: Peer, items: list[Item], ours: Ours) -> Row:
    questions = texts.questions(QUESTIONS + FIRST)
    bar = Bar(f"{peer.name}, {len(items):,}", len(questions))
    theirs, embedding, mine = [], [], []
    with tempfile.TemporaryDirectory(prefix="engram-peer-") as folder:
        try:
            peer.open(Path(folder))
            peer.add(items)
            for question in questions:
                mine.append(ours.ask(question))
                theirs.append(peer.search(question, LIMIT)[1] * 1000)
                embedding.append(peer.embedding * 1000)
                bar.step()
        except Failed as failure:
            return Row(peer.name, peer.version, peer.does, len(items), 0.0, 0.0, 0.0, 0.0, str(failure))
        finally:
            peer.close()
    warm = theirs[FIRST:]
    return Row(
        peer.name,
        peer.version,
        peer.does,
        len(items),
        middle(warm),
        tail(warm),
        middle(embedding[FIRST:]),
        middle(mine[FIRST:]),
        peer.note,
    )
