"""How much a candidate counts: by its words, its meaning, its company and its record; every part is named.

The weights were chosen on one half of LoCoMo and checked on the other and on two sets of developers' memories;
docs/benchmarks.md says what each is worth. A part that did not pay is not here.
"""

import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from engram.model.answers import Recollection
from engram.model.memory import Memory
from engram.model.query import says_all
from engram.model.record import NONE
from engram.model.refs import handle_number
from engram.model.text import tokens
from engram.recall.lexical import is_german
from engram.recall.timewords import TimeAsked
from engram.rules.kinds import KINDS

WORDS, MEANING = 0.45, 0.7
WORDS_BESIDE, MEANING_BESIDE = 0.12, 0.04
"""What a neighbour in the session adds, on either side: a question is often answered a line before or after."""

ANSWERS = 0.07
"""What the line after a fitting question gets besides."""

SESSION = 0.4
"""What the best of a session hands on to the others of it."""

PHRASE = 0.2
"""What a text gets that says what the question has in quotation marks."""

SPEAKER = 0.16
"""What a line of somebody's whom the question names gets."""

QUESTION = 0.07
"""What a question loses: it seldom is an answer."""

SUBSTANCE, AMPLE = 0.11, 80
"""What a text of `AMPLE` tokens or more gets, and a shorter one in proportion: a greeting says nothing."""

IN_TIME, BY_AGE = 0.2, 0.15
"""What a memory of the time asked for gets; and what the newest of the best gets where that is asked for."""

WIDTH = 0.73
"""How much of the way from the embedder's floor up to 1 a cosine has to go to mean the same in other words."""

LEAST = -0.25
"""However far off a meaning is, the words of a question still count."""

STRANGE = 5.5
"""What relevance loses, in log-odds, where the question first names somebody of whom no memory tells."""

PINNED, VERIFIED = 1.15, 1.05
PER_IMPORTANCE = 0.02
"""One step of importance above or below the middle (5) is worth two per cent."""

_LABELS = """
    action answer background cause caution caveat changelog comment conclusion context definition error example
    feature fix fixme follow goal hint idea important improvement incident info issue lesson limitation meeting
    milestone next note notes objective open option outcome plan policy principle problem proposal purpose
    question rationale reason recommendation reminder requirement resolution result risk role scope section
    setup solution source status step subject task tip title todo topic update version warning why
"""
LABELS = frozenset(_LABELS.split())
"""What often stands before a colon and is nobody's name, beside the kinds of memories."""

GUESSED = 0.3
"""What a word is worth that is only spelt like the one that was asked for, which is a word too."""

FULL = WORDS + MEANING
"""The sum that counts as a score of one; company may lift one beyond, which is then cut."""


class Candidate(NamedTuple):
    """One memory with what the searches said of it: how much of the question's words it has, and how near it is."""

    memory: Memory
    words: float = 0.0
    meaning: float | None = None  # 0 has nothing in common, 1 is the same in other words; None: not known
    ranks: Mapping[str, int] = NONE  # its place in each of the lists it came from


class Asking(NamedTuple):
    """What weighing needs to know of the question."""

    question: str
    now: datetime
    time: TimeAsked
    strange: bool = False  # whether whom or what it names first is in no memory
    phrases: tuple[str, ...] = ()  # what it says in quotation marks
    guessed: bool = False  # whether its words are known by other spellings only, and no slips of the pen


PARTS = ("words", "meaning", "phrase", "speaker", "question", "substance", "time", "neighbours", "session", "age")
"""What a score is the sum of, in the order in which it is told."""

_NEIGHBOURS, _SESSION, _AGE = map(PARTS.index, ("neighbours", "session", "age"))

Signals = list[float]
"""One number for each part: a list, because most candidates are only added up, and few are told of."""


