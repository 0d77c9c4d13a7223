"""How clean a store is: repeats, blocks that were recalled and stored again, secrets, and texts that say nothing.

A pure examination: memories are handed to it one after the other, of this store or of any other, and it keeps of
each only what it takes to tell them apart. Repeats are looked for within one place, which is an owner and a scope.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import islice, pairwise
from math import ceil
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.model.marks import BEGIN
from engram.model.memory import Memory, standing
from engram.model.text import STOP_WORDS, digest, terms
from engram.rules.likeness import contradiction, other_values
from engram.rules.proposals import scrubbed
from engram.rules.redact import redact
from engram.rules.suspicions import other_word

NEAR, IN_ORDER = 0.8, 0.6
"""What two texts have in common, of all that both have, to be nearly the same: of words, and of pairs of them."""

SHORTEST_TELLING, SPELT_ALIKE = 3, 0.75
"""Letters of a word that may be what a statement is about; and how alike two are that are one word, spelt twice."""

AROUND = ".,;:!?\"'()[]{}*`"
"""What stands around a word and is no part of it."""

MOST_COMPARED = 50_000
"""Memories that are compared word by word; those that come later are looked at in every other way."""

MOST_ALIKE = 200
"""With how many that have a rare word in common a text is compared at most."""

LONGEST = 8000
"""Characters up to which a text is compared word by word; a longer one is the same as another, or it is not."""

MOST_NAMED = 50
"""Memories of each ailment that are told by name; the others are counted."""

FEWEST_WORDS = 2
SHORTEST_LINE = 12

MARKS = (
    BEGIN,
    "<claude-mem-context>",
    "<relevant-memories>",
    "<relevant_memories>",
    "<recalled-memories>",
    "<supermemory-context>",
    "<memory-context>",
)
"""What memory systems put around what they hand to a model."""

ABOUT = {
    "secrets": "hold a credential or a private span",
    "recall loops": "are blocks that were recalled, stored again",
    "repeats": "say what another one says, word for word",
    "near repeats": "say nearly what another one says, in nearly the same words",
    "said elsewhere": "say what another one says in another scope, word for word",
    "empty words": "say fewer than two words that count",
    "drifted": "cite what was changed or is gone",
    "stale": "were not verified for longer than they hold",
    "expired": "are past their end",
    "never recalled": "came back in no recall since they were made, a month ago or more",
}
"""What may ail a memory, the most harmful first, and what that means."""

JUNK = frozenset({"recall loops", "repeats", "near repeats", "empty words"})
"""What makes a memory junk: nobody would miss it."""


class Ailment(NamedTuple):
    """One thing that ails some memories: how many, and the first of them, by name and words."""

    name: str
    about: str
    number: int
    examples: tuple[str, ...] = ()


class Seen(NamedTuple):
    """What is kept of a memory while others are looked at."""

    name: str
    place: str
    words: frozenset[str]
    said: tuple[str, ...]
    text: str
    number: int = 0  # two may go by one name


class Examination:
    """An examination under way: give it every memory, the oldest first, and then ask for what ails them."""

    def __init__(self, now: datetime, view: str = "") -> None:
        self._now, self._view = now, view
        self._found: dict[str, list[str]] = defaultdict(list)
        self._counts: Counter[str] = Counter()
        self._first: dict[tuple[str, str], Seen] = {}
        self._anywhere: dict[tuple[str | None, str], Seen] = {}
        self._quoting: list[tuple[Seen, frozenset[str]]] = []
        self._compared: list[Seen] = []
        self._junk: set[int] = set()
        self.memories = self.in_use = 0
        self.secrets: Counter[str] = Counter()

    def look_at(
        self,
        memory: Memory,
        name: str,
        *,
        ages: bool = True,
        drifted: bool = False,
        recalled: bool = True,
        earlier: Sequence[str] = (),
    ) -> None:
        """Look at one memory, called by this name.

        `ages` says whether its store knows how long it holds; `earlier` are the secrets in its earlier words.
        """
        self.memories += 1
        stands = standing(memory, self._now, self._view)
        place = f"{memory.owner}\x1f{memory.scope}"
        seen = Seen(name, place, frozenset(), (), memory.text[:LONGEST], self.memories)
        if removed := _secrets(memory) or earlier:
            self.secrets.update(removed)
            self._note("secrets", seen)
        if stands in ("rejected", "forgotten", "replaced"):  # out of use: only what they hold matters
            return
        self.in_use += 1
        said = tuple(terms(seen.text))
        seen = seen._replace(words=frozenset(said), said=said)
        ails = {
            "recall loops": any(mark in memory.text for mark in MARKS),
            "empty words": len({*said, *terms(f"{memory.summary} {memory.key}")}) < FEWEST_WORDS,
            "drifted": drifted,
            "stale": ages and stands == "stale",
            "expired": stands == "expired",
            "never recalled": not recalled,
        }
        for ailment, so in ails.items():
            if so:
                self._note(ailment, seen)
        if not memory.amends:  # what would change another one is bound to say nearly the same
            self._compare(seen, memory)

    def look_beside(self, name: str, text: str, kinds: Sequence[str]) -> None:
        """Note that something else than a memory, called by this name, holds secrets of these kinds."""
        self.secrets.update(kinds)
        self._note("secrets", Seen(name, "", frozenset(), (), text))

    def ailments(self) -> list[Ailment]:
        """What was found, the most harmful first; what nothing ails of is left out."""
        texts = {said for _, said in self._first}
        for seen, lines in self._quoting:
            if len(lines & texts) > 1:
                self._note("recall loops", seen)
        for newer, older in near(self._compared):
            self._note("near repeats", newer, older.name)
        self._quoting, self._compared = [], []
        return [
            Ailment(name, about, self._counts[name], tuple(self._found[name]))
            for name, about in ABOUT.items()
            if self._counts[name]
        ]

    @property
    def junk(self) -> int:
        """How many memories nobody would miss, each counted once; known when all ailments are."""
        return len(self._junk)

    def _compare(self, seen: Seen, memory: Memory) -> None:
        said = memory.digest
        if (first := self._first.setdefault((seen.place, said), seen)) is not seen:
            self._note("repeats", seen, first.name)
            return
        if (first := self._anywhere.setdefault((memory.owner, said), seen)) is not seen:
            self._note("said elsewhere", seen, first.name)
        if len(memory.text) <= LONGEST and len(self._compared) < MOST_COMPARED:
            self._compared.append(seen)
        lines = [_bare().sub("", line).strip() for line in seen.text.split("\n")]
        if len(lines) > 1 and seen.number not in self._junk:
            told = frozenset(digest(line) for line in lines if len(line) >= SHORTEST_LINE)
            self._quoting.append((seen, told))

    def _note(self, ailment: str, seen: Seen, other: str = "") -> None:
        self._counts[ailment] += 1
        if len(self._found[ailment]) < MOST_NAMED:
            beside = f" ~ {other}" if other else ""
            self._found[ailment].append(f"{seen.name}{beside}: {_shown(seen.text)}".removesuffix(": "))
        if ailment in JUNK:
            self._junk.add(seen.number)


def near(seen: Sequence[Seen]) -> Iterator[tuple[Seen, Seen]]:
    """Each text that is nearly the same as an earlier one of its place, with that one.

    Two texts that share so much must share one of the rarest words of each: only such pairs are compared, and of
    each text and word at most `MOST_ALIKE`. So few are looked at, and one may be missed among very many alike.
    """
    often = Counter(word for one in seen for word in one.words)
    holders: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in seen:
        words = sorted(one.words, key=lambda word: (often[word], word))
        rarest = words[: len(words) - ceil(NEAR * len(words)) + 1]
        known = {id(other): other for word in rarest for other in holders[one.place, word]}
        alike = (other for other in islice(known.values(), MOST_ALIKE) if _is_near(one, other))
        if older := next(alike, None):
            yield one, older
        for word in rarest:
            if len(holders[one.place, word]) < MOST_ALIKE:
                holders[one.place, word].append(one)


def _is_near(one: Seen, other: Seen) -> bool:
    """Whether two texts say nearly the same; another number, day, name or denial says otherwise.

    So does the one word in which two short statements differ: which of them holds is asked by `engram conflicts`.
    And what is said of one thing is no repeat of the same said of another.
    """
    if _share(one.words, other.words) < NEAR:
        return False
    pairs = (frozenset(pairwise(each.said)) for each in (one, other))
    if _share(*pairs) < IN_ORDER or other_values(other.text, one.text) or _of_two_things(other.text, one.text):
        return False
    return contradiction(other.text, one.text) is None and not other_word(other.text, one.text)


def _of_two_things(old: str, new: str) -> bool:
    """Whether one telling word stands in one text wherever another stands in the other, with nothing else changed.

    Two spellings of a word are one thing.
    """
    before, after = ([word.strip(AROUND) for word in text.casefold().split()] for text in (old, new))
    if len(before) != len(after):
        return False
    apart = {pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]}
    if not apart:
        return False
    first, second = min(apart, key=lambda pair: (len(pair[0]), pair))
    return _are_two(first, second) and all(one.replace(first, second) == other for one, other in apart)


@lru_cache(maxsize=4096)
def _are_two(one: str, other: str) -> bool:
    """Whether two words are names of two things, and not small words or spellings of one."""
    if any(mark.isdigit() for mark in one + other):
        return True
    if min(len(one), len(other)) < SHORTEST_TELLING or not STOP_WORDS.isdisjoint((one, other)):
        return False
    return SequenceMatcher(None, one, other).ratio() < SPELT_ALIKE


def _share(a: frozenset[Any], b: frozenset[Any]) -> float:
    """What two sets have in common, of all that is in either; two that hold nothing have all in common."""
    common = len(a & b)
    return common / whole if (whole := len(a) + len(b) - common) else 1.0


def _secrets(memory: Memory) -> tuple[str, ...]:
    """What must not be kept of a memory, by sort."""
    try:
        return scrubbed(memory)[1]
    except Invalid:
        return ("scope",)


def _shown(text: str) -> str:
    """The beginning of a text on one line, without what must not be shown."""
    line = " ".join(redact(text[:2000]).text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"


@cache
def _bare() -> re.Pattern[str]:
    """What may stand before a memory in a list: a bullet, a number, a handle."""
    return re.compile(r"^\s{0,8}(?:[-*•]|\d{1,3}[.)])?\s{0,8}(?:\[?mem-\d{4,9}\]?:?)?\s{0,8}")
