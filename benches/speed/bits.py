"""What the one-bit scan misses: the true nearest by cosine that are not in a shortlist taken by code."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import texts
import vectors

from common import Bar
from engram.engines.sqlite_vectors import TELLING
from engram.inference import models
from engram.inference.leans import lean_of

QUESTIONS = 300
SHORTLISTS = (200, 400, 1000, 2000, 4000)
FIRSTS = (10, 60)

Floats = npt.NDArray[np.float32]


class Found(NamedTuple):
    """Which share of the true first ones is among so many nearest by code."""

    vectors: int
    codes: str
    first: int
    shares: dict[int, float]  # by length of the shortlist


def measure(count: int) -> list[Found]:
    """Real vectors and real questions; plain signs, signs around the centre, and as recall takes them."""
    rows = vectors.vectors(count).astype(np.float32)
    # Natural questions only: those made of a sentence's own words would find just that sentence.
    asked = vectors.asked(texts.questions(2 * QUESTIONS)[::2])
    truth = [_order(-np.einsum("ij,j->i", rows, vector), max(FIRSTS)) for vector in asked]
    nothing, centre = np.zeros(rows.shape[1], np.float32), rows.mean(axis=0)
    lean = np.frombuffer(lean_of(models.DEFAULT), "<f4")
    kinds = (
        ("plain", nothing, nothing, 0.0),
        ("centred", centre, nothing, 0.0),
        ("centred, without the lean", centre, lean, 0.0),
        ("the same, telling bits twice", centre, lean, TELLING),
    )
    found = []
    for name, middle, aside, telling in kinds:
        codes = _bits(rows > middle)
        shares: dict[int, dict[int, list[float]]] = {first: {size: [] for size in SHORTLISTS} for first in FIRSTS}
        bar = Bar(f"bits of {count:,}, {name}", len(asked))
        for vector, true in zip(asked, truth, strict=True):
            apart = codes ^ _bits(vector - aside > middle)
            distance = np.bitwise_count(apart).sum(axis=1, dtype=np.int32)
            if telling:
                off = np.abs(vector - aside - middle)
                twice = np.bitwise_count(apart & _bits(off >= np.quantile(off, 1 - telling)))
                distance += twice.sum(axis=1, dtype=np.int32)
            near = _order(distance, max(SHORTLISTS))
            rank = {int(at): place for place, at in enumerate(near)}
            for first in FIRSTS:
                places = [rank.get(int(at), count) for at in true[:first]]
                for size in SHORTLISTS:
                    shares[first][size].append(sum(place < size for place in places) / first)
            bar.step()
        for first in FIRSTS:
            means = {size: float(np.mean(each)) for size, each in shares[first].items()}
            found.append(Found(count, name, first, means))
    return found


def _bits(signs: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    return np.packbits(signs, axis=-1, bitorder="little").view(np.uint64)


def _order(values: npt.NDArray[np.generic], count: int) -> npt.NDArray[np.int64]:
    """Where the smallest are, the smallest first."""
    best = np.argpartition(values, count)[:count]
    return best[np.argsort(values[best], kind="stable")]
