"""Recall in an open process, beside the bare work it cannot do without: embedding, one FTS5 query, one scan.

Question by question, so that whatever else the machine does falls on all of them alike.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import texts
from clock import Times, times
from stores import Store

import engram
from common import Bar
from engram.engines import sqlite_file
from engram.engines.sqlite_rows import fetch
from engram.engines.sqlite_write import place_term
from engram.inference import models
from engram.recall.lexical import read
from engram.recall.pipeline import CANDIDATES

QUESTIONS = 100
FIRST = 20
"""So many other questions come first: whatever is loaded or prepared once is not part of a warm recall."""

LIMIT = CANDIDATES
"""How many the bare searches take: as many as recall itself."""

EXACT, WHOLE, AT_HAND = 4096, 1 << 14, 1 << 17
"""Up to here the bare scan compares all numbers; beyond, one bit of each, and then the numbers of a shortlist: as
float32 up to the second, as float16 up to the third. Of more vectors than that it only takes the shortlist."""

SHORTLIST = 1000

DIM = models.MODELS[models.DEFAULT].dim


class Warm(NamedTuple):
    """What was measured on one store."""

    hybrid: Times
    words: Times
    bare: Times  # the three below, added up question by question
    embedding: Times
    fts: Times
    scan: Times
    settling: float  # milliseconds of wall: the slowest of the first five recalls, the model being loaded

    @property
    def ratio(self) -> float:
        """Hybrid recall against the bare work, by the clock."""
        return self.hybrid.told()["wall"] / self.bare.told()["wall"]

    def told(self) -> dict[str, Any]:
        """As results are kept."""
        spent = {name: each.told() for name, each in self._asdict().items() if isinstance(each, Times)}
        return {**spent, "settling": round(self.settling, 1), "ratio": round(self.ratio, 3)}


def ask(store: Store, count: int = QUESTIONS) -> Warm:
    """Ask one store warm."""
    questions = texts.questions(count + FIRST)
    first, rest = questions[:FIRST], questions[FIRST:]
    with engram.open(store.path, folder="/", environment={}) as memory:
        model = memory.call().embedder
        assert model is not None
        model.query("once, so that it is loaded")

        def hybrid(question: str) -> object:
            return memory.recall(question, scope=store.scope)

        def by_words(question: str) -> object:
            return memory.recall(question, scope=store.scope, words=True)

        settling = times()
        for question in first:
            settling.take(hybrid, question)
            by_words(question)
        match, fts, scan = expressions(store, memory), bare_fts(store), bare_scan(store)
        for question in first:
            fts(match(question))
        found = Warm(times(), times(), times(), times(), times(), times(), settling=max(settling.wall[:5]))
        bar = Bar(f"asking {store.size:,} in {store.layout}", len(rest))
        prepared = [(each, np.frombuffer(model.query(each), "<f4"), match(each)) for each in rest]
        for at, (question, vector, expression) in enumerate(prepared):
            # By turns the one and the other come first: what was just done for a question is done again in less.
            if at % 2:
                found.hybrid.take(hybrid, question)
            found.embedding.take(model.query, question)
            found.fts.take(fts, expression)
            found.scan.take(scan, vector)
            if not at % 2:
                found.hybrid.take(hybrid, question)
            parts = (found.embedding, found.fts, found.scan)
            found.bare.cpu.append(sum(part.cpu[-1] for part in parts))
            found.bare.wall.append(sum(part.wall[-1] for part in parts))
            bar.step()
        # Afterwards and by themselves: beside the hybrid one, each would find what the other has just read.
        for question in rest:
            found.words.take(by_words, question)
    return found


def expressions(store: Store, memory: engram.Engram) -> Callable[[str], str]:
    """What makes FTS5 look for the terms that recall looks for, in its scope."""
    db = sqlite_file.connect(store.path)
    places = fetch(db, "SELECT p FROM place WHERE scope = ?", store.scope) if store.scope else []
    db.close()

    def match(question: str) -> str:
        words = read(memory.engine, question, memory.call().access)
        terms = [each for term in words.terms for each in (term, *words.variants.get(term, ()))]
        expression = " OR ".join(map(_quoted, terms))
        if places:
            expression = f"({expression}) AND ({' OR '.join(_quoted(place_term(p)) for (p,) in places)})"
        return expression

    return match


def bare_fts(store: Store) -> Callable[[str], object]:
    """One FTS5 query, the best by bm25."""
    db = sqlite_file.connect(store.path)
    sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
    return lambda expression: fetch(db, sql, expression, LIMIT)


def bare_scan(store: Store) -> Callable[[npt.NDArray[np.float32]], object]:
    """The nearest of the scope's vectors with numpy: by all numbers of a few, at first by one bit each of many."""
    db = sqlite_file.connect(store.path)
    sql = "SELECT halves FROM vector"
    if store.scope:
        sql += " WHERE p IN (SELECT p FROM place WHERE scope = :scope)"
    halves = b"".join(row[0] for row in db.execute(sql, {"scope": store.scope}))
    db.close()
    rows = np.frombuffer(halves, "<f2").reshape(-1, DIM)
    whole = rows.astype(np.float32) if len(rows) <= WHOLE else rows

    def nearest(some: npt.NDArray[np.floating], vector: npt.NDArray[np.float32]) -> object:
        scores = np.einsum("ij,j->i", some.astype(np.float32, copy=False), vector)
        return np.argpartition(-scores, min(LIMIT, len(scores) - 1))[:LIMIT]

    if len(rows) <= EXACT:
        return lambda vector: nearest(whole, vector)
    centre = rows[:20_000].astype(np.float32).mean(axis=0)
    packed = [np.packbits(some > centre, axis=1, bitorder="little") for some in np.array_split(rows, 64)]
    codes = np.ascontiguousarray(np.concatenate(packed).view(np.uint64).T)

    def one_bit(vector: npt.NDArray[np.float32]) -> object:
        asked = np.packbits(vector > centre, bitorder="little").view(np.uint64)
        apart = np.zeros(codes.shape[1], np.int16)
        for word, mine in zip(codes, asked, strict=True):
            apart += np.bitwise_count(word ^ mine)
        at = np.flatnonzero(apart <= np.partition(apart, SHORTLIST)[SHORTLIST])
        return nearest(whole[at], vector) if codes.shape[1] <= AT_HAND else at

    return one_bit


def _quoted(term: str) -> str:
    return f'"{term[:-1]}" *' if term.endswith("*") else f'"{term}"'