def weigh(pool: Sequence[Candidate], asking: Asking) -> Iterator[Recollection]:
    """The candidates with their score and relevance, best first, ties by id; each is made when it is taken."""
    fit = _fit(pool)
    signals = [_alone(one, fit[at], asking) for at, one in enumerate(pool)]
    if any(one.memory.session for one in pool):
        for found, gained in zip(signals, _company(pool, fit), strict=True):
            found[_NEIGHBOURS] = gained
        _share_sessions(pool, signals)
    _order_by_age(pool, signals, asking.time)
    factors = [priors(one.memory, asking.now) for one in pool]
    scores = [
        sum(found) * (math.prod(own.values()) if own else 1.0) / FULL
        for found, own in zip(signals, factors, strict=True)
    ]
    for score, _, at in sorted((-score, pool[at].memory.id, at) for at, score in enumerate(scores)):
        reasons = chain(zip(PARTS, signals[at], strict=True), factors[at].items())
        yield _recollection(pool[at], -score, reasons, asking)


def relevance(
    words: float, meaning: float | None, *, strange: bool = False, german: bool = False, guessed: bool = False
) -> float:
    """How likely it is that something that fits so well has to do with the question at all.

    A logistic curve, set on questions that have an answer, questions asked of the wrong conversation, and our own
    cases. `strange` says that whom or what the question names first is in no memory: then only a very good fit
    counts. To a model that learned English, all that is German looks related: where the
    question is `german`, words count twice, and what has none of them must mean very much the same. Words that are
    spelt like others (`guessed`) count for less: sport is no port.
    """
    words *= GUESSED if guessed else 1.0
    if meaning is None:
        height = 20 * words - 2.4
    elif german:
        height = 14 * max(meaning, LEAST) + 20 * words - 9.5
    else:
        height = 14 * max(meaning, LEAST) + 10 * words - 4.7
    height -= STRANGE if strange else 0.0
    return round(1 / (1 + math.exp(-max(min(height, 30.0), -30.0))), 3)


def priors(memory: Memory, now: datetime) -> dict[str, float]:
    """What the record itself adds or takes, whatever the question: only factors that are not one."""
    factors: dict[str, float] = {}
    if memory.pinned:
        factors["pinned"] = PINNED
    if memory.verified_at:
        factors["verified"] = VERIFIED
    if memory.importance != 5:
        factors["importance"] = 1 + PER_IMPORTANCE * (memory.importance - 5)
    if (confidence := round(0.8 + 0.2 * memory.effective_confidence(now), 3)) != 1.0:
        factors["confidence"] = confidence
    return factors


_Fit = tuple[float, float]
"""How well one fits by itself, by words and by meaning, each between 0 and 1 or a little more."""


def _fit(pool: Sequence[Candidate]) -> list[_Fit]:
    """Shares are taken half against the best there is and half against the best there could be.

    Against the best alone, the best of a bad lot would look good; against what could be alone, a long question
    would drown its words.
    """
    best = max((one.words for one in pool), default=0.0)
    scale = 0.5 + 0.5 * best
    # Where the meaning is not known, words speak for it: no memory loses because its vector is still to come.
    alone = (WORDS + MEANING) / WORDS
    return [
        (words / scale * alone, 0.0) if meaning is None else (words / scale, max(meaning, 0.0))
        for _, words, meaning, _ in pool
    ]


def _alone(one: Candidate, fit: _Fit, asking: Asking) -> Signals:
    """What a candidate gets by itself, in the order of PARTS."""
    text = one.memory.text
    words, meaning = fit
    return [
        WORDS * words,
        MEANING * meaning,
        PHRASE if asking.phrases and says_all(one.memory, asking.phrases) else 0.0,
        SPEAKER if text.find(": ", 0, 64) >= 0 and _speaks(text, asking.question) else 0.0,
        -QUESTION if asks(text) else 0.0,
        SUBSTANCE * min(tokens(text) / AMPLE, 1.0),
        IN_TIME if (asking.time.since or asking.time.until) and _in_time(one.memory, asking.time) else 0.0,
        0.0,  # neighbours, which are known once all have their own
        0.0,  # session, likewise
        0.0,  # age, where it is asked for
    ]


