"""What each part of the ranking is worth: left out one at a time, and other ways of joining words and meaning.

Everything is asked by `recall(weak=True)` on the same stores, so that only the order differs. What the engine
answers is kept from one variant to the next, since weights change nothing in it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any, NamedTuple

from conversations import Answer, Locomo, by_session, by_turn, sound
from developers import pairs
from scores import Pair, mean
from sets import Corpus, cases
from stores import Found, Store, filled, installed

from common import Bar
from engram.inference.models import DEFAULT
from engram.model.answers import Recollection
from engram.model.filter import Access
from engram.model.query import Hit, Query
from engram.operations import recalls
from engram.ports import Embedder
from engram.recall import pipeline, weigh
from engram.recall.lexical import Words
from engram.recall.meaning import Meaning, begin
from engram.recall.weigh import Asking, Candidate

LABELS = {
    "WORDS": "words",
    "MEANING": "meaning",
    "WORDS_BESIDE": "neighbours' words",
    "MEANING_BESIDE": "neighbours' meaning",
    "ANSWERS": "line after a question",
    "SESSION": "session",
    "PHRASE": "quoted phrase",
    "SPEAKER": "speaker",
    "QUESTION": "question mark",
    "SUBSTANCE": "substance",
    "IN_TIME": "time asked for",
    "BY_AGE": "newest, oldest",
}
SCALES = ("WIDTH", "LEAST", "STRANGE", "FULL", "PINNED", "VERIFIED", "PER_IMPORTANCE", "AMPLE")
"""Numbers of `weigh` that are no weights, or weigh what no data set has."""


class Variant(NamedTuple):
    """One way of ranking: what is set otherwise while it is measured."""

    name: str
    group: str
    set: Callable[[], Any] = ExitStack  # a context manager
    words: bool = False
    embedder: str = DEFAULT


def variants() -> list[Variant]:
    """Everything that is compared; the first is recall as it is."""
    rows = [Variant("all", "whole")]
    rows += [Variant(f"without {LABELS.get(name, name)}", "left out", _zero(name)) for name in weights()]
    rows += [
        Variant("words alone", "alone", words=True),
        Variant("meaning alone", "alone", _meaning_alone),
        Variant("RRF, k = 60", "rank fusion", lambda: _changed(pipeline, weigh=_rrf(60))),
        Variant("RRF, k = 10", "rank fusion", lambda: _changed(pipeline, weigh=_rrf(10))),
    ]
    rows += [Variant(name, "model", embedder=name) for name in installed() if name != DEFAULT]
    return rows


def weights() -> list[str]:
    """The names of the weights in `engram.recall.weigh`."""
    return [
        name
        for name, value in vars(weigh).items()
        if name.isupper() and isinstance(value, float) and name not in SCALES
    ]


def measure(bench: Locomo, halves: Sequence[str]) -> list[dict[str, Any]]:
    """A row per variant: LoCoMo turns and sessions of each half, and our own cases that have an answer."""
    rows = []
    own = [corpus for corpus in cases() if any(question.gold for question in corpus.questions)]
    for variant in variants():
        row: dict[str, Any] = {"name": variant.name, "group": variant.group}
        with variant.set():
            for half in halves:
                row[half] = _locomo(bench.stores(half, variant.embedder), variant, half)
            row["cases"] = mean(_cases(own, variant), "any@1", "any@5")
        rows.append(row)
    return rows


def _locomo(stores: Sequence[Store], variant: Variant, half: str) -> dict[str, Any]:
    bar = Bar(f"{variant.name}, {half} half", sum(len(sound(store)) for store in stores))
    answers = []
    for store in stores:
        with _remembered(store, bar) as ask:
            for question in sound(store):
                found = ask(question.text, variant.words)
                answers.append(Answer(store, question, found, found))
    return {
        "turns": mean(by_turn(answers), "recall@5", "recall@10", "any@5"),
        "sessions": mean(by_session(answers), "recall@5", "recall@10"),
    }


def _cases(corpora: Sequence[Corpus], variant: Variant) -> list[Pair]:
    found: list[Pair] = []
    for corpus in corpora:
        with filled(corpus, variant.embedder) as store:
            answers = [store.ask(each.text, weak=True, words=variant.words) for each in corpus.questions]
        found += pairs(corpus, answers)
    return found


_searches: dict[str, Any] = {}


@contextmanager
def _remembered(store: Store, bar: Bar) -> Iterator[Callable[[str, bool], Found]]:
    """Ask a store whose searches and question vectors are made once and for all variants."""
    engine = store.memory.engine
    search = engine.search
    asked = ""

    def once(key: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever was asked for
        if key not in _searches:
            _searches[key] = make()
        return _searches[key]

    def found(query: Query, access: Access) -> list[Hit]:
        # A vector that is still to come is told by the question; as an object it is another one each time.
        key = f"{store.memory.store} {asked} {query.coming is None} {query._replace(coming=None)}"
        hits: list[Hit] = once(key, lambda: search(query, access))
        return hits

    def begun(embedder: Embedder, question: str) -> Meaning:
        meaning: Meaning = once(f"{embedder.space} {question}", lambda: begin(embedder, question))
        return meaning

    def ask(question: str, words: bool) -> Found:
        nonlocal asked
        asked = question
        bar.step()
        return store.ask(question, weak=True, words=words)

    with _changed(engine, search=found), _changed(recalls, begin=begun):
        yield ask


@contextmanager
def _changed(where: object, **values: object) -> Iterator[None]:
    """Something set otherwise for a while."""
    own = vars(where)
    before = {name: own[name] for name in values if name in own}
    for name, value in values.items():
        setattr(where, name, value)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                setattr(where, name, before[name])
            else:
                delattr(where, name)


def _zero(name: str) -> Callable[[], Any]:
    # Next to nought, since a question without a vector divides by the weight of words.
    return lambda: _changed(weigh, **{name: 1e-9})


def _meaning_alone() -> Any:  # noqa: ANN401 - a context manager
    """No word of the question is looked for, but one that nobody wrote: without any, nothing at all would be."""
    return _changed(pipeline, read=lambda *_: Words(("qqqqzzzz",)))


def _rrf(k: int) -> Callable[[Sequence[Candidate], Asking], Iterator[Recollection]]:
    """Reciprocal rank fusion of the two lists and nothing else, as most hybrid searches do it."""

    def fuse(pool: Sequence[Candidate], asking: Asking) -> Iterator[Recollection]:
        scores = dict.fromkeys(range(len(pool)), 0.0)
        for values in ([one.words or None for one in pool], [one.meaning for one in pool]):
            there = [(value, at) for at, value in enumerate(values) if value is not None]
            for rank, (_, at) in zip(count(1), sorted(there, reverse=True), strict=False):
                scores[at] += 1 / (k + rank)
        made = {hit.memory.id: hit for hit in weigh.weigh(pool, asking)}
        for at in sorted(scores, key=lambda at: -scores[at]):
            yield made[pool[at].memory.id]

    return fuse
