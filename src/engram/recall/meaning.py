"""Candidates by meaning: a question's vector, and the vectors that memories still lack."""

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress

from engram.errors import Conflict, Unavailable
from engram.model.filter import Access
from engram.model.memory import Memory
from engram.model.passages import passages
from engram.model.query import Backlog, Space
from engram.model.text import is_latin
from engram.ports import Embedder, Engine

CATCH_UP = 32
"""A recall makes at most so many vectors before it looks: a fifth of a second. More are left to `reembed`."""

BATCH = 64


class Meaning:
    """What can be compared by meaning now: the question's vector, which may still be in the making, or nothing.

    How many memories lack a vector is told by `behind`; why there is none for the question, by `why`, once `vector`
    was asked for. Where it is made `beside`, who waits for it has time for something else.
    """

    def __init__(
        self, making: Callable[[], bytes] | None = None, *, beside: bool = False, behind: int = 0, why: str = ""
    ) -> None:
        self.making, self.beside, self.behind, self.why = making, beside, behind, why

    def vector(self) -> bytes:
        """The vector, which is waited for; where the model or endpoint fails, nothing."""
        return self._made

    @functools.cached_property
    def _made(self) -> bytes:
        try:
            return self.making() if self.making else b""
        except Unavailable as error:
            self.why = f"{error.message} {error.hint}".strip()
            return b""


def begin(embedder: Embedder, question: str) -> Meaning:
    """Begin the vector of a question, which takes longest of all, where the model can read it."""
    if embedder.latin and not is_latin(question):
        return Meaning(why="The model reads Latin script only.")
    begun = embedder.begin(question)
    return Meaning(begun or functools.partial(embedder.query, question), beside=begun is not None)


def meaning_of(engine: Engine, embedder: Embedder, begun: Meaning, access: Access) -> Meaning:
    """What was begun for a question, where the store can be asked with it.

    A few memories that lack vectors get theirs first. Where the model or endpoint fails, words alone must do.

    Raises:
        Conflict: when the store's vectors are of another model than the configured one.
    """
    backlog = engine.backlog(access)
    require_same(backlog, embedder.space)
    if backlog.active not in (None, embedder.space):
        return Meaning(behind=backlog.remaining, why="The vectors of the new model are still being made.")
    if begun.making is None:
        return begun
    begun.behind = backlog.lacking
    if (backlog.active is None or backlog.lacking) and begun.vector():
        # A text that cannot be embedded must not keep a question from being answered.
        with suppress(Unavailable):
            catch_up_a_little(engine, embedder, access)
        begun.behind = engine.backlog(access).lacking
    return begun


def require_same(backlog: Backlog, space: Space) -> None:
    """Check that a store's vectors can be compared with those of a space, or soon will be.

    Raises:
        Conflict: when they are of another one.
    """
    if backlog.active is None or space in (backlog.active, backlog.coming):
        return
    raise Conflict(
        f"This store's vectors were made by {backlog.active.model}, but {space.model} is configured.",
        "Make them anew with `engram reembed`, set the embedder back, or ask with --words.",
    )


def catch_up_a_little(engine: Engine, embedder: Embedder, access: Access) -> None:
    """Give the first memories that lack them their vectors, as many as a question can wait for.

    Long texts are left to `reembed` and to whoever has the time.

    Raises:
        Unavailable: when the model or endpoint fails.
    """
    few, windows = [], 0
    for memory in engine.lacking(embedder.space, access, limit=CATCH_UP):
        count = len(passages(memory))
        if windows + count <= CATCH_UP:
            few.append(memory)
            windows += count
    if few:
        engine.put_vectors(embedder.space, embed(embedder, few))


def catch_up(
    engine: Engine, embedder: Embedder, access: Access, *, most: int, told: Callable[[int], object] = lambda _: None
) -> int:
    """Give up to `most` memories their vectors, the oldest first; returns how many got theirs.

    Every batch is kept as it is made, so that a stop loses one at most. A text that the embedder refuses is set
    aside, and still lacks its vector afterwards.

    Raises:
        Unavailable: when the model or endpoint fails for every text.
    """
    done = 0
    refused: set[str] = set()
    while done < most:
        waiting = engine.lacking(embedder.space, access, limit=min(BATCH, most - done) + len(refused))
        batch = [memory for memory in waiting if memory.id not in refused]
        if not batch:
            break
        rows = _embed_each(embedder, batch)
        refused.update({memory.id for memory in batch} - {row[0] for row in rows})
        if not engine.put_vectors(embedder.space, rows) and rows:
            break  # all of them changed under our hands, or the space is gone: whoever did that comes next
        done += len(rows)
        told(len(rows))
    return done


def _embed_each(embedder: Embedder, batch: Sequence[Memory]) -> list[tuple[str, str, bytes]]:
    """The rows of a batch; where it fails as a whole, those of the memories that do not fail by themselves."""
    try:
        return embed(embedder, batch)
    except Unavailable:
        if len(batch) == 1:
            raise
    rows = []
    failure: Unavailable | None = None
    for memory in batch:
        try:
            rows += embed(embedder, [memory])
        except Unavailable as error:
            failure = error
    if failure and not rows:
        raise failure
    return rows


def embed(embedder: Embedder, memories: Sequence[Memory]) -> list[tuple[str, str, bytes]]:
    """The rows that an engine keeps for these memories."""
    texts = [passages(memory) for memory in memories]
    prefix = embedder.space.prefix
    vectors = iter(embedder.documents([prefix + text for each in texts for text in each]))
    return [
        (memory.id, memory.imprint, b"".join(next(vectors) for _ in each))
        for memory, each in zip(memories, texts, strict=True)
    ]
