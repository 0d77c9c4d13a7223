"""The memories that a new one may contradict, gathered by key, by words and, with a model, by meaning."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple, cast

from engram.errors import Unavailable
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import NO_VARIANTS, Hit, Query
from engram.model.text import is_latin
from engram.ports import Embedder, Engine
from engram.recall.meaning import embed
from engram.rules.suspicions import Suspicion, is_brief, is_statement, suspicion, topic

MOST_READ = 8
"""How many of those that words find are looked at beside a save: reading one takes half as long as finding it."""

THOROUGH = 12
"""The same where there is time."""

MOST_WORDS = 4
"""How many words of a longer topic are asked for beside a save: each costs as much as reading a memory."""

MOST_RANKED = 12
"""The same where there is time."""

MOST_ROUND = 6

Found = dict[str, tuple[Memory, Suspicion]]


class Gathering(NamedTuple):
    """What is compared with a memory: among which others, and by what."""

    engine: Engine
    access: Access
    where: Filter
    embedder: Embedder | None = None  # what compares by meaning; None: words alone
    thorough: bool = False  # take the time to rank what words find


def rivals(about: Gathering, memory: Memory) -> list[tuple[Memory, Suspicion]]:
    """The memories of which it is suspected that they and this one do not both hold, the most suspicious first.

    Raises:
        Unavailable: when the store fails. A model that fails is done without.
    """
    found: Found = {}
    if memory.key:
        # What holds everywhere may be said otherwise in any place; of two places each may have its own.
        keyed = about.where._replace(key=memory.key, scopes=about.where.scopes if memory.scope.name else ())
        page = about.engine.scan("memory", keyed, about.access, limit=MOST_READ)
        _judge(found, memory, (Hit(one) for one in cast("tuple[Memory, ...]", page.records)), None)
    vector = _vector(about, memory)
    for query in _queries(about, memory, vector):
        _judge(found, memory, about.engine.search(query, about.access), about.embedder if vector else None)
    return sorted(found.values(), key=lambda one: (-one[1].score, one[0].id))


def _judge(found: Found, memory: Memory, hits: Iterable[Hit], embedder: Embedder | None) -> None:
    for hit in hits:
        if hit.memory.id not in found and (why := suspicion(memory, hit.memory, _nearness(hit, embedder))):
            found[hit.memory.id] = (hit.memory, why)


def _nearness(hit: Hit, embedder: Embedder | None) -> float | None:
    """How near a hit is, on the scale of `suspicion`; what a model cannot read is near to nothing by it."""
    if embedder is None or hit.cosine is None or (embedder.latin and not is_latin(hit.memory.text)):
        return None
    return (hit.cosine - embedder.floor) / (1 - embedder.floor)


def _vector(about: Gathering, memory: Memory) -> bytes:
    """The vector of how a memory begins; none where words alone must do."""
    embedder = about.embedder
    if embedder is None or (embedder.latin and not is_latin(memory.text)):
        return b""
    with suppress(Unavailable):
        return embed(embedder, [memory])[0][2][: 4 * embedder.space.dim]
    return b""


def _queries(about: Gathering, memory: Memory, vector: bytes) -> Iterable[Query]:
    terms = topic(memory)
    if (vector and about.embedder) or about.thorough:
        space = about.embedder.space if vector and about.embedder else None
        if terms or vector:
            yield Query(
                terms[:MOST_RANKED], every=False, vector=vector, space=space, where=about.where, limit=THOROUGH
            )
    elif terms and is_brief(memory):
        # Who says so little may have one word in common with what says otherwise: the nearest come first.
        yield Query(terms, every=False, where=about.where, limit=MOST_READ)
    elif is_statement(memory):
        groups = _groups(terms)
        yield Query(tuple(groups), variants=groups or NO_VARIANTS, where=about.where, limit=MOST_READ, ranked=False)


def _groups(terms: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """The words in groups; a memory is found that says one word of each group, and so several words in all.

    The key of a group is its first word. Up to six words stand in a ring, and each group is a word with up to two
    after it; of more words, the first four stand in two groups.
    """
    count = len(terms)
    if count <= MOST_ROUND:
        wide = min(count - 1, 3)
        ring = terms * 2
        return {one: ring[at + 1 : at + wide] for at, one in enumerate(terms)}
    return {terms[0]: terms[2:MOST_WORDS:2], terms[1]: terms[3:MOST_WORDS:2]}


__all__ = ["Gathering", "rivals"]
