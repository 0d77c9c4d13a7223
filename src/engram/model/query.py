"""A question to an engine, and the candidates, counts and pages it answers with."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from engram.errors import Invalid
from engram.model.codec import Record, searchable
from engram.model.filter import ANYTHING, Filter
from engram.model.memory import Memory
from engram.model.text import query_terms, says

FIELD_WEIGHTS = (4.0, 3.0, 2.0, 1.0)
"""How much a word counts in key and kind, summary, tags, text."""

SATURATION = 1.2
"""BM25's k1: how soon saying a word again stops to count. FTS5 fixes it, so every engine uses it."""

FEW = 20
"""A store with fewer memories is taken to have so many: in a small one, how rare a word is says nothing yet."""

NO_VARIANTS: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Space(NamedTuple):
    """Where vectors live: only vectors of one model, with one length and one prefix, can be compared."""

    model: str
    dim: int
    prefix: str = ""  # what stands before a document when it is embedded


class Query(NamedTuple):
    """Candidates among what the filter lets through: the best by words, the nearest by meaning, or both together.

    By words: memories that carry the terms, all of them or any. A term's variants count as the term itself, and
    one that ends in `*` stands for every term that begins so. Each phrase must be said, in a row (see `says_all`).
    By meaning, where a vector is given: the nearest. Beside phrases it finds nothing by itself, since what does not
    say them is no candidate; it then only tells the cosines of what was found by words. A vector that is still
    being made is `coming`: an engine asks for it by `arrived` when it needs it, and may look for words before, and
    tell what these found to whoever makes it.
    """

    terms: tuple[str, ...] = ()
    every: bool = True
    variants: Mapping[str, tuple[str, ...]] = NO_VARIANTS
    phrases: tuple[str, ...] = ()
    vector: bytes = b""  # little-endian float32, of unit length
    coming: Callable[[Sequence["Hit"]], bytes] | None = None  # waits for the vector; empty where none could be made
    space: Space | None = None  # where the vector lives
    lean: bytes = b""  # what to take away from it before codes are compared; see `ports.Embedder.lean`
    where: Filter = ANYTHING
    limit: int = 50  # how many by words, and as many by meaning
    ranked: bool = True  # False: any that match by words, each with a share of 1

    def arrived(self, worded: Sequence["Hit"] = ()) -> "Query":
        """The same query with its vector, once that is made; `worded` is what words found meanwhile, best first."""
        return self._replace(vector=self.coming(worded), coming=None) if self.coming else self


class Hit(NamedTuple):
    """One candidate, with all that was asked about it.

    Either score means the same in every answer: by words it is the share, from 0 to 1, of the highest score that
    the question's words could give; by meaning it is the cosine.
    """

    memory: Memory
    words: float | None = None  # None: not among the best by words
    cosine: float | None = None  # None: it has no vector in the space, or none was asked with


def weighed(memory: Memory) -> tuple[dict[str, float], int]:
    """How much each term of a memory counts by the columns it stands in, and how many terms there are in all."""
    counts: dict[str, float] = {}
    length = 0
    for weight, column in zip(FIELD_WEIGHTS, searchable(memory), strict=True):
        for term in (found := column.split()):
            counts[term] = counts.get(term, 0.0) + weight
        length += len(found)
    return counts, length


def in_order(hits: Iterable[Hit]) -> list[Hit]:
    """What words found, best first, then what only meaning found, nearest first; ties by id."""
    return sorted(hits, key=_place)


def _place(hit: Hit) -> tuple[bool, float, str]:
    memory, words, cosine = hit
    return (True, -(cosine or 0.0), memory.id) if words is None else (False, -words, memory.id)


class Census(NamedTuple):
    """How many memories there are, and how many of them carry each term."""

    total: int
    carriers: Mapping[str, int]

    def rarity(self, terms: Sequence[str]) -> float:
        """How telling it is that a memory carries one of these: falls with the commonest of them."""
        total = max(self.total, FEW)
        carriers = min(max((self.carriers.get(term, 0) for term in terms), default=0), total)
        return math.log(1 + (total - carriers + 0.5) / (carriers + 0.5))


class Backlog(NamedTuple):
    """The spaces a store has vectors in, and how many memories still lack one (counted up to a bound)."""

    active: Space | None = None  # the one that recall uses
    coming: Space | None = None  # one that is being filled, and takes over when nothing lacks
    lacking: int = 0  # memories without a vector in the active space
    remaining: int = 0  # memories without a vector in the coming one


class Page(NamedTuple):
    """Some records in order, and where to go on; `next` is None on the last page."""

    records: tuple[Record, ...]
    next: str | None = None


def says_all(memory: Memory, phrases: Sequence[str]) -> bool:
    """Whether a memory says each of these phrases in one of its texts."""
    texts = (memory.text, memory.summary, memory.key, *memory.tags)
    return all(any(says(text, phrase) for text in texts) for phrase in phrases)


def phrase_terms(phrases: Sequence[str]) -> list[str]:
    """The terms that whatever says these phrases must carry: their smallest parts."""
    return [term for phrase in phrases for term in query_terms(phrase) if term.isalnum()]


def shares(scores: Iterable[float], groups: Sequence[Sequence[str]], census: Census, told: Census) -> list[float]:
    """BM25 scores as shares of the highest one that these groups of terms could give.

    The highest is reckoned with the words that occur at all, as BM25 weighs them; what the question asks for
    and no memory carries then takes its part away, so that a question about something else scores low. `census`
    is of all that BM25 counted, `told` of what the asker may read.
    """
    known = [group for group in groups if any(told.carriers.get(term) for term in group)]
    highest = (1 + SATURATION) * sum(bm25_rarity(census, group) for group in known) or 1.0
    asked = sum(told.rarity(group) for group in groups) or 1.0
    covered = sum(told.rarity(group) for group in known) / asked
    return [min(score / highest, 1.0) * covered for score in scores]


def bm25_rarity(census: Census, group: Sequence[str]) -> float:
    """What FTS5's bm25() takes a term's rarity for; the rarest of a group counts."""
    known = (census.carriers[term] for term in group if census.carriers.get(term))
    rarest = min([*known, census.total])  # counts lag behind: never more carriers than memories
    return max(math.log((census.total - rarest + 0.5) / (rarest + 0.5)), 1e-6)


def check_vectors(space: Space, vectors: bytes) -> None:
    """Check that bytes are one or more vectors of a space.

    Raises:
        Invalid: when they are not.
    """
    size = 4 * space.dim
    if not vectors or not size or len(vectors) % size:
        raise Invalid(
            f"{len(vectors)} bytes are not vectors of {space.dim} numbers.",
            f"Embed it again with {space.model}: engram reembed.",
        )
    if not all(map(math.isfinite, memoryview(vectors).cast("f"))):
        raise Invalid(
            "The vector contains a value that is not a number.",
            f"Embed it again with {space.model}: engram reembed.",
        )


def cosine(query: bytes, vectors: bytes) -> float:
    """The cosine of a query with the nearest of some vectors, all of unit length."""
    asked, numbers = memoryview(query).cast("f"), memoryview(vectors).cast("f")
    size = len(asked)
    parts = (numbers[at : at + size] for at in range(0, len(numbers), size))
    return float(max(sum(a * b for a, b in zip(asked, part, strict=True)) for part in parts))
