"""What developers ask: DevMemBench, DevBench, and the labelled cases of this repository."""

from collections import Counter
from pathlib import Path
from typing import Any

from scores import Pair, mean, share
from sets import Corpus, cases, devbench, devmembench
from stores import Found, filled

from common import Bar
from engram.inference.models import DEFAULT

SESSIONS = ("any@1", "any@5", "recall@5")
NOTES = ("any@1", "any@5", "recall@5", "mrr")


def sessions(data: Path) -> dict[str, Any]:
    """DevMemBench, once with one memory per session and once with one per message; gold is the session."""
    return {
        "one memory per session": _by_kind(devmembench(data, whole=True), SESSIONS),
        "one memory per message": _by_kind(devmembench(data, whole=False), SESSIONS),
    }


def notes(data: Path) -> dict[str, Any]:
    """DevBench: short memories with kind and tags."""
    return _by_kind(devbench(data), NOTES)


def labelled() -> dict[str, Any]:
    """Our own cases, class by class; of those without an answer, how many are declined."""
    return {corpus.name.removeprefix("cases "): _by_kind(corpus, NOTES)["all"] for corpus in cases()}


def ask(corpus: Corpus, embedder: str = DEFAULT, *, weak: bool = False, words: bool = False) -> list[Found]:
    """What the corpus answers to each of its questions, in their order, as items."""
    with filled(corpus, embedder) as store:
        bar = Bar(f"asking {corpus.name}", len(corpus.questions))
        found = []
        for question in corpus.questions:
            found.append(store.ask(question.text, weak=weak, words=words))
            bar.step()
    return found


def pairs(corpus: Corpus, found: list[Found]) -> list[Pair]:
    """Those that have gold, found and gold in the same unit: items, or sessions where gold names these."""
    known = {item.id for item in corpus.items}
    groups = corpus.groups
    return [
        Pair(answer.ids if question.gold <= known else answer.groups(groups), question.gold)
        for question, answer in zip(corpus.questions, found, strict=True)
        if question.gold
    ]


def _by_kind(corpus: Corpus, measures: tuple[str, ...]) -> dict[str, Any]:
    default, weak = ask(corpus), ask(corpus, weak=True)
    kinds = Counter(question.kind for question in corpus.questions)
    rows = {"all": _row(corpus, default, weak, measures)}
    if len(kinds) > 1:
        for kind in kinds:
            at = [place for place, question in enumerate(corpus.questions) if question.kind == kind]
            part = corpus._replace(questions=tuple(corpus.questions[place] for place in at))
            rows[kind] = _row(part, [default[place] for place in at], [weak[place] for place in at], measures)
    return rows


def _row(corpus: Corpus, default: list[Found], weak: list[Found], measures: tuple[str, ...]) -> dict[str, Any]:
    """Scores over the questions with gold; how many of these, and of the others, were declined."""
    there = [not answer.ids for question, answer in zip(corpus.questions, default, strict=True) if question.gold]
    absent = [
        not answer.ids for question, answer in zip(corpus.questions, default, strict=True) if not question.gold
    ]
    row: dict[str, Any] = {"memories": len(corpus.items), "questions": len(there), "without answer": len(absent)}
    if there:
        row |= {
            "default": mean(pairs(corpus, default), *measures),
            "weak": mean(pairs(corpus, weak), *measures),
            "declined": share(there),
        }
    if absent:
        row["declined without answer"] = share(absent)
    return row
