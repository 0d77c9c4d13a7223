"""LoCoMo: what is found of long conversations, turn by turn and session by session.

The conversations at even positions (0, 2, …) are the tuning half, on which weights and thresholds were chosen;
those at odd positions are the report half, on which nothing was chosen.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from scores import Pair, mean, score, share
from sets import ANSWERABLE, Corpus, Question, locomo, whole_sessions
from stores import Found, Store, filled

from common import Bar
from engram.inference.models import DEFAULT

HALVES = {"even": "tuning half (even positions)", "odd": "report half (odd positions)"}

TURNS = ("recall@5", "recall@10", "any@5", "any@10", "all@5", "all@10")
SESSIONS = TURNS


class Answer(NamedTuple):
    """One question with what its own conversation answers: as it comes, and with what is not relevant."""

    store: Store
    question: Question
    default: Found
    weak: Found


class Elsewhere(NamedTuple):
    """One question with what the next conversation of the half answers, which cannot know."""

    question: Question
    default: Found
    weak: Found


class Locomo:
    """Both halves, each asked once, however many benches look at the answers."""

    def __init__(self, data: Path, most: int = 5) -> None:
        corpora = locomo(data)
        self._whole = {"even": corpora[0::2], "odd": corpora[1::2]}
        self.halves = {half: each[:most] for half, each in self._whole.items()}
        self._stack = ExitStack()
        self._store = cache(self._open)
        self.answers = cache(self._answers)
        self.elsewhere = cache(self._elsewhere)

    def close(self) -> None:
        """Let go of all stores."""
        self._stack.close()

    def stores(self, half: str, embedder: str = DEFAULT) -> list[Store]:
        """The stores of a half, open until `close`."""
        return [self._store(half, place, embedder) for place in range(len(self.halves[half]))]

    def _open(self, half: str, place: int, embedder: str) -> Store:
        return self._stack.enter_context(filled(self._whole[half][place], embedder))

    def _answers(self, half: str) -> list[Answer]:
        """Every question of a half, category 5 too, asked of its own conversation."""
        asked = [(store, question) for store in self.stores(half) for question in store.corpus.questions]
        bar = Bar(f"asking, {half} half", len(asked))
        answers = []
        for store, question in asked:
            both = (store.ask(question.text, weak=weak) for weak in (False, True))
            answers.append(Answer(store, question, *both))
            bar.step()
        return answers

    def _elsewhere(self, half: str, *, renamed: bool = False) -> list[Elsewhere]:
        """The answerable questions of a half, asked of the next conversation.

        That has other speakers, so that most questions give themselves away by a name nobody has heard there.
        `renamed` puts its own speakers into the question.
        """
        asked = []
        for place, store in enumerate(self.stores(half)):
            other = self._store(half, (place + 1) % len(self._whole[half]), DEFAULT)
            names = dict(zip(_speakers(store.corpus), _speakers(other.corpus), strict=True)) if renamed else {}
            asked += [(other, question, _renamed(question.text, names)) for question in sound(store)]
        bar = Bar(f"asking {'renamed ' * renamed}elsewhere, {half} half", len(asked))
        answers = []
        for other, question, text in asked:
            both = (other.ask(text, weak=weak) for weak in (False, True))
            answers.append(Elsewhere(question, *both))
            bar.step()
        return answers


def sound(store: Store) -> list[Question]:
    """The questions of categories 1 to 4 that have evidence."""
    return [question for question in store.corpus.questions if answerable(question)]


def answerable(question: Question) -> bool:
    """Whether it is of category 1 to 4 and has evidence."""
    return question.kind in ANSWERABLE and bool(question.gold)


def by_turn(answers: Iterable[Answer], *, weak: bool = False, corrected: bool = False) -> list[Pair]:
    """What was found and what should have been, in turns."""
    return [
        Pair((answer.weak if weak else answer.default).ids, _gold(answer.question, corrected=corrected))
        for answer in answers
    ]


def by_session(answers: Iterable[Answer], *, weak: bool = False, corrected: bool = False) -> list[Pair]:
    """The same in sessions."""
    pairs = []
    for answer in answers:
        groups = answer.store.corpus.groups
        found = (answer.weak if weak else answer.default).groups(groups)
        gold = frozenset(groups[id] for id in _gold(answer.question, corrected=corrected))
        pairs.append(Pair(found, gold))
    return pairs


def measure(bench: Locomo, half: str) -> dict[str, Any]:
    """Everything about one half."""
    answers = [answer for answer in bench.answers(half) if answerable(answer.question)]
    units: dict[str, Callable[..., list[Pair]]] = {"turns": by_turn, "sessions": by_session}
    modes: dict[str, dict[str, bool]] = {
        "default": {},
        "weak": {"weak": True},
        "default, corrected gold": {"corrected": True},
        "weak, corrected gold": {"weak": True, "corrected": True},
    }
    stores = bench.stores(half)
    return {
        "half": HALVES[half],
        "conversations": len(stores),
        "memories": sum(len(store.corpus.items) for store in stores),
        "saved as": _outcomes(stores),
        "questions": len(answers),
        "declined": share(not answer.default.ids for answer in answers),
        **{
            unit: {mode: mean(pairs(answers, **options), *TURNS) for mode, options in modes.items()}
            for unit, pairs in units.items()
        },
        "by category": {
            kind: {
                "questions": len(of_kind),
                "turns": mean(by_turn(of_kind), *TURNS),
                "turns, corrected gold": mean(by_turn(of_kind, corrected=True), *TURNS),
                "sessions": mean(by_session(of_kind), *SESSIONS),
                "declined": share(not answer.default.ids for answer in of_kind),
                "gold turns by place": _places(of_kind),
                "nothing in ten": sum(not score(pair, "any@10") for pair in by_turn(of_kind, weak=True)),
            }
            for kind in ANSWERABLE
            if (of_kind := [answer for answer in answers if answer.question.kind == kind])
        },
        "whole sessions": _whole(bench.halves[half], half),
    }


def misses(bench: Locomo, half: str) -> list[dict[str, Any]]:
    """The questions whose gold is not all among the first ten, with what stood there instead: for study only."""
    rows = []
    for answer in bench.answers(half):
        if not answerable(answer.question) or answer.question.gold <= set(answer.weak.ids[:10]):
            continue
        texts = {item.id: item.text for item in answer.store.corpus.items}
        places = {id: place for place, id in enumerate(answer.weak.ids, 1)}
        rows.append(
            {
                "conversation": answer.store.corpus.name,
                "category": answer.question.kind,
                "question": answer.question.text,
                "declined": not answer.default.ids,
                "nothing found": not answer.question.gold.intersection(answer.weak.ids[:10]),
                "gold": {id: {"place": places.get(id), "text": texts[id]} for id in sorted(answer.question.gold)},
                "audit": sorted(answer.question.corrected - answer.question.gold),
                "first": {id: texts[id] for id in answer.weak.ids[:10]},
            }
        )
    return sorted(rows, key=lambda row: row["category"])


def _whole(conversations: Sequence[Corpus], half: str) -> dict[str, Any]:
    """One memory per session: its scores, and the share of questions declined."""
    default, weak, corrected, declined = [], [], [], []
    corpora = [whole_sessions(conversation) for conversation in conversations]
    bar = Bar(f"asking whole sessions, {half} half", sum(len(corpus.questions) for corpus in corpora))
    for corpus in corpora:
        with filled(corpus) as store:
            for question in sound(store):
                found = store.ask(question.text)
                default.append(Pair(found.ids, question.gold))
                corrected.append(Pair(found.ids, question.corrected))
                weak.append(Pair(store.ask(question.text, weak=True).ids, question.gold))
                declined.append(not found.ids)
                bar.step()
            bar.step(len(corpus.questions) - len(sound(store)))
    return {
        "default": mean(default, *SESSIONS),
        "weak": mean(weak, *SESSIONS),
        "default, corrected gold": mean(corrected, *SESSIONS),
        "declined": share(declined),
    }


def _outcomes(stores: Iterable[Store]) -> dict[str, int]:
    total: dict[str, int] = {}
    for store in stores:
        for name, count in store.outcomes.items():
            total[name] = total.get(name, 0) + count
    return total


def _places(answers: Iterable[Answer]) -> dict[str, int]:
    """How many of the turns that answer stand where, with `weak=True`."""
    places = dict.fromkeys(("1-5", "6-10", "11-50", "beyond"), 0)
    for answer in answers:
        for id in answer.question.gold:
            at = answer.weak.ids.index(id) if id in answer.weak.ids else 50
            places["1-5" if at < 5 else "6-10" if at < 10 else "11-50" if at < 50 else "beyond"] += 1
    return places


def _speakers(conversation: Corpus) -> list[str]:
    """The two who speak, the first to speak first."""
    return list(dict.fromkeys(item.text.partition(":")[0] for item in conversation.items))


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)


def _gold(question: Question, *, corrected: bool) -> frozenset[str]:
    return question.corrected if corrected else question.gold