def _company(pool: Sequence[Candidate], fit: Sequence[_Fit]) -> list[float]:
    """What each gets from those saved just before and after it in the same session."""
    places = [(one.memory.session, handle_number("memory", one.memory.handle)) for one in pool]
    at = {place: index for index, place in enumerate(places) if place[0] and place[1] is not None}
    company = []
    for session, number in places:
        before, after = (at.get((session, number + step)) if number is not None else None for step in (-1, 1))
        beside = [fit[index] for index in (before, after) if index is not None]
        gained = sum(WORDS_BESIDE * words + MEANING_BESIDE * meaning for words, meaning in beside)
        if before is not None and asks(pool[before].memory.text):
            gained += ANSWERS * fit[before][1]
        company.append(gained)
    return company


def _share_sessions(pool: Sequence[Candidate], signals: Sequence[Signals]) -> None:
    best: dict[str, float] = {}
    for one, found in zip(pool, signals, strict=True):
        session = one.memory.session
        best[session] = max(best.get(session, 0.0), sum(found))
    for one, found in zip(pool, signals, strict=True):
        # What belongs to no session is one of its own: else being part of one would be worth something by itself.
        found[_SESSION] = SESSION * (best[one.memory.session] if one.memory.session else sum(found))


def _order_by_age(pool: Sequence[Candidate], signals: Sequence[Signals], time: TimeAsked) -> None:
    """Where the newest (or oldest) is asked for, the best ten compete by age as well."""
    if not time.order:
        return
    best = sorted(range(len(pool)), key=lambda at: -sum(signals[at]))[:10]
    aged = sorted(best, key=lambda at: pool[at].memory.created_at, reverse=time.order == "newest")
    for rank, at in enumerate(aged):
        signals[at][_AGE] = BY_AGE * (1 - rank / len(aged))


def _recollection(
    one: Candidate, score: float, reasons: Iterable[tuple[str, float]], asking: Asking
) -> Recollection:
    return Recollection(
        memory=one.memory,
        score=round(max(min(score, 1.0), 0.0), 4),
        relevance=relevance(
            one.words,
            one.meaning,
            strange=asking.strange,
            german=is_german(asking.question),
            guessed=asking.guessed,
        ),
        reasons={name: rounded for name, value in reasons if value and (rounded := round(value, 3))},
        tokens=tokens(one.memory.gist),
        ranks=one.ranks,
    )


def asks(text: str) -> bool:
    """Whether a text is itself a question, or little more than one; what has several lines is neither."""
    if "?" not in text and "\uff1f" not in text:
        return False
    end = text.strip()
    if "\n" in end:
        return False
    return end.endswith(("?", "\uff1f")) or (len(end) < 120 and "? " in end)


def _speaks(text: str, question: str) -> bool:
    """Whether a text is a line of somebody's ("Ada: …") whom the question names; what is a label is nobody.

    A talk of several is a line of none of them: who happens to speak first says nothing about the rest.
    """
    line = _line().match(text)
    if not line or line[1].casefold() not in _names(question):
        return False
    speakers = {each.casefold() for each in (_line().findall(text) if "\n" in text else [line[1]])}
    return speakers.difference(KINDS, LABELS) == {line[1].casefold()}


@functools.lru_cache(maxsize=64)
def _names(question: str) -> frozenset[str]:
    return frozenset(_word().findall(question.casefold()))


@functools.cache
def _line() -> re.Pattern[str]:
    return re.compile(r"^([^\W\d_][\w'-]{1,30})(?: [\w'-]{1,30})?: ", re.MULTILINE)


@functools.cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W\d_][\w-]+(?='s|s'|\b)")


def _in_time(memory: Memory, time: TimeAsked) -> bool:
    """Whether a memory was saved, or began to hold, at the time asked for."""
    begun = memory.valid_from or memory.created_at
    early = time.since is not None and begun < time.since
    late = time.until is not None and begun >= time.until
    return not early and not late
